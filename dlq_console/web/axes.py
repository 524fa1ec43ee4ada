"""What happened to an account beside its numbers? Times in which its door was closed, and what people did about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from flask_babel import gettext, lazy_gettext, ngettext
from flask_babel.speaklater import LazyString

from dlq_console.health.values import AccountHealth
from dlq_console.store.events import AuditEntry
from dlq_console.store.people import Permission
from dlq_console.store.queries.acts import ActFilter, acts
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
        return f"{moment_of(self.start)} – {moment_of(self.end)}"


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


def happened(account: str, since: datetime, *, step: int, seen: AccountHealth | None) -> Happened:
    """What is known of an account from a moment on.

    Args:
        account: the account.
        since: the beginning of its charts.
        step: seconds of a point; the same act of the same person within one is one mark.
        seen: how it stands now, where that is known.
    """
    found = [*_circuits(account, since), *_pauses(account, since), *_closed_now(since, seen)]
    return Happened(tuple(sorted(found, key=lambda span: span.start)), tuple(_marks(account, since, step)))


def _circuits(account: str, since: datetime) -> Iterator[Span]:
    for span in circuit_spans(store(), account, since):
        word, tone = _STATES[span.state]
        yield Span(span.start, span.end, f"{word} · {span.kind}" if span.kind else str(word), tone)


def _pauses(account: str, since: datetime) -> Iterator[Span]:
    """Each pause up to the act that ended it; one that stands is told with what is closed now."""
    paused: datetime | None = None
    for entry in reversed(_acts(account, since, Permission.PAUSE_ACCOUNT, Permission.RESUME_ACCOUNT)):
        if entry.action == Permission.PAUSE_ACCOUNT:
            paused = paused or entry.at
        elif paused is not None:
            yield Span(paused, entry.at, words.cause_word("pause"), _CAUSES["pause"])
            paused = None


def _closed_now(since: datetime, seen: AccountHealth | None) -> Iterator[Span]:
    closing = seen.closing if seen else None
    if closing is None or closing.cause == "circuit":  # its transitions tell of that
        return
    reason = f": {closing.reason}" if closing.reason else ""
    word = f"{words.cause_word(closing.cause)}{reason}"
    yield Span(max(since, closing.since or since), None, word, _CAUSES.get(closing.cause, "fail"))


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


def _acts(account: str, since: datetime, *actions: str) -> list[AuditEntry]:
    """The newest acts of people upon an account, newest first; of these actions only, where some are named."""
    found: Iterable[AuditEntry] = (
        entry
        for action in actions or ("",)
        for entry in acts(
            store(), ActFilter(account=account, from_=since, people=True, action=action), limit=MOST_ACTS
        ).items
    )
    return sorted(found, key=lambda entry: (entry.at, entry.id), reverse=True)
