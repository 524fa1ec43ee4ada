"""A filter that is not taken: told in the language of the page, marked in its field, all else in the form as it was."""

from __future__ import annotations

import json
import re
from html import unescape
from urllib.parse import quote

import pytest

from dlq_console.hub.policy import Policy
from dlq_console.store.filters import VERDICTS
from dlq_console.web.visible import visible
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, read

#: What is asked for, the field that is wrong, what stands in it, and what is said in Portuguese.
WRONG = [
    ("attempts=abc", "attempts", "abc", "Tentativas: escreva um número, como 3 para exatamente três,"),
    ("since=tomorrow", "since", "tomorrow", "Quando: escreva um número e m, h, d ou w"),
    ("from=abc", "from", "abc", "De: isto não é um horário;"),
    ("to=9999-12-31T10:00", "to", "9999-12-31T10:00", "Até (ir a um momento): escreva um horário entre"),
    ("from=2026-03-02T08:00&to=2026-03-01T08:00", "from", "2026-03-02T08:00", "De: precisa ser antes do fim"),
    ("class=transient&class=abc", "class", "abc", "Entendido como: o que foi pedido não está entre as opções;"),
    ("reason=abc", "reason", "abc", "Motivo: o que foi pedido não está entre as opções;"),
    ("snoozed=abc", "snoozed", "abc", "Adiados: o que foi pedido não está entre as opções;"),
    ("tag=a%01b", "tag", "a\x01b", "Etiqueta: o texto tem um caractere que não aparece;"),
    ("q=" + "x" * 201, "q", "x" * 201, "Texto do erro: o texto tem mais de 200 caracteres;"),
    ("assignee=" + "x" * 201, "assignee", "x" * 201, "Responsável: o texto tem mais de 200 caracteres;"),
    ("payload_path=a..b&payload_value=1", "payload_path", "a..b", "Campo do conteúdo: escreva até dez nomes"),
    ("payload_value=1", "payload_path", "", "Um campo do conteúdo e o seu valor"),
    ("payload.number=a%01b", "payload.number", "a\x01b", "o texto tem um caractere que não aparece;"),
]  # fmt: skip
AUDIT = [
    ("from=abc", "from", "abc", "De: isto não é um horário;"),
    ("event=abc", "event", "abc", "Id do evento: escreva o número de um evento."),
    ("actor=" + "x" * 500, "actor", "x" * 500, "Quem: o texto tem mais de 200 caracteres;"),
    ("action=a%01b", "action", "a\x01b", "Ação: o texto tem um caractere que não aparece;"),
]


def _marked(page: str) -> dict[str, str]:
    """The one field that is marked as wrong."""
    fields = [tag for _, tag in Tags(page).found if tag.get("aria-invalid") == "true"]
    assert len(fields) == 1, fields
    return fields[0]


def _typed(page: str, field: dict[str, str]) -> str:
    chosen = re.search(rf'<select name="{field["name"]}".*?<option value="([^"]*)" selected', page)
    return field["value"] if "value" in field else unescape(chosen[1] if chosen else "")


def _described(page: str, field: dict[str, str]) -> str:
    return read(page.partition(f'<p id="{field["aria-describedby"]}">')[2].partition("</p>")[0])


@pytest.mark.parametrize("path", ["/dead-letters", "/events"])
@pytest.mark.parametrize(("query", "name", "typed", "sentence"), WRONG, ids=lambda text: text[:12])
def test_a_field_that_is_not_taken_is_marked_and_every_other_one_is_kept(
    desk: Desk, maria: Visitor, path: str, query: str, name: str, typed: str, sentence: str
) -> None:
    event_id = desk.dead("1", policy=Policy(max_attempts=1, columns={"Order": "number"}))
    desk.hub.publish_kinds("worker")
    maria.language = "pt-BR"
    answer = maria.get(f"{path}?kind=order.create&entity=8841&sort=oldest&group=f1-1&{query}")
    assert answer.status_code == 400
    page = answer.text.partition("<main")[2]
    field = _marked(page)
    assert (field["name"], _typed(page, field)) == (name, visible(typed))
    assert sentence in _described(page, field)
    assert 'lang="en"' not in page, "no sentence of the store"
    assert f"row-{event_id}" not in page, "without the filter that was meant more would match"
    form = unescape(page.partition("<form")[2].partition("</form>")[0])
    for kept in ('value="8841"', 'name="sort" value="oldest"', 'name="group" value="f1-1"'):
        assert kept in form
    assert "order.create" in form
    if name in ("class", "attempts", "payload_path", "snoozed", "since"):
        assert '<details class="menu facet to-right" open>' in form, "nothing that is marked is folded away"
    if "class=transient" in query:
        assert 'value="transient" checked' in form


