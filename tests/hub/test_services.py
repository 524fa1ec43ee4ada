"""Guards of services and the hub together: one state, one configuration, one list, one set of acts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dlq_console
from dlq_console import (
    BulkheadConfig,
    CircuitBreakerConfig,
    CircuitOpenError,
    Event,
    Hub,
    Policy,
    QueueGuard,
    RedisState,
    SqlState,
    guard,
    remaining_budget,
    traced_node,
)
from dlq_console.errors import ConfigurationError, EventNotFound, PayloadRefused, StoreUnavailable
from dlq_console.hub import services
from dlq_console.hub.door_figures import account_rooms
from dlq_console.hub.doors import circuits, every_door
from dlq_console.resilience import MemoryState
from dlq_console.resilience import budget as budgets
from dlq_console.resilience.breaker import BREAKERS, BreakerRecord
from dlq_console.resilience.defaults import process_defaults, register_defaults
from dlq_console.resilience.state import Change, Changing
from dlq_console.settings import read_settings
from dlq_console.store import claims, migrate, queries, snapshots
from dlq_console.store.filters import EventFilter
from dlq_console.workers import steps
from tests.services.process import PROJECT_ROOT, wait_until
from tests.services.redis import RedisServer
from tests.services.spans import no_spans_yet

ONE_FAILURE = CircuitBreakerConfig(failure_threshold=1, recovery_timeout=60)
FILE = """
[payment_api.breaker]
failure_threshold = 1
recovery_timeout = 45

[payment_api.bulkhead]
max_concurrent = 3
timeout = 10

[payment_api.retry]
max_attempts = 2
"""


class ServiceError(Exception):
    """What a service answers that is out of order."""


@pytest.fixture(autouse=True)
def _own_defaults(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a hub says for its process ends with the test."""
    monkeypatch.setattr(budgets, "limits", budgets.Limits())
    yield
    register_defaults(None)


@pytest.fixture
def redis_hub(sqlite_url: str, redis_url: str) -> Iterator[Hub]:
    """A hub whose guards share a Redis."""
    hub = Hub(read_settings(database_url=sqlite_url, redis_url=redis_url, broker_url=""))
    yield hub
    hub.close()


def fail() -> None:
    raise ServiceError


def opened(hub: Hub, name: str) -> None:
    """Open the circuit of a service by a call that fails."""
    with pytest.raises(ServiceError):
        guard(name, breaker=ONE_FAILURE, bulkhead=False, state=hub.state).call(fail)


def audit(hub: Hub) -> list[tuple[Any, ...]]:
    with hub.store.read() as connection:
        rows = connection.execute(
            hub.store.statement("SELECT actor, action, subject, note, before, after FROM {audit} ORDER BY id")
        ).all()
    return [tuple(row) for row in rows]


# Public names


