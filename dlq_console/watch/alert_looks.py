"""What does each rule find? The state of the installation as it was read last, and a few bounded counts.

One function for each thing that is looked at. Missing data finds nothing and ends nothing: that nobody looks any more is
told from outside, by `/readyz`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from dlq_console.health import spelling
from dlq_console.health.alert_values import ANY, AlertRule, When
from dlq_console.health.values import AccountHealth, Health, Why, Word
from dlq_console.hub.services import BREAKERS, BULKHEADS
from dlq_console.redact import redact_text
from dlq_console.resilience import SharedState
from dlq_console.resilience.breaker import CircuitState, rules
from dlq_console.resilience.queue_rules import QUEUES
from dlq_console.store import alert_figures, doors, snapshots
from dlq_console.store.alerts import MOST_OPEN, Sighting
from dlq_console.store.doors import NEVER
from dlq_console.store.scope_names import method_name
from dlq_console.store.store import Store

#: A notice stays open while the figure is above this share of what the rule allows, so that it does not come and go.
STAYS = 0.9
#: Begins the subject of what belongs to a service, so that no account has the same.
SERVICE = "service:"
#: The reading that says for which accounts nothing came in the last hour, and its own hour.
SILENCE, HOUR = "alert silence", "hour"
#: Of an unclassified death, how many days are looked back.
DAY, EVER = 1, 36_500


class NotKnown(Exception):
    """What the rule asks for could not be read, so it finds nothing and ends nothing."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What one look has before it."""

    store: Store
    state: SharedState
    health: Health

    def accounts(self, rule: AlertRule) -> Iterator[AccountHealth]:
        """Those that the rule is about and of which anything is known."""
        if self.health.is_stale:
            raise NotKnown
        for one in self.health.accounts:
            if rule.account in (ANY, one.account) and one.word is not Word.UNKNOWN:
                yield one

    @property
    def explained(self) -> Mapping[str, str]:
        """Accounts of which a pause or the provider explains that things stand still, with which of the two it is."""
        return {one.account: one.closing.cause for one in self.health.accounts if one.closing}


def scene(store: Store, state: SharedState) -> Scene:
    """What there is to look at now."""
    accounts = snapshots.look(store, spelling.ACCOUNTS)
    health = spelling.read(accounts.values, {}, as_of=accounts.taken_at, age=accounts.age)
    return Scene(store, state, health)


def find(rule: AlertRule, scene: Scene) -> tuple[list[Sighting], bool]:
    """What the rule finds now, and whether that is everything.

    Raises:
        NotKnown: what it asks for could not be read.
        StoreUnavailable: the database, or what guards share, is away.
    """
    found = []
    for one in _LOOKS[rule.when](rule, scene):
        if one.value > rule.over:
            found.append(one)
        elif one.value > rule.over * STAYS:
            found.append(replace(one, firm=False))
    unknown = any(one.word is Word.UNKNOWN for one in scene.health.accounts)
    return found[:MOST_OPEN], len(found) <= MOST_OPEN and not unknown


def _of(one: AccountHealth, value: float, *, muted: Iterable[str] = (), **figures: Any) -> Sighting:
    closed = one.closing is not None and one.closing.cause in muted
    return Sighting(subject=one.account, account=one.account, value=value, figures=figures, muted=closed)


# By account


