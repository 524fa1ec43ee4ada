"""What became of the demo's events, counted in the database."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, select

from dlq_console.demo.producers import ORIGIN
from dlq_console.runtime import Hub
from dlq_console.store.states import OPEN, Outcome, Status


@dataclass(frozen=True, slots=True)
class Summary:
    """Events by what became of them. `retried` had at least one failed attempt; `lost` must be 0."""

    created: int
    folded: int
    done: int
    retried: int
    dead: int
    waiting: int
    lost: int


def count_events(hub: Hub) -> int:
    """How many events of the demo's producers the database holds."""
    event = hub.store.tables.event
    with hub.store.read() as connection:
        counted = select(func.count()).select_from(event).where(event.c.origin == ORIGIN)
        return connection.execute(counted).scalar_one()


def summarise(hub: Hub, *, before: int, created: int, folded: int) -> Summary:
    """Compare what the producers were promised with what the database holds.

    Args:
        hub: the hub of the demo.
        before: events that were there when the demo began.
        created: new events that the producers were told of.
        folded: repeats that they were told of.
    """
    event, attempt = hub.store.tables.event, hub.store.tables.attempt
    failed = select(attempt.c.event_id).where(attempt.c.outcome.in_((Outcome.FAILED, Outcome.LOST)))
    with hub.store.read() as connection:
        # Somebody who tries the demo puts events in too; those would hide a loss.
        counted = (
            select(event.c.status, func.count()).where(event.c.origin == ORIGIN).group_by(event.c.status)
        )
        by_status: dict[str, int] = dict(connection.execute(counted).tuples().all())
        retried = connection.execute(
            select(func.count()).select_from(failed.distinct().subquery())
        ).scalar_one()
    return Summary(
        created=created,
        folded=folded,
        done=by_status.get(Status.DONE, 0),
        retried=retried,
        dead=by_status.get(Status.DEAD, 0),
        waiting=sum(by_status.get(status, 0) for status in OPEN),
        lost=created - (sum(by_status.values()) - before),
    )
