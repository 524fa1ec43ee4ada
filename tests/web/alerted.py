"""How does a test of alerts get notices? As the steps make them: by rules that find something, told to a channel that exists."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, update

from dlq_console.clock import utc_now
from dlq_console.hub import alerting
from dlq_console.runtime import Hub
from dlq_console.settings import read_settings
from dlq_console.store import alert_messages, alerts
from dlq_console.store.alerts import Sighting, Telling, Terms
from dlq_console.store.internal import ALERT
from dlq_console.store.store import Store
from dlq_console.watch import alerts as watched
from dlq_console.workers import steps
from tests.web.desk import Desk

#: Nobody listens there, so that a message fails at once.
NOWHERE = "http://127.0.0.1:9/hook?token=s3cret-of-the-hook"
MAIL = "smtp://dlq:s3cret@127.0.0.1:9/?from=dlq@example.com&to=plantao@example.com"


@contextmanager
def steps_of(desk: Desk, *, channels: bool = True, **settings: Any) -> Iterator[Hub]:
    """The hub of a process that runs the periodic steps: it knows channels, and may know a file of rules."""
    named = {"alert_webhook_url": NOWHERE, "smtp_url": MAIL} if channels else {}
    hub = Hub(read_settings(database_url=desk.hub.settings.database_url, **(named | settings)))
    yield hub
    hub.close()


def look(desk: Desk, *, channels: bool = True, **settings: Any) -> None:
    """Let the rules be looked at once, so that pages know which are in force."""
    with steps_of(desk, channels=channels, **settings) as hub:
        watched.check(hub)


def find(
    store: Store,
    rule: str,
    *subjects: str,
    value: float = 3,
    level: str = "ticket",
    to: Sequence[str] = ("webhook",),
    own: bool = True,
    figures: Mapping[str, Any] | None = None,
) -> list[int]:
    """Let a rule find something in each of these accounts, or where they are not its `own`, about anything; ids of the notices."""

    def tell(connection: Connection, tellings: Sequence[Telling]) -> None:
        for one in tellings:
            for channel in to:
                content = {"title": rule, "text": rule, "key": f"alert-{one.notice.id}-{one.number}"}
                alert_messages.put(
                    store,
                    connection,
                    notice=one.notice.id,
                    number=one.number,
                    channel=channel,
                    rule=rule,
                    content=content,
                    joined=lambda _before, last: last,
                )

    sightings = [
        Sighting(subject=name, account=name if own else None, value=value, figures=figures or {})
        for name in subjects
    ]
    terms = Terms(rule=rule, level=level, hold=0, repeat=4 * 3600, tells=bool(to))
    alerts.record(store, terms, sightings, tell, complete=False)
    table = store.tables.alert
    with store.read() as connection:
        rows = connection.execute(
            table.select().where(table.c.rule == rule, table.c.closed_at.is_(None)).order_by(table.c.id)
        ).all()
    return [row.id for row in rows if row.subject in subjects]


def close(
    store: Store, *ids: int, began: timedelta = timedelta(hours=3), lasted: timedelta = timedelta(hours=2)
) -> None:
    """Let notices have begun so long ago and have lasted so long."""
    now = utc_now()
    change(store, ids, opened_at=now - began, closed_at=now - began + lasted)


def change(store: Store, ids: Sequence[int], **values: Any) -> None:
    """Let notices stand in a way that takes hours to reach."""
    table = store.tables.alert
    with store.write() as connection:
        connection.execute(update(table).where(table.c.id.in_(ids)).values(**values))


def bring(desk: Desk) -> None:
    """Let the step try to bring every message that waits: nobody listens."""
    with steps_of(desk) as hub:
        steps.send_alerts(hub)


def brought(store: Store, channel: str, *, noted: str | None = None) -> None:
    """Let every message to a channel have come there."""
    table = store.tables.event
    with store.write() as connection:
        connection.execute(
            update(table)
            .where(table.c.kind == ALERT, table.c.idempotency_key.like(f"%/{channel}"))
            .values(status="done", result=json.dumps({"told": True, "noted": noted}), finished_at=utc_now())
        )


def snooze(desk: Desk, rule: str, *, hours: float = 4, note: str = "inventário até as 15h") -> None:
    """Let joana have snoozed a rule."""
    alerting.snooze_alert(desk.hub.store, rule, until=timedelta(hours=hours), actor="joana", note=note)
