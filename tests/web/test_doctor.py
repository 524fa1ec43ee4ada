"""Does the page of the doctor show what was found, to whom it may, and how old that is?"""

from __future__ import annotations

import pytest
from flask import Flask

from dlq_console.health.findings import ASKED, BROKER, DOCTOR, FOUND, TOTAL, Finding, Level, to_values
from dlq_console.health.spelling import ACCOUNTS
from dlq_console.store import snapshots
from dlq_console.web import health_seen
from dlq_console.web.doctor import AWAITED
from dlq_console.web.health_probes import SILENT
from dlq_console.workers import steps
from tests.web.desk import Desk
from tests.web.visitor import Visitor, path_of, read

PAGE = "/health/doctor"
FULL = Finding(
    id="redis_full",
    level=Level.FAULT,
    figures={"place": "127.0.0.1:6379", "percent": 91},
    command="redis-cli -h 127.0.0.1 -p 6379 INFO memory",
)
UNSERVED = Finding(id="accounts_unserved", figures={"number": 2}, accounts=("filial-sp", "<b>filial</b>"))


def _keep(desk: Desk, *findings: Finding) -> None:
    snapshots.keep(desk.hub.store, DOCTOR, {FOUND: to_values(findings)})


def test_findings_are_shown_the_worst_first_with_their_cure(desk: Desk, maria: Visitor) -> None:
    _keep(desk, UNSERVED, FULL)
    page = maria.get(PAGE)
    text = read(page.text)
    assert "1 fault must be repaired. 1 thing may hurt one day." in text
    assert text.index("has used 91 percent of its memory") < text.index("no living worker serves")
    assert "When it is full it refuses messages" in text
    assert "redis-cli -h 127.0.0.1 -p 6379 INFO memory" in text
    assert "<b>filial</b>" not in page.text


def test_page_speaks_portuguese(app: Flask, desk: Desk) -> None:
    _keep(desk, FULL)
    text = read(Visitor(app, language="pt-BR").enter(desk, "maria", "operator").get(PAGE).text)
    assert "1 falha precisa ser corrigida." in text
    assert "O Redis em 127.0.0.1:6379 usou 91 por cento da memória." in text


def test_nothing_found_and_nobody_looked_are_different_words(desk: Desk, maria: Visitor) -> None:
    assert "Nobody has looked yet" in read(maria.get(PAGE).text)
    _keep(desk)
    assert "Nothing was found. All is as it should be." in read(maria.get(PAGE).text)


def test_old_findings_say_that_they_are_old(desk: Desk, maria: Visitor) -> None:
    _keep(desk, FULL)
    assert "too long ago to be true now" not in read(maria.get(PAGE).text)
    desk.hub.clock.advance(3_600)
    assert "too long ago to be true now" in read(maria.get(PAGE).text)


def test_nothing_is_called_whole_while_nobody_runs_the_steps(
    app: Flask, desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health_seen, "FRESH_FOR", 0.0)
    _keep(desk)
    snapshots.keep(desk.hub.store, ACCOUNTS, {})
    desk.hub.clock.advance(SILENT - 5)
    assert "Nothing was found." in read(maria.get(PAGE).text)
    desk.hub.clock.advance(10)
    text = read(maria.get(PAGE).text)
    assert "Nobody looks: no worker or scheduler has been seen since" in text
    assert "Nothing was found." not in text
    assert "No periodic step has run for 1 minutes." in text
    assert "dlq-console scheduler" in text
    assert app.test_client().get("/readyz").status_code == 503
    snapshots.keep(desk.hub.store, ACCOUNTS, {})
    assert "Nothing was found." in read(maria.get(PAGE).text)


def test_a_request_that_nobody_answers_is_told_and_can_be_made_again(desk: Desk, maria: Visitor) -> None:
    _keep(desk)
    desk.hub.clock.advance(1)
    maria.post(f"{PAGE}/again")
    assert "Nobody has answered the request of" not in read(maria.get(PAGE).text)
    desk.hub.clock.advance(AWAITED + 1)
    answer = maria.glance(f"{PAGE}/found", page=PAGE)
    assert answer.status_code == 200
    assert "Nobody has answered the request of" in read(answer.text)
    assert "Check again" in read(answer.text)
    steps.examine(desk.hub)
    assert "Nobody has answered the request of" not in read(maria.get(PAGE).text)


def test_another_look_is_asked_for_and_made_by_a_step(desk: Desk, maria: Visitor) -> None:
    _keep(desk, FULL)
    desk.hub.clock.advance(1)
    answer = maria.post(f"{PAGE}/again")
    assert (answer.status_code, path_of(answer)) == (303, PAGE)
    assert "Another look was asked for" in read(maria.get(PAGE).text)
    assert maria.glance(f"{PAGE}/found", page=PAGE).status_code == 204
    desk.hub.clock.advance(1)
    steps.examine(desk.hub)
    shown = maria.glance(f"{PAGE}/found", page=PAGE)
    assert shown.status_code == 200
    assert "has used 91 percent" not in read(shown.text)
    assert snapshots.look(desk.hub.store, ASKED).values == {"by": "maria"}


def test_viewers_may_neither_look_nor_ask(vera: Visitor) -> None:
    assert vera.get(PAGE).status_code == 403
    assert vera.post(f"{PAGE}/again").status_code == 403


def test_accounts_of_others_are_neither_named_nor_counted(app: Flask, desk: Desk) -> None:
    rosa = Visitor(app).enter(desk, "rosa", "operator", accounts=["filial-sp"])
    _keep(
        desk,
        UNSERVED,
        Finding(id="lanes_stopped", figures={"number": 1}, accounts=("filial-rj",)),
        Finding(id="queue_missing", figures={"queue": "erp.filial-rj", "number": 4}),
        Finding(id="growth", figures={"came": 9, "ended": 1}, accounts=("filial-sp", "filial-rj")),
    )
    text = read(rosa.get(PAGE).text)
    assert "filial-sp" in text
    assert "that no living worker serves: 1." in text
    assert "a lane stands still" not in text
    assert "<b>filial</b>" not in text
    assert "erp." not in text
    assert "more has come than ended" not in text
    assert "filial-rj" not in text


def test_broker_that_is_away_keeps_its_figures_with_their_age(desk: Desk, maria: Visitor) -> None:
    desk.hub.settings = desk.hub.settings.model_copy(update={"broker_url": "redis://127.0.0.1:1/0"})
    assert "The broker could not be asked yet." in read(maria.get(PAGE).text)
    total = {"ready": 7, "unacked": 1, "sent": 6, "running": 0, "difference": 2, "complete": True}
    snapshots.keep(desk.hub.store, BROKER, {TOTAL: total})
    assert "In the broker: 7 waiting, 1 held by workers. By the table: 6 sent, 0 running." in read(
        maria.get(PAGE).text
    )
    snapshots.keep_away(desk.hub.store, BROKER, "refused")
    assert "The broker does not answer since" in read(maria.get(PAGE).text)
