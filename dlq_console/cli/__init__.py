"""The command line: parses, calls the hub or a step, and says in one sentence what came of it.

This module loads next to nothing, so that Ctrl-C ends a command cleanly from its first moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from dlq_console.cli.interrupts import loading


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its status.

    Every error is one sentence on standard error; `python -X dev` shows its traceback.

    Args:
        arguments: those of this process if left out.
    """
    with loading():
        from dlq_console.cli.commands import run
    run(arguments)
