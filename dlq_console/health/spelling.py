"""How is the state of the installation kept between who finds it out and who tells of it? As plain values by name.

A step keeps them in the store under the readings ACCOUNTS and WORKERS; everybody else reads them there.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter

from dlq_console.health.values import AccountHealth, Counts, Flow, Former, Health, Why, Word, WorkerState

#: The readings under which the store keeps them.
ACCOUNTS, WORKERS = "health accounts", "health workers"
#: What was counted and what came and went last, of all accounts in one value each: what the judgement is made from.
COUNTS, FLOWS = "health counts", "health flows"

_account: TypeAdapter[AccountHealth] = TypeAdapter(AccountHealth)
_worker: TypeAdapter[WorkerState] = TypeAdapter(WorkerState)
_counts: TypeAdapter[dict[str, Counts]] = TypeAdapter(dict[str, Counts])
_flows: TypeAdapter[dict[str, Flow]] = TypeAdapter(dict[str, Flow])


def kept_values(health: Health) -> dict[str, Any]:
    """`account_values` without what is as if nothing were said: they are written all the time."""
    return {
        one.account: _account.dump_python(one, mode="json", exclude_defaults=True) for one in health.accounts
    }


def counts_value(counts: Mapping[str, Counts]) -> Any:
    """The counts of all accounts as one value that JSON knows."""
    return _counts.dump_python(dict(counts), mode="json", exclude_defaults=True)


def flows_value(flows: Mapping[str, Flow]) -> Any:
    """What came and went in all accounts as one value that JSON knows."""
    return _flows.dump_python(dict(flows), mode="json", exclude_defaults=True)


def read_counts(value: Any) -> dict[str, Counts]:
    """The inverse of `counts_value`; nothing where another version of the hub wrote it."""
    try:
        return _counts.validate_python(value or {})
    except ValueError:
        return {}


def read_flows(value: Any) -> dict[str, Flow]:
    """The inverse of `flows_value`; nothing where another version of the hub wrote it."""
    try:
        return _flows.validate_python(value or {})
    except ValueError:
        return {}


def read_former(value: Any) -> Former | None:
    """How one account was judged, as `kept_values` wrote it; None where it was not, or another version of the hub wrote.

    Only what the next judgement asks for: reading all of a thousand accounts takes as long as judging them.
    """
    try:
        return Former(
            Word(value["word"]),
            datetime.fromisoformat(value["since"]),
            closed=value.get("closing") is not None or value.get("why") == Why.NO_WORKER,
            opened_at=datetime.fromisoformat(value["opened_at"]) if value.get("opened_at") else None,
            opened_with=value.get("opened_with"),
            left=tuple((Word(word), datetime.fromisoformat(at)) for word, at in value.get("left", ())),
        )
    except (KeyError, TypeError, ValueError):
        return None


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


def read_account(name: str, text: str) -> AccountHealth:
    """One account from the JSON text under its name; unknown where another version of the hub wrote it."""
    try:
        return _account.validate_json(text)
    except ValueError:
        return AccountHealth(account=name, word=Word.UNKNOWN, since=_NEVER, why=Why.NOT_SEEN)


def read_worker(text: str) -> WorkerState | None:
    """One worker from its JSON text; None where another version of the hub wrote it."""
    try:
        return _worker.validate_json(text)
    except ValueError:
        return None


def badness(word: Word) -> int:
    """The worse, the more: what to choose the worst by."""
    return _BADNESS[word]


def urgency(account: AccountHealth) -> tuple[int, bool, int, str]:
    """What to sort accounts by: how bad it is, whether it needs a person, how much waits or is dead, then by name.

    Those that are well lie by name alone: what waits there for a moment would let rows jump at every look.
    """
    is_ok = account.word is Word.OK
    much = 0 if is_ok else account.counts.waiting + account.counts.dead
    return -_BADNESS[account.word], not account.needs_person, -much, account.account


_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_BADNESS = {"down": 4, "blocked": 3, "degraded": 2, "unknown": 1, "ok": 0}