def _dead_letters(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    if rule.kind != ANY:
        counted = alert_figures.dead_of_kind(scene.store, rule.kind)
        yield from _of_kinds(
            rule, scene, ((account, rule.kind, number) for account, number in counted.items())
        )
        return
    for one in scene.accounts(rule):
        if one.counts.dead:
            yield _of(one, one.counts.dead, muted=("pause",))


def _lag(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    of_kind = alert_figures.lags_of_kind(scene.store, rule.kind) if rule.kind != ANY else {}
    for one in scene.accounts(rule):
        lag = one.flow.lag_p95 if rule.kind == ANY else of_kind.get(one.account)
        if lag is not None:
            seen = _of(one, lag, muted=("pause", "provider"))
            yield seen if rule.kind == ANY else _named(seen, one.account, rule.kind)


def _oldest_due(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    for one in scene.accounts(rule):
        if one.counts.oldest_due_at is not None and scene.health.as_of is not None:
            waited = (scene.health.as_of - one.counts.oldest_due_at).total_seconds()
            yield _of(one, waited, muted=("pause", "provider"))


def _lane_stopped(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    for one in scene.accounts(rule):
        if one.counts.stopped_lanes:
            yield _of(one, one.counts.stopped_lanes, muted=("pause",))


def _nothing_completes(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    for one in scene.accounts(rule):
        if one.why in (Why.NO_WORKER, Why.NOTHING_COMPLETES) and scene.health.as_of is not None:
            minutes = (scene.health.as_of - one.since).total_seconds() / 60
            if one.why is Why.NOTHING_COMPLETES and one.figure is not None:
                minutes = max(minutes, one.figure)
            yield _of(one, minutes, muted=("pause", "provider"), no_worker=one.why is Why.NO_WORKER)


def _provider_block(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    if scene.health.is_stale:
        raise NotKnown
    for door, now in doors.read_eventful(scene.store):
        until = door.provider_until
        account = door.scope.account
        if until is None or until <= now or not _concerns(rule, account):
            continue
        # Counted from its beginning, so that it does not end before the block does.
        began = door.closed_since if door.closed_since is not None else now
        ends = None if until >= NEVER else datetime.fromtimestamp(until, tz=UTC).isoformat()
        reason = redact_text(door.provider_reason or "")[:300]
        yield Sighting(
            subject=door.scope.name,
            account=account,
            value=(min(until, now + 366 * 86_400) - began) / 60,
            figures={"until": ends, "reason": reason, "kind": door.scope.kind},
        )


def _breaker_open(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    explained = scene.explained
    for door, now in doors.read_eventful(scene.store):
        if (
            rules.effective_state(door.circuit, now) is not CircuitState.CLOSED
            and _concerns(rule, door.scope.account)
            and rule.kind in (ANY, door.scope.kind)
        ):
            cause = explained.get(door.scope.account or "")
            yield Sighting(
                subject=door.scope.name,
                account=door.scope.account,
                value=1,
                figures={"kind": door.scope.kind},
                muted=cause in ("pause", "provider"),
            )
    if rule.account == ANY and rule.kind == ANY:
        for name, value in _services(scene, BREAKERS):
            if value.get("state") in (CircuitState.OPEN, CircuitState.HALF_OPEN):
                yield Sighting(subject=f"{SERVICE}{name}", value=1)


def _bulkhead_use(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    for one in scene.accounts(rule):
        # Full slots are what one wants, as long as nobody waits for one.
        if one.slots and one.counts.due:
            yield _of(one, 100 * one.counts.running / one.slots)
    if rule.account == ANY:
        for name, value in _services(scene, BULKHEADS):
            if value.get("max"):
                yield Sighting(subject=f"{SERVICE}{name}", value=100 * value["in_use"] / value["max"])


def _services(scene: Scene, reading: str) -> Iterable[tuple[str, Any]]:
    found = snapshots.look(scene.store, reading)
    if found.is_stale:
        raise NotKnown
    return found.values.items()


def _recovery_queue(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    if rule.account != ANY:
        return
    found, _ = scene.state.read_all(QUEUES)
    for name, record in found.items():
        if record.max_size:
            yield Sighting(subject=name, value=100 * len(record.items) / record.max_size)


# By what the store counts


def _of_reason(reason: str, days: float) -> Callable[[AlertRule, Scene], Iterator[Sighting]]:
    def look(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
        counted = alert_figures.dead_of_reason(scene.store, reason, days=days)
        if rule.kind != ANY:
            parts = ((one.account, one.kind, one.number) for one in counted if one.kind == rule.kind)
            yield from _of_kinds(rule, scene, parts)
            return
        sums: dict[str, int] = {}
        for one in counted:
            sums[one.account] = sums.get(one.account, 0) + one.number
        for account, number in sums.items():
            if _concerns(rule, account):
                yield Sighting(subject=account, account=account, value=number)

    return look


def _of_kinds(rule: AlertRule, scene: Scene, counted: Iterable[tuple[str, str, int]]) -> Iterator[Sighting]:
    explained = scene.explained
    for account, kind, number in counted:
        if _concerns(rule, account):
            seen = Sighting(
                subject=account, account=account, value=number, muted=explained.get(account) == "pause"
            )
            yield _named(seen, account, kind)


def _named(seen: Sighting, account: str, kind: str) -> Sighting:
    return replace(seen, subject=method_name(account, kind), figures={**seen.figures, "kind": kind})


def _silence(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    hour = alert_figures.present(scene.store).replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    known = snapshots.look(scene.store, SILENCE).values
    if known.get(HOUR) != hour.isoformat():
        weeks = (hour - _WEEK, hour - 2 * _WEEK, hour - 3 * _WEEK, hour - 4 * _WEEK)
        silent = alert_figures.silent_in(scene.store, hour, weeks)
        known = {HOUR: hour.isoformat(), "accounts": silent}
        snapshots.keep(scene.store, SILENCE, known)
    explained = scene.explained
    for account, usual in known["accounts"].items():
        if _concerns(rule, account):
            yield Sighting(
                subject=account, account=account, value=usual, muted=explained.get(account) == "pause"
            )


def _concerns(rule: AlertRule, account: str | None) -> bool:
    return rule.account in (ANY, account)


_WEEK = timedelta(days=7)

_LOOKS: Mapping[When, Callable[[AlertRule, Scene], Iterator[Sighting]]] = {
    When.DEAD_LETTERS: _dead_letters,
    When.LAG_P95: _lag,
    When.OLDEST_DUE: _oldest_due,
    When.BREAKER_OPEN: _breaker_open,
    When.BULKHEAD_USE: _bulkhead_use,
    When.RECOVERY_QUEUE: _recovery_queue,
    When.LANE_STOPPED: _lane_stopped,
    When.NOTHING_COMPLETES: _nothing_completes,
    When.SILENCE: _silence,
    When.UNCLASSIFIED: _of_reason("unclassified", DAY),
    When.IN_DOUBT: _of_reason("in_doubt", EVER),
    When.PROVIDER_BLOCK: _provider_block,
}
