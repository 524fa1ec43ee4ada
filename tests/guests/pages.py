"""Which samples of code does a how-to page show? Each names the file of the guest project that it is part of."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: The name of a file on a line of its own, then the sample.
_SAMPLE = re.compile(r"^`([\w./]+)`:?\n\n```python\n(.*?)```$", re.MULTILINE | re.DOTALL)
_ANY = re.compile(r"^```python$", re.MULTILINE)


def samples(page: str) -> dict[str, list[str]]:
    """The samples of a page of docs/how-to, by the file that they are part of."""
    text = (ROOT / "docs/how-to" / page).read_text(encoding="utf-8")
    found = _SAMPLE.findall(text)
    assert found, f"{page} shows no sample"
    assert len(found) == len(_ANY.findall(text)), (
        f"{page}: write above each sample the file that it is part of"
    )
    by_file: dict[str, list[str]] = {}
    for path, sample in found:
        by_file.setdefault(path, []).append(sample)
    return by_file
