"""Can anything that a provider sends, or a library raises, stop the classifier or make it slow?"""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any, NoReturn

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlq_console.classify import Call, Effect, Phase, Reading, RuleSet, Verdict, VerdictClass, read
from dlq_console.classify.bodies import BODY_LIMIT, as_text, decode, parse

RULES = RuleSet.load()
CALL = Call("order.create", "omie")
OMIE = '{"faultcode":"SOAP-ENV:Client-101","faultstring":"ERROR: Código de integração [X] já cadastrado!"}'


def judged(
    body: bytes, *, status: int = 500, content_type: str = "application/json", call: Call = CALL
) -> Verdict:
    """The verdict on an answer with this body."""
    response = httpx.Response(status, content=body, headers={"Content-Type": content_type})
    error = httpx.HTTPStatusError("x", request=httpx.Request("POST", "http://127.0.0.1/"), response=response)
    verdict = RULES.judge(error, call)
    assert verdict.answer is not None
    assert len(verdict.answer.excerpt) <= 500
    return verdict


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (OMIE.encode(), "application/json"),
        (OMIE.encode("latin-1"), "application/json; charset=ISO-8859-1"),
        (OMIE.encode("cp1252"), "application/json"),  # wrong: said to be UTF-8 by its type
        (OMIE.encode("cp1252"), "application/json; charset=utf-8"),
        (OMIE.encode("utf-8-sig"), "application/json"),
        (OMIE.encode("utf-16"), "application/json; charset=utf-16"),
        (OMIE.encode(), "application/json; charset=no-such-charset"),
        (OMIE.encode(), "text/html"),
        (OMIE.encode(), ""),
        (gzip.compress(OMIE.encode()), "application/json"),
        (OMIE.replace("ó", "o\u0301").replace("ç", "c\u0327").encode(), "application/json"),
        (json.dumps(json.loads(OMIE)).encode(), "application/json"),
        (OMIE.encode()[:-2], "application/json"),  # cut short
        (OMIE.encode()[:-1] + b"garbage", "application/json"),
    ],
    ids=["utf-8", "latin-1", "cp1252", "lying", "bom", "utf-16", "unknown charset", "as html", "no type", "gzip", "nfd", "escaped",
         "cut", "garbage"],
)  # fmt: skip
def test_a_body_is_understood_in_any_charset_and_even_when_it_is_damaged(
    body: bytes, content_type: str
) -> None:
    verdict = judged(body, content_type=content_type)
    assert (verdict.class_, verdict.rule) == (VerdictClass.DUPLICATE, "omie.integration-code-exists")


def test_a_body_cut_inside_a_letter_keeps_what_came_before() -> None:
    assert decode("já não".encode()[:5], None) == "já n"


@pytest.mark.parametrize(
    "body",
    [
        b"", b"\x00", b"\xff" * 1000, b"null", b"[]", b"{}", b'"text"', b"12", b"<", b"<a>", b"<a></b>",
        b'{"faultstring": ' + b"[" * 900 + b"1" + b"]" * 900 + b"}",
        b"{" * 10_000, b"[" * 200_000, b'{"a":' * 50_000, b"<a>" * 50_000, b"\x1f\x8b garbage",
        b'{"faultstring": ' + b"9" * 5_000 + b"}", b'{"faultstring": {"a": []}}', b'{"faultcode": null, "faultstring": null}',
        b'{"faultstring": "\\ud800"}', b'{"faultstring": "\\u0000"}', b'{"faultcode": true, "faultstring": [1, [2, ["x"]]]}',
        b'<!DOCTYPE a [<!ENTITY b "c"><!ENTITY d "&b;&b;">]><a>&d;</a>',
    ],
)  # fmt: skip
def test_no_body_is_too_odd(body: bytes) -> None:
    verdict = judged(body)
    assert verdict.class_ in {VerdictClass.UNKNOWN, VerdictClass.TRANSIENT}
    assert verdict.effect is Effect.UNKNOWN
    assert verdict.answer is not None
    assert "\x00" not in verdict.answer.excerpt
    verdict.answer.excerpt.encode("utf-8")


def test_a_page_is_kept_without_its_markup() -> None:
    page = b"<html><head><style>" + b"x{}" * 10 + b"</style></head><body><h1>Bad Gateway</h1></body></html>"
    verdict = judged(page + b"<p>.</p>" * 200, status=502, content_type="text/html")
    assert verdict.rule == "http.server-error"
    assert verdict.answer is not None
    assert "Bad Gateway" in verdict.answer.excerpt
    assert "<h1>" not in verdict.answer.excerpt


def test_a_bomb_is_unpacked_no_further_than_is_looked_at() -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    assert len(decode(bomb, "application/json")) == BODY_LIMIT


def test_xml_that_defines_entities_or_is_too_deep_is_no_tree() -> None:
    assert parse('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>') is None
    assert parse("<a>" * 200 + "</a>" * 200) is None
    assert parse("<a>" + "<b/>" * 20_000 + "</a>") is None
    assert parse('<s:a xmlns:s="urn:x"><s:b>1</s:b><b>2</b></s:a>') == {"a": {"b": ["1", "2"]}}


@pytest.mark.parametrize(
    ("value", "text"),
    [(6, "6"), ("6", "6"), (6.0, "6"), (6.5, "6.5"), (" 6 ", "6"), (True, "true"), (None, None), ("", None), ({}, None), ([], None),
     (-10, "-10"), (10**300, None), ("x" * 10_000, "x" * 4_000)],
)  # fmt: skip
def test_a_code_is_the_same_as_number_and_as_text(value: object, text: str | None) -> None:
    assert as_text(value) == text


