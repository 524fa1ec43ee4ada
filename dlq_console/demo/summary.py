"""What became of the demo's events, counted in the database and in the books of the simulated ERP?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.client import HTTPConnection
from urllib.parse import urlsplit

from sqlalchemy import func, select

from dlq_console.demo.producers import ORIGIN
from dlq_console.runtime import Hub
from dlq_console.store.states import OPEN, Outcome, Status

#: Seconds that the ERP has to tell its figures.
PATIENCE = 20


@dataclass(frozen=True, slots=True)
class Summary:
    """Events by what became of them.

    Attributes:
        created: that the producers were told of.
        folded: repeats that became no event of their own.
        done: that reached the ERP.
        retried: with at least one failed attempt.
        discarded: not sent, because a newer one was, or because a person decided so.
        dead: that wait for a person.
        waiting: that come to their end later.
        lost: that nobody knows of any more; must be 0.
        doubled: effects that took place twice in the ERP; must be 0.
    """

    created: int
    folded: int
    done: int
    retried: int
    discarded: int
    dead: int
    waiting: int
    lost: int
    doubled: int

    @property
    def holds(self) -> bool:
        """Whether what the hub promises was kept."""
        return self.lost == 0 and self.doubled == 0


def count_events(hub: Hub) -> int:
    """How many events of the demo's producers the database holds."""
    event = hub.store.tables.event
    with hub.store.read() as connection:
        counted = select(func.count()).select_from(event).where(event.c.origin == ORIGIN)
        return connection.execute(counted).scalar_one()


def summarise(hub: Hub, erp: str, *, before: int, created: int, folded: int) -> Summary:
    """Compare what the producers were promised with what the database and the books of the ERP hold.

    Args:
        hub: the hub of the demo.
        erp: address of the simulated ERP.
        before: events that were there when the demo began.
        created: new events that the producers were told of.
        folded: repeats that they were told of.
    """
    event, attempt = hub.store.tables.event, hub.store.tables.attempt
    failed = select(attempt.c.event_id).where(attempt.c.outcome.in_((Outcome.FAILED, Outcome.LOST)))
    with hub.store.read() as connection:
        # Somebody who tries the demo puts events in too; those would hide a loss.
        counted = (
            select(event.c.status, func.count().label("number"))
            .where(event.c.origin == ORIGIN)
            .group_by(event.c.status)
        )
        by_status: dict[str, int] = {row.status: row.number for row in connection.execute(counted)}
        retried = connection.execute(
            select(func.count()).select_from(failed.distinct().subquery())
        ).scalar_one()
    return Summary(
        created=created,
        folded=folded,
        done=by_status.get(Status.DONE, 0),
        retried=retried,
        discarded=by_status.get(Status.DISCARDED, 0),
        dead=by_status.get(Status.DEAD, 0),
        waiting=sum(by_status.get(status, 0) for status in OPEN),
        lost=created - (sum(by_status.values()) - before),
        doubled=_doubled(erp),
    )


def _doubled(erp: str) -> int:
    """Effects that took place twice, and records that were created under two effect keys."""
    connection = HTTPConnection(urlsplit(erp).netloc, timeout=PATIENCE)
    try:
        connection.request("GET", "/stats")
        stats = json.load(connection.getresponse())
    finally:
        connection.close()
    return len(stats["twice"]) + len(stats["doubled"])
