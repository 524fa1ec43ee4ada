"""How does each account stand, and why? Pure rules over what was read and counted; the worst that holds is told.

The order of `RULES` is their rank. What nobody knows is never ok: without a recent count an account is `unknown`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from dlq_console.health.spelling import urgency
from dlq_console.health.values import (
    BY_DOOR,
    AccountHealth,
    Closing,
    Counts,
    Drain,
    Flow,
    Former,
    Health,
    Why,
    Word,
    WorkerState,
)

#: Events are counted every 15 s; after four counts that failed nobody knows any more.
COUNTED_WITHIN = timedelta(seconds=60)
#: For so long something was due and nothing ended, before that is no pause but a standstill.
STALLED_AFTER = timedelta(minutes=10)
#: Where no worker serves an account, its events wait for nothing; a worker that restarts is back within its heartbeat.
NO_WORKER_AFTER = timedelta(seconds=45)
#: The p95 of the time in the queue that is taken as its target where nobody set one, in seconds, and how much older the
#: oldest due event may be: it alone may have met bad luck.
LAG_TARGET = 300.0
OLDEST_TARGETS = 2
#: So many, and such a share of what ended; the number keeps little traffic quiet.
DYING_EVENTS, DYING_SHARE = 5, 0.05
#: Rates are of the last five whole minutes, which ended up to 75 s ago; from then on none of these is one in which the door
#: was still closed.
FLOW_KNOWN_AFTER = timedelta(minutes=7)
#: A pace since the opening is none before so much of it was counted, and none that says that the queue grows before this.
PACE_AFTER, GROWS_AFTER = timedelta(seconds=5), timedelta(seconds=60)
#: From this share on a bulkhead is nearly full.
CROWDED_SHARE = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is known of one account before it is judged.

    Attributes:
        closing: what keeps its door closed, the longest cause.
        partly: what keeps the door of one of its kinds closed.
        counts: None where it was not counted.
        flow: what came and went in the last whole minutes.
        slots: how many of its events may run at once; None where nothing is known.
        circuit: `closed`, `open` or `half_open`, as it acts.
        circuit_forced: whether a person has forced it.
        limit_per_minute: the most that its provider lets start per minute; None where that is not known.
        former: how it was judged last.
    """

    closing: Closing | None = None
    partly: Closing | None = None
    counts: Counts | None = None
    flow: Flow = field(default_factory=Flow)
    slots: int | None = None
    circuit: str = "closed"
    circuit_forced: bool = False
    limit_per_minute: float | None = None
    former: Former | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """One account as the rules look at it."""

    now: datetime
    standing: Standing
    counts: Counts
    flow: Flow
    counted: bool
    served: bool

    @property
    def is_open(self) -> bool:
        """Whether no door explains that something waits."""
        return self.standing.closing is None and self.standing.partly is None

    @property
    def waited(self) -> timedelta:
        """For how long the first of those that are due has waited."""
        first = self.counts.oldest_due_at
        return timedelta(0) if first is None or not self.counts.due else max(timedelta(0), self.now - first)

    @property
    def stood(self) -> timedelta:
        """For how long something was due that could have started: not before the doors opened."""
        opened_at = _opened_at(self.standing, self.now)
        return self.waited if opened_at is None else min(self.waited, self.now - opened_at)


#: A figure where the rule holds, NAN where it holds and there is none to tell; None where it does not hold.
Check = Callable[[_Seen], float | None]


def _closed_by(cause: str) -> Check:
    def check(seen: _Seen) -> float | None:
        closing = seen.standing.closing
        return math.nan if closing is not None and closing.cause == cause else None

    return check


def _partly_closed_by(cause: str) -> Check:
    def check(seen: _Seen) -> float | None:
        partly = seen.standing.partly
        return math.nan if partly is not None and partly.cause == cause else None

    return check


def _if(condition: bool, figure: float = math.nan) -> float | None:
    return figure if condition else None


