"""Do the rules about circuits, log-ins, blocks and budgets find what they should, and are they quiet where a door explains it?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from dlq_console import Event, Hub, Policy
from dlq_console.clock import utc_now
from dlq_console.errors import TransientError
from dlq_console.health.alert_values import PAGE, When
from dlq_console.hub.services import BREAKERS
from dlq_console.resilience.pacing import Pace
from dlq_console.store import door_acts, doors, snapshots
from dlq_console.store.doors import Door
from dlq_console.store.scope_names import account_scope, method_scope
from tests.store.closing import close
from tests.store.filling import put
from tests.watch.alert_turns import built_in, finds, turn, turns_until_closed
from tests.watch.examined import hub_on


@pytest.fixture
def hub(database_url: str) -> Iterator[Hub]:
    made = hub_on(database_url)
    snapshots.keep(made.store, BREAKERS, {})
    yield made
    made.close()


def opened(hub: Hub, *times: str, name: str = "filial-sp", minutes: int = 0) -> None:
    """Write down what a circuit went through, such as "closed open"."""
    with hub.store.write() as connection:
        doors.create(hub.store, connection, account_scope(name))
    for number, moved in enumerate(times):
        before, after = moved.split()
        put(
            hub.store, "scope_change", type="account", name=name, generation=number + minutes, before=before, after=after,
            at=utc_now() - timedelta(minutes=minutes + number), why="", actor="test",
        )  # fmt: skip


ONCE = ("closed open", "open half_open", "half_open closed")


def test_a_circuit_that_opens_three_times_a_day_is_told_of(hub: Hub) -> None:
    rule = built_in(When.BREAKER_OPENINGS)
    assert rule.level == PAGE
    opened(hub, *ONCE, *ONCE)
    # One long outage, of which every probe failed, is one opening.
    opened(hub, "closed open", *["open half_open", "half_open open"] * 9, name="filial-rj")
    assert turn(hub, rule) == {}
    opened(hub, *ONCE, minutes=100)
    assert turn(hub, rule, 15)["filial-sp"].value == 3
    hub.store.clock.advance(86_400)
    snapshots.keep(hub.store, BREAKERS, {})
    assert turn(hub, rule) == {}


def test_what_opened_behind_a_pause_or_a_block_is_told_of_to_nobody(hub: Hub) -> None:
    for name in ("filial-sp", "filial-rj", "filial-mg"):
        opened(hub, *ONCE, *ONCE, *ONCE, name=name)
    hub.pause_account("filial-sp", actor="maria", note="stocktaking")
    with hub.store.write() as connection:
        close(hub.store, connection, "account", "filial-rj", 600, "busy")
    assert set(turn(hub, built_in(When.BREAKER_OPENINGS))) == {"filial-mg"}


def test_the_circuits_of_services_count_too(hub: Hub) -> None:
    def moved(hours: float, before: str, after: str) -> dict[str, str]:
        return {"before": before, "after": after, "at": (utc_now() - timedelta(hours=hours)).isoformat()}

    history = [moved(hour, "closed", "open") for hour in (1, 2, 3)]
    early = [moved(hour, "closed", "open") for hour in (1, 2, 30)]
    services = {"payments": {"state": "closed", "history": history}, "search": {"history": early}}
    snapshots.keep(hub.store, BREAKERS, services)
    found = finds(hub, built_in(When.BREAKER_OPENINGS))
    assert [name for name, one in found.items() if one.firm] == ["service:payments"]
    assert finds(hub, built_in(When.BREAKER_OPENINGS, account="filial-sp")) == {}


def refuse(hub: Hub, account: str) -> None:
    """As a run ends whose log-in the provider refused."""
    note = "refused: Authorization: Bearer 0123456789abcdef0123456789abcdef"
    act = door_acts.paused(by="hub", note=note, seconds=None, cause="auth")
    with hub.store.write() as connection:
        doors.change(hub.store, connection, account_scope(account), act)


def test_a_refused_log_in_is_told_once_and_its_end_too(hub: Hub) -> None:
    rule = built_in(When.AUTH_FAILURE)
    assert (rule.level, rule.repeat_hours) == (PAGE, 0)
    assert turn(hub, rule) == {}
    refuse(hub, "filial-sp")
    found = turn(hub, rule)
    assert (set(found), found["filial-sp"].told) == ({"filial-sp"}, 1)
    assert "0123456789abcdef" not in str(found["filial-sp"].found)
    assert turn(hub, rule, 9 * 3_600)["filial-sp"].told == 1
    hub.resume_account("filial-sp", actor="maria", note="new key")
    assert turns_until_closed(hub, rule) == {}


def test_circuits_of_accounts_are_told_of_while_those_of_services_are_not_known(hub: Hub) -> None:
    opened(hub, *ONCE, *ONCE, *ONCE)
    snapshots.keep_away(hub.store, BREAKERS, "Redis is away.")
    assert set(turn(hub, built_in(When.BREAKER_OPENINGS))) == {"filial-sp"}


def test_a_pause_by_a_person_is_no_refused_log_in(hub: Hub) -> None:
    hub.pause_account("filial-sp", actor="maria", note="stocktaking")
    assert turn(hub, built_in(When.AUTH_FAILURE)) == {}


def test_a_block_of_the_provider_is_told_with_its_end_once_it_is_long(hub: Hub) -> None:
    rule = built_in(When.PROVIDER_BLOCK)
    with hub.store.write() as connection:
        close(hub.store, connection, "account", "filial-sp", 599, "busy")
        close(
            hub.store, connection, "method", method_scope("filial-rj", "order.create").name, 1_800, "blocked"
        )
    found = turn(hub, rule)
    assert set(found) == {"filial-rj/order.create"}
    one = found["filial-rj/order.create"]
    assert one.found["until"] is not None
    assert one.found["reason"] == "blocked"
    assert set(turn(hub, rule, 1_700)) == {"filial-rj/order.create"}, "not over before its end"
    assert turns_until_closed(hub, rule) == {}


def test_failing_answers_that_the_provider_counts_are_told_of_from_three_fifths_on(hub: Hub) -> None:
    hub.handler("order.omie", policy=Policy(provider="omie", max_attempts=9))(_never)
    hub.publish_kinds("test")
    rule = built_in(When.ERROR_BUDGET)

    def failed(number: int) -> None:
        def act(door: Door, now: float) -> Door:
            return replace(
                door, limited=True, pace=Pace(failures=tuple(now - each for each in range(number)))
            )

        with hub.store.write() as connection:
            doors.change(hub.store, connection, method_scope("filial-sp", "order.omie"), act)

    failed(5)
    assert turn(hub, rule) == {}, "5 of 9"
    failed(6)
    (one,) = turn(hub, rule).values()
    assert (one.account, one.found["kind"], one.found["provider"]) == ("filial-sp", "order.omie", "omie")
    assert one.value is not None
    assert round(one.value) == 67
    assert turn(hub, rule, 86_400) == {}


def _never(_event: Event) -> None:
    raise AssertionError


def test_a_circuit_that_stays_open_is_told_of_after_ten_minutes(hub: Hub) -> None:
    @hub.handler("order.create", policy=Policy(max_attempts=9))
    def fail(_event: Event) -> None:
        raise TransientError("away")

    hub.publish_kinds("test")
    rule = built_in(When.BREAKER_OPEN)
    for number in range(5):
        hub.enqueue("order.create", account="filial-sp", entity_id=str(number), payload={})
    hub.run_due()

    def later(seconds: float) -> set[str]:
        snapshots.keep(hub.store, BREAKERS, {})
        hub.store.clock.advance(seconds)
        snapshots.keep(hub.store, BREAKERS, {})
        return set(turn(hub, rule))

    assert later(0) == set()
    assert later(590) == set()
    assert later(20) == {"filial-sp"}
    hub.reset_breaker("filial-sp", actor="maria", note="well again")
    later(15)
    assert later(90) == set()
