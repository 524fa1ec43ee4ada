"""One storm from its first process to the record of what it left: shops, workers, ERP, people, and faults upon them all."""

from __future__ import annotations

import time
from bisect import insort
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self

from dlq_console import Hub
from dlq_console.settings import read_settings
from tests.chaos.crew import Crew, Member
from tests.chaos.documents import SHOPS
from tests.chaos.erp import write_faults
from tests.chaos.faults import Faults
from tests.chaos.operators import Operators
from tests.chaos.plan import GAP, Fault
from tests.chaos.record import Record, read_record
from tests.chaos.servers import Servers, servers_of
from tests.services.process import POLL_SECONDS, WaitTimeoutError, free_port

#: Events that the shops hand over in each second of the storm, all together.
RATE = 35
WORKERS = 2
#: Events that one worker runs at once.
SLOTS = 4
#: Short, so that a storm of some seconds sees leases lapse (seconds).
LEASE_SECONDS = 3
#: Most seconds of the storm that one look at everybody counts for.
LONGEST_LOOK = 0.5
#: A storm may last so many times as long as it should, because workers have to start again.
SLOWEST = 10
#: Seconds in which every process must have come so far as to work.
START_SECONDS = 60
#: Seconds in which all must have ended once everything is healthy, on a slow and busy machine.
DRAIN_SECONDS = 180
#: Events that the people reprocess after the storm, when others of their lanes have gone ahead.
LATE_ACTS = 12
#: Seconds between two looks of the operators at the lanes that have stopped, once the storm is over.
SETTLE_EVERY = 0.5

_OPEN = (
    "SELECT status, count(*) FROM dlq_event WHERE status NOT IN ('done', 'dead', 'discarded') GROUP BY status"
)