@pytest.mark.parametrize("name", dlq_console.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(dlq_console, name) is not None


# One state


def test_the_state_is_the_database_unless_a_redis_is_set(hub: Hub, redis_hub: Hub) -> None:
    assert isinstance(hub.state, SqlState)
    assert isinstance(redis_hub.state, RedisState)


def test_a_hub_shares_circuits_and_slots_with_every_other_program(hub: Hub) -> None:
    other = Hub(hub.settings)
    with pytest.raises(ServiceError):
        hub.breaker("search", ONE_FAILURE).call(fail)
    with pytest.raises(CircuitOpenError) as refused:
        other.breaker("search").call(fail)
    assert refused.value.name == "search"
    held = hub.bulkhead("search", BulkheadConfig(max_concurrent=1)).acquire()
    assert other.bulkhead("search", BulkheadConfig(max_concurrent=1)).stats()["available"] == 0
    held.release()
    other.close()


def test_a_breaker_is_one_object_and_configured_in_one_place(hub: Hub) -> None:
    assert hub.breaker("search", ONE_FAILURE) is hub.breaker("search")
    assert hub.bulkhead("search") is hub.bulkhead("search")
    with pytest.raises(ConfigurationError, match='"search" is configured already'):
        hub.breaker("search", CircuitBreakerConfig(failure_threshold=7))


def test_building_a_hub_and_its_breakers_opens_nothing(tmp_path: Path) -> None:
    hub = Hub(read_settings(database_url=f"sqlite:///{tmp_path}/none.db", redis_url="redis://127.0.0.1:1/0"))
    hub.breaker("search")
    hub.bulkhead("search")
    hub.close()
    assert list(tmp_path.glob("none*")) == []


def test_calls_go_on_where_nobody_has_made_the_tables(tmp_path: Path) -> None:
    hub = Hub(read_settings(database_url=f"sqlite:///{tmp_path}/none.db"))
    assert hub.breaker("search").call(lambda: "answer") == "answer"
    assert hub.breaker("search").stats()["degraded"] is True
    with pytest.raises(
        StoreUnavailable, match=r"there is no database at .*none\.db; run: dlq-console db upgrade"
    ):
        hub.state.read(BREAKERS, "search")
    hub.close()
    assert list(tmp_path.glob("none*")) == []


def test_tables_of_an_older_step_are_a_state_that_is_away(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/old.db"
    migrate.upgrade(url, to="0002")
    hub = Hub(read_settings(database_url=url))
    with pytest.raises(StoreUnavailable, match="db upgrade"):
        hub.state.read(BREAKERS, "search")
    assert hub.breaker("search").call(lambda: "answer") == "answer"
    hub.close()


# Guards without a state


def test_a_guard_uses_state_and_services_of_the_hub_of_its_process(database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "services.toml"
    file.write_text(FILE)
    pay = guard("payment_api")  # as at the top of a module, before the hub is made
    hub = Hub(read_settings(database_url=database_url, services=str(file)))
    with pytest.raises(ServiceError):
        pay.call(fail)
    stats = hub.breaker("payment_api").stats()
    assert (stats["state"], stats["recovery_timeout"]) == ("open", 45)
    assert hub.bulkhead("payment_api").config == BulkheadConfig(max_concurrent=3, timeout=10)
    hub.close()


def test_the_defaults_of_a_closed_hub_in_memory_are_withdrawn() -> None:
    hub = Hub.in_memory()
    assert process_defaults().state is hub.state
    hub.close()
    assert isinstance(process_defaults().state, MemoryState)


PROGRAM = """
from dlq_console import guard, remaining_budget
print(remaining_budget())
try:
    guard("search", bulkhead=False).call(lambda: 1 / 0)
except ZeroDivisionError:
    pass
from dlq_console.resilience.defaults import process_defaults
state = process_defaults().state
print(type(state).__name__)
state.close()
"""


def test_a_program_without_a_hub_shares_what_its_environment_names(redis_url: str) -> None:
    settings = {"DLQ_REDIS_URL": redis_url, "DLQ_BUDGET_DEFAULT": "12", "PYTHONPATH": str(PROJECT_ROOT)}
    child = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert child.stdout.split() == ["12.0", "RedisState"], child.stderr
    state = RedisState(redis_url)
    record = state.read(BREAKERS, "search").record
    assert record is not None
    assert record.failures == 1
    state.close()


def test_budgets_are_those_of_the_settings(database_url: str) -> None:
    hub = Hub(read_settings(database_url=database_url, budget_default=7, budget_max=9))
    assert remaining_budget() == 7
    with dlq_console.init_budget(500):
        assert remaining_budget() <= 9
    hub.close()


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"redis_url": "localhost:6379"}, "DLQ_REDIS_URL is wrong: write redis://host:port/db"),
        ({"budget_default": 0}, "DLQ_BUDGET_DEFAULT is wrong: "),
        ({"budget_max": float("nan")}, "DLQ_BUDGET_MAX is wrong: "),
        (
            {"budget_default": 30, "budget_max": 20},
            "DLQ_BUDGET_MAX is wrong: it is less than DLQ_BUDGET_DEFAULT, 30",
        ),
    ],
)
def test_a_wrong_setting_is_told_in_one_sentence(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_settings(**values)
    assert str(refused.value).startswith(sentence)


def test_a_file_of_services_that_cannot_work_is_refused_when_the_hub_is_made(
    database_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "services.toml"
    file.write_text("[search.breaker]\nfailure_threshold = 0\n")
    with pytest.raises(ConfigurationError, match=r"DLQ_SERVICES: \[search.breaker\] failure_threshold"):
        Hub(read_settings(database_url=database_url, services=str(file)))


# One list


def test_services_are_listed_beside_the_circuits_of_the_hub(hub: Hub) -> None:
    opened(hub, "search")
    hub.force_breaker("filial-sp", "open", actor="maria")
    found = services.read_services(hub.state).breakers
    assert list(found) == ["search"]
    assert (found["search"]["scope"], found["search"]["state"]) == ("service", "open")
    assert found["search"]["last_failure"] == "ServiceError"
    assert found["search"]["history"][0]["after"] == "open"
    assert found["search"]["open_until"] is not None


def test_calls_of_all_programs_are_counted_although_nothing_has_failed(hub: Hub) -> None:
    for _ in range(3):
        hub.breaker("search").call(lambda: None)
    hub.close()  # tells what was counted
    (found,) = services.read_services(hub.state).breakers.values()
    assert (found["state"], found["counts"]["calls"], found["counts"]["successes"]) == ("closed", 3, 3)


def test_bulkheads_tell_who_is_inside_and_for_how_long(hub: Hub) -> None:
    bulkhead = hub.bulkhead("search", BulkheadConfig(max_concurrent=2))
    held = bulkhead.acquire()
    found = services.read_services(hub.state).bulkheads["search"]
    assert (found["max"], found["in_use"], found["available"], found["waiting"]) == (2, 1, 1, 0)
    assert str(os.getpid()) in found["oldest"]["owner"]
    held.release()
    assert services.read_services(hub.state).bulkheads["search"]["oldest"] is None


def test_accounts_are_bulkheads_too(hub: Hub) -> None:
    hub.enqueue("order.create", account="filial-sp", entity_id="1", payload={})
    rooms = account_rooms(queries.overview(hub.store), every_door(hub.store))
    assert rooms["filial-sp"] == {
        "scope": "account",
        "max": 0,
        "in_use": 0,
        "available": 0,
        "waiting": 1,
        "oldest": None,
        "counts": None,
        "degraded": False,
    }


def test_reading_the_figures_changes_nothing(hub: Hub) -> None:
    opened(hub, "search")
    before = hub.state.read(BREAKERS, "search").record
    services.read_services(hub.state)
    assert hub.state.read(BREAKERS, "search").record == before


def test_a_service_with_the_name_of_an_account_is_shown_as_a_service() -> None:
    hubs, found = {"erp": "account"}, {"erp": "service", "search": "service", "service:x": "odd"}
    assert services.together(hubs, found) == {
        "erp": "account",
        "service:erp": "service",
        "search": "service",
        "service:service:x": "odd",
    }


def test_no_account_is_shown_by_the_name_of_a_service() -> None:
    hubs = {"erp": 1, "service:erp": 2, "account:erp": 3, "service:erp/order.create": 4}
    shown = services.together(hubs, {"erp": 5, "service:erp": 6, "account:erp": 7})
    assert shown == {
        "erp": 1,
        "account:service:erp": 2,
        "account:account:erp": 3,
        "account:service:erp/order.create": 4,
        "service:erp": 5,
        "service:service:erp": 6,
        "service:account:erp": 7,
    }


def test_an_account_that_is_called_like_a_service_is_acted_upon_by_the_name_that_the_list_shows(
    hub: Hub,
) -> None:
    opened(hub, "search")
    hub.force_breaker("account:service:search", "open", actor="maria")
    ((door, _),) = circuits(hub.store)
    assert door.scope.name == "service:search"
    assert services.read_services(hub.state).breakers["search"]["override"] is None
    assert services.service_of(hub.store, hub.state, "account:service:search") is None
    hub.reset_breaker("account:service:search", actor="maria")
    assert services.read_services(hub.state).breakers["search"]["state"] == "open"


# One set of acts


def test_the_breaker_of_a_service_is_held_and_reset_by_the_name_that_the_list_shows(hub: Hub) -> None:
    opened(hub, "search")
    hub.force_breaker("search", "closed", actor="maria", note="They say it works", seconds=60)
    breaker = hub.breaker("search")
    assert breaker.call(lambda: "answer") == "answer"
    assert breaker.stats()["override"]["actor"] == "maria"
    hub.reset_breaker("search", actor="joana")
    wait_until(lambda: breaker.stats()["override"] is None, 5, "the reset to be seen")
    assert circuits(hub.store) == []
    assert audit(hub) == [
        ("maria", "forced_closed", "service:search", "They say it works", "open", "closed"),
        ("joana", "reset_breaker", "service:search", None, "closed", "closed"),
    ]


def test_an_account_goes_before_a_service_of_the_same_name(hub: Hub) -> None:
    opened(hub, "erp")
    hub.force_breaker("erp", "open", actor="maria")  # the list shows the service by this name
    assert circuits(hub.store) == []
    hub.reset_breaker("erp", actor="maria")
    hub.force_breaker("filial-sp", "open", actor="maria")
    opened(hub, "filial-sp")
    hub.reset_breaker("filial-sp", actor="maria")
    assert services.read_services(hub.state).breakers["filial-sp"]["state"] == "open"
    hub.reset_breaker("service:filial-sp", actor="maria")
    assert services.read_services(hub.state).breakers["filial-sp"]["state"] == "closed"


def test_a_service_nobody_has_used_can_be_held_by_its_full_name_but_not_reset(hub: Hub) -> None:
    with pytest.raises(EventNotFound, match="There is no breaker service:search"):
        hub.reset_breaker("service:search", actor="maria")
    hub.force_breaker("service:search", "open", actor="maria")
    with pytest.raises(CircuitOpenError):
        hub.breaker("search").call(fail)


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ({"seconds": 0}, PayloadRefused),
        ({"seconds": float("nan")}, PayloadRefused),
        ({"seconds": 1e12}, PayloadRefused),
        ({"actor": ""}, PayloadRefused),
        ({"name": "service:"}, ConfigurationError),
    ],
)
def test_an_act_that_cannot_be_kept_is_refused_and_changes_nothing(
    hub: Hub, values: dict[str, Any], error: type[Exception]
) -> None:
    opened(hub, "search")
    before = hub.state.read(BREAKERS, "search").record
    with pytest.raises(error):
        hub.force_breaker(**({"name": "search", "position": "open", "actor": "maria"} | values))
    assert hub.state.read(BREAKERS, "search").record == before
    assert audit(hub) == []


