"""Which sentence answers the question of a page? The figures and tables below it are the proof."""

from __future__ import annotations

from flask_babel import gettext, ngettext

from dlq_console.store.queries import Cause, Count, DeadLetters, Overview
from dlq_console.web import display

#: Characters of an error text that fit into a sentence.
_QUOTED = 120


def dead_letters(found: DeadLetters) -> str:
    """How many, of how many, and which cause is biggest."""
    if not found.total.number:
        return gettext("No dead letter. Everything is up to date.")
    how_many = _dead(found.count)
    if found.count != found.total:
        how_many = _dead_of(found.count, found.total)
    if found.biggest is None or found.count.number < 2:
        return how_many
    return f"{how_many} {_cause(found.biggest)}"


def overview(view: Overview) -> str:
    """Whether a hand is needed, and where most."""
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
    return f"{need} {_doors(view)}".strip()


def workers(view: Overview) -> str:
    """Whether anybody is at work."""
    if not view.workers:
        return gettext("no worker is running")
    return ngettext("%(num)d worker is running", "%(num)d workers are running", view.workers)


def _doors(view: Overview) -> str:
    if not view.closed:
        return ""
    first = min(view.closed, key=lambda scope: scope.until)
    if len(view.closed) > 1:
        return ngettext(
            "%(num)d account or call is closed for now.",
            "%(num)d accounts or calls are closed for now.",
            len(view.closed),
        )
    return gettext(
        "%(name)s is closed until %(time)s.", name=first.name, time=display.current().moment(first.until)
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


def _cause(cause: Cause) -> str:
    shown = display.current()
    words = {
        "error": cause.error if len(cause.error) <= _QUOTED else cause.error[: _QUOTED - 1] + "…",
        "number": shown.number(cause.number),
        "where": cause.account or gettext("several accounts"),
        "since": shown.moment(cause.since),
    }
    if cause.complete:
        return gettext("Biggest cause: “%(error)s” (%(number)s, %(where)s), since %(since)s.", **words)
    # Only the newest ones were looked at, so the sentence claims no more than that.
    return gettext(
        "Biggest cause among the newest: “%(error)s” (%(number)s, %(where)s), since %(since)s.", **words
    )
