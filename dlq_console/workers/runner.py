"""The table runner: claims from the database, runs each event in a child process, needs no broker.

The parent has one thread and runs no user code. It claims for free slots, keeps the leases of what runs alive, kills
what runs past its time limit, and writes what became of an event whose child died. A child runs the event and writes
its result. Forking is safe because the parent has no other thread, and closes its connections first.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import random
import secrets
import signal
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from types import FrameType

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.hub.core import HubCore
from dlq_console.hub.endings import died, timed_out
from dlq_console.hub.policy import DEFAULT_POLICY, Policy
from dlq_console.store import claims, holding, presence, transitions
from dlq_console.store.claims import ReadyAccount
from dlq_console.store.events import Event
from dlq_console.store.presence import new_worker_id
from dlq_console.store.transitions import Ending, released
from dlq_console.workers.child import FIT, UNFIT, serve
from dlq_console.workers.scheduler import Scheduler

logger = logging.getLogger(__name__)
_fork = multiprocessing.get_context("fork")

#: How long the list of accounts with due events is used before it is read again, in seconds.
READY_USED = 0.25
#: How often the worker says that it is alive, in seconds.
BEAT_EVERY = 10.0
#: How long a stopping worker waits for its running events before it gives them back, in seconds.
STOP_PATIENCE = 20.0
#: A run is killed so many seconds after its time limit, so that an async handler can end by itself.
LIMIT_GRACE = 0.5
#: The first and the longest pause between two looks at a database that is away, in seconds. What runs keeps its lease
#: only if the worker is back soon after the database.
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0
#: Bytes of the secret by which a child's own answer is told from what a handler wrote.
SECRET_BYTES = 16


@dataclass
class Slot:
    """A child process and the event it runs, if any. `deadline` is on the monotonic clock."""

    process: ForkProcess
    pipe: Connection
    event: Event | None = None
    deadline: float = 0.0
    #: What the child has answered so far, and the secret that its answer must end with.
    answer: bytes = b""
    secret: bytes = b""


@dataclass
class Runner:
    """One worker in table mode."""

    hub: HubCore
    concurrency: int
    accounts: Sequence[str] | None = None
    scheduler: bool = True
    stop_patience: float = STOP_PATIENCE
    worker: str = field(default_factory=new_worker_id)

    def __post_init__(self) -> None:
        self._slots: list[Slot] = []
        self._endings: list[tuple[Event, Ending]] = []
        # Two turns of its slots at least, so that none stays idle between two looks.
        self._round = claims.ReadyRound(
            self.hub.store, self.accounts, max(claims.MOST_ACCOUNTS, 2 * self.concurrency)
        )
        self._ready: list[ReadyAccount] = []
        self._ready_until = 0.0
        self._next_beat = 0.0
        self._next_extension = 0.0
        self._pause = 0.0
        self._away_until = 0.0
        self._not_before = 0.0
        self._stopping_since: float | None = None
        self._steps: ForkProcess | None = None

    def run(self) -> int:
        """Work until SIGTERM or SIGINT; a second signal stops at once. Returns the exit status."""
        signal.signal(signal.SIGTERM, self._ask_to_stop)
        signal.signal(signal.SIGINT, self._ask_to_stop)
        self.hub.publish_kinds(self.worker)
        self._announce()
        logger.info("worker %s runs %s events at once", self.worker, self.concurrency)
        try:
            while not self._stopped():
                self._turn()
        finally:
            self._end()
        return 0

    def _announce(self) -> None:
        presence.announce(
            self.hub.store, self.worker, mode="table", slots=self.concurrency, accounts=self.accounts
        )

    def _turn(self) -> None:
        self._keep_children()
        claimed = monotonic() >= self._away_until and self._use_database()
        self._collect(0.0 if claimed else self._patience())

    def _use_database(self) -> bool:
        """Everything that needs the database; tells whether events were claimed."""
        try:
            self._keep_alive()
            self._write_endings()
            claimed = self._stopping_since is None and self._claim()
        except StoreUnavailable as error:
            self._pause = min(LONGEST_PAUSE, max(FIRST_PAUSE, self._pause * 2))
            self._away_until = monotonic() + self._pause
            logger.warning("no work for %.1f s: %s", self._pause, error)
            return False
        self._pause = 0.0
        return claimed

    # Children

    def _keep_children(self) -> None:
        if self._stopping_since is not None:
            return
        while len(self._slots) < self.concurrency:
            self._slots.append(self._start_slot())
        if self.scheduler and (self._steps is None or not self._steps.is_alive()):
            self._steps = self._start_steps()

    def _start_slot(self) -> Slot:
        self.hub.store.engines.dispose()
        ours, theirs = _fork.Pipe()
        others = [slot.pipe for slot in self._slots]
        # Not a daemon in the sense of `multiprocessing`, which would forbid handlers to start processes of their own.
        process = _fork.Process(target=_child, args=(self.hub, theirs, [ours, *others], os.getpid()))
        process.start()
        theirs.close()
        return Slot(process, ours)

    def _start_steps(self) -> ForkProcess:
        self.hub.store.engines.dispose()
        pipes = [slot.pipe for slot in self._slots]
        process = _fork.Process(target=_steps, args=(self.hub, pipes, os.getpid()), daemon=True)
        process.start()
        return process

    # Claims

    def _claim(self) -> bool:
        free = [slot for slot in self._slots if slot.event is None]
        if not free or monotonic() < self._not_before:
            return False
        if monotonic() >= self._ready_until:
            self._ready = self._round.look()
            self._ready_until = monotonic() + READY_USED
        events = claims.claim(
            self.hub.store,
            self._ready,
            worker=self.worker,
            limit=len(free),
            lease_seconds=self.hub.settings.lease_seconds,
        )
        if not events:
            self._ready_until = 0.0
            self._not_before = monotonic() + self.hub.settings.poll_seconds * random.uniform(0.8, 1.2)  # noqa: S311 - spreads load
        for slot, event in zip(free, events, strict=False):
            self._hand_over(slot, event)
        return bool(events)

    def _hand_over(self, slot: Slot, event: Event) -> None:
        slot.event = event
        slot.deadline = monotonic() + self._policy(event).timeout + LIMIT_GRACE
        try:
            slot.answer, slot.secret = b"", secrets.token_bytes(SECRET_BYTES)
            slot.pipe.send((event, slot.secret))
        except OSError:  # it died while it was idle
            self._replace(slot, released())

    def _policy(self, event: Event) -> Policy:
        # A kind without a handler here is only given back: no reason to ask the database what others know of it.
        handler = self.hub.registry.get(event.kind)
        return DEFAULT_POLICY if handler is None else handler.policy

    # What runs

    def _collect(self, patience: float) -> None:
        """Wait for a child to finish or to die, at most `patience` seconds, then look after the time limits."""
        for pipe in wait([slot.pipe for slot in self._slots], timeout=patience):
            slot = next(slot for slot in self._slots if slot.pipe is pipe)
            self._hear(slot)
        for slot in [slot for slot in self._slots if slot.event and monotonic() >= slot.deadline]:
            event = slot.event
            if event is not None:
                logger.warning("event %s ran past its time limit and is stopped", event.id)
                self._replace(slot, timed_out(event, self._policy(event)))

    def _hear(self, slot: Slot) -> None:
        """Take what a child has written. It never blocks: a handler may have written there too, and only in part."""
        try:
            heard = os.read(slot.pipe.fileno(), 1 + SECRET_BYTES)
        except OSError:
            heard = b""
        slot.answer += heard
        fit, unfit = FIT + slot.secret, UNFIT + slot.secret
        if not heard:
            self._child_died(slot)
        elif slot.event is not None and slot.answer in (fit, unfit):
            slot.event = None
            self._not_before = 0.0
            if slot.answer == unfit:
                self._replace(slot, None)
        elif slot.event is None or not (fit.startswith(slot.answer) or unfit.startswith(slot.answer)):
            logger.error(
                "event %s: its handler wrote into a pipe of the worker", slot.event and slot.event.id
            )
            self._child_died(slot)

    def _child_died(self, slot: Slot) -> None:
        # First what it has started: a fork of it that lives on would hold up the wait. How it died is settled by now.
        _kill(slot.process)
        slot.process.join(5)
        event = slot.event
        if event is None:
            self._replace(slot, None)
            return
        how = _how_it_died(slot.process.exitcode)
        logger.error("event %s: the process that ran it %s", event.id, how)
        self._replace(slot, died(event, self._policy(event), how=how))

    def _replace(self, slot: Slot, ending: Ending | None) -> None:
        """End the child of a slot; what became of its event is written in the next turn."""
        _kill(slot.process)
        slot.process.join(5)
        slot.pipe.close()
        self._slots.remove(slot)
        if slot.event is not None and ending is not None:
            self._endings.append((slot.event, ending))

    def _write_endings(self) -> None:
        """Write what became of events whose child is gone; one that the child had written itself is refused."""
        while self._endings:
            event, ending = self._endings[0]
            if not transitions.end(self.hub.store, event, ending):
                logger.info("event %s had ended before its process did", event.id)
            del self._endings[0]

    def _keep_alive(self) -> None:
        if monotonic() >= self._next_beat:
            state = "running" if self._stopping_since is None else "stopping"
            if not presence.beat(self.hub.store, self.worker, state) and state == "running":
                logger.warning("worker %s was taken for gone and announces itself again", self.worker)
                self._announce()
            self._next_beat = monotonic() + BEAT_EVERY
        if monotonic() < self._next_extension:
            return
        lease = self.hub.settings.lease_seconds
        self._next_extension = monotonic() + lease / 3
        held = [(slot.event.id, slot.event.lease_epoch) for slot in self._slots if slot.event is not None]
        lost = holding.extend(self.hub.store, held, lease_seconds=lease) if held else []
        for slot in [slot for slot in self._slots if slot.event is not None and slot.event.id in lost]:
            self._lease_lost(slot)

    def _lease_lost(self, slot: Slot) -> None:
        # Its result may have been written a moment ago; then the child says so and lives on.
        if slot.event is None or slot.pipe.poll(0.2):
            return
        # Two slots may hold one event: a run that lost its lease, and the one that this worker was given since.
        if holding.holds(self.hub.store, slot.event.id, slot.event.lease_epoch):
            return
        logger.warning("event %s: its lease was lost, the run is stopped", slot.event.id)
        self._replace(slot, None)

    def _patience(self) -> float:
        now = monotonic()
        times = [self._next_beat, self._next_extension]
        if any(slot.event is None for slot in self._slots) and self._stopping_since is None:
            times.append(max(self._not_before, now + 0.01))
        # A time limit holds whether or not the database is there.
        deadlines = [slot.deadline for slot in self._slots if slot.event is not None]
        following = min([max(min(times), self._away_until), *deadlines])
        return min(max(0.0, following - now), 1.0)

    # The end

    def _ask_to_stop(self, _signal: int, _frame: FrameType | None) -> None:
        if self._stopping_since is None:
            self._stopping_since = monotonic()
            self._next_beat = 0.0
        else:
            self._stopping_since = -self.stop_patience

    def _stopped(self) -> bool:
        if self._stopping_since is None:
            return False
        if all(slot.event is None for slot in self._slots):
            return True
        return monotonic() - self._stopping_since > self.stop_patience

    def _end(self) -> None:
        for slot in list(self._slots):
            if slot.event is not None:
                logger.warning("event %s is given back", slot.event.id)
            self._replace(slot, released())
        if self._steps is not None:
            self._steps.terminate()
            self._steps.join(5)
            self._steps.kill()
        try:
            self._write_endings()
            presence.leave(self.hub.store, self.worker)
        except StoreUnavailable as error:
            logger.warning("the worker could not say that it stopped; leases lapse by themselves: %s", error)
        self.hub.close()


def run_worker(
    hub: HubCore, *, concurrency: int = 4, accounts: Sequence[str] | None = None, scheduler: bool = True
) -> int:
    """Run a worker in table mode until it is told to stop; returns the exit status.

    Args:
        hub: holds the handlers.
        concurrency: how many events run at once, each in a process of its own.
        accounts: the accounts it serves; None for all.
        scheduler: whether it may also host the periodic steps.
    """
    return Runner(hub, concurrency, accounts, scheduler).run()


def _child(hub: HubCore, pipe: Connection, others: list[Connection], parent: int) -> None:
    # A copy of another pipe's end would keep that pipe open after the parent closed it.
    for other in others:
        other.close()
    serve(hub, pipe, parent)


def _kill(process: ForkProcess) -> None:
    """Kill a child together with the programs that its handlers have started."""
    if process.pid is not None:
        with suppress(ProcessLookupError, PermissionError):  # nobody is in its session, or nobody of ours
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _steps(hub: HubCore, pipes: list[Connection], parent: int) -> None:
    for pipe in pipes:
        pipe.close()
    stop = threading.Event()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    threading.Thread(target=_stop_with, args=(parent, stop), daemon=True).start()
    Scheduler(hub).run_until(stop)


def _stop_with(parent: int, stop: threading.Event) -> None:
    while os.getppid() == parent and not stop.wait(0.5):
        pass
    stop.set()


def _how_it_died(exit_code: int | None) -> str:
    if exit_code is None:
        return "died"
    if exit_code >= 0:
        return f"ended by itself with exit status {exit_code}"
    known = {number.value: number.name for number in signal.Signals}
    return f"was killed by {known.get(-exit_code, f'signal {-exit_code}')}"
