"""A graph whose process is killed after it has booked: another one takes its thread up, and nothing is booked twice.

Three nodes: search, book, notify. This program starts a second one, kills it at the worst moment, after the booking and
before anybody has written that down, and then recovers the thread itself: the scanner finds it, the consumer resumes it
from its last checkpoint, and the verifier of `book` asks the booking system what became of it. It needs LangGraph:

    pip install langgraph langgraph-checkpoint-sqlite
    python -m examples.langgraph_threads
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from dlq_console import OrphanScanner, RecoveryConsumer, SharedState, SqlState, idempotent_node, traced_node
from dlq_console.contrib.langgraph import resuming, run_thread
from dlq_console.resilience import WorkRegister

ORDER, THREAD = 8841, "thread-1"
#: A process that shows no sign of life for so long is taken for dead, in seconds. In earnest 30 s, the default.
LEASE = 2.0
#: The longest wait for the other process, and for its thread, in seconds.
PATIENCE = 60.0


class Booking(TypedDict, total=False):
    """The state of a thread."""

    order: int
    offer: str
    confirmation: str
    notified: bool


class BookingSystem:
    """The system that books. What it has booked stands in a file: it outlives the processes that asked for it."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "booked"

    def book(self, order: int) -> str:
        """Book an order."""
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{order}\n")
        return f"confirmation of {order}"

    def confirmations(self) -> list[str]:
        """What was booked, in order."""
        lines = self._file.read_text(encoding="utf-8").split() if self._file.exists() else []
        return [f"confirmation of {order}" for order in lines]


def make_graph(system: BookingSystem, state: SharedState, saver: Any, booked: Callable[[], None]) -> Any:
    """The graph; `booked` is called when the effect has happened and nobody has written that down."""

    async def search(given: Booking) -> Booking:
        return {"offer": f"offer for {given['order']}"}

    async def was_it_booked(given: Booking) -> dict[str, str] | str:
        confirmation = f"confirmation of {given['order']}"
        return {"confirmation": confirmation} if confirmation in system.confirmations() else "not_applied"

    @traced_node("book")
    @idempotent_node(state, "book", ["order"], lease=LEASE, verify=was_it_booked)
    async def book(given: Booking) -> Booking:
        confirmation = system.book(given["order"])
        booked()
        return {"confirmation": confirmation}

    async def notify(_given: Booking) -> Booking:
        return {"notified": True}

    graph: Any = StateGraph(Booking)
    graph.add_node("search", search)
    graph.add_node("book", book)
    graph.add_node("notify", notify)
    for before, after in ((START, "search"), ("search", "book"), ("book", "notify"), ("notify", END)):
        graph.add_edge(before, after)
    return graph.compile(checkpointer=saver)


def checkpoints(folder: Path) -> AbstractAsyncContextManager[Any]:
    """The checkpoints of the graph."""
    return AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.db"))


def shared_state(folder: Path) -> SqlState:
    """The state that the processes share; a program with a hub takes `hub.state`."""
    state = SqlState(f"sqlite:///{folder / 'shared.db'}")
    state.create_table()
    return state


async def serve(folder: Path) -> None:
    """What the process does that will be killed: it serves one request, and hangs when it has booked."""

    def booked() -> None:
        print("booked", flush=True)
        time.sleep(PATIENCE)

    state = shared_state(folder)
    work = WorkRegister(state, "threads", lease=LEASE)
    async with checkpoints(folder) as saver:
        graph = make_graph(BookingSystem(folder), state, saver, booked)
        await run_thread(graph, work, THREAD, {"order": ORDER})


async def recover(folder: Path) -> Booking:
    """Take up the thread of the dead process, as soon as its lease is over; its state at the end."""
    state = shared_state(folder)
    work = WorkRegister(state, "threads", lease=LEASE)
    scanner = OrphanScanner(state, "recovery", work.orphans)
    async with checkpoints(folder) as saver, asyncio.timeout(PATIENCE):
        graph = make_graph(BookingSystem(folder), state, saver, booked=lambda: None)
        consumer = RecoveryConsumer(state, "recovery", resuming(graph, work))
        while not await consumer.arun_once():
            await scanner.ascan()
            await asyncio.sleep(0.1)
        snapshot = await graph.aget_state({"configurable": {"thread_id": THREAD}})
    state.close()
    done: Booking = snapshot.values
    return done


def kill_after_booking(folder: Path) -> None:
    """Start a process that serves, and kill it when it has booked."""
    command = [sys.executable, "-m", "examples.langgraph_threads", "--serve", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout is not None else ""
        finally:
            process.kill()
    if line != "booked\n":
        raise RuntimeError("The other process ended before it had booked; its error stands above.")


def main(given: Sequence[str] | None = None) -> int:
    """Tell the story."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    folder: Path | None = parser.parse_args(given).serve
    if folder is not None:
        asyncio.run(serve(folder))
        return 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        kill_after_booking(folder)
        print("The process was killed after it had booked; nobody has written that down.", flush=True)
        done = asyncio.run(recover(folder))
        print(f"Recovered: {done['confirmation']}, notified: {'yes' if done.get('notified') else 'no'}.")
        print(f"The booking system was asked to book {len(BookingSystem(folder).confirmations())} time(s).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
