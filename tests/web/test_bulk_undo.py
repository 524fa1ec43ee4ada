"""What was put on the desks of a selection is taken back at once, but only where nobody has changed it since."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from flask import Flask
from sqlalchemy import update

from dlq_console.clock import utc_now
from dlq_console.store import desk as marked
from dlq_console.store import people, queries
from dlq_console.store.desk import Marks
from dlq_console.web.bulk_undo import UNDO_SECONDS
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, path_of, read

both_engines = pytest.mark.parametrize("database_url", ["sqlite_url", "postgres_url"], indirect=True)
LIST = "/dead-letters?account=filial-sp"


def _act(visitor: Visitor, action: str, **form: str) -> dict[str, str]:
    """Do something to all of a list; returns the fields of the form that takes it back, as the list has it."""
    visitor.get(LIST)
    everything = {"list": "dead-letters", "account": "filial-sp", "all": "1"}
    answer = visitor.post("/bulk/desk", action=action, **everything, **form)
    assert (answer.status_code, path_of(answer)) == (303, LIST)
    return _fields(visitor.get(LIST).text)


def _fields(page: str) -> dict[str, str]:
    part = page.partition('<form class="undo"')[2].partition("</form>")[0]
    return {tag["name"]: tag["value"] for tag in Tags(part).named("input")}


def _take_back(visitor: Visitor, fields: dict[str, str]) -> str:
    answer = visitor.post("/bulk/desk/undo", **fields)
    assert (answer.status_code, path_of(answer)) == (303, LIST)
    page = visitor.get(LIST).text
    assert _fields(page) == {}, "there is no way back from the way back"
    return read(page)


def _marks(desk: Desk, ids: list[int]) -> list[Marks]:
    known = marked.marks(desk.hub.store, ids)
    return [known[event_id] for event_id in ids]


def _in(**more: int) -> datetime:
    return (utc_now() + timedelta(**more)).replace(second=0, microsecond=0)


@both_engines
def test_an_assignment_a_tag_and_a_snooze_of_many_are_taken_back_each_to_what_it_was(
    desk: Desk, maria: Visitor
) -> None:
    ids = [desk.dead(str(number)) for number in range(3)]
    desk.person("joana", "operator")
    due = _in(days=3)
    desk.hub.assign(ids[0], "joana", due, actor="rita")
    desk.hub.tag(ids[1], ["fiscal", "urgent"], actor="rita")
    before = _marks(desk, ids)
    for action, form in (
        ("assign", {"person": "maria", "until": "", "reassign": "1"}),
        ("tag", {"add": "customs", "remove": "fiscal"}),
        ("snooze", {"until": _in(hours=3).isoformat()}),
    ):
        fields = _act(maria, action, **form)
        assert _marks(desk, ids) != before
        assert "Taken back: 3 events are as they were before." in _take_back(maria, fields)
        assert _marks(desk, ids) == before
    told = [(entry.actor, entry.action) for entry in queries.audit(desk.hub.store, ids[0])]
    assert [told.count(("maria", action)) for action in ("assign", "tag", "snooze")] == [2, 2, 2]


@both_engines
def test_what_was_changed_since_stays_and_is_told(desk: Desk, maria: Visitor) -> None:
    ids = [desk.dead(str(number)) for number in range(3)]
    fields = _act(maria, "tag", add="customs", remove="")
    desk.hub.tag(ids[1], ["customs", "urgent"], actor="rita")
    text = _take_back(maria, fields)
    assert "Taken back: 2 events are as they were before. 1 was not taken back" in text
    assert [one.tags for one in _marks(desk, ids)] == [(), ("customs", "urgent"), ()]
    again = _take_back(maria, fields)
    assert "3 were not taken back, because they are not as you left them any more." in again
    assert "Taken back:" not in again
    assert [one.tags for one in _marks(desk, ids)] == [(), ("customs", "urgent"), ()]


def test_a_letter_that_was_snoozed_and_put_back_to_work_is_left_alone(desk: Desk, maria: Visitor) -> None:
    ids = [desk.dead(str(number)) for number in range(2)]
    first, later = _in(hours=2), _in(hours=5)
    for event_id in ids:
        desk.hub.snooze(event_id, first, actor="rita")
    maria.get("/dead-letters")
    everything = {"list": "dead-letters", "account": "filial-sp", "snoozed": "only", "all": "1"}
    maria.post("/bulk/desk", action="snooze", until=later.isoformat(), **everything)
    fields = _fields(maria.get(f"{LIST}&snoozed=only").text)
    desk.hub.reprocess(ids[1], actor="rita")
    maria.post("/bulk/desk/undo", **fields)
    assert "1 was not taken back" in read(maria.get(LIST).text)
    assert [one.snoozed_until for one in _marks(desk, ids)] == [first, None]


def test_nobody_gets_back_what_they_may_not_see_to_any_more(desk: Desk, maria: Visitor) -> None:
    ids = [desk.dead(str(number)) for number in range(3)]
    for name, event_id in zip(("gone", "moved", "there"), ids, strict=True):
        desk.person(name, "operator")
        desk.hub.assign(event_id, name, actor="rita")
    fields = _act(maria, "assign", person="maria", until="", reassign="1")
    people.disable_user(desk.hub.store, "gone")
    users = desk.hub.store.tables.users
    with desk.hub.store.write() as connection:
        connection.execute(update(users).where(users.c.name == "moved").values(accounts='["filial-rj"]'))
    assert "1 event is as it was before. 2 were not taken back" in _take_back(maria, fields)
    assert [one.assignee for one in _marks(desk, ids)] == ["maria", "maria", "there"]


def test_a_due_time_that_has_passed_meanwhile_is_not_set_again(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    event_id = desk.dead("1")
    desk.person("joana", "operator")
    desk.hub.assign(event_id, "joana", _in(hours=1), actor="rita")
    fields = _act(maria, "assign", person="maria", until="", reassign="1")
    monkeypatch.setattr("dlq_console.store.desk.putting_back.utc_now", lambda: _in(hours=2))
    assert "Taken back: 1 event is as it was before." in _take_back(maria, fields)
    (now,) = _marks(desk, [event_id])
    assert (now.assignee, now.due_at) == ("joana", None)


def test_only_whoever_did_it_takes_it_back_and_only_with_the_right_to(
    app: Flask, desk: Desk, maria: Visitor
) -> None:
    event_id = desk.dead("1")
    fields = _act(maria, "tag", add="customs", remove="")
    rita = Visitor(app).enter(desk, "rita", "operator")
    rita.post("/bulk/desk/undo", **(fields | {"csrf_token": rita.token}))
    vera = Visitor(app).enter(desk, "vera", "viewer")
    assert vera.post("/bulk/desk/undo", **(fields | {"csrf_token": vera.token})).status_code == 403
    for wrong in ({"last": "x"}, {"first": ""}, {"action": "discard"}):
        assert maria.post("/bulk/desk/undo", **(fields | wrong)).status_code == 400
    for nothing in ({"first": "0", "last": "0"}, {"first": str(2**70)}, {"last": str(2**70)}):
        assert "Taken back: 0 events" in _take_back(maria, fields | nothing)
    assert [one.tags for one in _marks(desk, [event_id])] == [("customs",)]


def test_the_way_back_stays_on_its_list_for_two_minutes(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.dead("1")
    fields = _act(maria, "tag", add="customs", remove="")
    maria.get("/dead-letters?account=filial-rj")
    for same in (LIST, f"{LIST}&sort=oldest"):
        assert _fields(maria.get(same).text)["last"] == fields["last"], "it is there after another look"
    for other in ("/dead-letters", "/dead-letters?account=filial-rj", "/events?account=filial-sp"):
        assert _fields(maria.get(other).text) == {}
    later = utc_now() + timedelta(seconds=UNDO_SECONDS)
    monkeypatch.setattr("dlq_console.web.bulk_undo.utc_now", lambda: later)
    assert _fields(maria.get(LIST).text) == {}
    monkeypatch.undo()
    assert _fields(maria.get(LIST).text) == {}, "what is over does not come back"


@pytest.mark.parametrize("run", [True, False])
def test_the_way_back_goes_with_the_next_act_upon_a_selection(desk: Desk, maria: Visitor, run: bool) -> None:
    ids = [desk.dead(str(number)) for number in range(2)]
    assert _act(maria, "tag", add="customs", remove="")
    chosen = {"list": "dead-letters", "events": str(ids[0])}
    if run:
        preview = maria.post("/bulk/preview", action="reprocess", **chosen).text
        form = preview.partition('<form class="bulk-form"')[2].partition("</form>")[0]
        inputs = [tag for tag in Tags(form).named("input") if tag.get("type") == "hidden"]
        fields = {tag["name"]: tag["value"] for tag in inputs}
        assert path_of(maria.post("/bulk", **fields)) == "/bulk/1"
    else:
        assert maria.post("/bulk/desk", action="tag", add="other", remove="", **chosen).status_code == 303
    assert _fields(maria.get(LIST).text) == {}


def test_where_nothing_was_changed_there_is_nothing_to_take_back(desk: Desk, maria: Visitor) -> None:
    desk.hub.tag(desk.dead("1"), ["customs"], actor="rita")
    assert _act(maria, "tag", add="customs", remove="") == {}


@pytest.mark.parametrize("action", ["discard", "reprocess", "assign", "tag", "snooze"])
def test_more_rows_than_may_be_selected_one_by_one_are_refused_in_one_sentence(
    desk: Desk, maria: Visitor, action: str
) -> None:
    event_id = desk.dead("1")
    maria.get(LIST)
    many = ",".join(str(number) for number in range(2, 1002))
    form = {
        "action": action,
        "list": "dead-letters",
        "account": "filial-sp",
        "event": str(event_id),
        "events": many,
    }
    for path in ("/bulk/preview", "/bulk" if action in ("discard", "reprocess") else "/bulk/desk"):
        answer = maria.post(path, **form)
        assert answer.status_code == 422
        assert "At most 1,000 can be selected one by one." in read(answer.text)
