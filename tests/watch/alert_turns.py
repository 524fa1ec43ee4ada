"""How does a test let one rule of alerts look? With the steps before it, and what it holds open told by subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dlq_console import Hub
from dlq_console.health.alert_values import AlertRule, When
from dlq_console.health.working_hours import WorkingHours
from dlq_console.store import alerts, groups
from dlq_console.store.alerts import Notice, Sighting
from dlq_console.store.queries.alerts import open_notices
from dlq_console.watch import looking
from dlq_console.watch.alert_looks import find, scene
from dlq_console.watch.alert_rules import read_rules
from dlq_console.watch.alerts import _terms


def built_in(when: When, **changed: Any) -> AlertRule:
    """The built-in rule, with some of it as the test wants."""
    usual = next(rule for rule in read_rules("", ["mail"]).rules if rule.when is when)
    values = {name: getattr(usual, name) for name in AlertRule.__dataclass_fields__}
    return AlertRule(**{**values, **changed})


def look(hub: Hub) -> None:
    """The steps that go before: count, make minutes, judge."""
    groups.sample(hub.store)
    looking.count(hub)
    looking.roll_up(hub)
    looking.look(hub)


def finds(hub: Hub, rule: AlertRule, hours: WorkingHours | None = None) -> dict[str, Sighting]:
    """What the rule finds now, by subject."""
    look(hub)
    before = scene(hub.store, hub.state, hours=hours or WorkingHours(), zone=hub.settings.zone)
    return {one.subject: one for one in find(rule, before)[0]}


def turn(hub: Hub, rule: AlertRule, seconds: float = 0) -> Mapping[str, Notice]:
    """Let it look some time later; the notices that are open then, by subject."""
    hub.store.clock.advance(seconds)
    look(hub)
    before = scene(hub.store, hub.state, hours=WorkingHours(), zone=hub.settings.zone)
    sightings, complete = find(rule, before)
    alerts.record(hub.store, _terms(rule), sightings, lambda *_: None, complete=complete)
    return {one.subject: one for one in open_notices(hub.store)}


def turns_until_closed(hub: Hub, rule: AlertRule) -> Mapping[str, Notice]:
    """Some looks, for as long as it takes to close what is over."""
    turn(hub, rule, 15)
    return turn(hub, rule, 90)
