"""How does an account stand, and why? In a word with its shape, and in one sentence with figure, end and person."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from flask_babel import gettext, lazy_gettext, ngettext
from flask_babel.speaklater import LazyString

from dlq_console.health import ends
from dlq_console.health.ends import End, Kind
from dlq_console.health.values import AccountHealth, Closing, Why, Word
from dlq_console.store.queries import Count
from dlq_console.web import display
from dlq_console.web.words import Look

_LOOKS: dict[Word, tuple[str, str, LazyString]] = {
    Word.OK: ("disc", "ok", lazy_gettext("ok")),
    Word.DEGRADED: ("triangle", "warn", lazy_gettext("degraded")),
    Word.BLOCKED: ("square", "fail", lazy_gettext("blocked")),
    Word.DOWN: ("square", "fail", lazy_gettext("down")),
    Word.UNKNOWN: ("ring", "idle", lazy_gettext("unknown")),
}
#: Characters of what a provider or a person said that fit into a sentence.
_QUOTED = 90


def look(word: Word) -> Look:
    """Word, shape and tone."""
    shape, tone, name = _LOOKS[word]
    return Look(shape, tone, str(name))


def clock(moment: datetime) -> str:
    """A moment to the minute: what is expected, or was long ago, is not known to the second."""
    shown = display.current()
    local = moment.astimezone(shown.zone)
    return f"{local:%H:%M}" if local.date() == shown.today else shown.moment(moment)


def capped(account: AccountHealth, name: str) -> Count:
    """One of its counts, with whether it was counted up to a cap only."""
    return Count(getattr(account.counts, name), name in account.counts.capped)


def waiting(account: AccountHealth) -> Count:
    """How many of its events are due, whatever holds them up."""
    due, paused = capped(account, "due"), capped(account, "paused")
    return Count(due.number + paused.number, due.capped or paused.capped)


def why(account: AccountHealth) -> str:
    """The one reason that is told, as a sentence."""
    return _SENTENCES[account.why](account)


def drains(account: AccountHealth, moment: datetime) -> str:
    """When what is due will be through, as of `moment`, in few words."""
    end = ends.end(account, moment)
    if end.seconds is not None:
        return gettext("about %(time)s", time=clock(moment + timedelta(seconds=end.seconds)))
    return not_by_a_time(end) or "–"


def not_by_a_time(end: End) -> str:
    """What an end is called that no time can be told of; empty where there is nothing to say."""
    if end.kind is Kind.NONE:
        return gettext("not draining")
    if end.kind is Kind.UNKNOWN:
        return gettext("end not known yet")
    if end.at is None:
        return ""
    if end.kind is Kind.TRY:
        return gettext("after the try at %(time)s", time=clock(end.at))
    return gettext("after it opens at %(time)s", time=clock(end.at))


def _counted(account: AccountHealth) -> str:
    return display.current().count(waiting(account))


def _auth(account: AccountHealth) -> str:
    return _quoting(
        gettext("The ERP refused its log-in; it waits until a person resumes it."), account.closing
    )


def _circuit(account: AccountHealth) -> str:
    closing = account.closing or Closing(cause="circuit")
    if account.circuit_forced and closing.by:
        return _quoting(gettext("%(who)s holds its circuit open.", who=closing.by), closing)
    if closing.until is None:
        return gettext("Its circuit is open (blocking calls).")
    return gettext("Its circuit is open (blocking calls); next try at %(time)s.", time=clock(closing.until))


def _provider(account: AccountHealth) -> str:
    closing = account.closing or Closing(cause="provider")
    told = (
        gettext("The ERP blocks it.")
        if closing.until is None
        else gettext("The ERP blocks it until %(time)s.", time=clock(closing.until))
    )
    return _quoting(told, closing)


def _pause(account: AccountHealth) -> str:
    closing = account.closing or Closing(cause="pause")
    who = closing.by or gettext("somebody")
    told = (
        gettext("%(who)s paused it, until a person resumes it.", who=who)
        if closing.until is None
        else gettext("%(who)s paused it until %(time)s.", who=who, time=clock(closing.until))
    )
    return _quoting(told, closing)


def _quoting(told: str, closing: Closing | None) -> str:
    reason = closing.reason if closing else None
    if not reason:
        return told
    short = reason if len(reason) <= _QUOTED else reason[: _QUOTED - 1] + "…"
    # What ends like a sentence needs no second end.
    return f"{told} “{short}”" if short.endswith((".", "!", "?", "…")) else f"{told} “{short}”."


def _no_worker(account: AccountHealth) -> str:
    return ngettext(
        "%(count)s event is due and no living worker serves the account.",
        "%(count)s events are due and no living worker serves the account.",
        waiting(account).number,
        count=_counted(account),
    )


def _nothing_completes(account: AccountHealth) -> str:
    if not account.figure:
        return gettext("Events are due, the account is open, and nothing has ended for minutes.")
    return gettext(
        "Events are due, the account is open, and nothing has ended for %(span)s.",
        span=display.current().span(account.figure * 60),
    )


def _lane(account: AccountHealth) -> str:
    lanes = max(1, account.counts.stopped_lanes)
    return ngettext(
        "%(num)d lane stands still behind a dead letter.",
        "%(num)d lanes stand still behind dead letters.",
        lanes,
    )


def _behind(account: AccountHealth) -> str:
    if account.figure is None:
        return gettext("What is due waits longer than it should.")
    return gettext(
        "What is due waits longer than it should: %(span)s.", span=display.current().span(account.figure)
    )


def _dying(account: AccountHealth) -> str:
    shown = display.current()
    return ngettext(
        "%(count)s event died in the last %(minutes)s min, %(share)s of what ended.",
        "%(count)s events died in the last %(minutes)s min, %(share)s of what ended.",
        account.flow.died,
        count=shown.number(account.flow.died),
        minutes=account.flow.minutes,
        share=shown.percent((account.figure or 0) / 100),
    )


def _dead(account: AccountHealth) -> str:
    return dead_letters(capped(account, "dead"))


def dead_letters(dead: Count) -> str:
    """That so many wait for a person, as a sentence."""
    return ngettext(
        "%(count)s dead letter waits for a person.",
        "%(count)s dead letters wait for a person.",
        dead.number,
        count=display.current().count(dead),
    )


def _crowded(account: AccountHealth) -> str:
    return gettext(
        "%(share)s of its slots are in use while events wait.",
        share=display.current().percent((account.figure or 0) / 100),
    )


_SENTENCES: dict[Why, Callable[[AccountHealth], str]] = {
    Why.FINE: lambda _account: gettext("Nothing waits longer than it should."),
    Why.NOT_SEEN: lambda _account: gettext("Its events have not been counted for too long."),
    Why.NO_WORKER: _no_worker,
    Why.NOTHING_COMPLETES: _nothing_completes,
    Why.AUTH: _auth,
    Why.CIRCUIT: _circuit,
    Why.PROVIDER: _provider,
    Why.PAUSE: _pause,
    Why.LANE_STOPPED: _lane,
    Why.BEHIND: _behind,
    Why.PROBING: lambda _account: gettext("Its circuit is half-open: one call tries whether it may close."),
    Why.DYING: _dying,
    Why.DEAD_LETTERS: _dead,
    Why.CROWDED: _crowded,
}
