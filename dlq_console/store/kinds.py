"""What workers publish about each kind of event, so that producers and the console need no user code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from dlq_console.store.presence import DEAD_AFTER
from dlq_console.store.store import Store

PUBLISH = """
INSERT INTO {kind} (name, policy, max_attempts, timeout, provider, limits, worker, published_at)
VALUES (:name, :policy, :max_attempts, :timeout, :provider, :limits, :worker, {now})
ON CONFLICT (name) DO UPDATE SET
    policy = excluded.policy, max_attempts = excluded.max_attempts, timeout = excluded.timeout,
    provider = excluded.provider, limits = excluded.limits, worker = excluded.worker, published_at = {now}
"""

IS_HANDLED = f"""
SELECT 1 FROM {{kind}} k LEFT JOIN {{worker}} w
    ON w.id = k.worker AND w.heartbeat_at > {{now}} - {{interval[{DEAD_AFTER}]}}
WHERE k.name = :name AND (w.id IS NOT NULL OR k.published_at > {{now}} - {{interval[within]}})
"""
ALL = "SELECT name, policy, max_attempts, timeout, provider, limits FROM {kind} ORDER BY name"


@dataclass(frozen=True, slots=True)
class PublishedKind:
    """A kind as a worker published it.

    `timeout` is in seconds; `policy` holds the policy's plain values, `limits` those of its provider as JSON.
    """

    name: str
    max_attempts: int
    timeout: float
    provider: str | None
    policy: dict[str, Any]
    limits: str | None = None


def publish(store: Store, kinds: list[PublishedKind], worker: str) -> None:
    """Make the kinds of a worker known; a later worker's word replaces an earlier one's."""
    if not kinds:
        return
    rows = [
        {
            "name": kind.name,
            # Written as declared: lists show their columns in that order.
            "policy": json.dumps(kind.policy),
            "max_attempts": kind.max_attempts,
            "timeout": kind.timeout,
            "provider": kind.provider,
            "limits": kind.limits,
            "worker": worker,
        }
        # One order for all workers, so that two that start together cannot deadlock.
        for kind in sorted(kinds, key=lambda kind: kind.name)
    ]
    with store.write() as connection:
        connection.execute(store.statement(PUBLISH), rows)


def published(store: Store) -> dict[str, PublishedKind]:
    """Every kind that a worker has published, by name."""
    with store.read() as connection:
        rows = connection.execute(store.statement(ALL)).all()
    return {
        row.name: PublishedKind(
            row.name, row.max_attempts, row.timeout, row.provider, json.loads(row.policy), row.limits
        )
        for row in rows
    }


def is_handled(store: Store, name: str, within: float) -> bool:
    """Whether the worker that published a kind is alive, or did so less than `within` seconds ago."""
    with store.read() as connection:
        parameters = {"name": name, "within": within}
        return connection.execute(store.statement(IS_HANDLED), parameters).first() is not None
