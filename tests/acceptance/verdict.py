"""Is everything accounted for? Compares what the shops handed over, what the hub recorded and what the ERP's books hold."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from sqlalchemy import RowMapping

from dlq_console import Event, Hub
from dlq_console.demo.data import customers
from tests.acceptance.erp import SEED, Erp
from tests.acceptance.producer import NEVER

#: Attempts after which nobody can know whether the ERP had taken the record: the answer was lost, or the worker.
IN_DOUBT = {"TimeoutError", "ConnectionError", "TimeLimitExceeded", "WorkerDied"}
#: How the last attempt of an event ended.
LAST_OUTCOMES = {"done": {"done"}, "dead": {"dead", "lost"}, "discarded": {"released", "failed", "lost"}}


class Verdict:
    """Everything that is not as it must be, one sentence each; none if the line is true."""

    def __init__(self, hub: Hub, erp: Erp) -> None:
        self.events = list(_events(hub))
        self.attempts = _attempts(hub)
        self._documents = _documents(hub)
        self._effects = erp.effects()
        self._stats = erp.stats()

    def complaints(self) -> list[str]:
        """What is wrong, at most a hundred sentences."""
        wrong = [*self._about_events(), *self._about_effects(), *self._about_rolled_back()]
        return wrong[:100]

    def figures(self) -> dict[str, Any]:
        """What happened, for whoever wants to know how hard the line was tried."""
        return {
            "events": Counter(f"{event.status} {event.reason or ''}".strip() for event in self.events),
            "attempts": Counter(row["outcome"] for rows in self.attempts.values() for row in rows),
            "errors": Counter(row["error_type"] for rows in self.attempts.values() for row in rows),
            "erp": {name: self._stats[name] for name in ("calls", "applied", "replayed", "refused")},
        }

    def _about_events(self) -> Iterator[str]:
        for event in self.events:
            tried = self.attempts.get(event.id, [])
            took_place = self._effects.get(event.account, {}).get(event.effect_key, 0)
            complaint = (
                _wrong_end(event) or _wrong_effect(event, tried, took_place) or _wrong_attempts(event, tried)
            )
            if complaint:
                errors = [row["error_type"] or row["outcome"] for row in tried]
                yield f"event {event.id} ({event.kind} of {event.account}, {event.status} {event.reason}): {complaint}; attempts: {errors}"

    def _about_effects(self) -> Iterator[str]:
        yield from (f"happened twice: {key}" for key in self._stats["twice"])
        yield from (f"created under two effect keys: {record}" for record in self._stats["doubled"])
        known = {(event.account, event.effect_key) for event in self.events}
        for account, effects in self._effects.items():
            yield from (
                f"effect without an event: {account} {key}" for key in effects if (account, key) not in known
            )
        claims: Counter[str] = Counter()
        doubts: Counter[str] = Counter()
        for event in self.events:
            claims[event.account] += event.lease_epoch
            doubts[event.account] += sum(row["error_type"] in IN_DOUBT for row in self.attempts[event.id])
        for account, figures in self._stats["by_account"].items():
            if figures["calls"] > claims[account]:
                yield f"{account} was called {figures['calls']} times for {claims[account]} claims"
            # A run whose answer is known is never repeated.
            if figures["replayed"] > doubts[account]:
                yield f"{account} saw {figures['replayed']} repeats for {doubts[account]} attempts in doubt"

    def _about_rolled_back(self) -> Iterator[str]:
        yield from (
            f"event {event.id} was rolled back by its shop: {event.entity_id}"
            for event in self.events
            if event.entity_id.startswith(NEVER)
        )
        committed = {event.id for event in self.events}
        if committed != self._documents:
            yield f"shop and hub disagree about the events {sorted(committed ^ self._documents)[:20]}"


def _wrong_end(event: Event) -> str | None:
    refused = _is_refused(event)
    match event.status, event.reason:
        case "done", None:
            return "it is done although the ERP must refuse it" if refused else None
        case "dead", "permanent":
            return None if refused else f"the ERP should have taken it, but: {event.last_error}"
        case "discarded", "superseded":
            # An older record of a customer whose newer one has arrived.
            return (
                None if event.kind == "customer.upsert" and event.superseded_by else "nothing took its place"
            )
        case "dead", "exhausted" | "orphaned":
            spent = event.attempts == event.max_attempts
            return None if spent else f"given up after {event.attempts} of {event.max_attempts} attempts"
    return f"it did not end for a stated reason: {event.last_error}"


def _wrong_effect(event: Event, tried: list[RowMapping], took_place: int) -> str | None:
    if event.status == "done":
        return None if took_place == 1 else f"its effect took place {took_place} times"
    in_doubt = any(row["error_type"] in IN_DOUBT for row in tried)
    allowed = {0, 1} if in_doubt and not _is_refused(event) else {0}
    return None if took_place in allowed else f"its effect took place {took_place} times although it is dead"


def _wrong_attempts(event: Event, tried: list[RowMapping]) -> str | None:
    """One row for every claim that ended, the counted ones numbered without a gap, the last one like the event."""
    epochs = [row["lease_epoch"] for row in tried]
    counted = [row["number"] for row in tried if row["outcome"] not in ("released", "asked")]
    asked = sum(row["outcome"] == "asked" for row in tried)
    if sorted(set(epochs)) != epochs or any(epoch > event.lease_epoch for epoch in epochs):
        return f"its attempts name the epochs {epochs} of {event.lease_epoch}"
    if counted != list(range(1, event.total_attempts - asked + 1)):
        return f"its attempts are numbered {counted} of {event.total_attempts}"
    # What a newer one has replaced may never have been tried.
    if tried and tried[-1]["outcome"] not in LAST_OUTCOMES[event.status]:
        return f"its last attempt was {tried[-1]['outcome']}"
    return None


def _is_refused(event: Event) -> bool:
    """Whether the ERP's business rules refuse the record, whenever it is sent."""
    payload = event.payload
    if event.kind not in ("order.create", "invoice.create"):
        return False
    registered = {one.code for one in customers(SEED, event.account) if one.registered}
    lines = sum((Decimal(str(line["amount"])) for line in payload["lines"]), Decimal(0))
    return payload["customer_code"] not in registered or lines != Decimal(str(payload["total"]))


def _events(hub: Hub) -> Iterator[Event]:
    with hub.store.read() as connection:
        ids = connection.execute(hub.store.statement("SELECT id FROM {event} ORDER BY id")).scalars().all()
    yield from (hub.get(id_) for id_ in ids)


def _attempts(hub: Hub) -> dict[int, list[RowMapping]]:
    found: dict[int, list[RowMapping]] = defaultdict(list)
    with hub.store.read() as connection:
        for row in connection.execute(hub.store.statement("SELECT * FROM {attempt} ORDER BY id")).mappings():
            found[row["event_id"]].append(row)
    return found


def _documents(hub: Hub) -> set[int]:
    with hub.store.read() as connection:
        return set(connection.execute(hub.store.statement("SELECT event_id FROM shop_document")).scalars())
