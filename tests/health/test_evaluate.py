"""Which word does an account get, and for which reason? One row per rule, at its threshold and just below."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dlq_console.health import ends, spelling
from dlq_console.health.ends import Kind
from dlq_console.health.evaluate import (
    COUNTED_WITHIN,
    LAG_TARGET,
    NO_WORKER_AFTER,
    STALLED_AFTER,
    Standing,
    drain,
    evaluate,
)
from dlq_console.health.values import (
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

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
A_SECOND = timedelta(seconds=1)
WORKER = WorkerState(
    worker="one",
    mode="table",
    host="here",
    pid=1,
    version="1",
    slots=4,
    accounts=None,
    state="running",
    started_at=NOW,
    heartbeat_at=NOW,
    alive=True,
)


def judged(*workers: WorkerState, counted_at: datetime | None = NOW, **known: Any) -> AccountHealth:
    standing = Standing(**({"counts": Counts()} | known))
    (one,) = evaluate({"filial-sp": standing}, workers or (WORKER,), now=NOW, counted_at=counted_at).accounts
    return one


def closed(cause: str, until: timedelta | None = None) -> Closing:
    return Closing(cause=cause, since=NOW - timedelta(hours=1), until=None if until is None else NOW + until)


def due(number: int, waited: timedelta, **more: Any) -> Counts:
    return Counts(due=number, oldest_due_at=NOW - waited, **more)


FLOWING = Flow(minutes=5, arrivals=10, completions=10, done=50)


@pytest.mark.parametrize(
    ("known", "word", "why", "figure"),
    [
        ({}, Word.OK, Why.FINE, None),
        ({"closing": closed("auth")}, Word.BLOCKED, Why.AUTH, None),
        ({"closing": closed("pause")}, Word.BLOCKED, Why.PAUSE, None),
        ({"closing": closed("provider")}, Word.BLOCKED, Why.PROVIDER, None),
        ({"closing": closed("circuit")}, Word.DOWN, Why.CIRCUIT, None),
        ({"partly": closed("circuit")}, Word.DEGRADED, Why.CIRCUIT, None),
        ({"circuit": "half_open"}, Word.DEGRADED, Why.PROBING, None),
        ({"counts": due(1, STALLED_AFTER + A_SECOND)}, Word.DOWN, Why.NOTHING_COMPLETES, 10),
        ({"counts": due(1, STALLED_AFTER)}, Word.OK, Why.FINE, None),
        ({"counts": due(1, STALLED_AFTER + A_SECOND), "flow": FLOWING}, Word.DEGRADED, Why.BEHIND, 600),
        ({"counts": Counts(blocked=2, stopped_lanes=1, dead=1)}, Word.DEGRADED, Why.LANE_STOPPED, 1),
        ({"counts": due(1, A_SECOND), "flow": Flow(lag_p95=LAG_TARGET + 1)}, Word.DEGRADED, Why.BEHIND, 301),
        ({"counts": due(1, A_SECOND), "flow": Flow(lag_p95=LAG_TARGET)}, Word.OK, Why.FINE, None),
        ({"flow": Flow(done=95, died=5)}, Word.DEGRADED, Why.DYING, 5),
        ({"flow": Flow(done=4, died=4)}, Word.OK, Why.FINE, None),
        ({"counts": Counts(dead=3)}, Word.DEGRADED, Why.DEAD_LETTERS, 3),
        ({"counts": due(9, A_SECOND, running=4), "slots": 4}, Word.DEGRADED, Why.CROWDED, 100),
        ({"counts": due(9, A_SECOND, running=3), "slots": 4}, Word.OK, Why.FINE, None),
        ({"counts": Counts(running=4), "slots": 4}, Word.OK, Why.FINE, None),
    ],
)
def test_the_first_rule_that_holds_gives_the_word(
    known: dict[str, Any], word: Word, why: Why, figure: float | None
) -> None:
    one = judged(**known)
    assert (one.word, one.why, one.figure) == (word, why, figure)


def test_what_was_not_counted_lately_is_unknown_and_never_ok() -> None:
    for counted_at in (None, NOW - COUNTED_WITHIN - A_SECOND):
        assert judged(counted_at=counted_at).word is Word.UNKNOWN
    assert judged(counted_at=NOW - COUNTED_WITHIN).word is Word.OK


def test_a_door_is_known_also_while_nothing_is_counted() -> None:
    assert judged(counted_at=None, closing=closed("pause")).why is Why.PAUSE


@pytest.mark.parametrize(
    "worker",
    [
        replace(WORKER, alive=False),
        replace(WORKER, accounts=("filial-rj",)),
        replace(WORKER, state="draining"),
    ],
    ids=["silent", "serves others", "stops"],
)
def test_work_that_no_worker_serves_is_down(worker: WorkerState) -> None:
    waits = due(1, NO_WORKER_AFTER + A_SECOND)
    assert judged(worker, counts=waits).why is Why.NO_WORKER
    assert judged(worker, counts=due(1, NO_WORKER_AFTER)).why is Why.FINE
    assert judged(worker, WORKER, counts=waits).why is Why.FINE


def test_a_word_keeps_since_when_it_holds_while_the_reason_changes() -> None:
    before = NOW - timedelta(hours=3)
    former = Former(Word.DEGRADED, before)
    assert judged(counts=Counts(dead=1), former=former).since == before
    assert judged(former=former).since == NOW


def test_a_closed_account_has_stood_so_since_its_door_was_closed() -> None:
    assert judged(closing=closed("circuit")).since == NOW - timedelta(hours=1)


def test_the_worst_comes_first_then_who_needs_a_person_then_how_much_waits_or_is_dead_then_by_name() -> None:
    standings = {
        "a-fine": Standing(),
        "b-fine": Standing(counts=due(9, A_SECOND)),
        "c-dead": Standing(counts=Counts(dead=1)),
        "d-dead": Standing(counts=Counts(dead=1)),
        "e-dead": Standing(counts=Counts(dead=2)),
        "f-probing": Standing(circuit="half_open"),
        "g-block": Standing(closing=closed("provider"), counts=Counts(paused=90)),
        "h-login": Standing(closing=closed("auth")),
        "i-block": Standing(closing=closed("provider"), counts=Counts(dead=1)),
        "z-circuit": Standing(closing=closed("circuit"), counts=Counts(paused=26, dead=6)),
    }
    health = evaluate(standings, [WORKER], now=NOW, counted_at=NOW)
    assert [one.account for one in health.accounts] == [
        "z-circuit", "i-block", "h-login", "g-block", "e-dead", "c-dead", "d-dead", "f-probing", "a-fine", "b-fine",
    ]  # fmt: skip


@pytest.mark.parametrize("cause", ["circuit", "provider"])
def test_dead_letters_need_a_person_whatever_else_is_told(cause: str) -> None:
    assert judged(closing=closed(cause), counts=Counts(dead=1)).needs_person
    assert not judged(closing=closed(cause), counts=Counts(paused=1)).needs_person


def test_what_was_counted_behind_a_door_that_has_opened_since_is_due() -> None:
    waits = Counts(paused=40, due=9, oldest_due_at=NOW - timedelta(minutes=12), capped=("paused",))
    one = judged(counts=waits, flow=FLOWING)
    assert (one.word, one.why, one.figure) == (Word.DEGRADED, Why.BEHIND, 720)
    assert (one.counts.due, one.counts.paused, one.counts.capped) == (49, 0, ("due",))
    assert one.drain == Drain(bound="pace")


def test_what_was_counted_before_the_door_closed_waits_behind_it() -> None:
    one = judged(counts=due(9, A_SECOND, capped=("due",)), closing=closed("circuit"))
    assert (one.counts.due, one.counts.paused, one.counts.capped) == (0, 9, ("paused",))


def test_a_standstill_begins_no_earlier_than_the_door_was_opened() -> None:
    waits = Counts(due=49, oldest_due_at=NOW - timedelta(hours=1))
    just_opened = judged(counts=waits, former=Former(Word.DOWN, NOW, closed=True))
    assert (just_opened.why, just_opened.opened_at) == (Why.BEHIND, NOW)
    later: dict[str, Any] = {
        "counts": waits,
        "former": Former(Word.DEGRADED, NOW, opened_at=NOW - STALLED_AFTER),
    }
    assert judged(**later).why is Why.BEHIND
    later["former"] = Former(Word.DEGRADED, NOW, opened_at=NOW - STALLED_AFTER - A_SECOND)
    assert (judged(**later).why, judged(**later).figure) == (Why.NOTHING_COMPLETES, 10)
    assert judged(**later, closing=closed("pause")).opened_at is None


def test_the_end_of_an_outage_of_workers_is_an_opening_too() -> None:
    waits = Counts(due=49, oldest_due_at=NOW - timedelta(hours=1))
    nobody = judged(replace(WORKER, alive=False), counts=waits, former=Former(Word.DOWN, NOW, closed=True))
    assert (nobody.why, nobody.opened_at, nobody.drain) == (Why.NO_WORKER, None, Drain(bound="pace"))
    former = spelling.read_former(spelling.kept_values(Health(accounts=(nobody,)))["filial-sp"])
    back = judged(counts=waits, former=former)
    assert (back.why, back.opened_at, back.opened_with) == (Why.BEHIND, NOW, 49)


def _opened(seconds: float, waited: int | None = 151) -> Former:
    return Former(Word.DEGRADED, NOW, opened_at=NOW - timedelta(seconds=seconds), opened_with=waited)


STOOD = Flow(minutes=5, arrivals=2)


@pytest.mark.parametrize(
    ("former", "waiting", "counted", "flow", "limit", "expected", "told"),
    [
        # Counted 15 s after the opening: half of it is gone.
        (_opened(16), 76, 1, STOOD, None, Drain(seconds=20, bound="pace"), Kind.ABOUT),
        # It was not counted since, or so soon that it says nothing.
        (_opened(16), 151, 16, STOOD, None, Drain(bound="opening"), Kind.UNKNOWN),
        (_opened(16), 150, 12, STOOD, None, Drain(bound="opening"), Kind.UNKNOWN),
        # Until then the limit says how fast it can be, and afterwards how fast at most.
        (_opened(16), 151, 16, STOOD, 32.0, Drain(seconds=360, bound="provider"), Kind.ABOUT),
        (_opened(16), 76, 1, STOOD, 32.0, Drain(seconds=180, bound="provider"), Kind.ABOUT),
        # What ended while it was still closed is the least.
        (_opened(16), 151, 16, Flow(minutes=5, completions=10), None, Drain(seconds=960, bound="pace"), Kind.ABOUT),
        # It has become longer, for a whole minute.
        (_opened(50), 160, 0, STOOD, None, Drain(bound="opening"), Kind.UNKNOWN),
        (_opened(70), 160, 0, STOOD, None, Drain(bound="pace"), Kind.NONE),
        # How much waited at the opening is not known, and from when on the rates are of open minutes.
        (_opened(16, None), 76, 1, STOOD, None, Drain(bound="opening"), Kind.UNKNOWN),
        (_opened(419), 151, 0, STOOD, None, Drain(bound="opening"), Kind.UNKNOWN),
        (_opened(421), 151, 0, STOOD, None, Drain(bound="pace"), Kind.NONE),
    ],
)  # fmt: skip
def test_after_an_opening_the_pace_is_that_since_then_or_not_known_yet(
    former: Former, waiting: int, counted: float, flow: Flow, limit: float | None, expected: Drain, told: Kind
) -> None:
    one = judged(
        counts=due(waiting, timedelta(minutes=11)),
        flow=replace(flow, done=1),
        former=former,
        limit_per_minute=limit,
        counted_at=NOW - timedelta(seconds=counted),
    )
    assert (one.drain, ends.end(one, NOW).kind) == (expected, told)


def test_what_was_counted_up_to_a_cap_tells_no_pace() -> None:
    waits = Counts(due=10_000, capped=("due",), oldest_due_at=NOW - timedelta(hours=1))
    assert judged(counts=waits, former=_opened(60, 10_000), flow=STOOD).drain == Drain(bound="opening")
    assert judged(counts=waits, former=Former(Word.DOWN, NOW, closed=True)).opened_with is None


def test_when_it_ceased_to_stand_badly_is_kept() -> None:
    ended = NOW - timedelta(hours=2)
    down = Former(Word.DOWN, ended, left=((Word.OK, ended), (Word.DEGRADED, ended)))
    assert judged(former=down).left == ((Word.DEGRADED, ended), (Word.DOWN, NOW))
    assert judged(former=Former(Word.OK, ended, left=((Word.DOWN, ended),))).left == ((Word.DOWN, ended),)
    assert judged().left == ()


TWO_A_MINUTE = Flow(arrivals=8, completions=10)


@pytest.mark.parametrize(
    ("counts", "flow", "closing", "limit", "expected"),
    [
        (Counts(), TWO_A_MINUTE, None, None, Drain()),
        (Counts(due=4), TWO_A_MINUTE, None, None, Drain(seconds=120, bound="pace")),
        (Counts(due=4), Flow(arrivals=10, completions=10), None, None, Drain(bound="pace")),
        (Counts(due=4), Flow(arrivals=11, completions=10), None, None, Drain(bound="pace")),
        (Counts(due=4), TWO_A_MINUTE, None, 9.0, Drain(seconds=240, bound="provider")),
        (Counts(due=4), TWO_A_MINUTE, None, 20.0, Drain(seconds=120, bound="pace")),
        (Counts(paused=4), Flow(), closed("pause"), None, Drain(bound="door")),
        (Counts(paused=4), Flow(), closed("provider", timedelta(minutes=5)), None, Drain(bound="door")),
        (
            Counts(paused=10), Flow(), closed("provider", timedelta(minutes=5)), 10.0,
            Drain(seconds=360, bound="door"),
        ),
        (
            Counts(due=10), Flow(arrivals=10), closed("provider", timedelta(minutes=5)), 10.0,
            Drain(bound="provider"),
        ),
        (Counts(paused=9), TWO_A_MINUTE, closed("circuit", timedelta(minutes=5)), 20.0, Drain(bound="door")),
        (
            # Of six minutes it was open for four, and 15 a minute ended in these.
            Counts(paused=10), Flow(minutes=6, arrivals=10, completions=10),
            Closing(cause="provider", since=NOW - timedelta(minutes=3), until=NOW + timedelta(minutes=5)), None,
            Drain(seconds=420, bound="door"),
        ),
        (
            Counts(paused=10), Flow(minutes=6, arrivals=1, completions=10),
            Closing(cause="provider", since=NOW - timedelta(minutes=7), until=NOW + timedelta(minutes=5)), None,
            Drain(bound="door"),
        ),
    ],
)  # fmt: skip
def test_the_time_to_drain_is_the_surplus_capped_by_provider_and_door(
    counts: Counts, flow: Flow, closing: Closing | None, limit: float | None, expected: Drain
) -> None:
    assert drain(counts, flow, closing, NOW, limit_per_minute=limit) == expected
