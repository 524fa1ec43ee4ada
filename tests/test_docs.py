"""Do the documents tell the truth? Settings are all described, links lead somewhere, commands exist."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import click
import pytest

import dlq_console
from benchmarks.__main__ import NAMES as BENCHMARKS
from dlq_console.cli.commands import cli
from dlq_console.errors import DLQError
from dlq_console.settings import Settings
from dlq_console.store.states import Reason
from dlq_console.workers.steps import STEPS

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\((?!https?://|mailto:)([^)#\s]+)(#[^)\s]*)?\)")
COMMAND = re.compile(r"(?:^|`)\s*dlq-console ((?:[a-z]+(?:-[a-z]+)* ?)+)", re.MULTILINE)
HOST_PATH = re.compile(r"(?<![\w.])/(?:work|root|home/\w+)/")


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_described(name: str) -> None:
    row = f"| `DLQ_{name.upper()}` |"
    assert row in read("docs/reference/settings.md"), f"describe {name} in docs/reference/settings.md"


def test_no_setting_is_described_that_does_not_exist() -> None:
    described = re.findall(r"^\| `DLQ_(\w+)` \|", read("docs/reference/settings.md"), re.MULTILINE)
    known = {name.upper() for name in Settings.model_fields} | {"DEMO_ERP_URL"}
    assert set(described) <= known


def test_the_described_defaults_are_the_real_ones() -> None:
    text = read("docs/reference/settings.md")
    for name, field in Settings.model_fields.items():
        row = re.search(rf"^\| `DLQ_{name.upper()}` \| ([^|]*) \|", text, re.MULTILINE)
        assert row is not None
        default = "empty" if field.default == "" else f"`{field.default}`"
        assert row[1].strip() == default, f"DLQ_{name.upper()}: the default is {default}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(document: Path) -> None:
    for target, _ in LINK.findall(document.read_text(encoding="utf-8")):
        assert (document.parent / target).exists(), f"{document.relative_to(ROOT)} links to {target}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_document_names_a_path_of_one_machine(document: Path) -> None:
    assert HOST_PATH.search(document.read_text(encoding="utf-8")) is None


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_that_is_named_exists(document: Path) -> None:
    for words in COMMAND.findall(document.read_text(encoding="utf-8")):
        command: click.Command = cli
        for word in words.split():
            if not isinstance(command, click.Group):
                break
            found = command.commands.get(word)
            assert found is not None, f"{document.relative_to(ROOT)} names `dlq-console {words}`"
            command = found


def test_every_public_name_can_be_had_and_has_a_docstring() -> None:
    for name in dlq_console.__all__:
        assert getattr(dlq_console, name).__doc__, f"{name} has no docstring"


def test_every_error_explains_itself_in_one_sentence() -> None:
    errors = [cls for name in dlq_console.__all__ if isinstance(cls := getattr(dlq_console, name), type)]
    for error in errors:
        if issubclass(error, DLQError):
            message = " ".join((error.__doc__ or "").split())
            assert message.endswith("."), f"{error.__name__}: its docstring is its message"


def test_every_periodic_step_is_described() -> None:
    text = read("docs/reference/workers.md")
    for step in STEPS:
        assert f"| `{step.name}` | {step.every:g} |" in text, f"describe the step {step.name} and its period"


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_described(reason: Reason) -> None:
    assert f"`{reason}`" in read("docs/reference/events.md"), f"describe {reason} in docs/reference/events.md"


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_is_described(name: str) -> None:
    assert f"| `{name}` |" in read("docs/reference/benchmarks.md"), f"say what {name} measures, and its bar"


def test_the_sample_of_the_readme_imports_what_its_install_line_brings() -> None:
    text = read("README.md")
    sample = text[text.index("# shop.py") :].partition("```")[0]
    install = re.search(r"^pip install (.*?)#", text, re.MULTILINE)
    assert install is not None
    required = tomllib.loads(read("pyproject.toml"))["project"]["dependencies"]
    brought = {re.split(r"[\[<>=]", name.strip("'"))[0] for name in (*install[1].split(), *required)}
    imported = set(re.findall(r"^(?:import|from) (\w+)", sample, re.MULTILINE))
    assert {name.replace("_", "-") for name in imported - sys.stdlib_module_names} <= brought
