"""Is everything that the console needs inside the wheel, and nothing else? Does it work where nothing else is?"""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from configparser import ConfigParser
from http.client import HTTPConnection
from importlib.metadata import distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from dlq_console import Hub
from dlq_console.settings import assets_path, read_settings
from tests.services.process import Child, StartChild, free_port

ROOT = Path(__file__).resolve().parents[1]

#: Folders at the top of the project that the wheel carries inside the package.
ASSETS = ("templates", "static")


#: For pip, which must not ask any registry.
QUIETLY = ["--no-index", "--disable-pip-version-check", "--quiet"]
#: Seconds in which a process must have done something on a busy machine.
SOON = 60

SHOP = """
from dlq_console import Event, Hub

hub = Hub()


@hub.handler("order.create")
def create_order(event: Event) -> dict:
    return {"number": event.payload["number"]}
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel; built with the tools of the dev extra alone."""
    built = tmp_path_factory.mktemp("wheel")
    options = [*QUIETLY, "--no-deps", "--no-build-isolation", "--wheel-dir", str(built)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, ROOT], check=True)
    [made] = built.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds what the wheel installs."""
    site = tmp_path_factory.mktemp("site")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment of its own with the wheel and what it declares to need, and nothing else."""
    home = tmp_path_factory.mktemp("bare")
    venv.create(home, symlinks=True)
    [site] = home.glob("lib/python*/site-packages")
    for name in _declared(wheel):
        _lend(name, site)
    # pip itself refuses when anything is missing that the wheel declares: there is no registry to ask.
    options = ["--python", str(home / "bin" / "python"), "install", *QUIETLY]
    subprocess.run([sys.executable, "-m", "pip", *options, wheel], check=True)
    return home / "bin"


def _declared(wheel: Path) -> set[str]:
    """The distributions that an install of the wheel without extras brings, directly or by what those need."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith("/METADATA")]
        metadata = email.message_from_bytes(archive.read(name))
    found: set[tuple[str, str]] = set()
    waiting = list(_applying(metadata.get_all("Requires-Dist", []), ""))
    while waiting:
        asked = waiting.pop()
        if asked not in found:
            found.add(asked)
            waiting += _applying(distribution(asked[0]).requires or [], asked[1])
    return {name for name, _extra in found}


def _applying(requirements: list[str], extra: str) -> Iterator[tuple[str, str]]:
    """Names and extras of the requirements that count here."""
    for requirement in map(Requirement, requirements):
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield from ((canonicalize_name(requirement.name), each) for each in ("", *requirement.extras))


def _lend(name: str, site: Path) -> None:
    """Let another environment use a distribution of this one."""
    files = distribution(name).files or []
    for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
        if not (site / top).exists():
            (site / top).symlink_to(Path(str(distribution(name).locate_file(top))))


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


# In an environment that holds nothing else


def _installation(database: Path) -> dict[str, str]:
    return {
        "DLQ_DATABASE_URL": f"sqlite:///{database}",
        "DLQ_SECRET_KEY": "only-for-tests-0123456789abcdef0123456789",
        "DLQ_APP": "shop:hub",
        # Nothing of the checkout is in reach.
        "PYTHONPATH": "",
    }


def _get(port: int, path: str) -> tuple[int, str] | None:
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode(errors="replace")
    except ConnectionError:
        return None
    finally:
        connection.close()


def test_the_wheel_can_be_installed_where_nothing_is_and_brings_what_it_needs(bare: Path) -> None:
    code = "from importlib.metadata import distributions; print(*sorted({d.name.lower() for d in distributions()}))"
    done = subprocess.run([bare / "python", "-c", code], capture_output=True, text=True, check=True)
    installed = set(done.stdout.split())
    assert "dlq-console" in installed
    here = {each.name.lower() for each in distributions()}
    # Neither the extras nor what only developers need.
    assert not {"psycopg", "opentelemetry-api", "pytest", "hatchling"} & installed
    assert len(installed) < len(here)
    checked = subprocess.run(
        [sys.executable, "-m", "pip", "--python", bare / "python", "check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout


def test_a_bare_install_serves_pages_and_runs_events_on_sqlite(
    bare: Path, start_child: StartChild, tmp_path: Path
) -> None:
    environment = _installation(tmp_path / "console.db")
    (tmp_path / "shop.py").write_text(SHOP)
    port = free_port()

    def start(*arguments: str) -> Child:
        return start_child([bare / "dlq-console", *arguments], env=environment, folder=tmp_path)

    assert start("db", "upgrade").wait_for_exit(SOON) == 0
    serve = start("serve", "--bind", f"127.0.0.1:{port}", "--workers", "1")
    worker = start("worker", "--concurrency", "1")
    payload = ("--payload", '{"number": 8841}')
    assert (
        start("enqueue", "order.create", "--account", "a", "--entity", "1", *payload).wait_for_exit(SOON) == 0
    )

    serve.wait_until(lambda: _get(port, "/readyz"), SOON, "the console answers")
    page = _get(port, "/login")
    assert page is not None
    assert page[0] == 200
    assets = re.findall(r'(?:href|src)="(/static/[^"]+)"', page[1])
    assert assets
    for address in assets:
        found = _get(port, address)
        assert found is not None
        assert found[0] == 200, address

    hub = Hub(read_settings(database_url=environment["DLQ_DATABASE_URL"]))
    worker.wait_until(lambda: hub.get(1).status == "done", SOON, "the event is done")
    assert hub.get(1).result == {"number": 8841}
    hub.close()
    assert [child.stop() for child in (worker, serve)] == [0, 0]
