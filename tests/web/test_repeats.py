"""A form that is sent twice, by a double click or by Back: one effect, and the answer of the first time."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask

from dlq_console.clock import utc_now
from dlq_console.hub import bulk_progress
from dlq_console.hub.policy import Policy
from dlq_console.store import desk as marked
from dlq_console.store import groups, queries
from dlq_console.web.moments import usual
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, path_of, read

#: The pages are the same on both engines; what decides who comes second is looked at on each.
both_engines = pytest.mark.parametrize("database_url", ["sqlite_url", "postgres_url"], indirect=True)

Form = dict[str, str]
_IN_LANES = Policy(max_attempts=1, order="key", on_dead="block")


def _ahead(hours: int) -> str:
    return (utc_now() + timedelta(hours=hours)).isoformat(timespec="minutes")


_TOMORROW = _ahead(24)


def _seen(visitor: Visitor, event_id: int) -> str:
    page = visitor.get(f"/events/{event_id}").text
    found = re.search(r'name="seen" value="(\d+)"', page)
    assert found is not None
    return found[1]


def _acts(desk: Desk, event_id: int) -> list[str]:
    return [entry.action for entry in queries.audit(desk.hub.store, event_id)]


def _to_be_reprocessed(desk: Desk) -> int:
    return desk.dead("8841")


def _to_be_restored(desk: Desk) -> int:
    event_id = desk.dead("8841")
    desk.hub.discard(event_id, actor="joana", note="cancelled")
    return event_id


def _to_be_cancelled(desk: Desk) -> int:
    event_id = desk.dead("8841")
    desk.hub.reprocess(event_id, actor="joana", after=3_600)
    return event_id


ACTS = [
    ("reprocess", _to_be_reprocessed, {"note": "registered"}, "pending"),
    ("reprocess", _to_be_reprocessed, {}, "pending"),
    ("discard", _to_be_reprocessed, {"note": "cancelled"}, "discarded"),
    ("restore", _to_be_restored, {}, "dead"),
    ("cancel-send", _to_be_cancelled, {}, "dead"),
]


@both_engines
@pytest.mark.parametrize(("verb", "made", "form", "status"), ACTS)
def test_an_act_that_is_sent_twice_is_done_once_and_leads_to_the_event_both_times(
    desk: Desk, maria: Visitor, verb: str, made: Callable[[Desk], int], form: Form, status: str
) -> None:
    event_id = made(desk)
    before = len(_acts(desk, event_id))
    sent = form | {"seen": _seen(maria, event_id)}
    answers = [maria.post(f"/events/{event_id}/{verb}", **sent) for _ in range(2)]
    assert [(one.status_code, path_of(one)) for one in answers] == [(303, f"/events/{event_id}")] * 2
    assert maria.htmx(f"/events/{event_id}/{verb}", **sent).status_code == 200
    assert len(_acts(desk, event_id)) == before + 1
    assert desk.hub.get(event_id).status == status


@pytest.mark.parametrize(("verb", "made", "form", "status"), ACTS)
def test_an_act_that_somebody_else_has_done_says_who(
    app: Flask, desk: Desk, maria: Visitor, verb: str, made: Callable[[Desk], int], form: Form, status: str
) -> None:
    rita = Visitor(app).enter(desk, "rita", "operator")
    event_id = made(desk)
    sent = form | {"seen": _seen(maria, event_id)}
    rita.get(f"/events/{event_id}")
    assert rita.post(f"/events/{event_id}/{verb}", **sent).status_code == 303
    answer = maria.post(f"/events/{event_id}/{verb}", **sent)
    assert answer.status_code == 409
    assert "rita " in read(answer.text)
    assert desk.hub.get(event_id).status == status


def test_another_note_is_not_taken_for_the_same_form(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    sent = {"seen": _seen(maria, event_id)}
    assert maria.post(f"/events/{event_id}/reprocess", **sent).status_code == 303
    answer = maria.post(f"/events/{event_id}/reprocess", note="typed in vain?", **sent)
    assert answer.status_code == 409
    assert "typed in vain?</textarea>" in answer.text


def test_another_time_is_not_taken_for_the_same_form(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    sent = {"seen": _seen(maria, event_id), "at": _ahead(5)}
    for _ in range(2):
        assert maria.post(f"/events/{event_id}/reprocess", **sent).status_code == 303
    for other in (_ahead(6), ""):
        answer = maria.post(f"/events/{event_id}/reprocess", **(sent | {"at": other}))
        assert answer.status_code == 409, other


def test_a_form_from_before_it_died_again_reprocesses_nothing_and_says_so(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    sent = {"seen": _seen(maria, event_id)}
    maria.post(f"/events/{event_id}/reprocess", **sent)
    assert desk.hub.run(event_id).status == "dead"
    answer = maria.post(f"/events/{event_id}/reprocess", **sent)
    assert answer.status_code == 409
    assert "maria reprocessed it." in read(answer.text)
    assert desk.hub.get(event_id).status == "dead"


def test_what_the_team_puts_beside_an_event_does_not_make_a_form_another_one(
    desk: Desk, maria: Visitor
) -> None:
    event_id = desk.dead("8841")
    sent = {"seen": _seen(maria, event_id)}
    maria.post(f"/events/{event_id}/reprocess", **sent)
    desk.hub.add_note(event_id, "called them", actor="joana")
    assert maria.post(f"/events/{event_id}/reprocess", **sent).status_code == 303


def test_a_lane_that_was_let_go_twice_moves_once(desk: Desk, maria: Visitor) -> None:
    head = desk.dead("1", policy=_IN_LANES, ordering_key="sku")
    behind = [desk.add(entity, ordering_key="sku") for entity in ("2", "3")]
    desk.answers["2"] = TimeoutError("timed out")
    maria.get(f"/events/{behind[0]}")
    for _ in range(2):
        answer = maria.post(f"/events/{behind[0]}/skip-lane", head=str(head))
        assert (answer.status_code, path_of(answer)) == (303, f"/events/{behind[0]}")
    assert _acts(desk, head) == ["skip_lane"]
    assert _acts(desk, behind[0]) == []


@both_engines
@pytest.mark.parametrize(
    ("verb", "form", "action"),
    [
        ("assign", {"to": "maria", "seen": ""}, "assign"),
        ("tag", {"tags": "urgent, vip", "seen": ""}, "tag"),
        ("notes", {"note": "called them", "form": "one-form"}, "note"),
        ("snooze", {"until": _TOMORROW}, "snooze"),
    ],
)
def test_what_is_put_on_a_desk_twice_is_there_once(
    desk: Desk, maria: Visitor, verb: str, form: Form, action: str
) -> None:
    event_id = desk.dead("8841")
    maria.get(f"/events/{event_id}")
    for _ in range(2):
        answer = maria.post(f"/events/{event_id}/{verb}", **form)
        assert (answer.status_code, path_of(answer)) == (303, f"/events/{event_id}#desk")
    assert maria.htmx(f"/events/{event_id}/{verb}", **form).status_code == 200
    assert _acts(desk, event_id) == [action]


def test_choices_of_a_snooze_name_a_moment_so_that_a_second_click_moves_nothing(
    app: Flask, desk: Desk, maria: Visitor
) -> None:
    event_id = desk.dead("8841")
    page = maria.get(f"/events/{event_id}").text
    with app.test_request_context():
        names = len(usual())
    offered = [tag["value"] for tag in Tags(page).named("option") if tag.get("value", "").startswith("20")]
    assert len(offered) == names
    for _ in range(2):
        assert maria.post(f"/events/{event_id}/snooze", until=offered[0]).status_code == 303
    assert _acts(desk, event_id) == ["snooze"]


def test_another_text_from_a_form_that_was_sent_is_a_second_note(desk: Desk, maria: Visitor) -> None:
    """Back shows the form as it was, and what is written then must not be lost."""
    event_id = desk.dead("8841")
    maria.get(f"/events/{event_id}")
    for text in ("called them", "they call back", "called them", "they call back"):
        assert maria.post(f"/events/{event_id}/notes", note=text, form="one-form").status_code == 303
    texts = {note.text for note in marked.notes(desk.hub.store, event_id)}
    assert (texts, len(_acts(desk, event_id))) == ({"called them", "they call back"}, 2)


@both_engines
def test_a_playbook_that_is_sent_twice_is_written_once(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    groups.sample(desk.hub.store)
    fingerprint = desk.hub.get(event_id).fingerprint
    maria.get(f"/groups/{fingerprint}")
    form = {"note": "Register the customer.\r\nThen reprocess.", "seen": ""}
    for _ in range(2):
        assert maria.post(f"/groups/{fingerprint}/note", **form).status_code == 303
    assert maria.htmx(f"/groups/{fingerprint}/note", **form).status_code == 200
    assert maria.get("/audit").text.count("how a cause is fixed</b>") == 1
    assert maria.post(f"/groups/{fingerprint}/note", **(form | {"note": "Never mind."})).status_code == 409
    for _ in range(2):
        assert maria.post(f"/groups/{fingerprint}/assign", to="maria", seen="").status_code == 303


def _begun(desk: Desk, maria: Visitor) -> str:
    for entity in range(3):
        desk.dead(str(entity))
    maria.get("/dead-letters")
    page = maria.post("/bulk/preview", action="reprocess", list="dead-letters", all="1").text
    form = page.partition('<form class="bulk-form"')[2].partition("</form>")[0]
    fields = {tag["name"]: tag["value"] for tag in Tags(form).named("input") if tag.get("type") != "checkbox"}
    addresses = {path_of(maria.post("/bulk", **fields)) for _ in range(2)}
    assert len(addresses) == 1
    return addresses.pop()


@both_engines
def test_a_run_that_is_begun_paused_resumed_and_cancelled_twice_is_so_once(
    desk: Desk, maria: Visitor
) -> None:
    address = _begun(desk, maria)
    bulk_progress.advance(desk.hub)
    for verb in ("pause", "resume", "cancel"):
        for _ in range(2):
            answer = maria.post(f"{address}/{verb}")
            assert (verb, answer.status_code) == (verb, 303)
        assert maria.htmx(f"{address}/{verb}").status_code == 200
    run_id = int(address.rpartition("/")[2])
    table = desk.hub.store.tables.audit
    with desk.hub.store.read() as connection:
        rows = connection.execute(table.select().where(table.c.bulk_id == run_id).order_by(table.c.id))
        done = [row.action for row in rows if row.action.startswith("bulk_")]
    assert done == ["bulk_start", "bulk_pause", "bulk_resume", "bulk_cancel"]


def test_a_run_that_somebody_else_has_paused_says_so(app: Flask, desk: Desk, maria: Visitor) -> None:
    address = _begun(desk, maria)
    rita = Visitor(app).enter(desk, "rita", "operator")
    rita.get(address)
    assert rita.post(f"{address}/pause").status_code == 303
    assert maria.post(f"{address}/pause").status_code == 409


def test_a_question_that_is_asked_twice_is_one(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    desk.hub.precheck("order.create")(lambda event: "likely")
    desk.hub.publish_kinds("worker")
    maria.get(f"/events/{event_id}")
    for _ in range(2):
        assert maria.post(f"/events/{event_id}/precheck").status_code == 303
    assert _acts(desk, event_id) == ["precheck"]


@pytest.mark.parametrize(
    ("action", "form"),
    [("assign", {"person": "maria"}), ("tag", {"add": "urgent"}), ("snooze", {"until": _TOMORROW})],
)
def test_what_is_put_on_the_desk_of_a_selection_twice_is_there_once(
    desk: Desk, maria: Visitor, action: str, form: Form
) -> None:
    ids = [desk.dead(str(entity)) for entity in range(3)]
    maria.get("/dead-letters")
    sent: dict[str, Any] = {"action": action, "list": "dead-letters", "events": ",".join(map(str, ids))}
    for _ in range(2):
        assert maria.post("/bulk/desk", **sent, **form).status_code == 303
    assert [_acts(desk, event_id) for event_id in ids] == [[action]] * 3
