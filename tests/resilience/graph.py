"""A graph of three nodes whose process can be killed after the outside effect of the second one.

Run as `python -m tests.resilience.graph FOLDER REDIS_URL THREAD WHERE`: WHERE says where it stops, and waits for its end.
Effects are lines of a file, so that they outlive the process.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from pathlib import Path
from typing import Any, TypedDict

from dlq_console.contrib.langgraph import run_thread
from dlq_console.resilience.idempotency import idempotent_node
from dlq_console.resilience.idempotency.verifying import Verdict
from dlq_console.resilience.orphans import WorkRegister
from dlq_console.resilience.redis_state import RedisState
from dlq_console.resilience.state import SharedState
from dlq_console.resilience.tracing import traced_node

LEASE = 1.0


class Booking(TypedDict, total=False):
    """The state of a thread."""

    order: int
    offer: str
    confirmation: str
    notified: bool


class Outside:
    """The system that books; what it did is in a file."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "booked"

    def book(self, order: int) -> str:
        """Book an order: the outside effect."""
        with self._file.open("a") as file:
            file.write(f"{order}\n")
        return f"confirmation of {order}"

    def booked(self) -> list[int]:
        """The orders that were booked, in order."""
        return [int(line) for line in self._file.read_text().split()] if self._file.exists() else []


def checkpoints(folder: Path) -> AbstractAsyncContextManager[Any]:
    """The checkpoints of the graph, in a file of the folder."""
    saver = import_module("langgraph.checkpoint.sqlite.aio").AsyncSqliteSaver
    opened: AbstractAsyncContextManager[Any] = saver.from_conn_string(str(folder / "checkpoints.db"))
    return opened


def make_graph(
    folder: Path, state: SharedState, saver: Any, stop: Callable[[str], None] = lambda _where: None
) -> Any:
    """The graph.

    Args:
        folder: of the outside system.
        state: of the idempotent node.
        saver: of its checkpoints.
        stop: called at each named place.
    """
    outside = Outside(folder)

    async def verify(given: Booking) -> Verdict:
        order = given["order"]
        return {"confirmation": f"confirmation of {order}"} if order in outside.booked() else "not_applied"

    async def search(given: Booking) -> Booking:
        await asyncio.sleep(0)
        return {"offer": f"offer for {given['order']}"}

    @traced_node("book")
    @idempotent_node(state, "book", ["order"], lease=LEASE, verify=verify)
    async def book(given: Booking) -> Booking:
        await asyncio.sleep(0)
        confirmation = outside.book(given["order"])
        stop("before the result is kept")
        return {"confirmation": confirmation}

    async def book_then_stop(given: Booking) -> Booking:
        done: Booking = await book(given)
        stop("before the checkpoint")
        return done

    async def notify(_given: Booking) -> Booking:
        await asyncio.sleep(0)
        return {"notified": True}

    graphs = import_module("langgraph.graph")
    graph = graphs.StateGraph(Booking)
    graph.add_node("search", search)
    graph.add_node("book", book_then_stop)
    graph.add_node("notify", notify)
    for before, after in (
        (graphs.START, "search"),
        ("search", "book"),
        ("book", "notify"),
        ("notify", graphs.END),
    ):
        graph.add_edge(before, after)
    return graph.compile(checkpointer=saver)


async def run(folder: Path, state: SharedState, thread_id: str, where: str) -> None:
    """Run a thread until the place where its process shall be killed."""

    def stop(place: str) -> None:
        if place == where:
            print("stopped", flush=True)  # noqa: T201 - read by the test
            time.sleep(60)

    async with checkpoints(folder) as saver:
        graph = make_graph(folder, state, saver, stop)
        await run_thread(graph, WorkRegister(state, "threads", lease=LEASE), thread_id, {"order": 8841})


def main(folder: str, redis_url: str, thread_id: str, where: str) -> None:
    """Do it with the state in Redis."""
    asyncio.run(run(Path(folder), RedisState(redis_url, timeout=5), thread_id, where))


if __name__ == "__main__":
    main(*sys.argv[1:])
