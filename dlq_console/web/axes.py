"""What happened to an account beside its numbers? Times in which its door was closed, and what people did about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from flask_babel import gettext, lazy_gettext, ngettext
from flask_babel.speaklater import LazyString

from dlq_console.redact import redact_text
from dlq_console.store.events import AuditEntry
from dlq_console.store.people import Permission
from dlq_console.store.queries.acts import ActFilter, acts
from dlq_console.store.queries.closings import Closing, account_closings
from dlq_console.store.queries.spans import circuit_spans
from dlq_console.store.states import Action
from dlq_console.web import display, words
from dlq_console.web.acts_told import act_word
from dlq_console.web.chart_views import moment_of
from dlq_console.web.hub import store

#: Most acts of people that are looked at, the newest.
MOST_ACTS = 200
#: What may be a cause or a cure; who looked at what is no part of it.
TOLD_ACTS = frozenset(
    {
        *(Action.REPROCESS, Action.DISCARD, Action.RESTORE, Action.EDIT),
        *(Permission.PAUSE_ACCOUNT, Permission.RESUME_ACCOUNT, Permission.SKIP_LANE),
        *("forced_open", "forced_closed", "reset_breaker", "open_provider"),
        *("bulk_start", "bulk_pause", "bulk_resume", "bulk_cancel", "bulk_stop"),
    }
)
_STATES: dict[str, tuple[LazyString, str]] = {
    "open": (lazy_gettext("circuit open (blocking calls)"), "fail"),
    "half_open": (lazy_gettext("circuit half-open (testing)"), "warn"),
}
_CAUSES = {"provider": "fail", "auth": "fail", "circuit": "fail", "pause": "info"}


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which the door was not simply open; without an end it lasts."""

    start: datetime
    end: datetime | None
    word: str
    tone: str

    @property
    def when(self) -> str:
        """From when to when, in words."""
        if self.end is None:
            return gettext("since %(when)s", when=moment_of(self.start))
        start, end = moment_of(self.start), moment_of(self.end)
        if start == end:
            start, end = moment_of(self.start, exact=True), moment_of(self.end, exact=True)
        return f"{start} – {end}"


@dataclass(frozen=True, slots=True)
class Mark:
    """What somebody did at a moment, how many times."""

    at: datetime
    word: str

    @property
    def when(self) -> str:
        """The moment in words."""
        return moment_of(self.at)


@dataclass(frozen=True, slots=True)
class Happened:
    """Spans and marks of one account, each the oldest first."""

    spans: tuple[Span, ...] = ()
    marks: tuple[Mark, ...] = ()


def happened(account: str, since: datetime, *, step: int) -> Happened:
    """What is known of an account from a moment on.

    Args:
        account: the account.
        since: the beginning of its charts.
        step: seconds of a point; the same act of the same person within one is one mark.
    """
    found = [*_circuits(account, since), *_closings(account, since, step)]
    return Happened(tuple(sorted(found, key=lambda span: span.start)), tuple(_marks(account, since, step)))


def _circuits(account: str, since: datetime) -> Iterator[Span]:
    for span in circuit_spans(store(), account, since):
        word, tone = _STATES[span.state]
        yield Span(span.start, span.end, f"{word} · {span.kind}" if span.kind else str(word), tone)


def _closings(account: str, since: datetime, step: int) -> Iterator[Span]:
    """What the provider and people closed; those alike that no point of the chart keeps apart are one span."""
    together: dict[tuple[str, str | None, bool], list[list[Closing]]] = {}
    for closing in account_closings(store(), account, since):
        runs = together.setdefault((closing.cause, closing.kind, closing.shared), [])
        if runs and _touches(runs[-1][-1], closing, step):
            runs[-1].append(closing)
        else:
            runs.append([closing])
    for run in (run for runs in together.values() for run in runs):
        yield Span(run[0].start, _ended(run[-1]), _closing_word(run), _CAUSES.get(run[0].cause, "fail"))


def _touches(before: Closing, after: Closing, step: int) -> bool:
    return before.end is None or (after.start - before.end).total_seconds() < step


def _ended(closing: Closing) -> datetime | None:
    """When it was over; None while it lasts, whenever that will be."""
    return closing.end if closing.end is not None and closing.end <= display.current().now else None


def _closing_word(run: Sequence[Closing]) -> str:
    last = run[-1]
    word = (
        gettext("circuit held open by a person") if last.cause == "circuit" else words.cause_word(last.cause)
    )
    if last.shared:
        word = f"{word} ({gettext('every account of this ERP')})"
    elif last.kind:
        word = f"{word} · {last.kind}"
    if len(run) > 1:
        word = ngettext("%(what)s, %(num)d time", "%(what)s, %(num)d times", len(run), what=word)
    return f"{word}: {redact_text(last.reason)}" if last.reason else word


def _marks(account: str, since: datetime, step: int) -> Iterator[Mark]:
    """The acts of people, those alike within a point as one."""
    together: dict[tuple[int, str, str], list[AuditEntry]] = {}
    for entry in reversed(_acts(account, since)):
        if entry.action in TOLD_ACTS:
            together.setdefault((int(entry.at.timestamp()) // step, entry.actor, entry.action), []).append(
                entry
            )
    for (_, actor, action), entries in together.items():
        yield Mark(entries[0].at, _act(actor, action, len(entries)))


def _act(actor: str, action: str, number: int) -> str:
    if number == 1:
        return f"{actor}: {act_word(action)}"
    times = ngettext("%(count)s event", "%(count)s events", number, count=display.current().number(number))
    return f"{actor}: {act_word(action)}, {times}"


def _acts(account: str, since: datetime) -> Sequence[AuditEntry]:
    """The newest acts of people upon an account, newest first."""
    return acts(store(), ActFilter(account=account, from_=since, people=True), limit=MOST_ACTS).items
