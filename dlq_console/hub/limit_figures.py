"""What do providers allow, and how much of it is used? Rates and error budgets of accounts, kinds and whole providers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from dlq_console.resilience import pacing
from dlq_console.resilience.pacing import UNLIMITED, Limits
from dlq_console.store.doors import Door
from dlq_console.store.limits import KindLimits, read_limits
from dlq_console.store.store import Store

#: Runs that ended in the last whole minute, by account and kind.
Runs = Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitFigures:
    """One limit that is kept, and how much of it is used.

    Attributes:
        scope: `account`, `method` (one kind of an account) or `provider` (over all accounts).
        name: of the scope.
        provider: whose limit it is; None where that is not known.
        per_minute: calls that the provider allows a minute; None where it sets no rate.
        last_minute: runs that ended in the last whole minute; None where none was counted.
        now: how many may start at this moment, of `burst`.
        next_at: when the next one may start, where none may now.
        at_once: how many may run at the same time.
        failures: failing answers that still count, of `most_failures` within `seconds`; `keep` are for fresh work.
        closed_until: until when it is closed because all of them are used, or the provider asked for it.
    """

    scope: str
    name: str
    account: str | None
    kind: str | None
    provider: str | None
    per_minute: float | None = None
    last_minute: int | None = None
    now: int | None = None
    burst: int = 0
    next_at: datetime | None = None
    at_once: int | None = None
    failures: int | None = None
    most_failures: int = 0
    seconds: float = 0.0
    keep: int = 0
    closed_until: datetime | None = None


def limit_figures(store: Store, doors: Iterable[tuple[Door, float]], runs: Runs) -> list[LimitFigures]:
    """Every limit that is kept at a door, by provider and name."""
    with store.read() as connection:
        kinds = read_limits(store, connection)
    found = [
        _figures(door, now, limits, provider, runs, kinds)
        for door, now in doors
        if door.limited
        for provider, limits in _limits_of(door, kinds)
    ]
    return sorted(found, key=lambda one: (one.provider or "", one.scope, one.name))


def _limits_of(door: Door, kinds: Mapping[str, KindLimits]) -> list[tuple[str | None, Limits]]:
    """The limits that hold for a door, each with its provider; an account may have several providers."""
    scope = door.scope
    if scope.type == "method":
        known = kinds.get(scope.kind or "")
        found = [(known.provider, known.method)] if known else []
    elif scope.type == "account":
        found = list({(one.provider, one.account): None for _, one in sorted(kinds.items())})
    else:
        found = list(
            {(one.provider, one.shared): None for one in kinds.values() if one.provider == scope.name}
        )
    return [(provider, limits) for provider, limits in found if limits != UNLIMITED]


def _figures(
    door: Door,
    now: float,
    limits: Limits,
    provider: str | None,
    runs: Runs,
    kinds: Mapping[str, KindLimits],
) -> LimitFigures:
    scope, budget = door.scope, limits.budget
    opens = pacing.opens_at(door.pace, limits, now)
    return LimitFigures(
        scope=scope.type,
        name=scope.name,
        account=scope.account,
        kind=scope.kind,
        provider=provider,
        per_minute=limits.per_minute,
        last_minute=_last_minute(door, provider, runs, kinds) if limits.per_minute is not None else None,
        now=pacing.starts_left(door.pace, limits, now),
        burst=limits.burst,
        next_at=datetime.fromtimestamp(opens, UTC) if opens > now else None,
        at_once=limits.at_once,
        failures=None if budget is None else len(pacing.recent(door.pace, budget, now)),
        most_failures=budget.failures if budget else 0,
        seconds=budget.seconds if budget else 0.0,
        keep=budget.keep if budget else 0,
        closed_until=datetime.fromtimestamp(door.provider_until, UTC)
        if door.provider_until is not None and door.provider_until > now
        else None,
    )


def _last_minute(door: Door, provider: str | None, runs: Runs, kinds: Mapping[str, KindLimits]) -> int | None:
    """Runs that count for this door; None where no minute was counted at all."""
    if not runs:
        return None
    scope = door.scope
    return sum(
        number
        for (account, kind), number in runs.items()
        if (scope.account is None or account == scope.account)
        and (scope.kind is None or kind == scope.kind)
        and (kind in kinds and kinds[kind].provider == provider)
    )
