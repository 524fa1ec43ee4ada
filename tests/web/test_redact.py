"""What is masked by its name, and what is taken out of free text."""

from __future__ import annotations

import time

import pytest

from dlq_console.redact import MASK, is_secret, masked, redact_text


@pytest.mark.parametrize(
    "name",
    [
        "password", "Senha", "access_token", "accessToken", "API-Key", "apikey", "app_secret", "clientSecret", "CPF",
        "cnpj_cliente", "Authorization", "set-cookie", "card_number", "JWT", "tokens",
    ],
)  # fmt: skip
def test_a_secret_is_known_by_its_name(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["customer_code", "tokenizer", "secretary", "passport", "key", "document", "", "123", "cpfl"]
)
def test_other_names_are_left_alone(name: str) -> None:
    assert not is_secret(name)


def test_masking_copies_and_keeps_what_is_not_secret() -> None:
    value = {"a": [{"token": "x", "b": 1}], "senha": None, "cpf": "", "secret": {"deep": 1}}
    assert masked(value) == {"a": [{"token": MASK, "b": 1}], "senha": None, "cpf": "", "secret": MASK}
    assert value["a"] == [{"token": "x", "b": 1}]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Authorization: Bearer abc.def-123456", "Authorization:"),
        ('refused {"app_key": "canary", "code": 5521}', '"code": 5521'),
        ("password=canary&user=ana", "user=ana"),
        ("senha: 'can ary' invalid", "invalid"),
        ("connect postgresql://app:canary@db/erp failed", "@db/erp failed"),
        ("CNPJ 12.345.678/0001-90 already registered", "already registered"),
        ("CPF 123.456.789-09 not found", "not found"),
        ("mail ana.canary@empresa.example bounced", "@empresa.example bounced"),
    ],
)
def test_free_text_loses_its_secrets_and_keeps_the_rest(text: str, kept: str) -> None:
    redacted = redact_text(text)
    assert kept in redacted
    assert MASK in redacted
    for secret in ("canary", "can ary", "abc.def", "0001-90", "789-09"):
        assert secret not in redacted


@pytest.mark.parametrize(
    "text", ["Cliente não cadastrado para o código [5521].", "token expired", "timed out", "ERP: 503"]
)
def test_ordinary_errors_are_left_alone(text: str) -> None:
    assert redact_text(text) == text


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "piece", ["a", "password", "://a:", "token=", 'secret="', "1.1.1", "@", "-_", "Bearer "]
)
def test_no_text_can_make_it_slow(piece: str) -> None:
    started = time.monotonic()
    redact_text(piece * (200_000 // len(piece)))
    assert (
        time.monotonic() - started < 10
    )  # a search that grows with the square of the text would take minutes
