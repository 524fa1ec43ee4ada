"""What does a test of table workers need at hand? A hub on the database, workers on it, and ways to see what happened."""

from __future__ import annotations

import itertools
import os
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import RowMapping

from dlq_console import Event, Hub
from dlq_console.settings import read_settings
from dlq_console.store.events import read_time
from tests.services.process import Child, StartChild, wait_until

#: Short enough that a test can wait until it lapses (seconds).
LEASE_SECONDS = 2
#: Seconds within which the event of a killed worker must be free again.
FREE_AGAIN_SECONDS = 45
#: Seconds in which anything else must have happened on a busy machine.
SOON = 30


class Table:
    """One database in table mode, as producers, workers and a curious person see it."""

    def __init__(self, database_url: str, folder: Path, start_child: StartChild) -> None:
        self.url = database_url
        self.folder = folder
        self.hub = Hub(read_settings(database_url=database_url, broker_url=""))
        self._start_child = start_child
        self._numbers = itertools.count(1)

    def start_worker(self, *options: str, lease_seconds: float = LEASE_SECONDS) -> Child:
        """A worker process, ready to claim."""
        worker = self.start_process(*options, lease_seconds=lease_seconds)
        worker.wait_for_line(r"worker \S+ runs \d+ events at once")
        return worker

    def start_process(
        self,
        *options: str,
        lease_seconds: float = LEASE_SECONDS,
        module: str = "tests.workers.table_worker",
    ) -> Child:
        """The program of `table_worker`, or of a module that takes the same options."""
        return self._start_child(
            [sys.executable, "-m", module, *options],
            env={
                "DLQ_DATABASE_URL": self.url,
                "DLQ_LEASE_SECONDS": str(lease_seconds),
                "DLQ_POLL_SECONDS": "0.05",
            },
        )

    def enqueue(self, kind: str, *, account: str = "filial-sp", **payload: Any) -> int:
        """A new event; returns its id. Its payload names the folder for notes."""
        made = self.hub.enqueue(
            kind,
            account=account,
            entity_id=str(next(self._numbers)),
            payload={"folder": str(self.folder), **payload},
        )
        return made.id

    def go(self, attempt: int | None = None) -> None:
        """Let waiting handlers return, all or those in their `attempt`th attempt."""
        (self.folder / ("go" if attempt is None else f"go.{attempt}")).touch()

    def process_of(self, event_id: int, epoch: int = 1, *, what: str = "started") -> int:
        """Wait until the run of a claim has started (or `returned`) and tell the process that runs it."""
        note = self.folder / f"{what}.{event_id}.{epoch}"
        wait_until(note.exists, FREE_AGAIN_SECONDS, f"claim {epoch} of event {event_id} to have {what}")
        return int(note.read_text())

    def starts(self, event_id: int) -> int:
        """How often a handler has begun to run an event."""
        return len(list(self.folder.glob(f"started.{event_id}.*")))

    def ended(self, event_id: int, *, timeout: float = SOON) -> Event:
        """The event once it is done or dead."""
        return self.reached(event_id, "done", "dead", timeout=timeout)

    def reached(self, event_id: int, *statuses: str, timeout: float = SOON) -> Event:
        """The event once it is in one of the statuses."""

        def look() -> Event | None:
            event = self.hub.get(event_id)
            return event if event.status in statuses else None

        event = wait_until(look, timeout, f"event {event_id} to be {' or '.join(statuses)}")
        assert event is not None
        return event

    def attempts(self, event_id: int) -> list[RowMapping]:
        """The attempt rows of an event, in order."""
        return self.rows("SELECT * FROM {attempt} WHERE event_id = :id ORDER BY id", id=event_id)

    def outcomes(self, event_id: int) -> list[str]:
        """How the attempts of an event ended, in order."""
        return [attempt["outcome"] for attempt in self.attempts(event_id)]

    def rows(self, template: str, **parameters: Any) -> list[RowMapping]:
        """What a SELECT finds; `{event}` and the like are the tables."""
        with self.hub.store.read() as connection:
            return list(connection.execute(self.hub.store.statement(template), parameters).mappings())

    def value(self, template: str, **parameters: Any) -> Any:
        """The one value that a SELECT finds."""
        (row,) = self.rows(template, **parameters)
        (found,) = row.values()
        return found

    def now(self) -> datetime:
        """The present moment, as the database tells it."""
        return moment(self.value("SELECT {now} AS moment"))

    def change(self, template: str, **parameters: Any) -> None:
        """Change rows behind the hub's back, as time passing would."""
        with self.hub.store.write() as connection:
            assert connection.execute(self.hub.store.statement(template), parameters).rowcount > 0


def moment(value: Any) -> datetime:
    """A time as a row of either engine holds it."""
    read = read_time(value)
    assert read is not None
    return read


def is_alive(pid: int) -> bool:
    """Whether a process runs or is frozen; one that has ended but that nobody has fetched is not alive."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # a system without /proc
        return True
    return state not in "ZX"


def open_files(pid: int) -> int:
    """How many file descriptors a process holds."""
    return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208 - the entries are counted, not used as paths


def resident_kilobytes(pid: int) -> int:
    """Memory that a process keeps in RAM."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))
