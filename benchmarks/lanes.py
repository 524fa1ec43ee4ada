"""What does a claim cost where 100,000 events wait in one lane, and where the work is spread over 1,000 accounts?

PostgreSQL with fsync on and otherwise its own defaults, or SQLite as the hub opens it (`--engine sqlite`); 200,000 finished
events in the table. A lone worker looks which
accounts are ready, claims one event and completes it, which lets the next one of its lane go; other events of other
accounts are due beside. Dispatch is what a worker does for an account after each event: it looks for what the broker
should be told of next.

Compared with: the same claim without the status `blocked`, where the waiting events are ready and the claim itself has
to find out that each stands behind another; and 10 accounts.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.report import Report, argument_parser, load, milliseconds, percentile
from benchmarks.rows import Group, fill
from dlq_console.clock import monotonic
from dlq_console.store import claims, dispatching, presence, transitions
from dlq_console.store.claims import ReadyAccount
from dlq_console.store.migrate import upgrade
from dlq_console.store.store import Store
from dlq_console.workers.runner import READY_USED
from tests.services.postgres import DURABLE, PostgresServer

FINISHED = 200_000
WAITING = 100_000
LANE = "filial-longa|8841"
DONE = transitions.completed(None)
TIMES = 500


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds for each claim (with its share of looking for ready accounts), completion and dispatch."""

    claims: list[float]
    ends: list[float]
    dispatches: list[float]


def run(store: Store, only: list[str] | None = None) -> Costs:
    """Claim, complete and look for what to dispatch, one event after the other, as a worker with one slot does."""
    costs = Costs([], [], [])
    ready: list[ReadyAccount] = []
    ready_until = 0.0
    accounts = claims.ReadyRound(store, only)
    for _ in range(TIMES):
        began = monotonic()
        if began >= ready_until:
            ready = accounts.look()
            ready_until = monotonic() + READY_USED
        events = claims.claim(store, ready, worker="benchmark", limit=1)
        costs.claims.append(monotonic() - began)
        if not events:
            ready_until = 0.0
            continue
        began = monotonic()
        assert transitions.end(store, events[0], DONE)
        costs.ends.append(monotonic() - began)
        began = monotonic()
        dispatching.take_unsent(store, [events[0].account])
        costs.dispatches.append(monotonic() - began)
    return costs


def _naive(store: Store) -> float:
    """Seconds for a claim while the head of the lane runs and all that wait behind it are ready."""
    claims.claim_any(store, worker="benchmark", limit=1)
    took = []
    for _ in range(3):
        began = monotonic()
        assert claims.claim_any(store, worker="benchmark", limit=1) == []
        took.append(monotonic() - began)
    return statistics.median(took)


def long_lane(report: Report, store: Store, without: Store) -> None:
    """100,000 events in one lane, its head among them."""
    naive = _naive(without)
    costs = run(store, ["filial-longa"])
    report.under(
        f"claim with {WAITING:,} events waiting in one lane, p95",
        1000 * percentile(costs.claims, 95), "ms", 10,
        f"without the status `blocked`: {1000 * naive:,.0f} ms",
    )  # fmt: skip
    report.note(f"a claim: {milliseconds(costs.claims)}")
    report.note(f"a completion that lets the next one go: {milliseconds(costs.ends)}")


def many_accounts(report: Report, few: Store, many: Store) -> None:
    """The same work spread over 1,000 accounts and over 10, in turns, so that both see the same machine."""
    of_few, of_many = Costs([], [], []), Costs([], [], [])
    for _ in range(4):
        for store, into in ((few, of_few), (many, of_many)):
            costs = run(store)
            into.claims.extend(costs.claims)
            into.ends.extend(costs.ends)
            into.dispatches.extend(costs.dispatches)
    for name, few_took, many_took in (
        ("claim", of_few.claims, of_many.claims),
        ("dispatch", of_few.dispatches, of_many.dispatches),
    ):
        ratio = statistics.mean(many_took) / statistics.mean(few_took)
        report.at_most(f"{name} with 1,000 accounts, mean", ratio, "times that with 10", 1.5)
        report.note(f"10 accounts: {milliseconds(few_took)}; 1,000 accounts: {milliseconds(many_took)}")


def filled(store: Store, *groups: Group) -> Store:
    """A store with these rows, many finished ones, and one worker that has announced itself."""
    fill(store, Group(count=FINISHED, status="done"), *groups)
    presence.announce(store, "benchmark", mode="table", slots=4)
    return store


def measure(report: Report, new_store: Callable[[str], Store]) -> None:
    """Both questions on one engine; `new_store` makes an empty store of that name."""
    lane = filled(
        new_store("lane"),
        Group(count=1, status="pending", account="'filial-longa'", lane=f"'{LANE}'"),
        Group(count=WAITING, status="blocked", account="'filial-longa'", lane=f"'{LANE}'"),
        Group(count=20_000, status="pending"),
    )
    without = filled(
        new_store("without"),
        Group(count=WAITING, status="pending", account="'filial-longa'", lane=f"'{LANE}'"),
    )
    long_lane(report, lane, without)
    few = filled(new_store("few"), Group(count=200_000, status="pending"))
    many = filled(
        new_store("many"), Group(count=200_000, status="pending", account="'filial-' || (n % 1000)")
    )
    many_accounts(report, few, many)
    for store in (lane, without, few, many):
        store.engines.dispose()


def migrated(url: str) -> Store:
    """A store on an empty database."""
    upgrade(url)
    return Store(url)


def main() -> int:
    """Measure, print, and say by the exit status whether every bar was reached."""
    parser = argument_parser(__doc__)
    parser.add_argument("--engine", choices=["postgresql", "sqlite"], default="postgresql", help="on which")
    report = Report()
    if parser.parse_args().engine == "sqlite":
        report.heading(f"lanes: SQLite, one worker; {load()}")
        with tempfile.TemporaryDirectory(prefix="dlq-lanes-") as folder:
            measure(report, lambda name: migrated(f"sqlite:///{folder}/{name}.db"))
    else:
        with PostgresServer(DURABLE) as server:
            report.heading(f"lanes: PostgreSQL, fsync on, one worker; {load()}")
            measure(report, lambda name: migrated(server.create_database(name)))
    return report.status


if __name__ == "__main__":
    sys.exit(main())
