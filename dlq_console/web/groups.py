"""Which causes do the dead letters have? One line per cause, biggest first, and a page of each."""

from __future__ import annotations

import re
from dataclasses import dataclass

from flask import Blueprint, abort, make_response, redirect, render_template, request, url_for
from flask_babel import gettext, ngettext
from markupsafe import Markup
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.store import desk, people, queries
from dlq_console.store.desk import GroupMarks
from dlq_console.store.filters import EventFilter, FilterError
from dlq_console.store.people import Permission
from dlq_console.store.queries import Count, Group, Groups, Page
from dlq_console.store.states import Status
from dlq_console.web import answers, display, refused_filter
from dlq_console.web.asking import DEAD_LETTERS, asked, for_page
from dlq_console.web.auth import person, require_person
from dlq_console.web.counting import is_stale
from dlq_console.web.desk import group_desk
from dlq_console.web.hub import store
from dlq_console.web.lists import Choices, list_view, page_address, with_query
from dlq_console.web.rows import list_rows
from dlq_console.web.space import within
from dlq_console.web.sparklines import Sparkline, sparkline

#: Causes on one page, newest dead letters on the page of a cause, and accounts that it names.
PAGE_SIZE, NEWEST, MOST_PARTS = 50, 20, 20
#: Bytes of a page for the cause in a line, and for how it is fixed.
CAUSE, PLAYBOOK = 180, 80
_PLACE = re.compile(r"[0-9]{1,6}")

groups = Blueprint("groups", __name__)
groups.before_request(require_person)


@dataclass(frozen=True, slots=True)
class Line:
    """A cause as a line of the list: its group, when its events died, and what the team has put on it."""

    group: Group
    trend: Sparkline | None
    cause: str
    playbook: str
    assignee: str


@groups.get("/groups")
def index() -> str | AnyResponse:
    """Every cause that has dead letters."""
    try:
        flt, skip = asked(), _skipped()
    except FilterError as error:
        rest = refused_filter.rest_of(error, asked)
        return make_response(_page(rest, 0, Groups(), answer=refused_filter.answer()), 400)
    found = queries.groups(store(), flt, accounts=person().accounts, limit=PAGE_SIZE, skip=skip)
    address = url_for("groups.index")
    if skip and not found.items:
        return redirect(page_address(address, flt, ""), 303)
    return _page(flt, skip, found)


def _page(flt: EventFilter, skip: int, found: Groups, *, answer: str = "") -> str:
    """Some causes, below the form of their filter and the sentence that answers it."""
    address = url_for("groups.index")
    return render_template(
        "groups/groups.html",
        found=found,
        lines=_lines(found, flt),
        answer=answer or _answer(found, flt, skip),
        as_of=_as_of(found),
        unclear=not found.items and _may_be_uncounted(),
        address_of=_dead_letters,
        before=with_query(address, flt.query(cursor=_cursor(skip - PAGE_SIZE))) if skip else "",
        after=with_query(address, flt.query(cursor=_cursor(skip + PAGE_SIZE)))
        if found.number > skip + PAGE_SIZE
        else "",
        list=list_view(flt, Page(), address=address, fragment="", fields={"kind", "account", "q"}, facets={}),
    )


@groups.get("/groups/<fingerprint>")
def show(fingerprint: str) -> str:
    """One cause: what was said, since when, how it is fixed, and the events that died of it."""
    accounts = person().accounts
    known = re.fullmatch(r"[0-9A-Za-z-]{1,80}", fingerprint)
    group = queries.group(store(), fingerprint, accounts=accounts) if known else None
    if group is None:
        abort(404)
    flt = EventFilter(group=fingerprint)
    found = queries.dead_letters(store(), flt, limit=NEWEST, accounts=accounts)
    # What the list of dead letters shows, and so what is meant by all of them.
    dead = EventFilter(group=fingerprint, status=(Status.DEAD,))
    in_sight = queries.count(store(), for_page(DEAD_LETTERS, dead), accounts=accounts)
    parts = queries.group_parts(store(), fingerprint, accounts=accounts)
    return render_template(
        "groups/group.html",
        group=group,
        parts=parts[:MOST_PARTS],
        more_parts=len(parts[MOST_PARTS:]),
        trend=_trends([group], accounts).get(fingerprint),
        count=found.count,
        dead_total=found.total,
        in_sight=in_sight,
        answer=_group_answer(group, found.count, in_sight),
        rows=list_rows(found.page.items, person()),
        desk=group_desk(fingerprint),
        bulk=_bulk_actions(in_sight),
        page=DEAD_LETTERS,
        address_of=_dead_letters,
    )


def _skipped() -> int:
    """How many of the biggest causes stand on the pages before.

    Raises:
        FilterError: the address names no place of the list.
    """
    place = request.args.get("cursor", "") or "0"
    if not _PLACE.fullmatch(place):
        message = "cursor: this is no place of the list of groups."
        raise FilterError(message, name="cursor", cause="cursor")
    return int(place)


