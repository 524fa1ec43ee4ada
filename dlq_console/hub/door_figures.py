"""Accounts and circuit breakers as plain values, for the JSON API, the command line and the pages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from dlq_console.resilience.breaker import BreakerRecord, rules
from dlq_console.store.claims import fair_share
from dlq_console.store.doors import NEVER, Door, causes
from dlq_console.store.queries import Overview


def account_figures(overview: Overview, doors: list[tuple[Door, float]]) -> list[dict[str, Any]]:
    """Every account that has work or a door, by name: its figures, and what keeps its door closed."""
    figures = {part.account: part for part in overview.accounts}
    standing = {door.scope.name: (door, now) for door, now in doors if door.scope.type == "account"}
    return [
        _account(name, figures.get(name), standing.get(name))
        for name in sorted(figures.keys() | standing.keys())
    ]


def _account(name: str, figures: Any, standing: tuple[Door, float] | None) -> dict[str, Any]:
    door, now = standing or (None, 0.0)
    closed = causes(door, now) if door else []
    first = closed[0] if closed else None
    return {
        "account": name,
        "cause": first.name if first else None,
        "until": moment(first.until) if first else None,
        "reason": first.reason if first else None,
        "max_running": door.max_running if door else None,
        "due": figures.due.number if figures else 0,
        "running": figures.running.number if figures else 0,
        "failed": figures.failed.number if figures else 0,
        "dead": figures.dead.number if figures else 0,
    }


def account_rooms(overview: Overview, doors: list[tuple[Door, float]]) -> dict[str, dict[str, Any]]:
    """The bulkheads of the hub: how many events of each account run, out of how many that may, and how many are due."""
    limits = {door.scope.name: door.max_running for door, _ in doors if door.scope.type == "account"}
    share = fair_share(overview.slots)
    return {
        part.account: _room(part.running.number, limits.get(part.account), share, part.due.number)
        for part in overview.accounts
    }


def _room(running: int, limit: int | None, share: int, due: int) -> dict[str, Any]:
    most = share if limit is None else limit
    return {
        "scope": "account",
        "max": most,
        "in_use": running,
        "available": max(0, most - running),
        "waiting": due,
        "oldest": None,
        "counts": None,
        "degraded": False,
    }


def breaker_figures(door: Door, now: float) -> dict[str, Any]:
    """One circuit: where it stands, by itself and by a person's decision, and its last transitions."""
    return {"scope": door.scope.type, **circuit_figures(door.circuit, now), "counts": None, "degraded": False}


def circuit_figures(record: BreakerRecord, now: float) -> dict[str, Any]:
    """What a record says of a circuit, whoever it belongs to; `now` is the time of where it is kept."""
    override = rules.standing_override(record, now)
    return {
        "state": rules.effective_state(record, now),
        "computed": rules.computed_state(record, now),
        "failures": record.failures,
        "last_failure": record.last_failure,
        "since": moment(record.since),
        "open_until": moment(record.open_until) if record.open_until > now else None,
        "override": override
        and {
            "position": override.position,
            "actor": override.actor,
            "note": override.note,
            "until": None if override.until is None else moment(override.until),
        },
        "history": [
            {
                "at": moment(moved.at),
                "before": moved.before,
                "after": moved.after,
                "why": moved.why,
                "by": moved.by,
            }
            for moved in reversed(record.history)
        ],
    }


def moment(seconds: float) -> datetime | None:
    """A time of the state as people read it; None for never."""
    return None if seconds >= NEVER or seconds <= 0 else datetime.fromtimestamp(seconds, UTC)