def test_accounts_can_be_held_while_the_state_of_services_is_away(
    redis_hub: Hub, redis_server: RedisServer
) -> None:
    opened(redis_hub, "search")
    steps.take_snapshot(redis_hub)
    redis_server.stop()
    with pytest.raises(StoreUnavailable):
        redis_hub.force_breaker("search", "open", actor="maria")
    redis_hub.force_breaker("filial-sp", "open", actor="maria")
    assert [door.scope.name for door, _ in circuits(redis_hub.store)] == ["filial-sp"]


# Snapshots


def test_a_step_keeps_what_it_has_read_for_the_pages_and_writes_what_has_changed(hub: Hub) -> None:
    assert snapshots.look(hub.store, services.BREAKERS) == snapshots.NOTHING
    opened(hub, "search")
    hub.bulkhead("search").run(lambda: None)
    assert steps.take_snapshot(hub) == 2
    taken = snapshots.look(hub.store, services.BREAKERS)
    assert taken.values["search"]["state"] == "open"
    assert taken.taken_at is not None
    assert taken.is_stale is False
    assert steps.take_snapshot(hub) == 0
    hub.reset_breaker("search", actor="maria")  # is seen at once
    assert services.last_seen(snapshots.look(hub.store, services.BREAKERS))["search"]["state"] == "closed"


