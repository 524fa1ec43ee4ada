"""What do rules of alerts find at doors? Circuits, blocks of providers, refused log-ins, budgets of failing answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from dlq_console.health.alert_values import ANY, AlertRule
from dlq_console.hub.limit_figures import LimitFigures, limit_figures
from dlq_console.hub.services import BREAKERS
from dlq_console.redact import redact_text
from dlq_console.resilience.breaker import CircuitState, rules
from dlq_console.store import alert_figures, doors
from dlq_console.store.alerts import Sighting
from dlq_console.store.doors import NEVER, Door
from dlq_console.watch.alert_scene import PAUSE, PROVIDER, SERVICE, NotKnown, Scene, concerns, services

#: For how long openings count.
_DAY = timedelta(days=1)
#: A block without an end is told as one of so many seconds.
_LONGEST = 366 * 86_400
_OPEN = (CircuitState.OPEN, CircuitState.HALF_OPEN)


def provider_block(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    """Minutes for which a provider blocks an account, a kind or everybody, from its beginning to its end."""
    if scene.health.is_stale:
        raise NotKnown
    for door, now in scene.doors:
        until = door.provider_until
        if until is None or until <= now or not concerns(rule, door.scope.account):
            continue
        # Counted from its beginning, so that it does not end before the block does.
        began = door.closed_since if door.closed_since is not None else now
        ends = None if until >= NEVER else datetime.fromtimestamp(until, tz=UTC).isoformat()
        yield _at(door, (min(until, now + _LONGEST) - began) / 60, until=ends, reason=door.provider_reason)


def auth_failure(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    """Accounts that wait for a person since their log-in was refused."""
    for door, now in scene.doors:
        pause = door.pause
        if pause is None or pause.cause != "auth" or not concerns(rule, door.scope.account):
            continue
        if pause.until is None or pause.until > now:
            yield _at(door, 1, reason=pause.note)


def _at(door: Door, value: float, *, muted: bool = False, **figures: Any) -> Sighting:
    """Something found at a door; what others say is redacted."""
    if "reason" in figures:
        figures["reason"] = redact_text(figures["reason"] or "")[:300]
    return Sighting(
        subject=door.scope.name,
        account=door.scope.account,
        value=value,
        figures={"kind": door.scope.kind, **figures},
        muted=muted,
    )


def breaker_open(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    """Circuits that are not closed."""
    for door, now in scene.doors:
        is_open = rules.effective_state(door.circuit, now) in _OPEN
        if is_open and concerns(rule, door.scope.account, door.scope.kind):
            yield _at(door, 1, muted=scene.explained.get(door.scope.account) in (PAUSE, PROVIDER))
    if rule.account == ANY and rule.kind == ANY:
        for name, value in services(scene, BREAKERS):
            if value.get("state") in _OPEN:
                yield Sighting(subject=f"{SERVICE}{name}", value=1)


def breaker_openings(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    """How often each circuit has opened in the last day; one that a probe leaves open has not opened again."""
    for one in alert_figures.openings(scene.store):
        if concerns(rule, one.account, one.kind):
            yield Sighting(
                subject=one.name,
                account=one.account,
                value=one.number,
                figures={"kind": one.kind},
                muted=scene.explained.get(one.account) in (PAUSE, PROVIDER),
            )
    if rule.account == ANY and rule.kind == ANY:
        for name, value in services(scene, BREAKERS):
            opened = _opened(value.get("history", ()), scene.now - _DAY)
            if opened:
                yield Sighting(subject=f"{SERVICE}{name}", value=opened)


def _opened(history: Iterable[Mapping[str, Any]], since: datetime) -> int:
    return sum(
        one["before"] == CircuitState.CLOSED
        and one["after"] == CircuitState.OPEN
        and one["at"] is not None
        and datetime.fromisoformat(one["at"]) > since
        for one in history
    )


def error_budget(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    """Percent of the failing answers that a provider puts up with before it blocks."""
    for one in limit_figures(scene.store, doors.read_guarded(scene.store), {}):
        if one.failures and one.most_failures and concerns(rule, one.account):
            yield Sighting(
                subject=_budget_name(one),
                account=one.account,
                value=100 * one.failures / one.most_failures,
                figures={"kind": one.kind, "provider": one.provider},
            )


def _budget_name(one: LimitFigures) -> str:
    """Whose budget it is: an account has one with each of its providers."""
    return one.name if one.provider in (None, one.name) else f"{one.name} · {one.provider}"
