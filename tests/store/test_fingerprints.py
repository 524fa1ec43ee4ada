"""Fingerprints: failures of one cause are one group, failures of two causes are two."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlq_console.store.fingerprints import fingerprint

SAME = {
    "digits": ("Order 8841 was refused", "Order 17 was refused"),
    "no digits left": ("Code 500", "Code 404"),
    "double quotes": ('Customer "C-1" is unknown', 'Customer "Padaria Sol" is unknown'),
    "single quotes": ("field 'cnpj' is missing", "field 'ie' is missing"),
    "curly quotes": ("Cliente “A” não existe", "Cliente “B” não existe"),
    "guillemets": ("Cliente «A» não existe", "Cliente «B» não existe"),
    "back quotes": ("column `a` is unknown", "column `b` is unknown"),
    "case": ("Timed Out", "timed out"),
    "space": ("no  stock\n left", " no stock left "),
    "digits of other scripts": ("Order ١٢ refused", "Order 12 refused"),
}
DIFFERENT = {
    "words": ("Customer is unknown", "Customer is blocked"),
    "accents": ("publico", "público"),
    "an apostrophe is no quote": ("can't connect, won't wait", "can't connect, will wait"),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_messages_that_differ_in_numbers_quotes_case_or_space_are_one_cause(one: str, other: str) -> None:
    assert fingerprint("ErpError", one) == fingerprint("ErpError", other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_messages_that_say_something_else_are_two_causes(one: str, other: str) -> None:
    assert fingerprint("ErpError", one) != fingerprint("ErpError", other)


def test_the_type_of_the_error_is_part_of_its_cause() -> None:
    assert fingerprint("ErpError", "no stock") != fingerprint("PermanentError", "no stock")
    assert fingerprint("A", "B\nC") != fingerprint("A\nB", "C")


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"])))
def test_a_fingerprint_is_32_hex_digits_whatever_is_said(type_: str, message: str) -> None:
    assert re.fullmatch("[0-9a-f]{32}", fingerprint(type_, message))