def test_what_is_gone_from_the_state_is_gone_from_the_snapshot(hub: Hub) -> None:
    hub.state.change(BREAKERS, "search", lambda _record, _now: Change(None, BreakerRecord(failures=1)))
    assert steps.take_snapshot(hub) == 1
    hub.state.change(BREAKERS, "search", lambda _record, _now: Change(None, None))
    assert steps.take_snapshot(hub) == 1
    assert snapshots.look(hub.store, services.BREAKERS).values == {}


def test_a_snapshot_that_nobody_renews_is_not_shown_as_current(hub: Hub) -> None:
    opened(hub, "search")
    steps.take_snapshot(hub)
    hub.clock.advance(60)
    stale = snapshots.look(hub.store, services.BREAKERS)
    assert stale.age >= 59
    assert services.last_seen(stale)["search"]["degraded"] is True


def test_while_the_state_is_away_the_last_snapshot_stands_and_says_so(
    redis_hub: Hub, redis_server: RedisServer
) -> None:
    opened(redis_hub, "search")
    steps.take_snapshot(redis_hub)
    redis_server.stop()
    assert steps.take_snapshot(redis_hub) == 0
    shown = snapshots.look(redis_hub.store, services.BREAKERS)
    assert shown.away is not None
    assert shown.away.startswith("The shared state in Redis at ")
    assert services.last_seen(shown)["search"] == {**shown.values["search"], "degraded": True}
    redis_server.restore()
    steps.take_snapshot(redis_hub)
    assert snapshots.look(redis_hub.store, services.BREAKERS).away is None


