"""A list as a file: all of it, in the language and zone of the person, and nothing that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from dlq_console.clock import utc_now
from dlq_console.hub import export
from dlq_console.hub.policy import Policy
from dlq_console.store.filters import EventFilter
from tests.web.desk import REFUSAL, Desk
from tests.web.visitor import Visitor

WITH_FIELDS = Policy(max_attempts=1, columns={"Customer": "customer", "Tax number": "cpf"})


def _table(text: str, separator: str) -> list[list[str]]:
    assert text.startswith("\ufeff")
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=separator))


def test_everything_that_matches_is_in_the_file_beyond_every_page(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "MAX_LIMIT", 3)
    wanted = [desk.dead(str(number)) for number in range(8)]
    desk.dead("9", kind="invoice.create")
    desk.done("10")
    answer = maria.get("/export/dead-letters.json?kind=order.create")
    assert answer.mimetype == "application/json"
    documents = json.loads(answer.text)
    assert [one["id"] for one in documents] == wanted[::-1]
    assert {one["status"] for one in documents} == {"dead"}
    oldest = json.loads(maria.get("/export/dead-letters.json?kind=order.create&sort=oldest").text)
    assert [one["id"] for one in oldest] == wanted
    assert len(json.loads(maria.get("/export/events.json").text)) == 10
    assert json.loads(maria.get("/export/events.json?entity=none").text) == []
    assert json.loads(maria.get("/export/dead-letters.json?status=done").text) == []


def test_the_json_is_what_the_api_gives(desk: Desk, maria: Visitor) -> None:
    desk.dead("1")
    (document,) = json.loads(maria.get("/export/events.json").text)
    told = {name: document[name] for name in ("entity_id", "kind", "attempt_count", "last_error")}
    assert told == {"entity_id": "1", "kind": "order.create", "attempt_count": 1, "last_error": REFUSAL}
    assert "payload" not in document


def test_a_brazilian_spreadsheet_opens_the_file(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841", error="Cliente; não cadastrado")
    desk.change(event_id, created_at=datetime(2026, 3, 1, 12, tzinfo=UTC))
    maria.language = "pt-BR"
    answer = maria.get("/export/dead-letters.csv")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="dead-letters-')
    head, row = _table(answer.data.decode(), ";")
    told = dict(zip(head, row, strict=True))
    assert told["Situação"] == "carta morta"
    assert told["Erro"] == "Cliente; não cadastrado"
    assert told["Chegada (America/Sao_Paulo)"] == "2026-03-01 09:00:00"
    maria.language = "en"
    assert _table(maria.get("/export/dead-letters.csv").data.decode(), ",")[0][1] == "State"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", " =", "\uff1d"])
def test_no_cell_is_run_as_a_formula(desk: Desk, maria: Visitor, start: str) -> None:
    desk.dead("1", error=f"{start}cmd|' /C calc'!A0")
    head, row = _table(maria.get("/export/dead-letters.csv").data.decode(), ",")
    assert row[head.index("Error")].startswith(("'", "cmd"))


def test_the_file_has_who_has_it_its_tags_and_the_fields_of_its_kind_masked(
    desk: Desk, maria: Visitor
) -> None:
    payload = {"customer": "C-5521", "cpf": "529.982.247-25"}
    event_id = desk.dead("1", payload=payload, policy=WITH_FIELDS)
    desk.hub.assign(event_id, "maria", actor="maria")
    desk.hub.tag(event_id, ["urgent", "vip"], actor="maria")
    text = maria.get("/export/dead-letters.csv?kind=order.create").data.decode()
    head, row = _table(text, ",")
    told = dict(zip(head, row, strict=True))
    assert (told["Assigned to"], told["Tags"], told["Customer"]) == ("maria", "urgent vip", "C-5521")
    assert "529" not in text
    assert "Customer" not in maria.get("/export/dead-letters.csv").text


def test_a_decimal_of_a_payload_is_a_number_in_the_spreadsheet_of_each_language(
    desk: Desk, maria: Visitor
) -> None:
    policy = Policy(max_attempts=1, columns={"Total": "total", "Change": "change"})
    desk.dead("1", payload={"total": 1500.5, "change": -3.25}, policy=policy)
    address = "/export/dead-letters.csv?kind=order.create"
    assert maria.get(address).data.decode().endswith(",1500.5,-3.25\r\n")
    maria.language = "pt-BR"
    assert maria.get(address).data.decode().endswith(";1500,5;-3,25\r\n")


def test_the_dead_letters_leave_out_what_is_snoozed_as_their_page_does(desk: Desk, maria: Visitor) -> None:
    shown, put_aside = desk.dead("1"), desk.dead("2")
    desk.hub.snooze(put_aside, utc_now() + timedelta(days=1), actor="maria")
    assert [one["id"] for one in json.loads(maria.get("/export/dead-letters.json").text)] == [shown]
    only = json.loads(maria.get("/export/dead-letters.json?snoozed=only").text)
    assert [one["id"] for one in only] == [put_aside]


def test_an_export_holds_what_the_person_may_see_and_is_on_record(app: Flask, desk: Desk) -> None:
    mine = desk.dead("1", account="filial-sp")
    desk.dead("2", account="filial-rj")
    rita = Visitor(app).enter(desk, "rita", "viewer", accounts=["filial-sp"])
    assert [one["id"] for one in json.loads(rita.get("/export/events.json?kind=order.create").text)] == [mine]
    audit = desk.hub.store.tables.audit
    with desk.hub.store.read() as connection:
        row: Any = connection.execute(select(audit).where(audit.c.action == "export")).one()
    assert (row.actor, row.subject, row.filter, row.via) == (
        "rita",
        "events.json",
        "kind=order.create",
        "console",
    )


def test_what_comes_in_during_an_export_is_not_part_of_it(desk: Desk) -> None:
    ids = [desk.dead(str(number)) for number in range(3)]
    events = export.events(desk.hub.store, EventFilter(sort="oldest"), dead_only=True)
    first = next(events)
    desk.dead("late")
    assert [first.event.id, *(one.event.id for one in events)] == ids


@pytest.mark.parametrize("path", ["/export/users.csv", "/export/events.xml", "/export/events.exe"])
def test_there_is_no_other_file(maria: Visitor, path: str) -> None:
    assert maria.get(path).status_code == 404


def test_a_filter_that_means_nothing_is_a_page_and_no_file(maria: Visitor) -> None:
    answer = maria.get("/export/events.csv?status=x")
    assert (answer.status_code, answer.mimetype) == (400, "text/html")
