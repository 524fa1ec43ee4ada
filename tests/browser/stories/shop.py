"""What stands behind a story? A console, a worker and an ERP: processes and files of their own, on one database."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dlq_console.runtime import Hub
from dlq_console.settings import read_settings
from dlq_console.store import people
from dlq_console.store.events import Event
from tests.browser.stories.erp import FOLDER, FolderErp
from tests.services.process import Child, free_port, wait_until
from tests.web.desk import PASSWORD, SECRET_KEY

#: Seconds in which anything must have happened on a busy machine.
SOON = 60
#: Time in which a person could still cancel; short, because each story would wait for it.
SEND_DELAY_SECONDS = 1


class Shop:
    """The database and the ERP as a test reaches them, and the address of the console as a browser does."""

    def __init__(self, database_url: str, folder: Path, address: str) -> None:
        self.hub = Hub(read_settings(database_url=database_url))
        self.erp = FolderErp(folder)
        self.address = address

    def person(self, name: str, role: str, account: str) -> None:
        """Somebody who sees one account, so that no story meets another."""
        people.add_user(self.hub.store, name, PASSWORD, role=role, accounts=[account])

    def send(
        self, kind: str, account: str, entity: str, payload: object, *, version: str | None = None
    ) -> int:
        """A new event, as a program of the company sends it; returns its id."""
        return self.hub.enqueue(kind, account=account, entity_id=entity, payload=payload, version=version).id

    def ended(self, event_id: int, status: str) -> Event:
        """The event once the worker has brought it there."""
        event = wait_until(lambda: self._in(event_id, status), SOON, f"event {event_id} to be {status}")
        assert event is not None
        return event

    def dead(
        self, kind: str, account: str, entity: str, payload: object, *, version: str | None = None
    ) -> int:
        """An event that the ERP has refused."""
        event_id = self.send(kind, account, entity, payload, version=version)
        self.ended(event_id, "dead")
        return event_id

    def _in(self, event_id: int, status: str) -> Event | None:
        event = self.hub.get(event_id)
        return event if event.status == status else None


@contextmanager
def open_shop(database_url: str, folder: Path) -> Iterator[Shop]:
    """Start everything, and end it."""
    port = free_port()
    environment = {
        "DLQ_DATABASE_URL": database_url,
        "DLQ_APP": "tests.browser.stories.handlers:hub",
        "DLQ_SECRET_KEY": SECRET_KEY,
        "DLQ_POLL_SECONDS": "0.1",
        "DLQ_SEND_DELAY_SECONDS": str(SEND_DELAY_SECONDS),
        FOLDER: str(folder),
    }
    command = [sys.executable, "-m", "dlq_console"]
    with ExitStack() as stack:
        worker = stack.enter_context(Child([*command, "worker", "--concurrency", "4"], env=environment))
        console = stack.enter_context(
            Child([*command, "serve", "--bind", f"127.0.0.1:{port}"], env=environment)
        )
        worker.wait_for_line(r"worker \S+ runs \d+ events at once", SOON)
        console.wait_for_line("Booting worker", SOON)
        shop = Shop(database_url, folder, f"http://127.0.0.1:{port}")
        stack.callback(shop.hub.close)
        for child in (worker, console):
            stack.callback(_show, child)
        yield shop


def _show(child: Child) -> None:
    print(f"--- process {child.pid}\n{child.output()}")  # noqa: T201 - kept by pytest for failures
