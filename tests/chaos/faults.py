"""How is each fault of a plan done, and how is it ended?"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import psutil

from tests.chaos.brokers import Broker
from tests.chaos.crew import Crew
from tests.chaos.documents import ACCOUNTS
from tests.chaos.erp import write_faults
from tests.chaos.operators import Operators
from tests.chaos.plan import Fault
from tests.chaos.servers import Servers

#: Accounts that one fault of the ERP strikes.
STRUCK = 8
#: Acts of the people that one fault of theirs is.
ACTS = 4

Deed = Callable[[Fault, Random], bool]


class Faults:
    """Does what a plan says.

    Args:
        crew: the processes.
        servers: the servers.
        operators: the people.
        erp_file: where the ERP reads how it behaves.
    """

    def __init__(self, crew: Crew, servers: Servers, operators: Operators, erp_file: Path) -> None:
        self._crew = crew
        self._servers = servers
        self._operators = operators
        self._erp_file = erp_file
        self._erp_faults: dict[str, tuple[str, float]] = {}
        self._endings: list[tuple[float, int, Callable[[], object]]] = []
        #: What was run when a worker was frozen that is to come back once some of it is run anew.
        self._to_be_replaced: list[tuple[dict[int, int], Sequence[psutil.Process]]] = []
        self._numbers = itertools.count()
        self._let_go = threading.Event()
        self._holders: list[threading.Thread] = []
        #: Faults that struck something, and those that found nothing to strike.
        self.struck: Counter[str] = Counter()
        self.missed: Counter[str] = Counter()
        self._deeds = self._of_processes() | self._of_servers()
        if servers.broker is not None:
            self._deeds |= self._of_broker(servers.broker)

    def perform(self, fault: Fault) -> bool:
        """Let it happen; False if there was nothing to strike."""
        name, _, behaviour = fault.name.partition("_")
        choice = fault.choose()
        if fault.name in self._deeds:
            struck = self._deeds[fault.name](fault, choice)
        elif name == "erp":
            struck = self._misbehave(behaviour, fault.lasts, choice)
        else:
            for _ in range(ACTS):
                self._operators.ask(fault.name, Random(choice.random()))
            struck = True
        (self.struck if struck else self.missed)[fault.name] += 1
        return struck

    def end_due(self) -> None:
        """End the faults whose time is over, or whose moment has come."""
        if self._to_be_replaced:
            self._thaw_replaced(self._servers.running())
        while self._endings and self._endings[0][0] <= time.monotonic():
            heapq.heappop(self._endings)[2]()

    def end_all(self) -> None:
        """End every fault at once: all is healthy, or on its way to be."""
        self._let_go.set()
        for _, _, ending in sorted(self._endings, key=lambda each: each[:2]):
            ending()
        self._endings.clear()
        self._crew.thaw_all()
        write_faults(self._erp_file, {})
        self._servers.restore()
        for holder in self._holders:
            holder.join(10)

    def _later(self, seconds: float, ending: Callable[[], object]) -> None:
        heapq.heappush(self._endings, (time.monotonic() + seconds, next(self._numbers), ending))

    def _of_processes(self) -> dict[str, Deed]:
        crew = self._crew

        def kill(place: str, *, with_children: bool = True) -> Deed:
            return lambda _, choice: crew.kill(place, choice, with_children=with_children)

        def freeze(place: str, *, with_children: bool = True) -> Deed:
            return lambda fault, choice: self._freeze(
                crew.freeze(place, choice, with_children=with_children), fault.lasts
            )

        return {
            "kill_worker": kill("worker", with_children=False),
            "kill_worker_with_children": kill("worker"),
            "kill_worker_child": lambda _, choice: crew.kill_child("worker", choice),
            "freeze_worker": freeze("worker", with_children=False),
            "freeze_worker_with_children": freeze("worker"),
            "freeze_worker_child": lambda fault, choice: self._freeze(
                crew.freeze_child("worker", choice), fault.lasts
            ),
            "freeze_worker_until_replaced": self._freeze_until_replaced,
            "kill_scheduler": kill("scheduler"),
            "freeze_scheduler": freeze("scheduler"),
            "kill_shop": kill("shop"),
            "freeze_shop": freeze("shop"),
            "erp_killed": self._kill_erp,
            "erp_frozen": freeze("erp"),
        }

    def _of_servers(self) -> dict[str, Deed]:
        servers = self._servers

        def stop_postgres(*, crash: bool) -> Deed:
            def deed(fault: Fault, _: Random) -> bool:
                servers.stop_postgres(crash=crash)
                self._later(fault.lasts, servers.restore)
                return True

            return deed

        return {
            "postgres_restarts": stop_postgres(crash=False),
            "postgres_crashes": stop_postgres(crash=True),
            "backends_terminated": lambda _, choice: servers.terminate_backends(choice) > 0,
            "sqlite_held": self._hold_sqlite,
        }

    def _of_broker(self, broker: Broker) -> dict[str, Deed]:
        def stop(fault: Fault, _: Random) -> bool:
            broker.server.stop()
            self._later(fault.lasts, self._servers.restore)
            return True

        def freeze(fault: Fault, _: Random) -> bool:
            if not broker.server.running:
                return False
            broker.freeze(fault.lasts)
            self._later(fault.lasts, self._servers.restore)
            return True

        return {
            "broker_restarts": stop,
            "broker_frozen": freeze,
            "broker_emptied": lambda *_: broker.empty(),
            "messages_doubled": lambda _, choice: broker.double(choice) > 0,
            "messages_dropped": lambda _, choice: broker.drop(choice) > 0,
        }

    def _freeze(self, stopped: Sequence[psutil.Process], seconds: float) -> bool:
        self._later(seconds, lambda: self._crew.thaw(stopped))
        return bool(stopped)

    def _freeze_until_replaced(self, fault: Fault, choice: Random) -> bool:
        stopped = self._crew.freeze("worker", choice, with_children=True)
        # The name of a worker holds the id of its main process.
        names = [f":{process.pid}:" for process in stopped[:1]]
        running = self._servers.running().items()
        its_own = {event: epoch for event, (epoch, owner) in running if any(name in owner for name in names)}
        self._to_be_replaced.append((its_own, stopped))
        self._freeze(stopped, fault.lasts if its_own else 0.0)
        return bool(its_own)

    def _thaw_replaced(self, running: dict[int, tuple[int, str]]) -> None:
        for frozen in list(self._to_be_replaced):
            its_own, stopped = frozen
            if any(event in running and running[event][0] > epoch for event, epoch in its_own.items()):
                self._crew.thaw(stopped)
                self._to_be_replaced.remove(frozen)
                self.struck["thawed when replaced"] += 1

    def _kill_erp(self, fault: Fault, choice: Random) -> bool:
        return self._crew.kill("erp", choice, with_children=True, away=fault.lasts)

    def _hold_sqlite(self, fault: Fault, _: Random) -> bool:
        holder = threading.Thread(
            target=self._servers.hold_sqlite, args=(self._let_go, fault.lasts), daemon=True
        )
        holder.start()
        self._holders.append(holder)
        return True

    def _misbehave(self, behaviour: str, seconds: float, choice: Random) -> bool:
        until = time.monotonic() + seconds
        self._erp_faults |= dict.fromkeys(choice.sample(ACCOUNTS, STRUCK), (behaviour, until))
        write_faults(self._erp_file, self._erp_faults)
        return True
