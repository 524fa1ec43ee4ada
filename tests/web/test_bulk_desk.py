"""What is put on the desk of all that match is put there on those that the form has counted, whatever came in since."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from werkzeug.test import TestResponse

from dlq_console.clock import utc_now
from dlq_console.hub import bulk_progress, desk_many
from dlq_console.store import desk as marked
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, path_of, read

both_engines = pytest.mark.parametrize("database_url", ["sqlite_url", "postgres_url"], indirect=True)
ALL = {"list": "dead-letters", "all": "1"}


def _letters(desk: Desk, number: int) -> list[int]:
    return [desk.dead(str(one)) for one in range(number)]


def _fields(answer: TestResponse) -> dict[str, str]:
    """The fields of the form, as a browser would send them."""
    form = re.search(r'<form class="bulk-form".*?</form>', answer.text, re.DOTALL)
    assert form is not None, read(answer.text)
    return {tag["name"]: tag["value"] for tag in Tags(form[0]).named("input") if "value" in tag}


@both_engines
def test_the_form_for_the_desk_acts_upon_those_it_has_counted_and_no_others(
    desk: Desk, maria: Visitor
) -> None:
    ids = _letters(desk, 4)
    sought = {"list": "dead-letters", "all": "1", "q": "CLIENTE"}
    page = maria.post("/bulk/preview", action="tag", **sought)
    assert "Tag 4 events" in read(page.text)
    late = desk.dead("late")
    desk.hub.discard(ids[0], actor="joana", note="double")
    desk.hub.snooze(ids[1], utc_now() + timedelta(hours=2), actor="joana")
    refused = maria.post("/bulk/desk", **(_fields(page) | {"action": "tag", "add": "y" * 41}))
    assert (refused.status_code, "Tag 2 events" in read(refused.text)) == (422, True)
    done = maria.post("/bulk/desk", **(_fields(page) | {"action": "tag", "add": "fiscal"}))
    told = read(maria.get(done.location).text)
    assert "Done: 2 events are changed. 2 were left as they are, because they are gone or not in the" in told
    known = marked.marks(desk.hub.store, [*ids, late])
    assert [known[one].tags for one in (*ids, late)] == [(), (), ("fiscal",), ("fiscal",), ()]


def test_a_form_of_which_nothing_is_left_changes_nothing_else(desk: Desk, maria: Visitor) -> None:
    (event_id,) = _letters(desk, 1)
    page = maria.post("/bulk/preview", **(ALL | {"action": "tag"}))
    desk.hub.discard(event_id, actor="joana", note="double")
    late = desk.dead("late")
    answer = maria.post("/bulk/desk", **(_fields(page) | {"action": "tag", "add": "fiscal"}))
    assert (answer.status_code, "None of these events is there any more." in read(answer.text)) == (422, True)
    assert marked.marks(desk.hub.store, [late])[late].tags == ()


def test_of_rows_that_were_selected_those_that_are_gone_are_told(desk: Desk, maria: Visitor) -> None:
    (event_id,) = _letters(desk, 1)
    maria.language = "pt-BR"
    maria.get("/dead-letters")
    maria.post("/bulk/desk", action="tag", list="events", events=f"{event_id},999999", add="fiscal")
    told = read(maria.get("/events").text)
    assert "Feito: 1 evento alterado. 1 ficou como estava, porque não existe mais ou saiu da lista." in told


@pytest.mark.parametrize("counted", ["1;2", "9" * 40, ",".join(map(str, range(1, 1_002)))])
def test_a_form_that_counts_what_no_page_has_counted_is_refused(
    desk: Desk, maria: Visitor, counted: str
) -> None:
    (event_id,) = _letters(desk, 1)
    maria.get("/dead-letters")
    answer = maria.post("/bulk/desk", **(ALL | {"action": "tag", "add": "x", "counted": counted}))
    assert answer.status_code == 400
    assert marked.marks(desk.hub.store, [event_id])[event_id].tags == ()


def test_a_run_that_was_announced_is_one_even_if_fewer_are_left(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_many, "MOST", 2)
    ids = _letters(desk, 3)
    page = maria.post("/bulk/preview", **(ALL | {"action": "tag"}))
    for event_id in ids[:2]:
        desk.hub.discard(event_id, actor="joana", note="double")
    late = desk.dead("late")
    address = path_of(maria.post("/bulk/desk", **(_fields(page) | {"action": "tag", "add": "fiscal"})))
    bulk_progress.advance(desk.hub)
    run = desk.hub.bulk.get(int(address.rpartition("/")[2]))
    assert (run.state, run.cause, run.expected, run.total) == ("paused", "drift", 3, 1)
    known = marked.marks(desk.hub.store, [ids[2], late])
    assert [known[one].tags for one in (ids[2], late)] == [(), ()]
