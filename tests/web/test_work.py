"""My work: what is assigned to the person who asks, the soonest due first, and what nobody has yet."""

from __future__ import annotations

import re
from datetime import timedelta

from flask import Flask
from sqlalchemy import bindparam

from dlq_console.clock import utc_now
from dlq_console.store import groups
from dlq_console.store.types import UtcTime
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, read


def _order(html: str) -> list[str]:
    return re.findall(r'id="e(\d+)"', html)


def _overdue(desk: Desk, template: str, of: int | str) -> None:
    """Let the time to be done by have passed an hour ago, which nobody can say when assigning."""
    with desk.hub.store.write() as connection:
        values = {"late": utc_now() - timedelta(hours=1), "of": of}
        statement = desk.hub.store.statement(template).bindparams(bindparam("late", type_=UtcTime()))
        assert connection.execute(statement, values).rowcount == 1


def test_what_is_mine_stands_by_due_time_with_the_snoozed_apart_and_the_done_gone(
    desk: Desk, maria: Visitor
) -> None:
    desk.person("joana", "operator")
    late, soon, undated, snoozed, finished, hers, free = (desk.dead(str(number)) for number in range(1, 8))
    now = utc_now()
    hub = desk.hub
    hub.assign(soon, "maria", now + timedelta(hours=1), actor="maria")
    hub.assign(late, "maria", now + timedelta(hours=1), actor="joana")
    _overdue(desk, "UPDATE {desk} SET due_at = :late WHERE event_id = :of", late)
    for event_id in (undated, snoozed, finished):
        hub.assign(event_id, "maria", actor="maria")
    hub.assign(hers, "joana", actor="joana")
    hub.snooze(snoozed, now + timedelta(days=1), actor="maria")
    hub.discard(finished, actor="maria", note="by hand")
    page = maria.get("/work").text
    assert _order(page) == [str(one) for one in (late, soon, undated, snoozed, free)]
    text = read(page)
    assert "3 things are yours to do. 1 is overdue." in text
    assert (
        text.index("Order 3")
        < text.index("Snoozed")
        < text.index("Order 4")
        < text.index("Nobody has these yet")
    )
    (link,) = re.findall(r'<a href="/work"[^>]*>.*?</a>', page.split('class="side"')[1], re.DOTALL)
    assert '<span class="number">3</span>' in link


def test_what_nobody_has_is_taken_with_one_click(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    page = maria.get("/work").text
    assert "Nothing is assigned to you." in read(page)
    (form,) = [form for form in Tags(page).named("form") if form.get("action", "").endswith("/assign")]
    assert maria.post(form["action"], to="maria", seen="").status_code == 303
    assert "1 thing is yours to do." in read(maria.get("/work").text)
    assert _order(maria.get("/work").text) == [str(event_id)]


def test_a_cause_on_my_desk_stands_there_with_its_dead_letters(desk: Desk, maria: Visitor) -> None:
    first = desk.dead("1")
    desk.dead("2")
    groups.sample(desk.hub.store)
    fingerprint = desk.hub.get(first).fingerprint
    assert fingerprint
    desk.hub.assign_group(fingerprint, "maria", utc_now() + timedelta(minutes=5), actor="joana")
    _overdue(desk, "UPDATE {group_desk} SET due_at = :late WHERE fingerprint = :of", fingerprint)
    page = maria.get("/work").text
    assert f'href="/groups/{fingerprint}"' in page
    assert "1 thing is yours to do. 1 is overdue." in read(page)
    assert '<span class="number">1</span>' in page.split('href="/work"')[1][:200]


def test_accounts_that_may_not_be_seen_are_not_on_the_page(desk: Desk, app: Flask) -> None:
    rui = Visitor(app).enter(desk, "rui", "operator", ["filial-rj"])
    desk.dead("1")
    mine = desk.dead("2", account="filial-rj")
    desk.hub.assign(mine, "rui", actor="rui")
    assert _order(rui.get("/work").text) == [str(mine)]
