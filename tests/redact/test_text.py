"""What is taken out of free text: secrets behind their names, in addresses and of known shapes; personal numbers."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dlq_console.redact import MASK, redact_text
from dlq_console.redact.tax_numbers import is_tax_number

#: A text with canaries, and what of it has to stay.
HIDDEN = [
    ("Authorization: Bearer canary.def-123456", "Authorization: "),
    ("Authorization: Token canary0 was refused", "was refused"),
    ('Authorization: Digest username="x", response="canary"', "Authorization: "),
    ("{'Authorization': 'Basic Y2FuYXJ5canary', 'Accept': 'text/xml'}", "'Accept': 'text/xml'"),
    ("got Bearer canary0123 from the vault", "from the vault"),
    ("got basic canaryCanaryCanary from the vault", "from the vault"),
    ("Cookie: session=canary; other=canary\nHost: erp.example", "Host: erp.example"),
    ("Set-Cookie: id=canary; HttpOnly", "Set-Cookie: "),
    ('refused {"app_key": "canary", "code": 5521}', '"code": 5521'),
    ("refused {'app_secret': 'canary', 'code': 5521}", "'code': 5521"),
    (r'refused "{\"app_secret\": \"canary\", \"code\": 5521}"', "5521"),
    (r'refused "{\\\"clientSecret\\\": \\\"canary\\\", \\\"code\\\": 5521}"', "5521"),
    (r'password="can\"canary" of ana', " of ana"),
    ('password="canary without an end', 'password="'),
    ("password=canary&user=ana", "user=ana"),
    ("password=(canary canary) of ana", "of ana"),
    ("senha: 'can ary canary' invalid", "invalid"),
    ("senha [canary] invalid", "invalid"),
    ("[senha] => canary\n[user] => ana", "[user] => ana"),
    ("tokens: ['canary', 'canary'] were refused", "were refused"),
    ("credentials={'a': {'b': 'canary'}, 'c': 'canary'} were refused", "were refused"),
    ("secret={{canary", "secret="),
    ("client_secret%3Dcanary of ana", "of ana"),
    ("('app_secret', 'canary') of ana", "of ana"),
    ('{"name": "X-Api-Key", "value": "canary", "n": 1}', '"value": "•••", "n": 1'),
    ('<add key="Password" value="canary"/><user>ana</user>', "<user>ana</user>"),
    ("<app_secret>canary</app_secret><user>ana</user>", "<user>ana</user>"),
    ('<wsse:Password Type="Text">canary</wsse:Password><user>ana</user>', "<user>ana</user>"),
    ("<senha><![CDATA[canary]]></senha><user>ana</user>", "<user>ana</user>"),
    ("sync --password canary --user ana", "--user ana"),
    ("connect postgresql://app:canary@db/erp failed", "@db/erp failed"),
    ("connect redis://:canary@db:6379/0 failed", "@db:6379/0 failed"),
    ("clone https://canary@code.example/x failed", "@code.example/x failed"),
    ("GET https://erp.example/v1/orders?access_token=canary&page=2 failed", "page=2 failed"),
    ("GET https://erp.example/v1/orders?page=2&key=canary failed", "/v1/orders?page=2&key="),
    ("GET https://blob.example/x?sig=canary%3D&page=2 failed", "page=2 failed"),
    ("POST https://hooks.example/services/T0001CANARY/B0001/canarycanary failed", "https://hooks.example/services/"),
    ("POST https://api.example/bot123456:canarycanarycanarycanary/send failed", "/send failed"),
    ("the token eyJhbGciOiJIUzI1NiJ9.eyJjYW5hcnki.canary is too old", "is too old"),
    ("key sk_live_canarycanary is too old", "is too old"),
    ("key ghp_canarycanarycanarycanary is too old", "is too old"),
    ("-----BEGIN RSA PRIVATE KEY-----\ncanary\ncanary\n-----END RSA PRIVATE KEY-----\nof ana", "of ana"),
    ("-----BEGIN PRIVATE KEY-----\ncanary\ncanary", "-----BEGIN PRIVATE KEY-----"),
    ("A chave (APP_KEY) [canary] não é válida", "não é válida"),
    ("A chave (APP_KEY): canary não é válida", "não é válida"),
    ("wrong password canary22 of ana", "of ana"),
    ("wrong password (canary22) of ana", "of ana"),
    ("wrong password 'canary' of ana", "of ana"),
    ("app_secret is 0123canary, of ana", ", of ana"),
    ('app_secret is: "canary canary" of ana', " of ana"),
    ("a senha é 0123canary da ana", " da ana"),
    ("'app_secret' was 0123canary of ana", " of ana"),
    ("GET /x?a=Bearer%20canary%2Fcanary&page=2 failed", "page=2 failed"),
    ("GET /x?a=Bearer%20canary123%2Fcanary&page=2 failed", "page=2 failed"),
    ("GET /x?a=Bearer+canary&page=2 failed", "page=2 failed"),
    ("GET /x?a=Basic%20Y2FuYXJ5canary%3D&page=2 failed", "page=2 failed"),
    ("mail ana.canary@empresa.example bounced", "@empresa.example bounced"),
    ("mail ana.canary%40empresa.example bounced", "%40empresa.example bounced"),
    (f"mail {'canary' * 30}@empresa.example bounced", "@empresa.example bounced"),
]  # fmt: skip
NUMBERS = [
    ("CNPJ 12.345.678/0001-90 already registered", "12.345"),
    ("CNPJ 12.ABC.345/01DE-35 already registered", "12.ABC"),
    ("CNPJ [12345678000190] already registered", "12345678000190"),
    ("customer 11222333000181 already registered", "11222333000181"),
    ("customer 12ABC34501DE35 already registered", "12ABC34501DE35"),
    ("CPF 123.456.789-09 already registered", "789-09"),
    ("cpf: 12345678901 already registered", "12345678901"),
    ("customer 52998224725 already registered", "52998224725"),
]
ORDINARY = [
    "Cliente não cadastrado para o código [5521].",
    "token expired",
    "token expirado",
    "token expired at 10:30",
    "password is required",
    "password (required)",
    "password inválida",
    "a senha é inválida para o cliente 5521",
    "password must have 8 characters",
    "password is 8 characters long",
    "Invalid token. 3000 calls are left",
    "token 401 Unauthorized",
    '{"error": "bad token ", "code": 5521}',
    "GET /search?q=basic%20shirt failed",
    "timed out",
    "ERP: 503",
    "Basic authentication failed",
    "The bearer token is too old",
    "If the token is missing and x > 5 then stop",
    "order 12345678901, NF-e 12345678901234 of 2026-03-01T10:00:00Z",
    "GET https://erp.example/v1/orders?page=2 failed",
    "the key of the customer is ambiguous",
    "a@b, 3 x 5 @ 10",
    "HTTPConnectionPool(host='erp.example', port=443): Read timed out. (read timeout=5)",
]


@pytest.mark.parametrize(("text", "kept"), HIDDEN)
def test_free_text_loses_its_secrets_and_keeps_the_rest(text: str, kept: str) -> None:
    redacted = redact_text(text)
    assert kept in redacted
    assert MASK in redacted
    assert "canary" not in redacted.replace("ana.canary", "") if "%40" not in text else "ana" not in redacted
    assert redact_text(redacted) == redacted


@pytest.mark.parametrize(("text", "number"), NUMBERS)
def test_free_text_loses_tax_numbers(text: str, number: str) -> None:
    redacted = redact_text(text)
    assert number not in redacted
    assert redacted.endswith("already registered")


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_errors_are_left_alone(text: str) -> None:
    assert redact_text(text) == text


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("52998224725", True),
        ("52998224724", False),
        ("11111111111", False),
        ("11222333000181", True),
        ("11222333000180", False),
        ("12ABC34501DE35", True),
        ("12ABC34501DE36", False),
        ("1234", False),
    ],
)
def test_check_digits_tell_a_tax_number_from_another_number(text: str, is_one: bool) -> None:
    assert is_tax_number(text) is is_one


PIECES = st.sampled_from(
    ["token", "senha", "=", ": ", '"', "'", "\\", "[", "{", "}", "]", "(", "<", ">", "@", "://", "Bearer ", "eyJabcde.",
     "cookie: ", "authorization: ", "abc", "9", " ", "\n", ".", "-", "--password ", "CPF ", "52998224725", ")", " is ", " é ",
     "Bearer%20", "abc1", "&key=", MASK,
     "value", ",", "%40", "a.b", "/", "?"]
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact_text(text)
    assert redact_text(once) == once


SECRETS = st.text("abcdefXYZ0123456789+/=_-!*", min_size=1, max_size=40).map(lambda text: f"c4n4ry{text}")
SPELLINGS = [
    lambda secret: json.dumps({"a": 1, "app_secret": secret}),
    lambda secret: json.dumps(json.dumps({"a": 1, "app_secret": secret})),
    lambda secret: repr({"client_secret": secret, "b": 2}),
    lambda secret: f"https://erp.example/x?access_token={secret}&page=1",
    lambda secret: f"Authorization: Bearer {secret}",
    lambda secret: f"<senha>{secret}</senha>",
    lambda secret: f"--api-key {secret}",
    lambda secret: f"the password is {secret}",
    lambda secret: f"the app_key ({secret})",
    lambda secret: f"A chave (APP_KEY) [{secret}]",
    lambda secret: f"/x?a=Bearer%20{secret.replace('!', '.').replace('*', '.')}",
    lambda secret: f"X-Api-Key: {secret}\r\nHost: erp.example",
]


@settings(deadline=None)
@given(SECRETS, st.sampled_from(SPELLINGS), st.text(max_size=20), st.text(max_size=20))
def test_no_secret_survives_in_any_of_the_usual_spellings(
    secret: str, spell: object, before: str, after: str
) -> None:
    assert callable(spell)
    assert "c4n4ry" not in redact_text(f"{before} {spell(secret)} {after}")


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_can_be_redacted(text: str) -> None:
    redact_text(text)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "piece",
    ["a", "password", "://a:", "token=", 'secret="', "1.1.1", "@", "-_", "Bearer ", "<", "<token ", "{", "token={", "token=[",
     "eyJa", "-----BEGIN PRIVATE KEY-----", "?key=", "a@", "1", "cookie:", "authorization: a", "\\", '\\"token', "--token",
     MASK, "cpf 1", "password ", "password is ", "password a", "token (", "token '", "(token) ", "Bearer%20", "Bearer+", "Bearer%2B"],
)  # fmt: skip
def test_a_megabyte_of_anything_takes_time_that_grows_with_its_length_alone(piece: str) -> None:
    # A search that grows with the square of the text would take hours.
    redact_text(piece * (1_000_000 // len(piece)))
