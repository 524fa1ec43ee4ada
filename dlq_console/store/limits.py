"""What the providers of kinds allow, as workers have published it: how fast, how many at once, how many failures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row

from dlq_console.resilience.pacing import UNLIMITED, ErrorBudget, Limits
from dlq_console.store.claim_sql import DEFAULT_TIMEOUT
from dlq_console.store.store import Store

KINDS = "SELECT k.name, k.provider, k.limits, k.timeout, k.policy FROM {kind} k"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindLimits:
    """What limits the events of one kind.

    Attributes:
        provider: its outside system.
        timeout: how long one run may take, in seconds.
        writes: whether it changes something there.
        method: limits of each account for this kind alone.
        account: limits of each account over all kinds of the provider.
        shared: limits of the provider over all accounts.
        writes_at_once: how many writing events of one account may run at once.
        own_circuit: whether it has a circuit of its own in each account.
    """

    provider: str | None = None
    timeout: float = DEFAULT_TIMEOUT
    writes: bool = True
    method: Limits = UNLIMITED
    account: Limits = UNLIMITED
    shared: Limits = UNLIMITED
    writes_at_once: int | None = None
    own_circuit: bool = False

    @property
    def any(self) -> bool:
        """Whether there is any limit."""
        limits = (self.method, self.account, self.shared)
        return self.writes_at_once is not None or any(each != UNLIMITED for each in limits)


NO_LIMITS = KindLimits()


def read_limits(store: Store, connection: Connection) -> dict[str, KindLimits]:
    """The limits of every published kind."""
    rows = connection.execute(store.statement(KINDS)).all()
    return {row.name: _of_kind(row) for row in rows}


def _of_kind(row: Row[Any]) -> KindLimits:
    limits = decode(row.limits, row.provider, row.timeout)
    return replace(limits, own_circuit=bool(json.loads(row.policy).get("breaker")))


def encode(limits: KindLimits) -> str | None:
    """What is stored with a kind; None where there is no limit."""
    if not limits.any:
        return None
    values = {
        "writes": limits.writes,
        "writes_at_once": limits.writes_at_once,
        "method": _plain(limits.method),
        "account": _plain(limits.account),
        "shared": _plain(limits.shared),
    }
    return json.dumps(values, sort_keys=True)


def decode(text: str | None, provider: str | None, timeout: float) -> KindLimits:
    """The inverse of `encode`."""
    values: Mapping[str, Any] = json.loads(text) if text else {}
    return KindLimits(
        provider=provider,
        timeout=timeout,
        writes=bool(values.get("writes", True)),
        method=_limits(values.get("method")),
        account=_limits(values.get("account")),
        shared=_limits(values.get("shared")),
        writes_at_once=values.get("writes_at_once"),
    )


def _plain(limits: Limits) -> dict[str, Any]:
    budget = limits.budget
    return {
        "per_minute": limits.per_minute,
        "at_once": limits.at_once,
        "budget": budget and {"failures": budget.failures, "seconds": budget.seconds, "keep": budget.keep},
    }


def _limits(values: Mapping[str, Any] | None) -> Limits:
    if not values:
        return UNLIMITED
    budget = values.get("budget")
    return Limits(
        per_minute=values.get("per_minute"),
        at_once=values.get("at_once"),
        budget=ErrorBudget(**budget) if budget else None,
    )
