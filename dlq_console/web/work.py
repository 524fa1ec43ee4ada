"""What is mine to do? The events and causes that are assigned to the person who asks, the soonest due first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from flask import Blueprint, g, render_template, url_for
from flask_babel import gettext, ngettext

from dlq_console.errors import StoreUnavailable
from dlq_console.store import people
from dlq_console.store.filters import NOBODY, EventFilter
from dlq_console.store.people import Permission
from dlq_console.store.queries import event_lines
from dlq_console.store.queries.work import FEW, LOOKED_AT, AssignedEvent, AssignedGroup, work, work_count
from dlq_console.store.states import Status
from dlq_console.web import display
from dlq_console.web.auth import person, require_person
from dlq_console.web.display import Stamp
from dlq_console.web.hub import store
from dlq_console.web.lists import page_address
from dlq_console.web.rows import Row, list_rows

#: Events that nobody has yet and that are offered.
SUGGESTED = 10

my_work = Blueprint("work", __name__)
my_work.before_request(require_person)


@dataclass(frozen=True, slots=True)
class Task:
    """One event of somebody's desk as a row."""

    row: Row
    due: Stamp | None
    late: bool
    snoozed: Stamp | None


@dataclass(frozen=True, slots=True)
class Cause:
    """One cause of somebody's desk as a row."""

    group: AssignedGroup
    due: Stamp | None
    late: bool


@my_work.get("/work")
def index() -> str:
    """What is on this person's desk."""
    me = person()
    found = work(store(), me.name, accounts=me.accounts)
    tasks = _tasks(found.events)
    return render_template(
        "work/work.html",
        answer=_answer(tasks, found.groups, found.more),
        tasks=[task for task in tasks if not task.snoozed],
        put_off=[task for task in tasks if task.snoozed],
        causes=[Cause(group, _stamp(group.due_at), _is_late(group.due_at)) for group in found.groups],
        more=found.more,
        looked_at=LOOKED_AT if found.cut else 0,
        all_of_mine=page_address(url_for("triage.events"), EventFilter(assignee=me.name), ""),
        free=_free(),
        all_free=page_address(url_for("triage.dead_letters"), EventFilter(since="1d", assignee=NOBODY), ""),
        may_take=people.may(me, Permission.ASSIGN),
    )


def my_count() -> str:
    """How much this person has to do, for the list of pages; empty for nothing, and where the database is away."""
    try:
        number = work_count(store(), g.person.name, accounts=g.person.accounts)
    except StoreUnavailable:
        return ""
    return f"{FEW}+" if number > FEW else str(number or "")


def _tasks(found: Sequence[AssignedEvent]) -> list[Task]:
    rows = list_rows([one.event for one in found], person())
    return [
        Task(
            row,
            _stamp(one.due_at),
            late=_is_late(one.due_at) and one.snoozed_until is None,
            snoozed=_stamp(one.snoozed_until),
        )
        for one, row in zip(found, rows, strict=True)
    ]


def _free() -> list[Row]:
    """The newest dead letters of a day that nobody has."""
    flt = EventFilter(status=(Status.DEAD,), since="1d", assignee=NOBODY, snoozed="hide")
    page = event_lines(store(), flt, limit=SUGGESTED, accounts=person().accounts)
    return list_rows(page.items, person())


def _answer(tasks: Sequence[Task], groups: Sequence[AssignedGroup], more: int) -> str:
    """How much there is to do, and how much of it is late."""
    number = sum(not task.snoozed for task in tasks) + more + len(groups)
    if not number:
        return gettext("Nothing is assigned to you.")
    shown = display.current()
    sentence = ngettext(
        "%(count)s thing is yours to do.",
        "%(count)s things are yours to do.",
        number,
        count=shown.number(number),
    )
    late = sum(task.late for task in tasks) + sum(_is_late(group.due_at) for group in groups)
    if not late:
        return sentence
    overdue = ngettext("%(count)s is overdue.", "%(count)s are overdue.", late, count=shown.number(late))
    return f"{sentence} {overdue}"


def _stamp(moment: datetime | None) -> Stamp | None:
    return display.current().stamp(moment) if moment else None


def _is_late(moment: datetime | None) -> bool:
    return moment is not None and moment < display.current().now
