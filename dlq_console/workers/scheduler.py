"""Who runs the periodic steps: every worker process can, a leader lease per step decides which one does."""

from __future__ import annotations

import logging
import signal
import threading
from types import FrameType

from dlq_console.clock import monotonic
from dlq_console.errors import ConfigurationError, StoreUnavailable
from dlq_console.hub.core import HubCore
from dlq_console.redact import redact_text
from dlq_console.store import leases
from dlq_console.store.presence import new_worker_id
from dlq_console.workers.steps import STEPS, Step

logger = logging.getLogger(__name__)

#: How often the steps are looked at, in seconds.
TICK = 0.5
#: A leader that was silent for so many periods of its step, or seconds, is followed by another.
LEASE_PERIODS = 3
SHORTEST_LEASE = 5.0
#: Seconds for which a process that stops waits for a step that is running.
PATIENCE = 5.0


class Scheduler:
    """Runs the steps whose turn it is, as long as this process leads them."""

    def __init__(self, hub: HubCore, steps: tuple[Step, ...] = STEPS, *, owner: str = "") -> None:
        self._hub = hub
        self._steps = steps
        self._owner = owner or new_worker_id()
        self._next = {step.name: monotonic() for step in steps}
        #: What the settings of a step have wrong, as it was said last.
        self._said: dict[str, str] = {}

    def run_due_steps(self) -> None:
        """Run every step that is due here; an error of one is recorded and does not stop the others."""
        for step in self._steps:
            if monotonic() >= self._next[step.name]:
                self._next[step.name] = monotonic() + step.every
                self._run(step)

    def run_until(self, stop: threading.Event) -> None:
        """Run the steps until `stop` is set, then let others lead."""
        while not stop.is_set():
            try:
                self.run_due_steps()
            except StoreUnavailable as error:
                logger.warning("the steps wait: %s", error)
                stop.wait(5)
            except Exception:
                # Whatever it is, this process goes on: nobody would notice that its steps had stopped.
                logger.exception("the steps wait a moment")
                stop.wait(5)
            stop.wait(TICK)
        try:
            leases.give_back(self._hub.store, self._owner)
        except StoreUnavailable as error:
            logger.warning("the leader leases lapse by themselves: %s", error)

    def _run(self, step: Step) -> None:
        lease = max(SHORTEST_LEASE, LEASE_PERIODS * step.every)
        if not leases.take(self._hub.store, step.name, self._owner, lease):
            return
        problem = None
        try:
            done = step.run(self._hub)
            self._said.pop(step.name, None)
            if done:
                logger.log(logging.DEBUG if step.quiet else logging.INFO, "step %s: %s", step.name, done)
        except StoreUnavailable:
            raise
        except ConfigurationError as error:
            problem = _shortened(error)
            # No fault of the program: one sentence is enough, and once.
            if self._said.get(step.name) != error.message:
                logger.error("step %s waits until this is repaired: %s", step.name, error.message)  # noqa: TRY400
            self._said[step.name] = error.message
        except Exception as error:
            logger.exception("step %s failed; it will be tried again", step.name)
            problem = _shortened(error)
        leases.report(self._hub.store, step.name, self._owner, problem)


def _shortened(error: Exception) -> str:
    return redact_text(f"{type(error).__name__}: {error}"[:2_000])[:500]


def run_steps(hub: HubCore, stop: threading.Event, steps: tuple[Step, ...] = STEPS) -> None:
    """Run every step until `stop` is set, those that take long turns in a thread of their own."""
    owner = new_worker_id()
    apart = Scheduler(hub, tuple(step for step in steps if step.apart), owner=owner)
    beside = threading.Thread(
        target=apart.run_until, args=(stop,), name="dlq-console-long-steps", daemon=True
    )
    beside.start()
    Scheduler(hub, tuple(step for step in steps if not step.apart), owner=owner).run_until(stop)
    beside.join(PATIENCE)


class SchedulerThread:
    """The scheduler inside a worker process: starts at once, ends at `stop`."""

    def __init__(self, hub: HubCore) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=run_steps, args=(hub, self._stop), name="dlq-console-scheduler", daemon=True
        )
        self._thread.start()

    def stop(self, timeout: float = PATIENCE) -> None:
        """End it, waiting at most `timeout` seconds for a running step."""
        self._stop.set()
        self._thread.join(timeout)


def run_scheduler(hub: HubCore) -> int:
    """Run the steps in this process until SIGTERM or SIGINT; returns the exit status."""
    stop = threading.Event()

    def ask_to_stop(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, ask_to_stop)
    signal.signal(signal.SIGINT, ask_to_stop)
    run_steps(hub, stop)
    hub.close()
    return 0
