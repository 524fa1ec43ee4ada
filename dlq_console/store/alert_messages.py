"""What is on its way to a channel? Each message of an alert is an event of the hub's own, and none of them ever dies.

It waits until it was brought or given up, however long nobody runs it. Those of one rule and channel come in order, so that
no end is told before its beginning; where MOST_WAITING of them wait already, what comes then is added to the last one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection

from dlq_console.store import acts, ingest
from dlq_console.store.canonical import LARGEST_PAYLOAD, encode_payload
from dlq_console.store.claim_sql import BULK, LIVE, NOW_DUE, READY, RETRY
from dlq_console.store.internal import ALERT, OWN_ACCOUNT
from dlq_console.store.lane_names import lane_name
from dlq_console.store.store import Store

#: Begins the number of trial messages.
_TEST = f"{ALERT}/test/"
#: It waits for as long as it takes: it must never become a dead letter.
_WAITS = "UPDATE {event} SET give_up_at = NULL WHERE id = :id"
#: Messages of one rule that may wait behind one that its channel does not take.
MOST_WAITING = 20
_WAITING = f"""
SELECT count(*) FROM (SELECT 1 FROM {{event}} WHERE status = 'blocked' AND lane = :lane LIMIT {MOST_WAITING}) AS few
"""
_LAST = """
SELECT id, payload FROM {event} WHERE status = 'blocked' AND lane = :lane
ORDER BY lane DESC, coalesce(place, id) DESC LIMIT 1
"""
#: Only what still waits is added to.
_ADD = """
UPDATE {event} SET payload = :payload, updated_at = {now} WHERE id = :id AND status = 'blocked' AND payload = :before
"""
#: Due messages that are looked at: one of each rule and channel at most, and trials.
MOST_DUE = 1_000
_DUE = " UNION ALL ".join(
    f"""
SELECT * FROM (
    SELECT e.id, e.entity_id, e.idempotency_key FROM {{event}} e
    WHERE {READY} AND e.account = :account AND e.priority = {priority} AND {NOW_DUE}
    ORDER BY e.account, e.priority, e.next_run_at, e.id LIMIT {MOST_DUE}
) AS line{priority}
"""
    for priority in (LIVE, RETRY, BULK)
)

#: What one message says with another one added to it.
Joined = Callable[[Mapping[str, Any], Mapping[str, Any]], Mapping[str, Any]]


def put(
    store: Store,
    connection: Connection,
    *,
    notice: int,
    number: int,
    channel: str,
    rule: str,
    content: Mapping[str, Any],
    joined: Joined,
) -> int:
    """Put in one message for one channel, in the transaction of `connection`; returns the id of the event that says it.

    Args:
        store: the store.
        connection: the transaction in which it was decided that it is told.
        notice: which notice it is about.
        number: which message of it; the same one is never put in twice.
        channel: by name.
        rule: by name; its messages come in order.
        content: what is sent, as values that JSON knows.
        joined: says it together with the message that waits last, where too many do.
    """
    order = f"{channel}/{rule}"
    last = _added(store, connection, lane_name(OWN_ACCOUNT, order), content, joined)
    if last is not None:
        return last
    return _put(
        store, connection, entity(notice), f"{ALERT}/{notice}/{number}/{channel}", order, channel, content
    )


def _added(
    store: Store, connection: Connection, lane: str | None, content: Mapping[str, Any], joined: Joined
) -> int | None:
    """The event to which a message was added because too many wait; None where it needs one of its own."""
    waiting = int(connection.execute(store.statement(_WAITING), {"lane": lane}).scalar() or 0)
    if waiting < MOST_WAITING:
        return None
    last = connection.execute(store.statement(_LAST), {"lane": lane}).one()
    payload = json.loads(last.payload)
    whole = payload | {"content": joined(payload["content"], content)}
    text = encode_payload(whole, max_bytes=LARGEST_PAYLOAD, name="content")
    values = {"id": last.id, "payload": text, "before": last.payload}
    return last.id if connection.execute(store.statement(_ADD), values).rowcount else None


def put_test(store: Store, *, channel: str, key: str, content: Mapping[str, Any], actor: str) -> int:
    """Put in a message that is about nothing, to see whether the channel works; returns the id of its event."""
    with store.write() as connection:
        acts.record(store, connection, actor=actor, action="test_alert", subject=f"channel:{channel}")
        whole = f"{ALERT}/test/{channel}/{key}"
        return _put(store, connection, test_entity(channel), whole, whole, channel, content)


def due(store: Store) -> dict[str, list[int]]:
    """The messages that could be brought now by channel: ids of their events, in the order in which they are due."""
    with store.read() as connection:
        rows = connection.execute(store.statement(_DUE), {"account": OWN_ACCOUNT}).all()
    found: dict[str, list[int]] = {}
    for row in rows:
        found.setdefault(channel_of(row.entity_id, row.idempotency_key), []).append(row.id)
    return found


def entity(notice: int) -> str:
    """The number under which the messages of a notice are found."""
    return f"{ALERT}/{notice}"


def test_entity(channel: str) -> str:
    """The number under which the trial messages to a channel are found."""
    return f"{_TEST}{channel}"


def channel_of(entity_id: str, key: str) -> str:
    """To which channel a message goes, by the number and the key that it was put in with."""
    return entity_id.removeprefix(_TEST) if entity_id.startswith(_TEST) else key.split("/", 3)[3]


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
