"""Which causes do the dead letters have? One line per cause, biggest first, and a page of each."""

from __future__ import annotations

import re

from flask import Blueprint, abort, render_template, request, url_for
from flask_babel import gettext, ngettext
from markupsafe import Markup

from dlq_console.store import queries
from dlq_console.store.filters import EventFilter
from dlq_console.store.queries import Group, Groups, Page
from dlq_console.web import answers, display
from dlq_console.web.auth import person, require_person
from dlq_console.web.counting import is_stale
from dlq_console.web.hub import store
from dlq_console.web.lists import PAGE_SIZE, list_view, page_address
from dlq_console.web.rows import list_rows

groups = Blueprint("groups", __name__)
groups.before_request(require_person)


@groups.get("/groups")
def index() -> str:
    """Every cause that has dead letters."""
    flt = EventFilter.parse(request.args)
    found = queries.groups(store(), flt, accounts=person().accounts)
    return render_template(
        "groups/groups.html",
        found=found,
        answer=_answer(found),
        as_of=_as_of(found),
        unclear=not found.items and _may_be_uncounted(),
        address_of=_dead_letters,
        list=list_view(
            flt,
            Page(),
            address=url_for("groups.index"),
            fragment="",
            fields={"kind", "account", "q"},
            facets={},
        ),
    )


@groups.get("/groups/<fingerprint>")
def show(fingerprint: str) -> str:
    """One cause: what was said, since when, and the events that died of it."""
    accounts = person().accounts
    known = re.fullmatch(r"[0-9A-Za-z-]{1,80}", fingerprint)
    group = queries.group(store(), fingerprint, accounts=accounts) if known else None
    if group is None:
        abort(404)
    flt = EventFilter(group=fingerprint)
    found = queries.dead_letters(store(), flt, limit=PAGE_SIZE, accounts=accounts)
    return render_template(
        "groups/group.html",
        group=group,
        parts=queries.group_parts(store(), fingerprint, accounts=accounts),
        count=found.count,
        dead_total=found.total,
        answer=_group_answer(group, found.count),
        rows=list_rows(found.page.items, person()),
        address_of=_dead_letters,
    )


def _dead_letters(group: Group, account: str = "") -> str:
    """Where the dead letters of a group are."""
    flt = EventFilter(group=group.fingerprint, account=(account,) if account else ())
    return page_address(url_for("triage.dead_letters"), flt, "")


def _answer(found: Groups) -> str:
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
        number=shown.number(found.number),
        dead=dead,
    )
    biggest = found.items[0]
    if found.number < 2:
        return how_many
    return Markup("{} {}").format(how_many, answers.biggest_group(biggest))


def _group_answer(group: Group, count: queries.Count) -> str:
    shown = display.current()
    if not count.number:
        return gettext(
            "No dead letter has this cause any more; the last one died on %(time)s.",
            time=shown.full(group.last_seen_at),
        )
    return ngettext(
        "%(count)s dead letter has this cause: since %(since)s, the last one %(ago)s.",
        "%(count)s dead letters have this cause: since %(since)s, the last one %(ago)s.",
        count.number,
        count=shown.count(count),
        since=shown.moment(group.first_seen_at),
        ago=shown.ago(group.last_seen_at),
    )


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
        not queries.groups(store(), EventFilter(), accounts=accounts, limit=1).items
        and queries.count(store(), EventFilter(status=("dead",)), accounts=accounts, cap=1).number > 0
    )
