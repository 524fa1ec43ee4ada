"""Can the image be built from what is there, and does it run as it should?

Nothing here needs a container engine: every path, program, option and command that the Dockerfile names is looked up.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from dlq_console.settings import Settings
from tests.deploy.recipes import check_command, dockerfile, image_command
from tests.services.process import PROJECT_ROOT

INSTRUCTIONS = dockerfile()
#: What Debian's slim image holds of the programs that a RUN may name, beside Python's.
PROGRAMS_OF_THE_BASE = {"useradd", "mkdir", "chown"}


def _all(name: str) -> list[str]:
    return [instruction.text for instruction in INSTRUCTIONS if instruction.name == name]


def _copied() -> list[Path]:
    """What is copied from the project."""
    copies = [text.split() for text in _all("COPY") if not text.startswith("--from")]
    return [PROJECT_ROOT / source for *sources, _target in copies for source in sources]


def test_every_stage_begins_with_a_slim_python_that_the_project_supports() -> None:
    project = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text())["project"]
    bases = [text.split()[0] for text in _all("FROM")]
    assert len(bases) == 2
    for base in bases:
        version = re.fullmatch(r"python:(3\.\d+)-slim", base)
        assert version, base
        assert f"Programming Language :: Python :: {version[1]}" in project["classifiers"]
    # An environment only works with the Python that it was made for.
    assert len(set(bases)) == 1


def test_everything_that_is_copied_exists_and_reaches_the_builder() -> None:
    ignored = (PROJECT_ROOT / ".dockerignore").read_text().splitlines()
    let_through = {line[1:] for line in ignored if line.startswith("!")}
    assert "*" in ignored
    assert all(path.exists() for path in _copied()), _copied()
    assert {str(path.relative_to(PROJECT_ROOT)) for path in _copied()} == let_through


def test_what_is_copied_is_enough_to_build_the_whole_package(tmp_path: Path) -> None:
    for path in _copied():
        if path.is_dir():
            shutil.copytree(path, tmp_path / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, tmp_path)
    built = {}
    for source in (tmp_path, PROJECT_ROOT):
        target = tmp_path / "built" / source.name
        subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", target], cwd=source, check=True
        )
        [wheel] = target.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            built[source] = set(archive.namelist())
    assert built[tmp_path] == built[PROJECT_ROOT]


def test_what_a_stage_takes_from_another_is_made_there() -> None:
    for text in _all("COPY"):
        if text.startswith("--from"):
            stage, source, _ = text.split()
            assert any(base.endswith(f" AS {stage.removeprefix('--from=')}") for base in _all("FROM"))
            assert any(source in made for made in _all("RUN"))


@pytest.mark.parametrize(
    "command", [words for each in INSTRUCTIONS if each.name == "RUN" for words in each.commands], ids=" ".join
)
def test_every_program_of_the_build_exists_with_its_options(command: list[str]) -> None:
    program, *rest = command
    if program not in {"python", "pip"}:
        assert program in PROGRAMS_OF_THE_BASE
        help_text = _help_of([program, "--help"])
    else:
        module = rest[1] if program == "python" else "pip"
        help_text = _help_of([sys.executable, "-m", module, "--help"])
        if "install" in rest:
            help_text += _help_of([sys.executable, "-m", "pip", "install", "--help"])
    options = [word for word in rest if word.startswith("-") and word != "-m"]
    assert [option for option in options if option not in help_text] == []


def _help_of(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_image_serves_unless_told_otherwise_and_does_all_that_an_installation_needs() -> None:
    check_command(image_command())
    assert image_command()[1] == "serve"
    for command in (["db", "upgrade"], ["worker", "--no-scheduler"], ["scheduler"]):
        check_command(image_command(command))


def test_the_program_is_found_where_it_was_installed() -> None:
    (environment,) = _all("ENV")
    installed = re.search(r"venv \S+ (\S+)", " ".join(_all("RUN")))
    assert installed
    assert f"PATH={installed[1]}/bin:$PATH" in environment


def test_the_last_stage_runs_as_nobody_who_may_do_much() -> None:
    last = INSTRUCTIONS[max(n for n, each in enumerate(INSTRUCTIONS) if each.name == "FROM") :]
    (user,) = [each.text for each in last if each.name == "USER"]
    uid, _, gid = user.partition(":")
    assert int(uid) > 0
    assert int(gid) > 0
    assert f"--uid {uid}" in _all("RUN")[-1]
    # Its own folder is the only one that it may write to.
    (volume,) = _all("VOLUME")
    assert re.search(rf"chown \S+ {volume}$", _all("RUN")[-1])
    assert f"sqlite:///{volume}/" in _all("ENV")[0]


def test_a_stop_is_told_to_the_program_itself() -> None:
    assert _all("STOPSIGNAL") == ["SIGTERM"]
    # A shell in between would keep the signal to itself.
    assert all(text.startswith("[") for text in _all("ENTRYPOINT") + _all("CMD"))


def test_the_image_holds_no_secret_and_no_setting_that_does_not_exist() -> None:
    assert _all("ARG") == []
    named = set(re.findall(r"\bDLQ_(\w+)=", " ".join(_all("ENV"))))
    assert named <= {name.upper() for name in Settings.model_fields}
    assert not {name for name in named if re.search("SECRET|PASSWORD|TOKEN", name)}
