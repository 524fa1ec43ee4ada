"""Fingerprints: failures of one cause are one group, failures of two causes are two."""

from __future__ import annotations

import re
import string
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlq_console.redact import redact_text
from dlq_console.store.fingerprints import (
    CODE_LIMIT,
    GAP,
    SHOWN_GAP,
    VERSION,
    fingerprint,
    general,
    normalise,
)

SAME = {
    "numbers": ("Order 8841 was refused", "Order 17 was refused"),
    "numbers of other scripts": ("Order ١٢ refused", "Order 12 refused"),
    "ids of letters and numbers": ("Order SP-8841 was refused", "Order RJ-9 was refused"),
    "amounts": ("The limit is R$ 1.240,00", "The limit is R$ 7,5"),
    "codes": ("Código [5521] não cadastrado", "Código [C-9] não cadastrado"),
    "letters in brackets": ("Código [ALFA] não cadastrado", "Código [BETA] não cadastrado"),
    "double quotes": ('Customer "C-1" is unknown', 'Customer "Padaria Sol" is unknown'),
    "single quotes": ("field 'cnpj' is missing", "field 'ie' is missing"),
    "curly quotes": ("Cliente “A” não existe", "Cliente “B” não existe"),
    "guillemets": ("Cliente «A» não existe", "Cliente «B» não existe"),
    "back quotes": ("column `a` is unknown", "column `b` is unknown"),
    "case": ("Timed Out", "timed out"),
    "accents": ("Cliente nao cadastrado", "Cliente não cadastrado"),
    "composed and decomposed letters": ("n\u00e3o", "na\u0303o"),
    "space": ("no  stock\n left", " no stock left "),
    "punctuation": ("no stock.", "no stock!"),
    "uuids": (
        "Job 5f0c9f0a-5a0e-4a53-9c4f-0d7c8a0b1c2d failed",
        "Job ffffffff-aaaa-bbbb-cccc-dddddddddddd failed 1",
    ),
    "hexadecimal": ("at 0x7f00aa11 in pool", "at 0xdeadbeef01 in pool"),
    "dates": ("closed since 2026-03-01", "closed since 01/12/2025"),
    "dates in words": ("vence em 29 de novembro de 2026", "vence em 3 de março de 2027"),
    "dates in English": ("due Nov 29, 2026", "due March 3, 2027"),
    "times": ("next at 2026-03-01T10:00:01.123-03:00", "next at 2027-12-31T23:59:59Z"),
    "times of the day": ("opens at 11:05 PM", "opens at 9:00 am"),
    "e-mails": ("no mail to ana@empresa.example", "no mail to rui.sa+x@outra.example.br"),
    "a redacted e-mail": ("no mail to ana@empresa.example", "no mail to •••@outra.example"),
    "tax ids": ("CPF 123.456.789-09 já existe", "CPF 987.654.321-00 já existe"),
    "a redacted tax id": ("CPF 123.456.789-09 já existe", "CPF ••• já existe"),
    "addresses": ("GET https://a.example/x?y=1 failed", "GET http://b.example:8080/ failed"),
    "a request id": ("Refused (request id: kqXzPwRt)", "Refused (request id: AbcdEFgh)"),
    "a request id with a dash": ("Refused, request-id=zzz-aaa", "Refused, request-id=bbb-ccc-ddd"),
    "a protocol number in letters": ("Recusado, protocolo: AAXX", "Recusado, protocolo: BBYY"),
    "a word that is encoded": ("token dGhpcyBpcyBh+Zm9v/Ym1Fy== bad", "token QUJD/REVGR0hJSktM+TU5P1== bad"),
    "JSON with an id": (
        '{"message": "Cliente não cadastrado", "requestId": "kqXzPw"}',
        '{"message": "Cliente não cadastrado", "requestId": "BhUtRe"}',
    ),
    "JSON with a name": (
        '{"error": "Customer unknown", "customer": "Padaria Sol"}',
        '{"error": "Customer unknown", "customer": "Mercado Lua"}',
    ),
    "a bare id": ("5f0c9f0a-5a0e-4a53-9c4f-0d7c8a0b1c2d", "ffffffff-aaaa-bbbb-cccc-ddddddddddd1"),
    "what stands beyond the limit": ("no stock " * 300 + "a", "no stock " * 300 + "b"),
}
DIFFERENT = {
    "words": ("Customer is unknown", "Customer is blocked"),
    "an apostrophe is no quote": ("can't connect, won't wait", "can't connect, will wait"),
    "a whole sentence in quotes": ('"Customer is unknown"', '"No stock left"'),
    "a whole sentence in brackets": ("[Customer is unknown]", "[No stock left]"),
    "messages inside JSON": ('{"faultstring": "Cliente bloqueado"}', '{"faultstring": "Sem estoque"}'),
    "messages inside a dict": ("{'message': 'Cliente bloqueado'}", "{'message': 'Sem estoque'}"),
    "a bare code": ("E1001", "E1002"),
    "long names of errors": ("CustomerNotRegisteredException", "OrderAlreadyInvoicedException"),
    "a word that is also a month": ("It may 3 times", "It will 3 times"),
    "fields": ("field customer_code is missing", "field order_date is missing"),
}

