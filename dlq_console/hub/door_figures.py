"""Accounts and circuit breakers as plain values, for the JSON API, the command line and the pages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from dlq_console.resilience.breaker import BreakerRecord, CircuitState, Window, rules
from dlq_console.resilience.breaker.config import LARGEST_WINDOW
from dlq_console.resilience.breaker.window import shares
from dlq_console.resilience.leases import settled
from dlq_console.store.claims import fair_share
from dlq_console.store.door_acts import ACCOUNT_CIRCUIT
from dlq_console.store.doors import NEVER, Door, causes
from dlq_console.store.kinds import PublishedKind
from dlq_console.store.queries import Overview
from dlq_console.store.scope_names import Scope

#: How a circuit is set, as `CircuitBreakerConfig.plain` says it.
Settings = Mapping[str, Any]
#: Kinds by name, as workers have published them.
Kinds = Mapping[str, PublishedKind]
#: No kind is known.
NOTHING: Kinds = MappingProxyType({})
#: Whose circuit one of the hub is.
CircuitScope = Scope


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


def room_of_share(slots: int) -> int:
    """How many events of an account without a limit of its own may run at once, of so many slots; none of none."""
    return fair_share(slots) if slots else 0


#: How the circuit of every account is set.
ACCOUNT_SETTINGS: Settings = ACCOUNT_CIRCUIT.plain()


def account_rooms(overview: Overview, doors: list[tuple[Door, float]]) -> dict[str, dict[str, Any]]:
    """The bulkheads of the hub: how many events of each account run, out of how many that may, and how many are due."""
    limits = {door.scope.name: door.max_running for door, _ in doors if door.scope.type == "account"}
    share = room_of_share(overview.slots)
    return {
        part.account: room_figures(part.running.number, limits.get(part.account), share, part.due.number)
        for part in overview.accounts
    }


def room_figures(running: int, limit: int | None, share: int, due: int) -> dict[str, Any]:
    """The bulkhead of one account: its limit, or its fair share where it has none, and what of that is in use."""
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


def breaker_figures(door: Door, now: float, kinds: Kinds = NOTHING) -> dict[str, Any]:
    """One circuit: where it stands, by itself and by a person's decision, and its last transitions.

    Args:
        door: whose circuit it is.
        now: the database's time.
        kinds: as workers have published them; they say how the circuits of kinds are set.
    """
    settings = settings_of(door.scope, kinds)
    return {
        "scope": door.scope.type,
        **circuit_figures(door.circuit, now, settings),
        "counts": None,
        "degraded": False,
    }


def settings_of(scope: Scope, kinds: Kinds) -> Settings | None:
    """How the circuit of a scope is set; None where no worker has said so."""
    if scope.type == "account":
        return ACCOUNT_SETTINGS
    kind = kinds.get(scope.kind or "")
    return kind.policy.get("circuit") if kind else None


def circuit_figures(record: BreakerRecord, now: float, settings: Settings | None = None) -> dict[str, Any]:
    """What a record says of a circuit, whoever it belongs to; `now` is the time of where it is kept."""
    override = rules.standing_override(record, now)
    return {
        "state": rules.effective_state(record, now),
        "computed": rules.computed_state(record, now),
        "failures": record.failures,
        "last_failure": record.last_failure,
        "since": moment(_since(record, now)),
        "open_until": moment(record.open_until) if record.open_until > now else None,
        "probes": len(settled(record.probes, now)),
        "probe_successes": record.successes,
        "reopened": record.reopened,
        "window": _window(record, now, settings),
        "settings": settings,
        "override": override
        and {
            "position": override.position,
            "actor": override.actor,
            "note": override.note,
            "at": moment(override.at),
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


def _since(record: BreakerRecord, now: float) -> float:
    """Since when it stands where it stands: what is due to be tried is half-open from then on, though nobody has tried it."""
    if record.state is CircuitState.OPEN and rules.effective_state(record, now) is CircuitState.HALF_OPEN:
        return min(record.open_until, now)
    return record.since


def _window(record: BreakerRecord, now: float, settings: Settings | None) -> dict[str, Any] | None:
    """What the window of a circuit holds; None for one that counts failures in a row only.

    Whoever does not know how long the window is takes all that is written down: what is older was dropped by those
    who know.
    """
    known = settings and settings["window"]
    if known is None and not (record.outcomes or record.buckets):
        return None
    if known is None:
        first = record.buckets[0][0] if record.buckets else now
        known = {"calls": LARGEST_WINDOW} if record.outcomes else {"seconds": max(1.0, now - first + 1.0)}
    window = Window(**{**known, "minimum_calls": 1})
    found = shares(record, window, now)
    return {
        "calls": found.calls,
        "failures": found.failures,
        "slow": found.slow,
        "last_calls": window.calls,
        "last_seconds": window.seconds,
    }


def moment(seconds: float) -> datetime | None:
    """A time of the state as people read it; None for never."""
    return None if seconds >= NEVER or seconds <= 0 else datetime.fromtimestamp(seconds, UTC)
