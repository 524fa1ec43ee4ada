"""Does a table lose nothing on its way to another program, and keep to its lines on a terminal?"""

from __future__ import annotations

import sys
from io import StringIO

import pytest

from dlq_console.cli.common import LONGEST_CELL, print_table

LONG = "filial-sp " * 20


class Terminal(StringIO):
    """What is printed on a screen."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("output", [StringIO, Terminal], ids=["pipe", "terminal"])
def test_only_a_terminal_cuts_what_is_long(monkeypatch: pytest.MonkeyPatch, output: type[StringIO]) -> None:
    printed = output()
    monkeypatch.setattr(sys, "stdout", printed)
    print_table(("WHAT", "NUMBER"), [(LONG, 7), (None, 8)])
    heading, long, empty = printed.getvalue().splitlines()
    whole = LONG.strip()
    assert long.startswith(f"{whole[: LONGEST_CELL - 1]}…  7" if output is Terminal else f"{whole}  7")
    assert heading.index("NUMBER") == long.rindex("7") == empty.rindex("8")