WORDS = st.text("abcdefgh ", min_size=1, max_size=30).filter(str.strip)
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_messages_that_differ_in_what_varies_are_one_cause(one: str, other: str) -> None:
    assert fingerprint("ErpError", one) == fingerprint("ErpError", other), (normalise(one), normalise(other))


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_messages_that_say_something_else_are_two_causes(one: str, other: str) -> None:
    assert fingerprint("ErpError", one) != fingerprint("ErpError", other), normalise(one)


def test_kind_class_and_type_of_the_error_are_part_of_its_cause() -> None:
    told = {
        fingerprint("ErpError", "no stock", kind="order.create", verdict="permanent"),
        fingerprint("ErpError", "no stock", kind="stock.move", verdict="permanent"),
        fingerprint("ErpError", "no stock", kind="order.create", verdict="transient"),
        fingerprint("TaxError", "no stock", kind="order.create", verdict="permanent"),
    }
    assert len(told) == 4


def test_what_belongs_to_one_part_is_never_taken_for_another() -> None:
    assert fingerprint("A", "B C") != fingerprint("A b", "C")
    assert fingerprint("E", "m", kind="a", verdict="b") != fingerprint("E", "m", kind="ab")


def test_a_fingerprint_tells_the_version_of_its_algorithm() -> None:
    assert re.fullmatch(rf"{VERSION}-[0-9a-f]{{32}}", fingerprint("ErpError", "no stock"))


def test_the_fingerprint_of_a_version_never_changes() -> None:
    """Whoever changes the algorithm raises its version, because stored groups are found by these values."""
    told = fingerprint("ErpError", "Cliente [5521] não cadastrado.", kind="order.create", verdict="permanent")
    assert told == "f1-6c07da49ea5feea5651041d9da75a626"


@settings(deadline=None)
@given(st.uuids(), st.uuids(), WORDS, WORDS)
def test_a_request_id_never_makes_a_group_of_its_own(
    one: uuid.UUID, other: uuid.UUID, before: str, after: str
) -> None:
    for spell in (str, lambda id_: id_.hex, lambda id_: f"req_{id_.hex[:12]}1", lambda id_: f"{id_.int}"):
        assert fingerprint("E", f"{before} {spell(one)} {after}") == fingerprint(
            "E", f"{before} {spell(other)} {after}"
        )


@settings(deadline=None)
@given(
    st.text(string.ascii_letters + string.digits, min_size=1, max_size=40),
    st.text(string.ascii_letters + string.digits, min_size=1, max_size=40),
)
def test_an_id_that_is_called_one_is_left_out_whatever_it_looks_like(one: str, other: str) -> None:
    assert normalise(f"Refused, request id: {one}") == normalise(f"Refused, request id: {other}")


@settings(deadline=None)
@given(ANY_TEXT, ANY_TEXT)
def test_every_text_has_a_fingerprint(type_: str, message: str) -> None:
    assert fingerprint(type_, message) == fingerprint(type_, message)


@settings(deadline=None)
@given(st.text("ab 9-.:'\"[]{}•@é/", max_size=80))
def test_what_is_normal_already_stays_as_it_is(message: str) -> None:
    once = normalise(message)
    if len(message) > CODE_LIMIT:
        assert normalise(once) == once


def test_redacting_a_message_does_not_move_it_to_another_group() -> None:
    for message in (
        "CNPJ 12.345.678/0001-90 já cadastrado",
        "no mail to ana@empresa.example",
        "connect postgresql://app:pw@db.example/erp failed",
    ):
        assert normalise(redact_text(message)) == normalise(message)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            "Cliente não cadastrado para o código [5521].",
            f"Cliente não cadastrado para o código {SHOWN_GAP}.",
        ),
        ('Customer "Padaria Sol" (id: 9) is unknown', f"Customer {SHOWN_GAP} ({SHOWN_GAP}) is unknown"),
        ('"Customer is unknown"', '"Customer is unknown"'),
        (" E1001 ", "E1001"),
    ],
)
def test_people_read_the_message_with_a_gap_where_it_varies(message: str, shown: str) -> None:
    assert general(message) == shown


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece",
    ["a", "1", "a-", "a1 ", "A-1.", "'", '"', "[", '{"a":"', "http://", "@", "a@", "id:", "jan 1 ", "request id ", "Aa1+/", "é", "\u0301", GAP],
)  # fmt: skip
def test_a_hostile_message_of_a_megabyte_takes_no_longer_than_its_beginning(piece: str) -> None:
    fingerprint("E", piece * (1_000_000 // len(piece)))
