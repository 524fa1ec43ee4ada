"""Calls of which nobody knows whether they had their effect, on the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from dlq_console import Hub, OutcomeUnknown, guard, idempotent_node
from dlq_console.resilience import IdempotentCalls
from dlq_console.resilience.calls import Replay
from dlq_console.resilience.idempotency.undecided import OPEN_CALLS
from dlq_console.settings import read_settings
from tests.cli.running import CommandLine
from tests.services.redis import RedisServer


@pytest.fixture
def hub(both: CommandLine) -> Iterator[Hub]:
    """The hub whose database the command uses."""
    hub = Hub(read_settings(database_url=both.settings["DLQ_DATABASE_URL"]))
    yield hub
    hub.close()


class Bookings:
    """A node whose first call for each order times out."""

    def __init__(self, hub: Hub) -> None:
        self.made: list[int] = []
        self.book = idempotent_node(hub.state, "book", ["order"])(self._book)

    def _book(self, given: dict[str, int]) -> dict[str, Any]:
        self.made.append(given["order"])
        if self.made.count(given["order"]) == 1:
            raise TimeoutError
        return {"confirmation": f"second of {given['order']}"}

    def leave_doubt(self, order: int) -> str:
        """Make a call of unknown outcome; the command that its error names."""
        with pytest.raises(TimeoutError):
            self.book({"order": order})
        with pytest.raises(OutcomeUnknown) as caught:
            self.book({"order": order})
        found = re.search(r"dlq-console nodes decide (\S+) --applied", str(caught.value))
        assert found is not None
        return found[1]


def test_calls_of_unknown_outcome_are_listed_and_decided(both: CommandLine, hub: Hub) -> None:
    assert both.succeed("nodes", "list", "--json").json == {"items": []}
    bookings = Bookings(hub)
    applied, not_applied = bookings.leave_doubt(8841), bookings.leave_doubt(8842)
    heading, first, second = both.succeed("nodes", "list").output.splitlines()
    assert heading.split() == ["KEY", "NODE", "CALL", "ENDED", "WITH", "SINCE", "BY"]
    assert first.split()[:4] == [applied, "book", "order=8841", "TimeoutError"]
    assert second.startswith(not_applied)

    told = both.succeed("nodes", "decide", applied, "--applied", "--result", '{"confirmation": "seen there"}')
    assert told.output == "book (order=8841): it is not made again.\n"
    done = both.succeed(
        "nodes", "decide", not_applied, "--not-applied", "--note", "Not in their list", "--json"
    )
    assert done.json == {"key": not_applied, "node": "book", "about": "order=8842", "outcome": "not_applied"}
    assert both.succeed("nodes", "list", "--json").json == {"items": []}

    assert bookings.book({"order": 8841}) == {"confirmation": "seen there"}
    assert bookings.book({"order": 8842}) == {"confirmation": "second of 8842"}
    assert bookings.made == [8841, 8842, 8842]


def test_a_decision_is_in_the_audit_with_who_and_why(both: CommandLine, hub: Hub) -> None:
    key = Bookings(hub).leave_doubt(8841)
    both.succeed("nodes", "decide", key, "--not-applied", "--note", "Not in their list")
    with hub.store.read() as connection:
        audit = hub.store.tables.audit
        (row,) = connection.execute(audit.select()).all()
    assert row.actor.startswith("cli:")
    assert (row.action, row.subject, row.note) == ("decide_node", f"node:book {key}", "Not in their list")
    assert (row.before, row.after) == ("unknown", "not_applied")


def test_whoever_comes_second_is_told_that_it_was_decided(both: CommandLine, hub: Hub) -> None:
    key = Bookings(hub).leave_doubt(8841)
    both.succeed("nodes", "decide", key, "--applied")
    refused = both("nodes", "decide", key, "--not-applied")
    assert (refused.status, refused.output) == (1, "")
    assert refused.sentence.startswith(f"No call {key} waits for a decision: somebody has decided")


def test_a_decision_about_a_doubt_is_not_taken_for_one_about_a_later_doubt(
    both: CommandLine, hub: Hub
) -> None:
    calls = IdempotentCalls("book", hub.state)

    def doubt_left() -> str:
        with pytest.raises(TimeoutError):
            calls.run("order 1", "f", times_out)
        (item,) = both.succeed("nodes", "list", "--json").json["items"]
        return str(item["doubt"])

    first = doubt_left()
    both.succeed("nodes", "decide", "order 1", "--not-applied", "--doubt", first)
    second = doubt_left()
    refused = both("nodes", "decide", "order 1", "--not-applied", "--doubt", first)
    assert (refused.status, refused.output) == (1, "")
    assert refused.sentence.endswith("is in doubt anew: look at the other side once more.")
    both.succeed("nodes", "decide", "order 1", "--applied", "--doubt", second)
    assert calls.run("order 1", "f", times_out) == Replay(None)


def times_out() -> None:
    raise TimeoutError


def test_a_call_that_is_being_made_is_not_decided(both: CommandLine, hub: Hub) -> None:
    def during() -> str:
        refused = both("nodes", "decide", key_of(hub), "--not-applied")
        assert refused.status == 1
        assert refused.sentence.endswith("of erp is running: there is nothing to decide about it.")
        return "done"

    assert guard("erp", bulkhead=False, idempotency_key="pay 1", state=hub.state).call(during) == "done"


def key_of(hub: Hub) -> str:
    (call,) = hub.state.read_all(OPEN_CALLS)[0].values()
    return call.key


def test_calls_of_two_nodes_with_one_key_are_told_apart_by_the_node(both: CommandLine, hub: Hub) -> None:
    for name in ("book", "pay"):
        with pytest.raises(TimeoutError):
            IdempotentCalls(name, hub.state).run("order 1", "f", times_out)
    refused = both("nodes", "decide", "order 1", "--applied")
    assert refused.status == 2
    assert refused.sentence.endswith("name the node, book or pay.")
    both.succeed("nodes", "decide", "order 1", "--applied", "--node", "pay")
    (left,) = both.succeed("nodes", "list", "--json").json["items"]
    assert left["node"] == "book"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "Say --applied or --not-applied: look at the other side first."),
        (("--applied", "--not-applied"), "Say --applied or --not-applied, not both."),
        (("--not-applied", "--applied"), "Say --applied or --not-applied, not both."),
        (("--applied", "--result", "{"), "result: this is not JSON"),
        (("--not-applied", "--result", "1"), "result: a call that was not applied has none."),
        (("--applied", "--result", '"' + "x" * 300_000 + '"'), "result: "),
        (("--applied", "--note", "x" * 2001), "note: 2,001 characters are more than the limit"),
    ],
)
def test_a_decision_that_is_none_is_refused_in_one_sentence(
    run: CommandLine, options: tuple[str, ...], sentence: str
) -> None:
    refused = run("nodes", "decide", "k", *options)
    assert (refused.status, refused.output) == (2, "")
    assert sentence in refused.sentence


def test_without_its_redis_nothing_is_listed_or_decided_and_that_is_told(
    run: CommandLine, redis_url: str, redis_server: RedisServer
) -> None:
    run.settings["DLQ_REDIS_URL"] = redis_url
    with redis_server.stopped():
        for command in (("list",), ("decide", "k", "--applied")):
            refused = run("nodes", *command)
            assert (refused.status, refused.output) == (1, "")
            assert "Redis" in refused.sentence
