"""What do the files that ship the console say? The Dockerfile, compose.yaml and the systemd units, read as data."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import yaml

from dlq_console.cli.commands import cli
from tests.services.process import PROJECT_ROOT

DOCKERFILE = PROJECT_ROOT / "Dockerfile"
COMPOSE = PROJECT_ROOT / "compose.yaml"
UNITS = PROJECT_ROOT / "deploy" / "systemd"

#: `${NAME}`, `${NAME:-default}` and `${NAME:?what to do}`, as compose understands them.
VARIABLE = re.compile(r"\$\{(\w+)(?::([-?])([^}]*))?\}")
SECONDS = {"s": 1, "min": 60}


class VariableMissingError(Exception):
    """A variable without which compose.yaml starts nothing."""


# Dockerfile


@dataclass(frozen=True)
class Instruction:
    """One instruction of a Dockerfile; its lines are joined."""

    name: str
    text: str

    @property
    def words(self) -> list[str]:
        """Its arguments: those of the JSON form, else split as a shell does."""
        form = self.text[self.text.find("[") :] if self.name in ("CMD", "ENTRYPOINT", "HEALTHCHECK") else ""
        return json.loads(form) if form else shlex.split(self.text)

    @property
    def commands(self) -> list[list[str]]:
        """The commands of a RUN."""
        return [shlex.split(part) for part in self.text.split("&&")]


def dockerfile() -> list[Instruction]:
    """Its instructions in order."""
    lines = [line for line in DOCKERFILE.read_text().splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [
        Instruction(name, text.strip()) for name, _, text in (line.partition(" ") for line in joined if line)
    ]


def image_command(arguments: list[str] | None = None) -> list[str]:
    """What a container of the image runs, for these arguments or its own."""
    told = {instruction.name: instruction.words for instruction in dockerfile()}
    return told["ENTRYPOINT"] + (told["CMD"] if arguments is None else arguments)


# compose.yaml


def compose(values: Mapping[str, str]) -> dict[str, Any]:
    """The file with its variables filled in.

    Raises:
        VariableMissingError: one without a default is missing or empty; the message is the file's own.
    """
    return dict(_filled(yaml.safe_load(COMPOSE.read_text()), values))


def _filled(part: Any, values: Mapping[str, str]) -> Any:
    if isinstance(part, dict):
        return {name: _filled(value, values) for name, value in part.items()}
    if isinstance(part, list):
        return [_filled(value, values) for value in part]
    return VARIABLE.sub(lambda match: _value(match, values), part) if isinstance(part, str) else part


def _value(variable: re.Match[str], values: Mapping[str, str]) -> str:
    name, kind, text = variable.groups()
    if value := values.get(name, ""):
        return value
    if kind == "-":
        return str(text)
    raise VariableMissingError(text or name)


# systemd


class Unit:
    """A unit file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._text = path.read_text()

    def every(self, name: str) -> list[str]:
        """Every value that a directive is given, in order."""
        return re.findall(rf"^{name}=(.*)$", self._text, re.MULTILINE)

    def __getitem__(self, name: str) -> str:
        (value,) = self.every(name)
        return value

    @cached_property
    def command(self) -> list[str]:
        """What it starts, with the variables that it sets itself."""
        own = dict(word.split("=", 1) for line in self.every("Environment") for word in shlex.split(line))
        words = []
        for word in shlex.split(self["ExecStart"]):
            # A variable that stands alone becomes as many words as it holds.
            words += own[word[1:]].split() if word.startswith("$") else [word]
        return words

    @property
    def stop_seconds(self) -> float:
        """How long it may take to stop before it is killed."""
        return seconds(self["TimeoutStopSec"])


def units() -> dict[str, Unit]:
    """The units by what follows `dlq-console-` in their names."""
    paths = sorted(UNITS.glob("*.service"))
    return {path.name.removeprefix("dlq-console-").split(".")[0].rstrip("@"): Unit(path) for path in paths}


def environment_file() -> dict[str, str]:
    """What the units' EnvironmentFile holds as it is shipped."""
    lines = [line for line in (UNITS / "dlq-console.env").read_text().splitlines() if line and line[0] != "#"]
    return dict(line.split("=", 1) for line in lines)


# All of them


def seconds(text: str) -> float:
    """A duration such as `60s` or `45`, in seconds."""
    number, unit = re.fullmatch(r"(\d+)([a-z]*)", text).groups()  # type: ignore[union-attr] # None fails the test
    return float(number) * SECONDS[unit or "s"]


def check_command(words: list[str]) -> None:
    """Fail unless `words` are a command line of `dlq-console` that is understood down to its last option."""
    program, *arguments = words
    assert Path(program).name == "dlq-console", words
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group):
        name, *arguments = arguments
        found = command.get_command(context, name)
        assert found is not None, f"there is no command {name}: {words}"
        command = found
    command.make_context(command.name, arguments).close()
