"""What is masked can be seen by who may, with a reason, once; and the audit has it before they see it."""

from __future__ import annotations

import json
import re
from decimal import Decimal

import pytest
from flask import Flask

from dlq_console.errors import EventNotFound, PayloadRefused
from dlq_console.store import queries
from tests.web.desk import Desk
from tests.web.visitor import Visitor, read

PAYLOAD = {
    "number": "8841",
    "total": Decimal("12.50"),
    "customer": {"name": "Padaria", "cpf": "canary-cpf"},
    "rows": [{"sku": "A", "token": "canary-token"}],
    "address": "https://user:canary-word@erp.example/x",
}
POINTERS = ["/customer/cpf", "/rows/0/token", "/address"]


@pytest.fixture
def edith(app: Flask, desk: Desk) -> Visitor:
    """An editor, logged in, who reads English."""
    return Visitor(app).enter(desk, "edith", "editor")


def _acts(desk: Desk, event_id: int) -> list[tuple[str, str, str | None, str | None]]:
    return [(act.actor, act.action, act.subject, act.note) for act in queries.audit(desk.hub.store, event_id)]


def test_nothing_that_is_masked_is_in_the_page_before_somebody_asks(desk: Desk, edith: Visitor) -> None:
    page = edith.get(f"/events/{desk.dead(payload=PAYLOAD)}").text
    assert "canary" not in page
    assert re.findall(r'<option value="([^"]*)"', page.partition('id="reveal-path"')[2])[:3] == POINTERS
    assert page.count('href="#reveal-note"') == 2


@pytest.mark.parametrize(("pointer", "value"), [(POINTERS[0], "canary-cpf"), (POINTERS[1], "canary-token")])
def test_a_masked_field_is_shown_once_and_written_down(
    desk: Desk, edith: Visitor, pointer: str, value: str
) -> None:
    event_id = desk.dead(payload=PAYLOAD)
    edith.get(f"/events/{event_id}")
    answer = edith.post(f"/events/{event_id}/reveal", place=pointer, note="asked by the customer")
    assert (answer.status_code, answer.headers["Cache-Control"]) == (200, "no-store")
    assert answer.text.count(value) == 1
    assert re.findall(r"canary-\w+", answer.text) == [value]
    assert _acts(desk, event_id) == [("edith", "reveal", f"payload{pointer}", "asked by the customer")]
    assert f"edith looked at what is hidden: payload{pointer}" in read(answer.text)
    assert "canary" not in edith.get(f"/events/{event_id}").text
    assert edith.get(f"/events/{event_id}/reveal").status_code == 303


@pytest.mark.parametrize("address", ["reveal", "payload.json"])
def test_without_a_reason_nothing_is_shown_and_nothing_written(
    desk: Desk, edith: Visitor, address: str
) -> None:
    event_id = desk.dead(payload=PAYLOAD)
    for note in ("", "  \n "):
        answer = edith.post(f"/events/{event_id}/{address}", place="/customer/cpf", note=note)
        assert answer.status_code == 400
        assert "canary" not in answer.text
    assert _acts(desk, event_id) == []


@pytest.mark.parametrize("pointer", ["/customer/nothing", "/rows/1", "/rows/x", "customer", "/" + "9" * 3000])
def test_a_place_that_is_not_there_is_refused(desk: Desk, edith: Visitor, pointer: str) -> None:
    event_id = desk.dead(payload=PAYLOAD)
    answer = edith.post(f"/events/{event_id}/reveal", place=pointer, note="why")
    assert answer.status_code == 400
    assert _acts(desk, event_id) == []


@pytest.mark.parametrize("pointer", ["/number", "/rows"])
def test_a_place_where_nothing_is_masked_is_refused(desk: Desk, edith: Visitor, pointer: str) -> None:
    """Else the audit would say that somebody looked at what is hidden, and nothing was."""
    event_id = desk.dead(payload=PAYLOAD | {"number": "8841", "rows": [1, 2]})
    for language, sentence in (
        ("en", "Nothing is hidden at this place; the page shows it."),
        ("pt-BR", "Nada está oculto neste lugar; a página o mostra."),
    ):
        edith.language = language
        answer = edith.post(f"/events/{event_id}/reveal", place=pointer, note="why")
        assert (answer.status_code, sentence in read(answer.text)) == (400, True)
    assert _acts(desk, event_id) == []


def test_an_operator_is_offered_nothing_and_refused(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead(payload=PAYLOAD)
    page = maria.get(f"/events/{event_id}").text
    assert "reveal-note" not in page
    for place in ("reveal", "payload.json"):
        answer = maria.post(f"/events/{event_id}/{place}", place="/customer/cpf", note="why")
        assert (answer.status_code, "canary" in answer.text) == (403, False)
    assert _acts(desk, event_id) == []


def test_an_event_of_another_account_is_not_there(app: Flask, desk: Desk) -> None:
    event_id = desk.dead(payload=PAYLOAD, account="filial-rj")
    rita = Visitor(app).enter(desk, "rita", "editor", ["filial-sp"])
    assert rita.get(f"/events/{event_id}/payload.json").status_code == 404
    for place in ("reveal", "payload.json"):
        answer = rita.post(f"/events/{event_id}/{place}", place="/customer/cpf", note="why")
        assert (answer.status_code, "canary" in answer.text) == (404, False)


def test_the_file_is_masked_for_everybody_unless_they_ask_with_a_reason(
    desk: Desk, edith: Visitor, vera: Visitor
) -> None:
    event_id = desk.dead(payload=PAYLOAD)
    for visitor in (edith, vera):
        answer = visitor.get(f"/events/{event_id}/payload.json")
        assert answer.mimetype == "application/json"
        assert answer.headers["Content-Disposition"] == f'attachment; filename="event-{event_id}.json"'
        assert "canary" not in answer.text
        assert json.loads(answer.text)["customer"] == {"name": "Padaria", "cpf": "•••"}
    assert _acts(desk, event_id) == []
    answer = edith.post(f"/events/{event_id}/payload.json", note="for the auditor")
    assert json.loads(answer.text) == PAYLOAD | {"total": 12.5}
    assert '"total": 12.50,' in answer.text
    assert _acts(desk, event_id) == [("edith", "reveal", "payload", "for the auditor")]


def test_the_hub_refuses_what_pages_refuse(desk: Desk) -> None:
    event_id = desk.dead(payload=PAYLOAD)
    assert desk.hub.reveal(event_id, "/rows/0", actor="edith", note="why") == PAYLOAD["rows"][0]  # type: ignore[index]
    with pytest.raises(EventNotFound):
        desk.hub.reveal(event_id + 1, "", actor="edith", note="why")
    with pytest.raises(PayloadRefused, match="say why"):
        desk.hub.reveal(event_id, "", actor="edith", note=" ")
