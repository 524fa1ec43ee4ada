"""Which sentence answers the question of a page? The figures and tables below it are the proof."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from flask import url_for
from flask_babel import gettext, ngettext
from markupsafe import Markup

from dlq_console.store.queries import Cause, ClosedDoor, Count, DeadLetters, Group, Overview
from dlq_console.web import display

#: Characters of an error text that fit into a sentence.
_QUOTED = 120


def dead_letters(found: DeadLetters, counted: Group | None = None) -> str:
    """How many, of how many, and which cause is biggest: `counted`, where that is known, else among the newest."""
    if not found.total.number:
        return gettext("No dead letter. Everything is up to date.")
    how_many = _dead(found.count)
    if found.count != found.total:
        how_many = _dead_of(found.count, found.total)
    if found.biggest is None or found.count.number < 2:
        return how_many
    return Markup("{} {}").format(how_many, biggest_group(counted) if counted else _cause(found.biggest))


def overview(view: Overview, biggest: Group | None, closed: Sequence[ClosedDoor]) -> str:
    """Whether a hand is needed, where most, and for which cause most; `biggest` is None where none was counted."""
    if not view.dead.number:
        need = gettext("No dead letter. Everything is up to date.")
    else:
        need = ngettext(
            "%(count)s dead letter needs a person.",
            "%(count)s dead letters need a person.",
            view.dead.number,
            count=display.current().count(view.dead),
        )
        worst = view.accounts[0] if view.accounts else None
        if worst is not None and worst.dead.number and len(view.accounts) > 1:
            most = gettext(
                "Most of them belong to %(account)s (%(count)s).",
                account=worst.account,
                count=display.current().count(worst.dead),
            )
            need = f"{need} {most}"
        if biggest is not None and biggest.count.number > 1:
            need = Markup("{} {}").format(need, biggest_group(biggest))
    return Markup("{} {}").format(need, _doors(closed)).strip()


def workers(view: Overview) -> str:
    """Whether anybody is at work."""
    if not view.workers:
        return gettext("no worker is running")
    return ngettext("%(num)d worker is running", "%(num)d workers are running", view.workers)


def _doors(closed: Sequence[ClosedDoor]) -> str:
    """Which account waits for a person, and how many others are closed."""
    refused = [door for door in closed if door.cause == "auth"]
    others = {(door.type, door.name) for door in closed} - {(door.type, door.name) for door in refused}
    told = [
        gettext("%(name)s is paused, because the ERP refused its log-in: resume it.", name=door.name)
        for door in refused
    ]
    if len(refused) > 1:
        told = [
            ngettext(
                "The ERP refused the log-in of %(num)d account: resume it.",
                "The ERP refused the log-in of %(num)d accounts: resume them.",
                len(refused),
            )
        ]
    if len(others) > 1:
        told.append(
            ngettext(
                "%(num)d account or call is closed for now.",
                "%(num)d accounts or calls are closed for now.",
                len(others),
            )
        )
    elif others:
        told.append(_closed_one(next(door for door in closed if (door.type, door.name) in others)))
    return " ".join(told)


def _closed_one(door: ClosedDoor) -> str:
    if door.until is None:
        return gettext("%(name)s is closed until a person opens it.", name=door.name)
    return gettext(
        "%(name)s is closed until %(time)s.", name=door.name, time=display.current().moment(door.until)
    )


def _dead(count: Count) -> str:
    shown = display.current().count(count)
    return ngettext("%(count)s dead letter.", "%(count)s dead letters.", count.number, count=shown)


def _dead_of(count: Count, total: Count) -> str:
    shown = display.current()
    return ngettext(
        "%(count)s of %(total)s dead letter matches.",
        "%(count)s of %(total)s dead letters match.",
        total.number,
        count=shown.count(count),
        total=shown.count(total),
    )


def biggest_group(group: Group) -> str:
    """Which cause is biggest, as it was counted last."""
    return _biggest(
        _linked(group.fingerprint, group.cause),
        display.current().count(group.count),
        group.account,
        group.first_seen_at,
    )


def _cause(cause: Cause) -> str:
    return _biggest(
        _linked(cause.fingerprint, cause.error),
        display.current().number(cause.number),
        cause.account,
        cause.since,
        complete=cause.complete,
    )


def _biggest(
    error: Markup, number: str, account: str | None, since: datetime, *, complete: bool = True
) -> str:
    words = {
        "error": error,
        "number": number,
        "where": account or gettext("several accounts"),
        "since": display.current().moment(since),
    }
    if complete:
        return _sentence(
            gettext("Biggest cause: “%(error)s” (%(number)s, %(where)s), since %(since)s."), words
        )
    # Only the newest ones were looked at, so the sentence claims no more than that.
    return _sentence(
        gettext("Biggest cause among the newest: “%(error)s” (%(number)s, %(where)s), since %(since)s."),
        words,
    )


def _linked(fingerprint: str, error: str) -> Markup:
    """What was said, as a link to the page of its group."""
    text = error if len(error) <= _QUOTED else error[: _QUOTED - 1] + "…"
    return Markup('<a href="{}">{}</a>').format(url_for("groups.show", fingerprint=fingerprint), text)


def _sentence(pattern: str, words: dict[str, Any]) -> Markup:
    """The sentence with its words; what is no markup is written as text."""
    return Markup(pattern) % words  # noqa: S704 - the pattern is the console's own
