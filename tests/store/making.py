"""How does a test of the store make events, run them to an end, and look at rows?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import RowMapping, select, text

from dlq_console.store import acts, claims, ingest, presence, transitions
from dlq_console.store.events import Event
from dlq_console.store.ingest import Ingested
from dlq_console.store.states import Reason, Status
from dlq_console.store.store import Store
from dlq_console.store.transitions import Ending, Failure
from tests.services.process import wait_until

WORKER = "worker-of-the-test"

CAUSE = Failure(
    type="TransientError", message="busy", traceback=None, verdict="transient", fingerprint="f" * 32
)


def add(store: Store, number: int | str = 1, **values: Any) -> Ingested:
    """Put one event in; `values` are arguments of `ingest.intention`."""
    fields: dict[str, Any] = {
        "kind": "order.create",
        "account": "filial-sp",
        "entity_id": str(number),
        "payload": {"number": number},
    }
    with store.write() as connection:
        return ingest.insert_one(store, connection, ingest.intention(**(fields | values)))


def add_many(store: Store, numbers: range, **values: Any) -> list[Ingested]:
    """Put many events in."""
    fields = {"kind": "order.create", "account": "filial-sp"} | values
    news = [ingest.intention(entity_id=number, payload={"number": number}, **fields) for number in numbers]
    with store.write() as connection:
        return ingest.insert_many(store, connection, news)


def row(store: Store, event_id: int) -> RowMapping:
    """The whole row of an event."""
    table = store.tables.event
    with store.read() as connection:
        return connection.execute(select(table).where(table.c.id == event_id)).mappings().one()


def rows(store: Store, table: str = "event") -> list[RowMapping]:
    """All rows of a table in the order of their making."""
    described = getattr(store.tables, table)
    order = described.primary_key.columns
    with store.read() as connection:
        return list(connection.execute(select(described).order_by(*order)).mappings())


def claimed(store: Store, event_id: int, **values: Any) -> Event:
    """The event, claimed by this test."""
    event = claims.claim_one(store, event_id, worker=WORKER, **values)
    assert event is not None, row(store, event_id)
    return event


def end_as(store: Store, event_id: int, ending: Ending) -> Event:
    """Claim the event and end its run."""
    event = claimed(store, event_id)
    assert transitions.end(store, event, ending)
    return event


def retry_later() -> Ending:
    return transitions.retried(CAUSE, delay=30, max_wait=604_800)


def add_in(store: Store, status: Status, number: int | str = 1, **values: Any) -> int:
    """Put an event in and bring it into `status`; returns its id."""
    id_ = add(store, number, **values).id
    _INTO[status](store, id_)
    assert row(store, id_)["status"] == status
    return id_


def _discard(store: Store, event_id: int) -> None:
    with store.write() as connection:
        assert acts.discard(store, connection, event_id, actor="test", note=None)


def set_values(store: Store, event_id: int, **values: Any) -> None:
    """Write columns of an event directly, for what no function of the store does."""
    table = store.tables.event
    with store.write() as connection:
        connection.execute(table.update().where(table.c.id == event_id).values(**values))


#: How an event gets into each status.
_INTO: dict[Status, Callable[[Store, int], object]] = {
    Status.PENDING: lambda store, id_: None,
    Status.RUNNING: claimed,
    Status.FAILED: lambda store, id_: end_as(store, id_, retry_later()),
    Status.DONE: lambda store, id_: end_as(store, id_, transitions.completed(None)),
    Status.DEAD: lambda store, id_: end_as(store, id_, transitions.buried(CAUSE, Reason.PERMANENT)),
    Status.DISCARDED: _discard,
    # Behind an event that is gone by now, so that no second one is in the way of the test.
    Status.BLOCKED: lambda store, id_: set_values(
        store, id_, status="blocked", lane="a lane", on_dead="skip"
    ),
}


def wait_for_a_lock(store: Store) -> None:
    """Return as soon as somebody waits for a lock of PostgreSQL."""
    waiting = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")

    def look() -> bool:
        with store.read() as connection:
            return bool(connection.execute(waiting).scalar())

    wait_until(look, 10, "somebody to wait for a lock")


def announce(store: Store, slots: int, worker: str = WORKER) -> None:
    """A living worker with so many slots."""
    presence.announce(store, worker, mode="table", slots=slots)
