"""Circuits of services on the command line, beside those of the hub."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dlq_console import CircuitBreakerConfig, Hub
from dlq_console.settings import read_settings
from dlq_console.workers import steps
from tests.cli.running import CommandLine
from tests.services.redis import RedisServer

ONE_FAILURE = CircuitBreakerConfig(failure_threshold=1, recovery_timeout=60)


class ServiceError(Exception):
    """What a service answers that is out of order."""


def open_circuit(hub: Hub, name: str) -> None:
    def fail() -> None:
        raise ServiceError

    with pytest.raises(ServiceError):
        hub.breaker(name, ONE_FAILURE).call(fail)


@pytest.fixture
def hub(both: CommandLine) -> Iterator[Hub]:
    """The hub whose database the command uses."""
    hub = Hub(read_settings(database_url=both.settings["DLQ_DATABASE_URL"]))
    yield hub
    hub.close()


def test_services_are_listed_held_and_reset_by_their_names(both: CommandLine, hub: Hub) -> None:
    open_circuit(hub, "search agent")
    hub.enqueue("order.create", account="filial-sp", entity_id="1", payload={})
    both.succeed("breakers", "force-open", "filial-sp", "--note", "Repair")
    heading, account, service = both.succeed("breakers", "list").output.splitlines()
    assert heading.split()[:3] == ["BREAKER", "OF", "STATE"]
    assert account.split()[:3] == ["filial-sp", "account", "open"]
    assert service.startswith("search agent  service  open")
    both.succeed("breakers", "force-closed", "search agent", "--minutes", "5", "--note", "They say it works")
    held = both.succeed("breakers", "list", "--json").json["search agent"]
    assert (held["state"], held["computed"], held["override"]["note"]) == (
        "closed",
        "open",
        "They say it works",
    )
    both.succeed("breakers", "reset", "search agent")
    assert both.succeed("breakers", "list", "--json").json["search agent"]["computed"] == "closed"


def test_a_service_that_nobody_knows_is_told_in_one_sentence(both: CommandLine) -> None:
    refused = both("breakers", "reset", "service:nobody")
    assert refused.status == 1
    assert refused.sentence.startswith("There is no breaker service:nobody")


@pytest.mark.parametrize("how", ["force-open", "force-closed"])
def test_a_slip_of_the_pen_holds_nothing(both: CommandLine, hub: Hub, how: str) -> None:
    hub.handler("order.create")(lambda event: None)
    hub.publish_kinds("worker")
    hub.enqueue("order.create", account="filial-sp", entity_id="1", payload={})
    for name in ("filial-ps", "filial-sp/order.craete", "filial-ps/order.create"):
        refused = both("breakers", how, name)
        assert (refused.status, refused.output) == (1, "")
        assert refused.sentence.startswith(f"Nothing is known of {name}: ")
    assert both.succeed("breakers", "list", "--json").json == {}
    both.succeed("breakers", how, "filial-sp/order.create")
    both.succeed("breakers", how, "filial-sp")


def test_an_account_without_events_is_known_by_what_was_set_for_it(both: CommandLine) -> None:
    both.succeed("accounts", "set", "filial-rj", "--max-running", 2)
    both.succeed("breakers", "force-open", "filial-rj")


@pytest.mark.parametrize("minutes", ["nan", "inf", "-inf", "1e300", "0", "-1", "600000"])
@pytest.mark.parametrize(
    "command", [("accounts", "pause"), ("breakers", "force-open"), ("breakers", "force-closed")]
)
def test_a_time_that_is_none_is_refused_in_one_sentence(
    run: CommandLine, command: tuple[str, str], minutes: str
) -> None:
    refused = run(*command, "filial-sp", f"--minutes={minutes}")
    assert (refused.status, refused.output) == (2, "")
    assert "write a number greater than 0 and at most 525600 (a year)." in refused.sentence
    assert run.succeed("accounts", "list", "--json").json == {"items": []}


def test_a_pause_of_a_year_is_no_fault(run: CommandLine) -> None:
    run.succeed("accounts", "pause", "filial-sp", "--minutes", 525_600)


def test_an_account_that_may_run_nothing_is_listed_as_stopped(run: CommandLine) -> None:
    run.succeed("accounts", "set", "filial-sp", "--max-running", 0)
    assert "stopped (0 at once)" in run.succeed("accounts", "list").output
    run.succeed("accounts", "set", "filial-sp", "--max-running", 1)
    assert "open" in run.succeed("accounts", "list").output


def test_without_its_redis_the_list_shows_what_was_read_last(
    run: CommandLine, redis_url: str, redis_server: RedisServer
) -> None:
    run.settings["DLQ_REDIS_URL"] = redis_url
    hub = Hub(read_settings(database_url=run.settings["DLQ_DATABASE_URL"], redis_url=redis_url))
    open_circuit(hub, "search")
    steps.take_snapshot(hub)
    redis_server.stop()
    listed = run("breakers", "list", "--json")
    assert (listed.status, listed.json["search"]["degraded"]) == (0, True)
    assert "What was read last of services is shown." in listed.sentence
    table = run("breakers", "list").output
    assert "search" in table
    refused = run("breakers", "force-open", "search")
    assert refused.status == 1
    assert "Redis" in refused.sentence
    hub.close()
