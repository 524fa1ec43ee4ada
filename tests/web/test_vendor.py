"""Copies of other people's work are exactly what their manifest says, and carry their licence."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from dlq_console.settings import assets_path

FOLDERS = (assets_path("static") / "vendor", Path(__file__).parents[1] / "browser" / "vendor")


@pytest.mark.parametrize("folder", FOLDERS, ids=["console", "tests"])
def test_a_copy_is_what_the_manifest_says(folder: Path) -> None:
    entries = json.loads((folder / "manifest.json").read_text())
    for entry in entries:
        content = (folder / entry["file"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == entry["sha256"], entry["file"]
        assert b"sourceMappingURL" not in content
        assert entry["version"].count(".") == 2
        assert (folder / entry["licence_file"]).read_text().strip()
    listed = {name for entry in entries for name in (entry["file"], entry["licence_file"])}
    licences = {path.name for path in folder.iterdir() if "LICENSE" in path.name}
    assert {path.name for path in folder.iterdir()} == listed | licences | {"manifest.json"}