def test_records_whose_time_is_over_are_pruned_and_others_stay(hub: Hub) -> None:
    def keep(seconds: float) -> Changing[BreakerRecord, None]:
        return lambda _record, _now: Change(None, BreakerRecord(failures=1), seconds)

    hub.state.change(BREAKERS, "short", keep(5))
    hub.state.change(BREAKERS, "long", keep(500))
    hub.clock.advance(60)
    assert steps.prune_shared(hub) == 1
    assert list(hub.state.read_all(BREAKERS)[0]) == ["long"]
    assert steps.prune_shared(hub) == 0


# A kind's own room


def test_the_bulkhead_of_a_policy_is_the_room_of_its_kind() -> None:
    policy = Policy(bulkhead=BulkheadConfig(max_concurrent=3))
    assert (policy.max_running, policy.timeout) == (3, 60)
    assert Policy(bulkhead=BulkheadConfig(max_concurrent=3), max_running=2).max_running == 2
    assert Policy(bulkhead=BulkheadConfig(max_concurrent=3, timeout=10)).timeout == 10
    assert Policy(bulkhead=BulkheadConfig(max_concurrent=3, timeout=90)).timeout == 60
    assert Policy(bulkhead=BulkheadConfig(max_concurrent=3, timeout=None)).timeout == 60


@pytest.mark.parametrize("bulkhead", [BulkheadConfig(max_concurrent=0), {"max_concurrent": 3}])
def test_a_bulkhead_that_lets_none_of_a_kind_run_is_refused(bulkhead: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"Policy\.bulkhead is wrong: write a BulkheadConfig"):
        Policy(bulkhead=bulkhead)


