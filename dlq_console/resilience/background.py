"""What is done beside the calls of a program? Small jobs, again and again, in one thread that lives while there are any."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol

logger = logging.getLogger(__name__)

#: The work has so many seconds to end.
STOP_WITHIN = 5.0


class Job(Protocol):
    """Something to be done in the background, again and again."""

    def tick(self) -> bool:
        """Do it; False when there is nothing more to do until somebody asks again."""
        ...


class Background:
    """A thread that begins when it is needed and ends when nothing is left to do.

    Args:
        every: seconds between two rounds.
        look: done in each round after the jobs, but not in the last one; False when it is not needed any more.
    """

    def __init__(self, every: float, look: Callable[[], bool]) -> None:
        self._every = every
        self._look = look
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._jobs: set[Job] = set()
        self._failing: set[Job] = set()
        self._failures: set[type[Exception]] = set()

    @property
    def is_running(self) -> bool:
        """Whether the thread lives."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    @property
    def is_stopping(self) -> bool:
        """Whether this is the last round: what waits for a better moment is done now or not at all."""
        return self._stopping

    def keep(self, job: Job) -> None:
        """Do a job until its `tick` says that nothing is left."""
        with self._lock:
            self._jobs.add(job)
        self.start()

    def start(self) -> None:
        """See to it that the thread lives."""
        if self.is_running:
            return
        with self._lock:
            if not self.is_running:
                self._thread = threading.Thread(target=self._run, name="dlq-console-link", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """End the thread after one more round of the jobs; the next use begins it again."""
        thread = self._thread
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            self._stopping = True
            self._wake.set()
            thread.join(STOP_WITHIN)

    def _run(self) -> None:
        while True:
            self._wake.wait(self._every)
            self._wake.clear()
            stopping = self._stopping
            busy = self._do_jobs()
            if not stopping:
                busy |= self._looked()
            with self._lock:
                if stopping or not (busy or self._jobs):
                    self._thread, self._stopping = None, False
                    return

    def _looked(self) -> bool:
        """Look; whether that is still needed. A kind of failure is told once, until looking works again."""
        try:
            needed = self._look()
        except Exception as error:
            if type(error) not in self._failures:
                self._failures.add(type(error))
                logger.exception(
                    "The resilience library could not look at its shared state; it will try again."
                )
            return True
        self._failures.clear()
        return needed

    def _do_jobs(self) -> bool:
        with self._lock:
            # What is kept while it is being done stays kept.
            jobs, self._jobs = self._jobs, set()
        for job in jobs:
            if self._do(job):
                with self._lock:
                    self._jobs.add(job)
        return bool(jobs)

    def _do(self, job: Job) -> bool:
        """Do a job; whether something is left. Its failure is told once, until it is done again."""
        try:
            left = job.tick()
        except Exception:
            if job not in self._failing:
                self._failing.add(job)
                logger.exception("A background job of the resilience library failed; it will be tried again.")
            return True
        if job in self._failing:
            self._failing.discard(job)
            logger.info("The background job of the resilience library is done again.")
        return left