class Broken(Exception):
    """An error that cannot even be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    @property
    def response(self) -> NoReturn:
        raise RuntimeError("no")


class Endless:
    """An answer whose headers never end."""

    status_code = 500

    @property
    def headers(self) -> Any:
        return self

    def items(self) -> Any:
        while True:
            yield "a", "b"


def loop() -> BaseException:
    """An error that is its own cause."""
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    return one


def deep() -> BaseException:
    """A very long chain."""
    error: BaseException = httpx.ReadTimeout("x")
    for _ in range(50_000):
        outer = ValueError("x")
        outer.__cause__ = error
        error = outer
    return error


@pytest.mark.parametrize(
    "error",
    [
        Broken(), loop(), deep(), RuntimeError(), RuntimeError(None), RuntimeError({1: {2: object()}}), BaseException(),
        RuntimeError({}), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError(),
        ExceptionGroup("x", [ExceptionGroup("y", [Broken()])]), StopIteration(5), RuntimeError("\ud800\x00"), OSError(),
        type("Name", (Exception,), {"__module__": None})(), RecursionError("x"),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_no_error_is_too_odd(error: BaseException) -> None:
    verdict = RULES.judge(error, CALL)
    assert (verdict.class_, verdict.rule) == (VerdictClass.UNKNOWN, "none")
    assert verdict.answer is not None


def test_what_is_no_error_at_all_is_judged_too() -> None:
    for thing in (None, 5, "text", object(), Endless(), [], httpx.Response(429)):
        assert isinstance(RULES.judge(thing, CALL), Verdict)


def test_a_body_that_holds_itself_is_no_trouble() -> None:
    body: dict[str, Any] = {"faultstring": "ERROR: Produto não encontrado!"}
    endless: list[Any] = []
    endless += [endless] * 50
    body["again"], body["faultcode"] = body, endless
    assert RULES.judge(RuntimeError(body), CALL).class_ is VerdictClass.PERMANENT


# How long it takes is measured by benchmarks/verdict.py; here it must end at all.
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000, " " * 1_000_000, "a b " * 250_000, "9" * 1_000_000, "é" * 1_000_000, "[" * 1_000_000, '"\\' * 500_000,
        "wait " * 200_000, "try again in " * 80_000, "chave de acesso " * 60_000, "saldo custo nao " * 60_000, "<a " * 300_000,
        "token=" * 160_000, "00000000000" * 90_000, '{"faultstring":"' + "wait in " * 120_000, "\u0301" * 1_000_000,
        '"faultstring": ' * 70_000,
    ],
)  # fmt: skip
def test_a_hostile_megabyte_does_not_hold_up_a_worker(text: str) -> None:
    assert RULES.judge(RuntimeError(text), CALL).answer is not None
    for content_type in ("application/json", "text/html"):
        assert judged(text.encode(), content_type=content_type).answer is not None


@given(
    st.binary(max_size=2_000),
    st.integers(100, 599),
    st.sampled_from(["application/json", "text/html", "text/xml; charset=utf-16", ""]),
)
def test_no_bytes_make_it_raise(body: bytes, status: int, content_type: str) -> None:
    assert isinstance(judged(body, status=status, content_type=content_type), Verdict)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["faultcode", "faultstring", "retorno", "erros", "error", "x"]) | st.text(), inner),
    max_leaves=20,
)  # fmt: skip
PROVIDERS = [None, "omie", "tiny", "bling", "netsuite", "odoo", "sap-b1", "dataverse", "shopify", "nobody"]


@given(JSON, st.sampled_from(PROVIDERS), st.booleans())
def test_no_json_makes_it_raise(body: Any, provider: str | None, writes: bool) -> None:
    call = Call("order.create", provider, writes=writes)
    verdict = RULES.judge(RuntimeError("x", {"body": body} if not isinstance(body, dict) else body), call)
    assert verdict.wait is None or 0 <= verdict.wait < 10**10
    assert verdict.answer is not None
    assert writes or verdict.effect is not Effect.UNKNOWN


@given(st.text(), st.sampled_from(PROVIDERS))
def test_no_text_makes_it_raise(text: str, provider: str | None) -> None:
    assert isinstance(RULES.judge(RuntimeError(text), Call(text, provider)), Verdict)


@given(
    st.dictionaries(
        st.sampled_from(["Retry-After", "Date", "RateLimit-Reset", "X-RateLimit-Reset"]), st.text(max_size=60)
    )
)
def test_no_header_makes_it_raise_or_wait_for_ever(headers: dict[str, str]) -> None:
    verdict = RULES.judge_reading(Reading.of_text("", status=429, headers=headers), Call("k"))
    assert verdict.wait is not None
    assert 0 <= verdict.wait < 10**10


def test_the_provider_s_own_clock_counts_for_a_date() -> None:
    headers = {"Date": "Mon, 30 Nov 2020 10:00:00 GMT", "Retry-After": "Mon, 30 Nov 2020 10:01:30 GMT"}
    verdict = RULES.judge_reading(Reading.of_text("", status=429, headers=headers), Call("k"))
    assert (verdict.wait, verdict.wait_source) == (90, "header Retry-After")


def test_a_reading_without_anything_is_local() -> None:
    assert read(ValueError("x")).phase is Phase.LOCAL
    assert Reading().phase is Phase.LOCAL
