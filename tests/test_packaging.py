"""Is everything that the console needs inside the wheel, and nothing else?"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from configparser import ConfigParser
from pathlib import Path

import pytest

from dlq_console.settings import assets_path

ROOT = Path(__file__).resolve().parents[1]

#: Folders at the top of the project that the wheel carries inside the package.
ASSETS = ("templates", "static")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds what the wheel installs; built with the tools of the dev extra alone."""
    built, site = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("site")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "--quiet"]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", built, ROOT], check=True)
    [wheel] = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def _files_under(folder: Path) -> set[str]:
    found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in found if "__pycache__" not in path.parts}


def _python(unpacked: Path, code: str, **env: str) -> str:
    """Run code against the unpacked wheel instead of the checkout."""
    child = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(unpacked), **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    return child.stdout.strip()


def test_the_wheel_holds_every_file_of_the_package_and_its_pages(unpacked: Path) -> None:
    expected = _files_under(ROOT / "dlq_console")
    for folder in ASSETS:
        expected |= {f"{folder}/{name}" for name in _files_under(ROOT / folder)}
    assert _files_under(unpacked / "dlq_console") == expected


@pytest.mark.parametrize(
    "pattern",
    [
        "py.typed",
        "templates/**/*.html",
        "static/**/*.css",
        "static/vendor/**/*.js",
        "store/migrations/versions/*.py",
        "translations/*/LC_MESSAGES/*.mo",
    ],
)
def test_the_wheel_holds_each_kind_of_file(unpacked: Path, pattern: str) -> None:
    assert list((unpacked / "dlq_console").glob(pattern))


def test_the_wheel_holds_nothing_beside_the_package(unpacked: Path) -> None:
    assert {path.name.partition("-")[0] for path in unpacked.iterdir()} == {"dlq_console"}


def test_the_wheel_brings_the_licence_and_the_command(unpacked: Path) -> None:
    [information] = unpacked.glob("*.dist-info")
    assert "MIT License" in (information / "licenses" / "LICENSE").read_text()
    entry_points = ConfigParser()
    entry_points.read_string((information / "entry_points.txt").read_text())
    assert entry_points["console_scripts"]["dlq-console"] == "dlq_console.cli:main"


@pytest.mark.parametrize("folder", ASSETS)
def test_an_installed_package_finds_its_pages_in_itself(unpacked: Path, folder: str) -> None:
    code = f"from dlq_console.settings import assets_path; print(assets_path({folder!r}))"
    assert _python(unpacked, code) == str(unpacked / "dlq_console" / folder)


@pytest.mark.parametrize("folder", ASSETS)
def test_a_checkout_finds_its_pages_at_the_top(folder: str) -> None:
    assert assets_path(folder) == ROOT / folder


def test_an_installed_package_makes_its_tables(unpacked: Path, tmp_path: Path) -> None:
    code = "import dlq_console, sys; from dlq_console.store.migrate import upgrade; upgrade(sys.argv[1])"
    url = f"sqlite:///{tmp_path / 'installed.db'}"
    code = f"import sys; sys.argv = ['', {url!r}]; {code}; print(dlq_console.__file__)"
    assert _python(unpacked, code) == str(unpacked / "dlq_console" / "__init__.py")
    assert (tmp_path / "installed.db").stat().st_size > 0
