"""Cells that a spreadsheet reads as they were meant."""

from __future__ import annotations

import csv
import io

import pytest

from dlq_console.hub.spreadsheets import COMMA, SEMICOLON, cell, lines


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\u00a0=1", "\uff1d1", "\uff20A"]
)
def test_a_text_that_would_run_begins_with_an_apostrophe(text: str) -> None:
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a=1", "1-2", "8841", "'quoted'", "é", "\u202e=1"])
def test_any_other_text_stays_as_it_is(text: str) -> None:
    assert cell(text) == text


def test_a_number_stays_a_number_and_nothing_is_an_empty_cell() -> None:
    assert [cell(-1), cell(-1.5), cell(None)] == ["-1", "-1.5", ""]


@pytest.mark.parametrize("separator", [COMMA, SEMICOLON])
def test_what_is_written_is_read_back(separator: str) -> None:
    rows = [["a;b", "c,d", 'e"f', "g\r\nh", "\u202e\x1b[31m"], ["", "x", "y", "z", "w"]]
    text = "".join(lines(rows, separator=separator))
    assert list(csv.reader(io.StringIO(text, newline=""), delimiter=separator)) == rows
