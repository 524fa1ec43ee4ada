"""Do the rules that look at the judged state of accounts find what is over, and what a closed door does not explain?"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from dlq_console import Hub
from dlq_console.health.alert_values import AlertRule, When
from dlq_console.health.values import AccountHealth, Closing, Counts, Flow, Health, Why, Word
from dlq_console.health.working_hours import WorkingHours
from dlq_console.hub.services import BREAKERS, BULKHEADS
from dlq_console.resilience.backpressure import QueueGuard
from dlq_console.store import snapshots
from dlq_console.store.alerts import Sighting
from dlq_console.watch.alert_looks import find
from dlq_console.watch.alert_scene import Scene
from tests.watch.alert_turns import built_in

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def account(name: str = "filial-sp", **values: Any) -> AccountHealth:
    return AccountHealth(
        account=name, word=values.pop("word", Word.OK), since=values.pop("since", NOW),
        why=values.pop("why", Why.FINE), **values,
    )  # fmt: skip


def due(**ago: float) -> Counts:
    return Counts(due=3, oldest_due_at=NOW - timedelta(**ago))


def looked(hub: Hub, rule: AlertRule, *accounts: AccountHealth, age: float = 1) -> list[Sighting]:
    for reading in (BREAKERS, BULKHEADS):
        snapshots.keep(hub.store, reading, {})
    health = Health(as_of=NOW, age=age, accounts=accounts)
    return find(rule, Scene(hub.store, hub.state, health, WorkingHours(), ZoneInfo("UTC")))[0]


#: A state that is over the built-in limit, one that is just below but keeps open, and one that is well.
CASES: dict[When, tuple[AccountHealth, AccountHealth, AccountHealth]] = {
    When.LAG_P95: (
        account(flow=Flow(lag_p95=301)), account(flow=Flow(lag_p95=299)), account(flow=Flow(lag_p95=200)),
    ),
    When.OLDEST_DUE: (
        account(counts=due(seconds=601)), account(counts=due(seconds=599)), account(counts=due(seconds=60)),
    ),
    When.NOTHING_COMPLETES: (
        account(why=Why.NOTHING_COMPLETES, word=Word.DOWN, figure=11.0),
        account(why=Why.NO_WORKER, word=Word.DOWN, since=NOW - timedelta(minutes=9.5)),
        account(why=Why.BEHIND, word=Word.DEGRADED, figure=99.0),
    ),
    When.BULKHEAD_USE: (
        account(counts=Counts(running=5, due=1), slots=6),
        account(counts=Counts(running=4, due=1), slots=5),
        account(counts=Counts(running=6), slots=6),
    ),
    When.DEAD_LETTERS: (account(counts=Counts(dead=1)), account(), account()),
    When.LANE_STOPPED: (account(counts=Counts(stopped_lanes=1)), account(), account()),
}  # fmt: skip


@pytest.mark.parametrize("when", CASES)
def test_what_is_over_is_found_firmly_and_what_is_just_below_keeps_open(hub: Hub, when: When) -> None:
    over, below, well = CASES[when]
    rule = built_in(when)
    assert [one.firm for one in looked(hub, rule, over)] == [True]
    assert not any(one.firm for one in looked(hub, rule, below))
    assert looked(hub, rule, well) == []
    assert looked(hub, built_in(when, account="filial-rj"), over) == []


@pytest.mark.parametrize("when", [When.LAG_P95, When.OLDEST_DUE, When.NOTHING_COMPLETES])
@pytest.mark.parametrize(
    ("cause", "muted"), [("pause", True), ("provider", True), ("auth", False), ("circuit", False)]
)
def test_a_person_or_the_provider_explains_that_things_stand_still(
    hub: Hub, when: When, cause: str, muted: bool
) -> None:
    over = replace(CASES[when][0], closing=Closing(cause=cause))
    assert [one.muted for one in looked(hub, built_in(when), over)] == [muted]


@pytest.mark.parametrize("when", CASES)
def test_what_is_stale_or_unknown_finds_nothing_and_ends_nothing(hub: Hub, when: When) -> None:
    over = CASES[when][0]
    assert looked(hub, built_in(when), over, age=11) == []
    assert looked(hub, built_in(when), replace(over, word=Word.UNKNOWN)) == []
    health = Health(as_of=NOW, age=11, accounts=(over,))
    stale = Scene(hub.store, hub.state, health, WorkingHours(), ZoneInfo("UTC"))
    assert find(built_in(when), stale) == ([], False)


def test_slots_of_services_and_recovery_queues_are_told_of_by_name(hub: Hub) -> None:
    snapshots.keep(
        hub.store, BULKHEADS, {"payments": {"in_use": 9, "max": 10}, "search": {"in_use": 1, "max": 9}}
    )
    scene = Scene(hub.store, hub.state, Health(as_of=NOW, age=1), WorkingHours(), ZoneInfo("UTC"))
    assert [one.subject for one in find(built_in(When.BULKHEAD_USE), scene)[0]] == ["service:payments"]
    assert find(built_in(When.BULKHEAD_USE, account="filial-sp"), scene)[0] == []


def test_a_recovery_queue_is_told_of_above_seven_tenths(hub: Hub) -> None:
    rule = built_in(When.RECOVERY_QUEUE)
    scene = Scene(hub.store, hub.state, Health(as_of=NOW, age=1), WorkingHours(), ZoneInfo("UTC"))
    queue = QueueGuard(hub.state, "graphs", max_size=10, on_full=lambda _: None)
    for number in range(7):
        assert queue.safe_enqueue({"id": str(number)})
    assert not any(one.firm for one in find(rule, scene)[0])
    assert queue.safe_enqueue({"id": "8"})
    assert [(one.subject, one.value, one.firm) for one in find(rule, scene)[0]] == [("graphs", 80, True)]