def _cursor(place: int) -> str:
    return str(place) if place > 0 else ""


def _lines(found: Groups, flt: EventFilter) -> list[Line]:
    fingerprints = [group.fingerprint for group in found.items]
    marks = desk.group_marks(store(), fingerprints) if fingerprints else {}
    trends = _trends(found.items, queries.counted_in(flt, person().accounts))
    return [
        _line(group, trends.get(group.fingerprint), marks.get(group.fingerprint)) for group in found.items
    ]


def _trends(
    found: list[Group] | tuple[Group, ...], accounts: tuple[str, ...] | None
) -> dict[str, Sparkline | None]:
    counted = queries.trends(store(), [group.fingerprint for group in found], accounts=accounts)
    return {fingerprint: sparkline(numbers) for fingerprint, numbers in counted.items()}


def _line(group: Group, trend: Sparkline | None, marks: GroupMarks | None) -> Line:
    first_line = (marks.playbook or "").strip().partition("\n")[0] if marks else ""
    return Line(
        group,
        trend,
        within(group.cause, CAUSE),
        within(first_line, PLAYBOOK),
        (marks.assignee or "") if marks else "",
    )


def _bulk_actions(count: Count) -> Choices:
    """What can be done with all of a cause, as far as this person may."""
    if not count.number or not people.may(person(), Permission.BULK):
        return []
    words = {"count": display.current().count(count)}
    offered = (
        (Permission.REPROCESS, ngettext("Reprocess it…", "Reprocess all %(count)s…", count.number, **words)),
        (Permission.DISCARD, ngettext("Discard it…", "Discard all %(count)s…", count.number, **words)),
        (Permission.ASSIGN, gettext("Assign to…")),
        (Permission.TAG, gettext("Tags…")),
        (Permission.SNOOZE, gettext("Snooze…")),
    )
    return [(str(permission), word) for permission, word in offered if people.may(person(), permission)]


def _dead_letters(group: Group, account: str = "") -> str:
    """Where the dead letters of a group are."""
    flt = EventFilter(group=group.fingerprint, account=(account,) if account else ())
    return page_address(url_for("triage.dead_letters"), flt, "")


def _answer(found: Groups, flt: EventFilter, skip: int) -> str:
    if not found.items:
        return gettext("No cause has a dead letter that matches.")
    shown = display.current()
    dead = ngettext(
        "%(count)s dead letter",
        "%(count)s dead letters",
        found.total.number,
        count=shown.count(found.total),
    )
    how_many = ngettext(
        "%(number)s cause, %(dead)s.",
        "%(number)s causes, %(dead)s.",
        found.number,
        number=shown.count(Count(found.number, not found.complete)),
        dead=dead,
    )
    if found.number < 2:
        return how_many
    first = queries.groups(store(), flt, accounts=person().accounts, limit=1) if skip else found
    biggest = answers.biggest_group(first.items[0]) if first.items else ""
    return Markup("{} {}").format(how_many, biggest)


def _group_answer(group: Group, count: Count, in_sight: Count) -> str:
    shown = display.current()
    if not count.number:
        return gettext(
            "No dead letter has this cause any more; the last one died on %(time)s.",
            time=shown.full(group.last_seen_at),
        )
    told = ngettext(
        "%(count)s dead letter has this cause: since %(since)s, the last one %(ago)s.",
        "%(count)s dead letters have this cause: since %(since)s, the last one %(ago)s.",
        count.number,
        count=shown.count(count),
        since=shown.moment(group.first_seen_at),
        ago=shown.ago(group.last_seen_at),
    )
    snoozed = count.number - in_sight.number
    if count.capped or in_sight.capped or snoozed < 1:
        return told
    out_of_sight = ngettext(
        "%(count)s of them is snoozed.",
        "%(count)s of them are snoozed.",
        snoozed,
        count=shown.number(snoozed),
    )
    return f"{told} {out_of_sight}"


def _as_of(found: Groups) -> str:
    """How old the counts are, and what else there is to know about them."""
    shown = display.current()
    if found.sampled_at is None:
        if found.complete:
            return gettext("as of %(time)s", time=shown.as_of())
        return gettext("as of %(time)s, among the newest dead letters", time=shown.as_of())
    if is_stale(found):
        return gettext(
            "Old counts: no worker has counted since %(time)s (%(ago)s).",
            time=shown.full(found.sampled_at),
            ago=shown.ago(found.sampled_at),
        )
    return gettext("counted %(ago)s; workers count every 15 s", ago=shown.ago(found.sampled_at))


def _may_be_uncounted() -> bool:
    """Whether there are dead letters that no worker has counted yet."""
    accounts = person().accounts
    return (
        queries.biggest_group(store(), EventFilter(), accounts=accounts) is None
        and queries.count(store(), EventFilter(status=("dead",)), accounts=accounts, cap=1).number > 0
    )
