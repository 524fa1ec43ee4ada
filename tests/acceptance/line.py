"""The whole line in real processes: shops, ERP, two workers of which one is killed again and again, until all is done."""

from __future__ import annotations

import itertools
import json
import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

from dlq_console import Hub
from dlq_console.settings import read_settings
from dlq_console.store.states import OPEN
from tests.acceptance.erp import Erp
from tests.acceptance.producer import create_shop_table
from tests.services.process import Child, WaitTimeoutError, wait_until
from tests.services.reaper import kill_group

EVENTS = 1_500
SHOPS = 3
#: Events that one worker runs at once.
SLOTS = 6
#: So often one of the workers that have been at work for as long is killed (seconds).
KILL_EVERY = 2.0
#: So often at most: then the rest is done in peace, however slowly a machine starts processes. So many events at least
#: must have ended between two of them, or a slow machine would do nothing but start workers.
MAX_KILLS = 15
ENDED_BETWEEN = 30
#: What a worker says once it takes events, and how long it may take to start on a busy machine (seconds).
AT_WORK = r"worker \S+ runs \d+ events at once"
START_SECONDS = 60
#: Short, so that what a killed worker ran is free again soon (seconds).
LEASE_SECONDS = 3

_SOME_OPEN = f"SELECT 1 FROM {{event}} WHERE status IN ({', '.join(repr(str(s)) for s in OPEN)}) LIMIT 1"


class Line:
    """Everything between a shop's transaction and the ERP's books.

    Args:
        folder: for the processes' output.
        environment: settings of the hub: DLQ_DATABASE_URL, and DLQ_BROKER_URL unless in table mode.
        scheduler_apart: whether the periodic steps have a process of their own, which nobody kills; otherwise the
            workers host them, and each killed leader has to be followed by the other one.
    """

    def __init__(self, folder: Path, environment: Mapping[str, str], *, scheduler_apart: bool) -> None:
        self._folder = folder
        self._environment = dict(environment)
        self._scheduler_apart = scheduler_apart
        self._stack = ExitStack()
        self._workers: list[Child] = []
        self._random = Random(7)
        self._lives = itertools.count(1)
        self._were_at_work: set[int] = set()
        self.kills = self._ended_at_kill = 0
        self.hub = Hub(read_settings(database_url=environment["DLQ_DATABASE_URL"], broker_url=""))

    def __enter__(self) -> Self:
        self._stack.callback(self.hub.close)
        create_shop_table(self.hub.settings.database_url)
        self.erp = Erp(self._folder / "erp")
        self._stack.callback(self.erp.close)
        self._environment |= {
            "DLQ_APP": "tests.acceptance.app:hub",
            "DLQ_DEMO_ERP_URL": self.erp.url,
            "DLQ_LEASE_SECONDS": str(LEASE_SECONDS),
            "DLQ_POLL_SECONDS": "0.1",
        }
        self._stack.callback(self._stop_workers)
        if self._scheduler_apart:
            self._start("scheduler", "dlq_console", "scheduler")
        self._workers = [self._start_worker() for _ in range(2)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        for log in sorted(self._folder.glob("worker-*/output.log"))[-4:]:
            print(f"--- {log.parent.name}\n{log.read_text(errors='replace')[-4000:]}")  # noqa: T201 - kept by pytest for failures

    def run(self, timeout: float) -> Counter[str]:
        """Let the shops send everything and the workers run it, one of them killed every `KILL_EVERY` seconds.

        After `MAX_KILLS` of them nobody is killed any more.

        Returns:
            What the shops did: created, folded and rolled_back.

        Raises:
            WaitTimeoutError: not everything had ended in `timeout` seconds; the message says what had not.
        """
        for worker in self._workers:
            worker.wait_for_line(AT_WORK, START_SECONDS)
        shops = [self._start_shop(number) for number in range(SHOPS)]
        for _ in range(round(timeout / KILL_EVERY)):
            try:
                wait_until(lambda: self._all_ended(shops), KILL_EVERY, "everything to end")
            except WaitTimeoutError:
                if self.kills < MAX_KILLS and self._ended() >= self._ended_at_kill + ENDED_BETWEEN:
                    self._kill_a_worker()
            else:
                return self._said(shops)
        raise WaitTimeoutError(f"Not everything ended in {timeout:g} s: {self.counts()}, {self.kills} kills.")

    def counts(self) -> dict[str, int]:
        """Events by status."""
        with self.hub.store.read() as connection:
            statement = self.hub.store.statement(
                "SELECT status, count(*) AS events FROM {event} GROUP BY status"
            )
            return {row.status: row.events for row in connection.execute(statement)}

    def _ended(self) -> int:
        return sum(number for status, number in self.counts().items() if status not in OPEN)

    def _all_ended(self, shops: Sequence[Child]) -> bool:
        if any(shop.running for shop in shops):
            return False
        with self.hub.store.read() as connection:
            return connection.execute(self.hub.store.statement(_SOME_OPEN)).first() is None

    def _said(self, shops: Sequence[Child]) -> Counter[str]:
        said: Counter[str] = Counter()
        for shop in shops:
            assert shop.wait_for_exit() == 0, shop.output()
            said.update(json.loads(shop.output().splitlines()[-1]))
        return said

    def _start_shop(self, number: int) -> Child:
        options = ["--first-number", str(10_000 * (number + 1)), "--events", str(EVENTS // SHOPS)]
        return self._start(f"shop-{number}", "tests.acceptance.producer", *options)

    def _start_worker(self) -> Child:
        options = ["--no-scheduler"] if self._scheduler_apart else []
        name = f"worker-{next(self._lives):03}"
        return self._start(name, "dlq_console", "worker", "--concurrency", str(SLOTS), *options)

    def _start(self, name: str, module: str, *arguments: str) -> Child:
        folder = self._folder / name
        folder.mkdir()
        program = [sys.executable, "-m", module, *arguments]
        return self._stack.enter_context(Child(program, env=self._environment, folder=folder))

    def _kill_a_worker(self) -> None:
        """Kill one that has begun to work, as the kernel kills a process or as a machine loses all; start another.

        One that is still starting is left alone: on a slow machine none would ever come to work otherwise.
        """
        for worker in self._workers:
            assert worker.running, worker.output()[-4000:]
        at_work = {worker.pid for worker in self._workers if re.search(AT_WORK, worker.output())}
        old = [n for n, worker in enumerate(self._workers) if worker.pid in self._were_at_work & at_work]
        self._were_at_work = at_work
        if not old:
            return
        number = self._random.choice(old)
        worker = self._workers[number]
        if self._random.random() < 0.5:
            kill_group(worker.pid)
        worker.kill()
        self.kills += 1
        self._ended_at_kill = self._ended()
        self._workers[number] = self._start_worker()

    def _stop_workers(self) -> None:
        for worker in self._workers:
            worker.stop()