def _stalled(seen: _Seen) -> float | None:
    """Minutes without a completion, as far as is known."""
    nothing = seen.flow.done + seen.flow.died == 0
    return _if(nothing and seen.is_open and seen.stood > STALLED_AFTER, seen.stood // timedelta(minutes=1))


def waits_too_long(waited: float, lag_p95: float | None) -> bool:
    """Whether what is due waits longer than it should.

    Args:
        waited: seconds for which the oldest due event has waited.
        lag_p95: seconds, of the last minutes; None where nothing started.
    """
    return _is_old(waited) or (lag_p95 is not None and lag_p95 > LAG_TARGET)


def _is_old(waited: float) -> bool:
    return waited > LAG_TARGET * OLDEST_TARGETS


def _behind(seen: _Seen) -> float | None:
    """Seconds of lag, or whole minutes of the oldest due event in seconds."""
    waited, lag = seen.waited.total_seconds(), seen.flow.lag_p95
    if not seen.is_open or not seen.counts.due or not waits_too_long(waited, lag):
        return None
    return waited // 60 * 60.0 if _is_old(waited) else round(lag or 0.0)


def _dying(seen: _Seen) -> float | None:
    """The share of what ended that died, in percent."""
    ended = seen.flow.done + seen.flow.died
    much = seen.flow.died >= DYING_EVENTS and seen.flow.died >= DYING_SHARE * ended
    return _if(much, round(100 * seen.flow.died / max(1, ended)))


def _crowded(seen: _Seen) -> float | None:
    """Percent of its slots that are in use."""
    slots = seen.standing.slots
    if not slots or not seen.counts.due or seen.counts.running < CROWDED_SHARE * slots:
        return None
    # A single slot that works is no crowd; what waits for it too long is `behind`.
    return _if(slots > 1, round(100 * seen.counts.running / slots))


#: Why, what follows, and when it holds; the first one that does is told. What a person must end comes before what ends by
#: itself, what stands still before what is slow.
RULES: tuple[tuple[Why, Word, Check], ...] = (
    (Why.AUTH, Word.BLOCKED, _closed_by("auth")),
    (Why.PAUSE, Word.BLOCKED, _closed_by("pause")),
    (Why.PROVIDER, Word.BLOCKED, _closed_by("provider")),
    (Why.CIRCUIT, Word.DOWN, _closed_by("circuit")),
    (Why.NOT_SEEN, Word.UNKNOWN, lambda seen: _if(not seen.counted)),
    (Why.NO_WORKER, Word.DOWN, lambda seen: _if(not seen.served and seen.waited > NO_WORKER_AFTER)),
    (Why.NOTHING_COMPLETES, Word.DOWN, _stalled),
    # One kind of several: the others go on.
    (Why.AUTH, Word.DEGRADED, _partly_closed_by("auth")),
    (Why.PROVIDER, Word.DEGRADED, _partly_closed_by("provider")),
    (Why.CIRCUIT, Word.DEGRADED, _partly_closed_by("circuit")),
    (Why.PROBING, Word.DEGRADED, lambda seen: _if(seen.standing.circuit == "half_open")),
    (Why.LANE_STOPPED, Word.DEGRADED, lambda seen: _if(seen.counts.stopped_lanes > 0, seen.counts.stopped_lanes)),
    (Why.BEHIND, Word.DEGRADED, _behind),
    (Why.DYING, Word.DEGRADED, _dying),
    (Why.DEAD_LETTERS, Word.DEGRADED, lambda seen: _if(seen.counts.dead > 0, seen.counts.dead)),
    (Why.CROWDED, Word.DEGRADED, _crowded),
)  # fmt: skip


def evaluate(
    accounts: Mapping[str, Standing],
    workers: Iterable[WorkerState] = (),
    *,
    now: datetime,
    counted_at: datetime | None = None,
) -> Health:
    """Judge every account.

    Args:
        accounts: what is known of each that has work, a door or dead letters.
        workers: all that have not been forgotten.
        now: the database's time.
        counted_at: when events were counted last; None: never.
    """
    workers = tuple(sorted(workers, key=lambda worker: worker.worker))
    judged = [
        _judged(name, standing, now=now, counted_at=counted_at, served=_is_served(name, workers))
        for name, standing in accounts.items()
    ]
    return Health(
        as_of=now, counted_at=counted_at, accounts=tuple(sorted(judged, key=urgency)), workers=workers
    )


def _is_served(account: str, workers: Iterable[WorkerState]) -> bool:
    return any(
        worker.alive
        and worker.state == "running"
        and worker.slots > 0
        and (worker.accounts is None or account in worker.accounts)
        for worker in workers
    )


def _judged(
    name: str, standing: Standing, *, now: datetime, counted_at: datetime | None, served: bool
) -> AccountHealth:
    counted = counted_at is not None and now - counted_at <= COUNTED_WITHIN
    counts = _as_the_door_stands(standing.counts or Counts(), is_closed=standing.closing is not None)
    seen = _Seen(
        now=now, standing=standing, counts=counts, flow=standing.flow, counted=counted, served=served
    )
    why, word, figure = _worst(seen)
    former = standing.former
    kept = former is not None and former.word is word
    opening = None if why is Why.NO_WORKER else _opening(standing, counts, now)
    return AccountHealth(
        account=name,
        word=word,
        since=former.since if former is not None and kept else _began(standing, why, now),
        why=why,
        figure=None if figure is None or math.isnan(figure) else float(figure),
        closing=standing.closing or standing.partly,
        counts=counts,
        flow=standing.flow,
        drain=Drain(bound="pace")
        if why in (Why.NO_WORKER, Why.NOTHING_COMPLETES)
        else drain(
            counts,
            standing.flow,
            standing.closing,
            now,
            limit_per_minute=standing.limit_per_minute,
            opening=opening,
            counted_at=counted_at,
        ),
        slots=standing.slots,
        circuit=standing.circuit,
        circuit_forced=standing.circuit_forced,
        opened_at=opening.at if opening else None,
        opened_with=opening.waiting if opening else None,
        left=_left(former, word, now),
    )


def _as_the_door_stands(counts: Counts, *, is_closed: bool) -> Counts:
    """The same counts under the name that fits the door by now: it may have opened or closed since they were counted."""
    name, other = ("paused", "due") if is_closed else ("due", "paused")
    if not getattr(counts, other):
        return counts
    capped = {name if one == other else one for one in counts.capped}
    waiting = {name: counts.waiting, other: 0}
    return replace(counts, due=waiting["due"], paused=waiting["paused"], capped=tuple(sorted(capped)))


def _opened_at(standing: Standing, now: datetime) -> datetime | None:
    """Since when every door is open; None while one is closed, and where none was."""
    if standing.closing is not None or standing.partly is not None or standing.former is None:
        return None
    return now if standing.former.closed else standing.former.opened_at


@dataclass(frozen=True, slots=True)
class Opening:
    """The moment from which on nothing holds the work of an account up any more.

    Attributes:
        at: when it was.
        waiting: how many events waited then; None where that is not known.
    """

    at: datetime
    waiting: int | None = None


def _opening(standing: Standing, counts: Counts, now: datetime) -> Opening | None:
    opened_at, former = _opened_at(standing, now), standing.former
    if opened_at is None or former is None:
        return None
    if not former.closed:
        return Opening(opened_at, former.opened_with)
    return Opening(opened_at, None if _is_capped(counts) or standing.counts is None else counts.waiting)


def _is_capped(counts: Counts) -> bool:
    """Whether more may wait than was counted."""
    return bool({"due", "paused"} & set(counts.capped))


def _left(former: Former | None, word: Word, now: datetime) -> tuple[tuple[Word, datetime], ...]:
    """When it last ceased to stand as each word says."""
    if former is None or former.word is word:
        return former.left if former else ()
    kept = {one: at for one, at in former.left if one is not word} | {former.word: now}
    return tuple(sorted(kept.items()))


def _worst(seen: _Seen) -> tuple[Why, Word, float | None]:
    for why, word, check in RULES:
        figure = check(seen)
        if figure is not None:
            return why, word, figure
    return Why.FINE, Word.OK, None


def _began(standing: Standing, why: Why, now: datetime) -> datetime:
    """Since when it has stood so: a door says it better than the moment at which somebody looked."""
    closing = standing.closing or standing.partly
    if why in BY_DOOR and closing is not None and closing.since is not None:
        return min(now, closing.since)
    return now


def drain(
    counts: Counts,
    flow: Flow,
    closing: Closing | None,
    now: datetime,
    *,
    limit_per_minute: float | None = None,
    opening: Opening | None = None,
    counted_at: datetime | None = None,
) -> Drain:
    """When what is due, and what waits behind the door, will be through.

    Waiting events divided by completions less arrivals, per minute; never faster than the provider allows. Behind a door
    that opens at a known time it takes from then on as long as the limit allows, or as what ended before it was closed
    tells. A circuit does not open at a known time: one call is tried then, and what comes of it nobody knows.

    While these rates are still of minutes in which the door was closed they are the least that it can be: it is also told
    from how much less waits than at the opening. Before that was counted it is what the provider allows, or not known.
    """
    if not counts.waiting:
        return Drain()
    if closing is not None:
        return _drain_behind(closing, counts, flow, now, limit_per_minute)
    pace: float | None = flow.completions - flow.arrivals
    if opening is not None and now - opening.at < FLOW_KNOWN_AFTER:
        pace = _since_opening(flow.completions - flow.arrivals, opening, counts, counted_at)
    bound = "pace"
    if limit_per_minute is not None and (pace is None or limit_per_minute - flow.arrivals < pace):
        pace, bound = limit_per_minute - flow.arrivals, "provider"
    if pace is None:
        return Drain(bound="opening")
    return Drain(seconds=_rounded(60 * counts.waiting / pace) if pace > 0 else None, bound=bound)


def _since_opening(
    least: float, opening: Opening, counts: Counts, counted_at: datetime | None
) -> float | None:
    """By how many events a minute the queue becomes shorter, at least by `least`; None where that is not known yet."""
    unknown = least if least > 0 else None
    if counted_at is None or opening.waiting is None or _is_capped(counts):
        return unknown
    passed = counted_at - opening.at
    fewer = opening.waiting - counts.waiting
    if passed < (PACE_AFTER if fewer > 0 else GROWS_AFTER) or not fewer:
        return unknown
    return max(least, fewer / (passed / timedelta(minutes=1)))


def _drain_behind(
    closing: Closing, counts: Counts, flow: Flow, now: datetime, limit_per_minute: float | None
) -> Drain:
    if closing.until is None or closing.cause == "circuit":
        return Drain(bound="door")
    completions = _before(closing, flow, now) if limit_per_minute is None else limit_per_minute
    pace = completions - flow.arrivals
    if pace <= 0:
        return Drain(bound="door" if limit_per_minute is None else "provider")
    wait = max(0.0, (closing.until - now).total_seconds())
    return Drain(seconds=_rounded(wait + 60 * counts.waiting / pace), bound="door")


def _before(closing: Closing, flow: Flow, now: datetime) -> float:
    """Completions per minute while the door was still open; 0 where less than a minute of it is known."""
    if closing.since is None:
        return 0.0
    # What is known ends about a minute ago: only whole minutes are.
    closed_minutes = max(0.0, (now - closing.since).total_seconds() / 60 - 1)
    open_minutes = flow.minutes - closed_minutes
    return flow.completions * flow.minutes / open_minutes if open_minutes >= 1 else 0.0


def _rounded(seconds: float) -> float:
    """As exact as it can be known, so that it does not change with every look."""
    step = 10 if seconds < 120 else 60 if seconds < 7_200 else 600
    return float(math.ceil(seconds / step) * step)


def shown(health: Health, accounts: Iterable[str] | None) -> Health:
    """What a person may see of it; None for all accounts."""
    if accounts is None:
        return health
    visible = set(accounts)
    return replace(health, accounts=tuple(one for one in health.accounts if one.account in visible))
