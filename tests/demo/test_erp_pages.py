"""A person fixes a record on the pages of the simulated ERP, in either language and with any name."""

from __future__ import annotations

import string
from html.parser import HTMLParser

import pytest

from dlq_console.demo.erp import SimulatedErp
from dlq_console.demo.erp_temper import Temper
from dlq_console.demo.erp_words import WORDS, describe
from tests.demo.erp_client import PLAIN, call, send, submit

HOSTILE = "<script>alert(1)</script>\"'&{{7*7}}"


class _Forms(HTMLParser):
    """Collects every form of a page: its address and the fields it would send."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append((values["action"], {}))
        elif tag in {"input", "button"} and "name" in values:
            self.forms[-1][1][values["name"]] = values.get("value", "")


def _forms(page: str, ending: str) -> list[tuple[str, dict[str, str]]]:
    parser = _Forms()
    parser.feed(page)
    return [form for form in parser.forms if form[0].endswith(ending)]


def test_registering_the_missing_customer_lets_the_same_order_through() -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        assert send(erp.url, "orders", customer_code="5", customer_name="Padaria Arara Azul").status == 500

        (action, fields) = _forms(call(erp.url, "GET", "/").text, "/register")[0]
        answer = submit(erp.url, action, **fields)
        assert answer.status == 303
        page = call(erp.url, "GET", answer.headers["Location"]).text

        assert "Cliente 5 cadastrado." in page
        assert "Nenhum cliente falta agora." in page
        assert send(erp.url, "orders", customer_code="5").status == 200


def test_a_hostile_customer_is_shown_as_text_and_registered_as_it_is_called() -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        send(erp.url, "orders", key=HOSTILE, customer_code=HOSTILE, customer_name=HOSTILE)
        page = call(erp.url, "GET", "/plain").text
        (action, fields) = _forms(page, "/register")[0]
        answer = submit(erp.url, action, **fields)
        after = call(erp.url, "GET", answer.headers["Location"]).text

        assert HOSTILE in erp.desk.books.customers("plain")
        assert "<script" not in page + after
        assert "&lt;script&gt;" in page
        assert "&lt;script&gt;" in after
        assert "{{7*7}}" in page


def test_a_customer_without_a_name_in_the_order_can_still_be_registered() -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        send(erp.url, "orders", customer_code="5")
        (action, fields) = _forms(call(erp.url, "GET", "/").text, "/register")[0]

        assert submit(erp.url, action, **fields).status == 303


@pytest.mark.parametrize(("code", "name"), [("", "x"), ("5", " "), ("5" * 101, "x"), ("5", "x" * 101)])
def test_a_registration_without_a_fit_code_and_name_is_refused_in_words(code: str, name: str) -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        before = erp.desk.books.customers("plain")
        answer = submit(erp.url, "/plain/register", code=code, name=name, lang="en")

        assert answer.status == 400
        assert "The customer was not registered" in answer.text
        assert erp.desk.books.customers("plain") == before


def test_the_page_says_a_customer_is_registered_only_when_that_is_true() -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        assert "cadastrado. Agora" not in call(erp.url, "GET", "/plain?registered=5").text


def test_the_outage_button_puts_an_account_out_of_service_and_back() -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        for status in (503, 200):
            (action, fields) = _forms(call(erp.url, "GET", "/").text, "/outage")[0]
            assert submit(erp.url, action, **fields).status == 303
            assert send(erp.url).status == status


@pytest.mark.parametrize(
    ("path", "accepted", "title"),
    [
        ("/", "", "ERP simulado"),
        ("/", "en-GB,en;q=0.8", "Simulated ERP"),
        ("/", "pt-BR,en;q=0.5", "ERP simulado"),
        ("/", "pt-PT,en;q=0.5", "ERP simulado"),
        ("/", "fr", "ERP simulado"),
        ("/?lang=en", "pt-BR", "Simulated ERP"),
        ("/plain?lang=xx", "en", "Simulated ERP"),
    ],
)
def test_pages_speak_the_language_of_the_reader(path: str, accepted: str, title: str) -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        page = call(erp.url, "GET", path, headers={"Accept-Language": accepted}).text

        assert f"<title>{title}" in page


def test_a_chosen_language_stays_through_forms_and_links() -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        send(erp.url, "orders", customer_code="5", customer_name="Padaria Arara Azul")
        page = call(erp.url, "GET", "/?lang=en").text
        (action, fields) = _forms(page, "/register")[0]

        assert 'href="/plain?lang=en"' in page
        assert submit(erp.url, action, **fields).headers["Location"].endswith("lang=en")


def _places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("name", WORDS)
def test_every_sentence_exists_in_both_languages_with_the_same_places(name: str) -> None:
    portuguese, english = WORDS[name]

    assert portuguese
    assert english
    assert _places(portuguese) == _places(english)


def test_a_temper_is_described_by_its_own_figures() -> None:
    temper = Temper(latency=0.25, hang_rate=0.065, hang=12, calls_per_window=5, window=10, deduplicates=False)

    assert describe(temper, "en") == [
        "answers within 0.25 s",
        "takes 5 calls in 10 s; beyond that, 429",
        "6.5 % of calls hang for 12 s, without effect",
        "does not recognise repeats: each is a second effect",
    ]
    assert describe(temper, "pt")[0] == "responde em 0,25 s"


def test_the_page_of_an_account_says_what_it_blocks_and_how_often_it_was_called_meanwhile() -> None:
    with SimulatedErp({"plain": Temper(latency=0, block_after=1)}) as erp:
        for key in "abc":
            send(erp.url, "orders", key=key, customer_code="5")
        page = call(erp.url, "GET", "/plain?lang=en").text

        assert "■ blocked: order" in page
        assert "after 1 refusals within 600 s it blocks that kind of call for 45 s" in page
        assert "<dt>Calls during a block</dt><dd>1</dd>" in page


def test_forms_of_other_sites_and_other_host_names_are_refused() -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        for origin in ("http://elsewhere.example", "null"):
            headers = {"Origin": origin, "Content-Type": "application/x-www-form-urlencoded"}
            assert call(erp.url, "POST", "/plain/outage", "state=start", headers).status == 403
        assert call(erp.url, "GET", "/", headers={"Host": "elsewhere.example"}).status == 400
        assert send(erp.url).status == 200


def test_pages_allow_no_script_and_no_inline_style() -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        page = call(erp.url, "GET", "/plain")

        assert page.headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self';")
        assert "style=" not in page.text
        assert "<style" not in page.text
        assert call(erp.url, "GET", "/static/erp.css").status == 200


def test_the_page_of_a_refused_order_says_why_and_registers_its_customer_there() -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        for key in ("8841", "8842"):
            send(erp.url, "orders", key=key, customer_code="5", customer_name="Padaria Arara Azul")
        address = "/plain/records/orders/8841?lang=en"
        page = call(erp.url, "GET", address).text
        assert "The ERP does not hold it." in page
        assert "Cliente não cadastrado para o código [5]." in page

        (action, fields) = _forms(page, "/register")[0]
        assert submit(erp.url, action, **fields).status == 303
        page = call(erp.url, "GET", address).text
        assert "The customer is registered by now." in page
        assert _forms(page, "/register") == []

        send(erp.url, "orders", key="8841", customer_code="5")
        page = call(erp.url, "GET", address).text
        assert "The ERP holds it as document plain/1." in page
        assert "Cliente não cadastrado" not in page


def test_the_page_of_a_customer_says_under_which_name_it_is_registered() -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        erp.desk.books.register("plain", "5", HOSTILE)
        page = call(erp.url, "GET", "/plain/records/customers/5?lang=en").text

        assert "It is registered as &lt;script&gt;" in page
        assert "does not hold it" in call(erp.url, "GET", "/plain/records/customers/6?lang=en").text


@pytest.mark.parametrize("path", ["/nowhere/records/orders/1", "/plain/records/nothing/1"])
def test_a_record_of_no_account_or_kind_has_no_page(path: str) -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        assert call(erp.url, "GET", path).status == 404