def test_the_field_of_a_column_is_called_as_the_kind_calls_it(desk: Desk, maria: Visitor) -> None:
    desk.dead("1", policy=Policy(max_attempts=1, columns={"Order": "number"}))
    desk.hub.publish_kinds("worker")
    page = maria.get("/dead-letters?kind=order.create&payload.number=a%01b").text
    assert _described(page, _marked(page)).startswith("Order: ")


def test_all_that_is_wrong_is_told_at_once(maria: Visitor) -> None:
    page = maria.get("/dead-letters?attempts=x&since=x&class=x").text
    marked = [tag for _, tag in Tags(page).found if tag.get("aria-invalid") == "true"]
    assert {tag["name"] for tag in marked} == {"attempts", "since", "class"}
    assert len({_described(page, tag) for tag in marked}) == 3


@pytest.mark.parametrize(("query", "name", "typed", "sentence"), AUDIT)
def test_the_audit_calls_its_fields_by_their_own_names(
    desk: Desk, maria: Visitor, query: str, name: str, typed: str, sentence: str
) -> None:
    maria.language = "pt-BR"
    answer = maria.get(f"/audit?{query}&account=filial-sp&people=1")
    assert answer.status_code == 400
    page = answer.text.partition("<main")[2]
    field = _marked(page)
    assert (field["name"], _typed(page, field)) == (name, visible(typed))
    assert sentence in _described(page, field)
    assert 'name="account" value="filial-sp"' in page
    assert 'name="people" value="1" checked' in page
    assert '<a href="/audit">Limpar o filtro</a>' in page


def test_groups_keep_the_form_too(maria: Visitor) -> None:
    for query in ("since=x", "cursor=-1", "q=" + "x" * 201):
        answer = maria.get(f"/groups?kind=order.create&{query}")
        assert answer.status_code == 400
        assert 'name="kind" value="order.create"' in answer.text
        assert 'role="alert"' in answer.text.partition("<main")[2]
        assert "cannot be understood" in read(answer.text)


def test_a_place_that_no_list_has_is_told_and_the_list_can_be_asked_for_again(maria: Visitor) -> None:
    for path in ("/dead-letters", "/events", "/groups", "/audit"):
        answer = maria.get(f"{path}?cursor=x&account=filial-sp")
        assert answer.status_code == 400
        assert "This list has no such page; it begins at its start." in read(answer.text)
        assert 'value="filial-sp"' in answer.text, path


def test_a_time_that_was_written_as_one_stays_in_the_calendar_and_any_other_text_is_shown(
    maria: Visitor,
) -> None:
    for asked, kind in (
        ("from=2026-03-02T08:00&to=2026-03-01T08:00", "datetime-local"),
        ("from=2026-02-31T08:00", "text"),
        ("from=soon", "text"),
    ):
        assert _marked(maria.get(f"/dead-letters?{asked}").text)["type"] == kind


def test_a_part_of_a_page_names_the_field_to_be_marked(maria: Visitor) -> None:
    maria.language = "pt-BR"
    for query, field in (
        ("attempts=abc", "attempts"),
        ("payload_path=a..b&payload_value=1", "payload_path"),
        ("payload_path=a", "payload_value"),
    ):
        answer = maria.glance(f"/_f/dead-letters?{query}")
        assert (answer.status_code, answer.headers["HX-Retarget"]) == (400, "#problem")
        assert json.loads(answer.headers["HX-Trigger"]) == {"notTaken": field}
        assert 'lang="en"' not in answer.text


def test_more_wrong_fields_than_anybody_writes_are_refused_all_the_same(maria: Visitor) -> None:
    answer = maria.get("/dead-letters?" + "&".join(f"nothing{number}=x" for number in range(500)))
    assert answer.status_code == 400
    assert "There is no filter “" in read(answer.text)


def test_what_was_written_is_only_text(maria: Visitor) -> None:
    script = "<script>alert(1)</script>"
    for name in ("attempts", "since", "class", "reason", "q", "from", "payload_path", script):
        page = maria.get(f"/dead-letters?{quote(name)}={quote(script)}%01").text
        assert "<script>alert" not in page


def test_spans_are_called_by_their_own_words(maria: Visitor) -> None:
    for language, words in (
        ("pt-BR", ("última hora", "últimas 4 horas", "último dia", "últimos 2 dias", "últimos 30 dias")),
        ("en", ("last hour", "last 4 hours", "last day", "last 2 days", "last 30 days")),
    ):
        maria.language = language
        text = read(maria.get("/dead-letters").text)
        assert " ".join(words[:4]) in text
        assert words[4] in text
    maria.language = "pt-BR"
    assert "Quando: últimos 90 minutos" in read(maria.get("/dead-letters?since=90m").text)
    assert "Quando: últimos 14 dias" in read(maria.get("/events?since=2w").text)


def test_the_verdicts_are_offered_beside_what_was_not_taken(maria: Visitor) -> None:
    page = maria.get("/dead-letters?class=abc").text
    offered = [tag["value"] for tag in Tags(page).named("input") if tag.get("name") == "class"]
    assert offered == ["abc", *VERDICTS]
