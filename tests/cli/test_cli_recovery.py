"""Parked items of recovery queues, on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dlq_console import Hub, QueueGuard, RecoveryConsumer, RetryConfig
from dlq_console.settings import read_settings
from tests.cli.running import CommandLine


@pytest.fixture
def hub(both: CommandLine) -> Iterator[Hub]:
    """The hub whose database the command uses."""
    hub = Hub(read_settings(database_url=both.settings["DLQ_DATABASE_URL"]))
    yield hub
    hub.close()


def fails(_item: Any) -> None:
    """What no item survives."""
    raise TimeoutError


def parked(hub: Hub, *items: Any, queue: str = "recovery") -> QueueGuard:
    """A queue whose items have failed too often."""
    guard = QueueGuard(hub.state, queue, on_full=print)
    for item in items:
        assert guard.safe_enqueue(item)
    RecoveryConsumer(hub.state, queue, fails, retry=RetryConfig(max_attempts=1)).run_once()
    return guard


def ids(both: CommandLine) -> dict[str, str]:
    """The ids of the listed items, by the items."""
    return {
        str(item["item"]): item["id"] for item in both.succeed("recovery", "list", "--json").json["items"]
    }


def test_parked_items_are_listed_resumed_and_discarded(both: CommandLine, hub: Hub) -> None:
    assert both.succeed("recovery", "list", "--json").json == {"items": []}
    queue = parked(hub, "thread-1", "thread-2")
    heading, *rows = both.succeed("recovery", "list").output.splitlines()
    assert heading.split() == ["ID", "QUEUE", "ITEM", "ENDED", "WITH", "ATTEMPTS", "SINCE", "BY"]
    known = ids(both)
    assert sorted(row.split()[:5] for row in rows) == sorted(
        [known[item], "recovery", f'"{item}"', "TimeoutError", "1"] for item in ("thread-1", "thread-2")
    )

    told = both.succeed("recovery", "resume", known["thread-1"])
    assert told.output == 'recovery ("thread-1"): it is tried again.\n'
    done = both.succeed("recovery", "discard", known["thread-2"], "--note", "Booked by hand", "--json")
    assert done.json == {
        "id": known["thread-2"],
        "queue": "recovery",
        "item": "thread-2",
        "outcome": "discarded",
    }
    assert both.succeed("recovery", "list", "--json").json == {"items": []}
    assert queue.stats()["size"] == 1
    done_again: list[Any] = []
    assert RecoveryConsumer(hub.state, "recovery", done_again.append).run_once() == 1
    assert done_again == ["thread-1"]


def test_who_decided_and_why_is_in_the_audit(both: CommandLine, hub: Hub) -> None:
    parked(hub, "thread-1", "thread-2")
    known = ids(both)
    both.succeed("recovery", "resume", known["thread-1"])
    both.succeed("recovery", "discard", known["thread-2"], "--note", "Booked by hand")
    with hub.store.read() as connection:
        rows = connection.execute(hub.store.tables.audit.select()).all()
    assert all(row.actor.startswith("cli:") for row in rows)
    assert [(row.action, row.subject, row.note, row.before, row.after) for row in rows] == [
        ("resume_item", f"recovery:recovery {known['thread-1']}", None, "parked", "resumed"),
        ("discard_item", f"recovery:recovery {known['thread-2']}", "Booked by hand", "parked", "discarded"),
    ]


def test_whoever_comes_second_is_told_that_it_was_decided(both: CommandLine, hub: Hub) -> None:
    parked(hub, "thread-1")
    id_ = ids(both)["thread-1"]
    both.succeed("recovery", "resume", id_)
    refused = both("recovery", "discard", id_)
    assert (refused.status, refused.output) == (1, "")
    assert refused.sentence.startswith(f"No item {id_} is parked: somebody has decided")


def test_an_item_of_two_queues_is_told_apart_by_its_queue(both: CommandLine, hub: Hub) -> None:
    for name in ("bookings", "payments"):
        parked(hub, "thread-1", queue=name)
    (id_,) = set(ids(both).values())
    refused = both("recovery", "resume", id_)
    assert refused.status == 2
    assert "bookings or payments" in refused.sentence
    both.succeed("recovery", "resume", id_, "--queue", "payments")
    (left,) = both.succeed("recovery", "list", "--json").json["items"]
    assert left["queue"] == "bookings"


def test_what_looks_secret_in_an_item_is_masked(both: CommandLine, hub: Hub) -> None:
    parked(hub, {"thread": 1, "password": "s3cret-word"})
    for arguments in (("list",), ("list", "--json")):
        assert "s3cret-word" not in both.succeed("recovery", *arguments).output
