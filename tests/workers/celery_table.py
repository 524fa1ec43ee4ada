"""What does a test of Celery workers need at hand? A database, a broker, a hub on both, and workers."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dlq_console import Hub
from dlq_console.hub.dispatch import Message
from dlq_console.settings import read_settings
from tests.services.process import Child, StartChild
from tests.workers.table import LEASE_SECONDS, SOON, Table

HANDLERS = "tests.workers.celery_faulty:hub"
OURS = ("dlq_console", "worker")
CELERYS = ("celery", "-A", "dlq_console.workers.celery_worker", "worker", "--loglevel", "INFO")
#: Workers of an application that the hub is attached to.
GUEST = ("celery", "-A", "tests.workers.celery_guest", "worker", "--loglevel", "INFO")


class CeleryTable(Table):
    """One database with a broker, as producers, workers and a curious person see them."""

    def __init__(
        self, database_url: str, broker_url: str, folder: Path, start_child: StartChild, max_queues: int = 200
    ) -> None:
        super().__init__(database_url, folder, start_child)
        self.hub.close()
        self.hub = Hub(read_settings(database_url=database_url, broker_url=broker_url, max_queues=max_queues))
        self.broker_url = broker_url

    def start_celery(
        self,
        *options: str,
        program: Sequence[str] = OURS,
        lease_seconds: float = LEASE_SECONDS,
        env: Mapping[str, str] | None = None,
    ) -> Child:
        """A Celery worker of two slots that is ready for messages."""
        worker = self._start_child(
            [sys.executable, "-m", *program, "--concurrency", "2", *options],
            env={
                "DLQ_DATABASE_URL": self.url,
                "DLQ_BROKER_URL": self.broker_url,
                "DLQ_APP": HANDLERS,
                "DLQ_MAX_QUEUES": str(self.hub.settings.max_queues),
                "DLQ_LEASE_SECONDS": str(lease_seconds),
                **(env or {}),
            },
        )
        worker.wait_for_line(r"worker \S+ runs (\d+ events at once|events of erp)", timeout=2 * SOON)
        return worker

    def enqueue_unsent(self, kind: str, *, account: str) -> int:
        """A new event of which the broker is not told."""
        silent = Table(self.url, self.folder, self._start_child)
        try:
            return silent.enqueue(kind, account=account)
        finally:
            silent.hub.close()

    def send(self, event_id: int, *, copies: int = 1, time_limit: float | None = None) -> None:
        """Send messages for an event, whatever has been sent before."""
        event = self.hub.get(event_id)
        message = self.hub.message(event.id, event.lease_epoch, event.kind, event.account, event.lane)
        if time_limit is not None:
            message = Message(event.id, event.lease_epoch, message.queue, time_limit)
        assert self.hub.publisher.publish([message] * copies) == [event.id] * copies


@contextmanager
def celery_table(
    database_url: str, broker_url: str, folder: Path, *, max_queues: int = 200
) -> Iterator[CeleryTable]:
    """A table whose workers end with the block; what they printed is shown for failures."""
    with ExitStack() as stack:

        def start(
            arguments: Sequence[str | Path],
            *,
            env: Mapping[str, str] | None = None,
            folder: Path | None = None,
        ) -> Child:
            child = stack.enter_context(Child(arguments, env=env, folder=folder))
            stack.callback(lambda: print(f"--- {child.name} (process {child.pid})\n{child.output()}"))  # noqa: T201 - kept by pytest for failures
            stack.callback(child.stop)
            return child

        notes = folder / "notes"
        notes.mkdir()
        table = CeleryTable(database_url, broker_url, notes, start, max_queues)
        stack.callback(table.hub.close)
        stack.callback((notes / "go").touch)  # so that workers can stop gently
        yield table
