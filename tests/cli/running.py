"""How does a test use the command line? As people do: by what it prints and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from dlq_console.cli import main

#: Seconds in which any command that ends by itself must have ended.
PATIENCE = 60


@dataclass(frozen=True)
class Result:
    """What a command printed and how it ended."""

    status: int
    output: str
    errors: str

    @property
    def json(self) -> Any:
        """The output as JSON."""
        return json.loads(self.output)

    @property
    def sentence(self) -> str:
        """The one line on standard error; nothing may stand beside it."""
        lines = self.errors.splitlines()
        assert len(lines) == 1, self.errors
        assert "Traceback" not in self.errors
        return lines[0].removeprefix("dlq-console: ")


class CommandLine:
    """The command `dlq-console` with its settings in the environment, run inside the test's own process.

    Starting Python takes far longer than what most commands do; `ProcessLine` does it all the same.

    Args:
        settings: DLQ_... variables.
        folder: where it runs.
    """

    def __init__(self, settings: Mapping[str, str], folder: Path) -> None:
        self.settings = dict(settings)
        self._folder = folder

    @property
    def program(self) -> list[str]:
        """The start of every command line."""
        return [sys.executable, "-m", "dlq_console"]

    def __call__(self, *arguments: str | int, typed: str = "", **settings: str) -> Result:
        """Run a command; `typed` is its standard input, `settings` are further variables."""
        return self._run([str(argument) for argument in arguments], typed, self.settings | settings)

    def succeed(self, *arguments: str | int, typed: str = "", **settings: str) -> Result:
        """Run a command that must succeed without a word on standard error."""
        result = self(*arguments, typed=typed, **settings)
        assert (result.status, result.errors) == (0, ""), result
        return result

    def _run(self, arguments: list[str], typed: str, settings: dict[str, str]) -> Result:
        output, errors = StringIO(), StringIO()
        with pytest.MonkeyPatch.context() as here, redirect_stdout(output), redirect_stderr(errors):
            here.chdir(self._folder)
            here.setattr(sys, "stdin", StringIO(typed))
            for name, value in settings.items():
                here.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main(arguments)
        status = ended.value.code
        assert isinstance(status, int)
        return Result(status, output.getvalue(), errors.getvalue())


class ProcessLine(CommandLine):
    """The same as people have it: a process of its own."""

    def _run(self, arguments: list[str], typed: str, settings: dict[str, str]) -> Result:
        done = subprocess.run(
            [*self.program, *arguments],
            input=typed,
            env=os.environ | settings,
            cwd=self._folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)
