"""Cells that a spreadsheet reads as they were meant."""

from __future__ import annotations

import csv
import io
from decimal import Decimal

import pytest

from dlq_console.hub.spreadsheets import COMMA, SEMICOLON, cell, lines, number_or_text


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\u00a0=1", "\uff1d1", "\uff20A"]
)
def test_a_text_that_would_run_begins_with_an_apostrophe(text: str) -> None:
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "a=1", "1-2", "8841", "'quoted'", "é", "\u202e=1"])
def test_any_other_text_stays_as_it_is(text: str) -> None:
    assert cell(text) == text


def test_a_number_stays_a_number_and_nothing_is_an_empty_cell() -> None:
    assert "".join(lines([[-1, -1.5, Decimal("0.10"), None]], separator=COMMA)) == "-1,-1.5,0.10,\r\n"
    assert "".join(lines([[-1, -1.5, Decimal("0.10"), None]], separator=SEMICOLON)) == "-1;-1,5;0,10;\r\n"


@pytest.mark.parametrize(
    ("kept", "written"),
    [
        ("1500.5", "1500,5"),
        ("-1500.50", "-1500,50"),
        ("1500", "1500"),
        ("-3", "-3"),
        ("0.1234567", "0,1234567"),
    ],
)
def test_a_kept_number_is_one_for_a_spreadsheet_with_decimal_commas(kept: str, written: str) -> None:
    assert "".join(lines([[number_or_text(kept)]], separator=SEMICOLON)) == f"{written}\r\n"


@pytest.mark.parametrize("kept", ["0042", "01.5", "1.2.3", "1e5", "12345678901234567", "P-1.5", ""])
def test_a_code_is_no_number(kept: str) -> None:
    assert number_or_text(kept) == kept
    assert isinstance(number_or_text(kept), str)


@pytest.mark.parametrize("separator", [COMMA, SEMICOLON])
@pytest.mark.parametrize("text", ["a,b", "a;=1+1", "a\t=1", 'a"b', "a\nb", "a\rb", ";=1+1"])
def test_a_text_that_holds_any_separator_is_quoted_whichever_the_file_has(text: str, separator: str) -> None:
    doubled = text.replace('"', '""')
    assert "".join(lines([[1, text, "c"]], separator=separator)) == f'1{separator}"{doubled}"{separator}c\r\n'


@pytest.mark.parametrize("separator", [COMMA, SEMICOLON])
def test_what_is_written_is_read_back(separator: str) -> None:
    rows = [["a;b", "c,d", 'e"f', "g\r\nh", "\u202e\x1b[31m"], ["", "x", "y", "z", "w"]]
    text = "".join(lines(rows, separator=separator))
    assert list(csv.reader(io.StringIO(text, newline=""), delimiter=separator)) == rows
