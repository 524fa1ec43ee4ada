"""What is on its way to a channel? Each message of an alert is an event of the hub's own, and none of them ever dies.

It waits until it was brought or given up, however long nobody runs it; those of one notice and channel come in order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from dlq_console.store import ingest
from dlq_console.store.internal import ALERT, OWN_ACCOUNT
from dlq_console.store.lane_names import lane_name
from dlq_console.store.store import Store

#: It waits for as long as it takes: it must never become a dead letter.
_WAITS = "UPDATE {event} SET give_up_at = NULL WHERE id = :id"


def put(
    store: Store,
    connection: Connection,
    *,
    notice: int,
    number: int,
    channel: str,
    content: Mapping[str, Any],
) -> int:
    """Put in one message for one channel, in the transaction of `connection`; returns the id of its event.

    Args:
        store: the store.
        connection: the transaction in which it was decided that it is told.
        notice: which notice it is about.
        number: which message of it; the same one is never put in twice.
        channel: by name.
        content: what is sent, as values that JSON knows.
    """
    key = f"{channel}/{notice}"
    return _put(
        store, connection, entity(notice), f"{ALERT}/{notice}/{number}/{channel}", key, channel, content
    )


def put_test(store: Store, *, channel: str, key: str, content: Mapping[str, Any]) -> int:
    """Put in a message that is about nothing, to see whether the channel works; returns the id of its event."""
    with store.write() as connection:
        whole = f"{ALERT}/test/{channel}/{key}"
        return _put(store, connection, test_entity(channel), whole, whole, channel, content)


def entity(notice: int) -> str:
    """The number under which the messages of a notice are found."""
    return f"{ALERT}/{notice}"


def test_entity(channel: str) -> str:
    """The number under which the trial messages to a channel are found."""
    return f"{ALERT}/test/{channel}"


def _put(
    store: Store,
    connection: Connection,
    entity_id: str,
    key: str,
    order: str,
    channel: str,
    content: Mapping[str, Any],
) -> int:
    new = ingest.intention(
        kind=ALERT,
        account=OWN_ACCOUNT,
        entity_id=entity_id,
        payload={"channel": channel, "content": dict(content)},
        idempotency_key=key,
        ordering_key=order,
        lane=lane_name(OWN_ACCOUNT, order),
        on_dead="skip",
        origin="alerts",
    )
    made = ingest.insert_one(store, connection, new)
    connection.execute(store.statement(_WAITS), {"id": made.id})
    return made.id
