"""How does a test get events in any state? Through a real hub whose ERP answers what the test has written down."""

from __future__ import annotations

from typing import Any

from sqlalchemy import update

from dlq_console.errors import PermanentError
from dlq_console.hub.policy import Policy
from dlq_console.runtime import Hub
from dlq_console.settings import read_settings
from dlq_console.store import people
from dlq_console.store.events import Event
from dlq_console.store.people import Person

SECRET_KEY = "only-for-tests-0123456789abcdef0123456789"
PASSWORD = "correct horse battery"
#: Died for good after one attempt; the usual dead letter of these tests.
REFUSAL = "Cliente não cadastrado para o código [5521]."

TWO_ATTEMPTS = Policy(max_attempts=2, base_delay=30, jitter=0)


class Desk:
    """A hub on a test database, with handlers that fail as told.

    `answers[entity]` is the error the ERP gives for that entity; without one it takes the record.
    """

    def __init__(self, database_url: str, **settings: Any) -> None:
        # A test that is about the time to cancel says how long it is.
        settings = {"send_delay_seconds": 0} | settings
        self.hub = Hub(read_settings(database_url=database_url, secret_key=SECRET_KEY, **settings))
        self.answers: dict[str, Exception] = {}

    def add(
        self,
        entity: str = "8841",
        *,
        kind: str = "order.create",
        account: str = "filial-sp",
        payload: Any = None,
        policy: Policy = TWO_ATTEMPTS,
        **more: Any,
    ) -> int:
        """An event that waits to be run; returns its id."""
        if self.hub.registry.get(kind) is None:
            self.hub.handler(kind, policy=policy)(self._call)
        made = self.hub.enqueue(
            kind,
            account=account,
            entity_id=entity,
            payload={"number": entity} if payload is None else payload,
            **more,
        )
        return made.id

    def done(self, entity: str = "8841", **more: Any) -> int:
        """An event that the ERP took."""
        return self.hub.run(self.add(entity, **more)).id

    def dead(self, entity: str = "8841", *, error: Exception | str = REFUSAL, **more: Any) -> int:
        """An event that the ERP refused for good, or that died of another `error`."""
        self.answers[entity] = PermanentError(error) if isinstance(error, str) else error
        event = self.hub.run(self.add(entity, **more))
        assert event.status == "dead", event.status
        return event.id

    def failed(self, entity: str = "8841", *, error: Exception | None = None, **more: Any) -> int:
        """An event that will be tried again."""
        self.answers[entity] = error or TimeoutError("timed out")
        event = self.hub.run(self.add(entity, **more))
        assert event.status == "failed", event.status
        return event.id

    def change(self, event_id: int, **values: Any) -> None:
        """Put an event into a state that takes a second process or an hour to reach."""
        table = self.hub.store.tables.event
        with self.hub.store.write() as connection:
            connection.execute(update(table).where(table.c.id == event_id).values(**values))

    def person(self, name: str, role: str, accounts: list[str] | None = None) -> Person:
        """Somebody who may log in with PASSWORD."""
        return people.add_user(self.hub.store, name, PASSWORD, role=role, accounts=accounts)

    def _call(self, event: Event) -> dict[str, Any]:
        error = self.answers.get(event.entity_id)
        if error is not None:
            raise error
        return {"document": f"D-{event.entity_id}"}