class Storm:
    """A whole installation under a plan of faults.

    Args:
        setup: one of `plan.SETUPS`.
        seed: of what the shops send, how the ERP fails, and what the people do at the end.
        seconds: how long the shops send.
        folder: for databases, ledgers and what the processes print.
    """

    def __init__(self, setup: str, seed: int, seconds: float, folder: Path) -> None:
        self._setup = setup
        self._seed = seed
        self._seconds = seconds
        self._folder = folder
        self._stack = ExitStack()
        self._erp_ledger, self._erp_faults = folder / "erp.jsonl", folder / "erp-faults.json"
        self._shop_ledgers = [folder / f"shop-{shop}.jsonl" for shop in range(SHOPS)]

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def blow(self, plan: Sequence[Fault]) -> None:
        """Start the shops and let everything of the plan happen, in seconds in which a worker is at work.

        Raises:
            WaitTimeoutError: the workers did not come to work.
        """
        for shop in range(SHOPS):
            self._crew.start(self._shop(shop))
        waiting = list(plan)
        blown, seen = 0.0, time.monotonic()
        deadline = seen + SLOWEST * self._seconds + START_SECONDS
        while blown < self._seconds:
            if seen > deadline:
                raise WaitTimeoutError(f"Workers were at work for {blown:.1f} of {self._seconds:g} s only.")
            now = time.monotonic()
            # Nothing can be done to workers that are still starting, however long that takes on this machine, and while
            # a server starts nothing else happens.
            blown += min(now - seen, LONGEST_LOOK) if self._crew.at_work("worker") else 0.0
            seen = now
            self._perform_due(waiting, blown)
            self._faults.end_due()
            self._crew.tend()
            time.sleep(POLL_SECONDS)

    def drain(self) -> dict[str, int]:
        """Make everything healthy, wait until every event has ended, and stop; returns the exit statuses.

        Raises:
            WaitTimeoutError: not everything had ended in time; the message says what had not.
        """
        self._faults.end_all()
        self._crew.wait_until_all_live(START_SECONDS)
        choice = Random(f"settling:{self._seed}")
        for _ in range(LATE_ACTS):
            self._operators.ask("reprocess", Random(choice.random()))
        self._operators.leave(DRAIN_SECONDS)
        deadline = time.monotonic() + DRAIN_SECONDS
        while not self._all_ended():
            if time.monotonic() > deadline:
                raise WaitTimeoutError(f"Not everything ended in {DRAIN_SECONDS} s: {self._open()}")
            self._operators.settle_stopped_lanes(choice)
            self._crew.tend()
            time.sleep(SETTLE_EVERY)
        return self._crew.stop(30)

    def record(self) -> Record:
        """What the storm left."""
        with closing(self._servers.connect()) as connection:
            return read_record(
                connection, shops=self._shop_ledgers, erp=self._erp_ledger, acts=self._operators.done
            )

    def crashes(self) -> list[str]:
        """What processes said that were at work and ended by themselves in a traceback."""
        return self._crew.crashes

    def figures(self) -> dict[str, Any]:
        """How hard the storm was."""
        return {
            "faults": dict(self._faults.struck),
            "missed": dict(self._faults.missed),
            "people": dict(self._operators.counts),
            "processes": dict(self._crew.counts),
            "last words": self._crew.last_words,
        }

    def _perform_due(self, waiting: list[Fault], blown: float) -> None:
        """Let happen what is due. What found nothing to strike is tried again a little later."""
        while waiting and waiting[0].at <= blown:
            fault = waiting.pop(0)
            if not self._faults.perform(fault):
                insort(waiting, replace(fault, at=blown + GAP), key=lambda each: each.at)

    def _start(self) -> None:
        self._servers: Servers = self._stack.enter_context(servers_of(self._setup, self._folder))
        port = free_port()
        erp_url = f"http://127.0.0.1:{port}"
        settings = self._servers.settings | {
            "DLQ_APP": "tests.chaos.app:hub",
            "DLQ_LEASE_SECONDS": str(LEASE_SECONDS),
            "DLQ_POLL_SECONDS": "0.1",
            "CHAOS_ERP_URL": erp_url,
        }
        self._crew = Crew(self._folder, settings)
        self._stack.callback(self._crew.close)
        self._crew.start(self._erp(port))
        for member in self._workers():
            self._crew.start(member)
        # Until the first of them has published what it runs, the shops would not know the order of a kind.
        self._crew.wait_until_all_live(START_SECONDS)
        hub = Hub(read_settings(database_url=self._servers.database_url, broker_url=""))
        self._stack.callback(hub.close)
        self._operators = Operators(hub, erp_url)
        self._faults = Faults(self._crew, self._servers, self._operators, self._erp_faults)

    def _erp(self, port: int) -> Member:
        write_faults(self._erp_faults, {})
        files = ("--ledger", str(self._erp_ledger), "--faults", str(self._erp_faults))
        options = ("--port", str(port), "--seed", str(self._seed), *files)
        return Member("erp", ("tests.chaos.erp", *options), at_work="the ERP answers")

    def _workers(self) -> list[Member]:
        """Where a scheduler of its own is, the workers host no steps, so that its faults are felt."""
        apart = self._servers.broker is not None
        options = ("--concurrency", str(SLOTS), *(["--no-scheduler"] if apart else []))
        members = [
            Member(f"worker-{number}", ("dlq_console", "worker", *options), at_work="events at once")
            for number in range(WORKERS)
        ]
        return members + ([Member("scheduler", ("dlq_console", "scheduler"))] if apart else [])

    def _shop(self, shop: int) -> Member:
        options = {
            "shop": shop,
            "seed": self._seed,
            "events": round(RATE * self._seconds / SHOPS),
            "seconds": self._seconds,
            "ledger": self._shop_ledgers[shop],
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
        return Member(f"shop-{shop}", ("tests.chaos.producer", *arguments), ends=True)

    def _all_ended(self) -> bool:
        handed_over = all(
            member.done for name, member in self._crew.members.items() if name.startswith("shop")
        )
        return handed_over and not self._open()

    def _open(self) -> dict[str, int]:
        with closing(self._servers.connect()) as connection:
            return dict(connection.execute(_OPEN).fetchall())
