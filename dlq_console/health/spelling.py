"""How is the state of the installation kept between who finds it out and who tells of it? As plain values by name.

A step keeps them in the store under the readings ACCOUNTS and WORKERS; everybody else reads them there.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter

from dlq_console.health.values import AccountHealth, Health, WorkerState

#: The readings under which the store keeps them.
ACCOUNTS, WORKERS = "health accounts", "health workers"

_account: TypeAdapter[AccountHealth] = TypeAdapter(AccountHealth)
_worker: TypeAdapter[WorkerState] = TypeAdapter(WorkerState)


def account_values(health: Health) -> dict[str, Any]:
    """Every account by name, as values that JSON knows."""
    return {one.account: _account.dump_python(one, mode="json") for one in health.accounts}


def worker_values(health: Health) -> dict[str, Any]:
    """Every worker by its id, as values that JSON knows."""
    return {one.worker: _worker.dump_python(one, mode="json") for one in health.workers}


def read(
    accounts: Mapping[str, Any],
    workers: Mapping[str, Any],
    *,
    as_of: datetime | None,
    age: float,
    counted_at: datetime | None = None,
) -> Health:
    """The state of the installation from values that were kept.

    Args:
        accounts: as `account_values` wrote them.
        workers: as `worker_values` wrote them.
        as_of: when they were read last; None: never.
        age: seconds since then, by the database's clock.
        counted_at: when events were counted last.
    """
    found = [_account.validate_python(value) for value in accounts.values()]
    return Health(
        as_of=as_of,
        age=age,
        counted_at=counted_at,
        accounts=tuple(sorted(found, key=urgency)),
        workers=tuple(_worker.validate_python(value) for _, value in sorted(workers.items())),
    )


def urgency(account: AccountHealth) -> tuple[bool, int, str]:
    """What to sort accounts by: what needs a person first, then how bad it is, then by name."""
    return not account.needs_person, -_BADNESS[account.word], account.account


_BADNESS = {"down": 4, "blocked": 3, "degraded": 2, "unknown": 1, "ok": 0}