def test_no_more_of_a_kind_run_than_its_bulkhead_has_room_for(hub: Hub) -> None:
    @hub.handler("order.create", policy=Policy(bulkhead=BulkheadConfig(max_concurrent=2)))
    def create_order(event: Event) -> None:
        """Never run here."""

    hub.publish_kinds("test")
    for number in range(5):
        hub.enqueue("order.create", account="filial-sp", entity_id=str(number), payload={})
    taken = claims.claim_any(hub.store, worker="test", limit=5, lease_seconds=30)
    taken += claims.claim_any(hub.store, worker="test", limit=5, lease_seconds=30)
    assert len(taken) == 2


# Traces


@pytest.fixture
def spans() -> Any:
    """The spans that were finished, through the real library."""
    return no_spans_yet()


def test_an_event_carries_the_trace_of_its_producer_and_is_run_within_it(hub: Hub, spans: Any) -> None:
    @hub.handler("order.create")
    @traced_node("handler")
    def create_order(event: Event) -> None:
        """Takes it."""

    @traced_node("checkout")
    def checkout() -> int:
        return hub.enqueue("order.create", account="filial-sp", entity_id="1", payload={}).id

    event = hub.run(checkout())
    sent, handled, ran = spans()  # in the order in which they ended
    assert event.trace_context is not None
    assert f"{sent.context.trace_id:032x}-{sent.context.span_id:016x}" in event.trace_context
    assert (ran.name, ran.attributes["dlq.event_id"]) == ("run order.create", event.id)
    assert ran.parent.span_id == sent.context.span_id
    assert handled.parent.span_id == ran.context.span_id


def test_without_a_trace_an_event_carries_none(hub: Hub) -> None:
    assert (
        hub.get(hub.enqueue("order.create", account="a", entity_id="1", payload={}).id).trace_context is None
    )


# Full queues


def test_what_a_full_queue_refuses_is_a_dead_letter_before_its_caller_is_told(hub: Hub) -> None:
    queue = QueueGuard(
        hub.state, "recovery", max_size=1, on_full=hub.on_full("thread.resume", account="recovery")
    )
    assert queue.safe_enqueue("thread-1") is True
    assert queue.safe_enqueue("thread-2") is False
    (letter,) = queries.events_page(hub.store, EventFilter.parse({"status": "dead"})).items
    assert (letter.kind, letter.account, letter.entity_id, letter.reason) == (
        "thread.resume",
        "recovery",
        "thread-2",
        "queue_full",
    )
    assert hub.get(letter.id).payload == "thread-2"
    assert letter.last_error == "It found no room in its recovery queue."
    assert hub.run_due() == 0


def test_an_item_refused_again_is_counted_on_its_dead_letter_and_one_that_was_done_is_a_new_one(
    hub: Hub,
) -> None:
    resumed: list[Any] = []

    @hub.handler("thread.resume")
    def resume(event: Event) -> None:
        resumed.append(event.payload)

    refuse = hub.on_full("thread.resume", account="recovery")
    for _ in range(3):
        refuse({"thread": 7})
    (letter,) = queries.events_page(hub.store, EventFilter.parse({"status": "dead"})).items
    assert letter.duplicates == 2
    hub.reprocess(letter.id, actor="maria")
    refuse({"thread": 7})  # it is on its way
    hub.run_due()
    assert (hub.get(letter.id).status, resumed) == ("done", [{"thread": 7}])
    refuse({"thread": 7})
    (again,) = queries.events_page(hub.store, EventFilter.parse({"status": "dead"})).items
    assert again.id != letter.id


@pytest.mark.parametrize("item", ["x" * 500, {"thread": 7}, 8841, [1, 2]])
def test_any_item_has_a_dead_letter_that_can_be_found(hub: Hub, item: Any) -> None:
    hub.on_full("thread.resume", account="recovery")(item)
    (letter,) = queries.events_page(hub.store, EventFilter.parse({"status": "dead"})).items
    assert hub.get(letter.id).payload == item
    assert 0 < len(letter.entity_id) <= 200
