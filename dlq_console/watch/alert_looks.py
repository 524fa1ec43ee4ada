"""What does each rule find? The state of the installation as it was read last, and a few bounded counts.

One function for each thing that is looked at; those of doors and of dead letters stand in rooms of their own. Missing data
finds nothing and ends nothing: that nobody looks any more is told from outside, by `/readyz`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from dlq_console.health.alert_values import ANY, AlertRule, When
from dlq_console.health.values import Why, Word
from dlq_console.hub.services import BULKHEADS
from dlq_console.resilience.queue_rules import QUEUES
from dlq_console.store import alert_figures, snapshots
from dlq_console.store.alerts import MOST_OPEN, Sighting
from dlq_console.watch import alert_doors, alert_letters
from dlq_console.watch.alert_scene import (
    PAUSE,
    PROVIDER,
    SERVICE,
    Look,
    NotKnown,
    Scene,
    concerns,
    of_account,
    of_kind,
    scene,
    services,
)

__all__ = ["Scene", "find", "scene"]

#: A notice stays open while the figure is above this share of what the rule allows, so that it does not come and go.
STAYS = 0.9
#: The reading that says for which accounts nothing came in the last hour, and its own hour.
SILENCE, HOUR = "alert silence", "hour"


def find(rule: AlertRule, scene: Scene) -> tuple[list[Sighting], bool]:
    """What the rule finds now, and whether that is everything.

    Raises:
        StoreUnavailable: the database, or what guards share, is away.
    """
    found = []
    complete = all(one.word is not Word.UNKNOWN for one in scene.health.accounts)
    try:
        for one in _LOOKS[rule.when](rule, scene):
            if one.value > rule.over:
                found.append(one)
            elif one.value > rule.over * STAYS:
                found.append(replace(one, firm=False))
    except NotKnown:
        # What was found before, such as the hub's own circuits where those of services are not known, stands.
        complete = False
    return found[:MOST_OPEN], complete and len(found) <= MOST_OPEN


def _lag(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    lags = alert_figures.lags_of_kind(scene.store, rule.kind) if rule.kind != ANY else {}
    for one in scene.accounts(rule):
        lag = one.flow.lag_p95 if rule.kind == ANY else lags.get(one.account)
        if lag is not None:
            seen = of_account(one, lag, muted=(PAUSE, PROVIDER))
            yield seen if rule.kind == ANY else of_kind(seen, one.account, rule.kind)


def _oldest_due(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    for one in scene.accounts(rule):
        if one.counts.oldest_due_at is not None:
            waited = (scene.now - one.counts.oldest_due_at).total_seconds()
            yield of_account(one, waited, muted=(PAUSE, PROVIDER))


def _nothing_completes(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    for one in scene.accounts(rule):
        if one.why in (Why.NO_WORKER, Why.NOTHING_COMPLETES):
            minutes = (scene.now - one.since).total_seconds() / 60
            if one.why is Why.NOTHING_COMPLETES and one.figure is not None:
                minutes = max(minutes, one.figure)
            yield of_account(one, minutes, muted=(PAUSE, PROVIDER), no_worker=one.why is Why.NO_WORKER)


def _bulkhead_use(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    for one in scene.accounts(rule):
        # Full slots are what one wants, as long as nobody waits for one.
        if one.slots and one.counts.due:
            yield of_account(one, 100 * one.counts.running / one.slots)
    if rule.account == ANY:
        for name, value in services(scene, BULKHEADS):
            if value.get("max"):
                yield Sighting(subject=f"{SERVICE}{name}", value=100 * value["in_use"] / value["max"])


def _recovery_queue(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    if rule.account != ANY:
        return
    found, _ = scene.state.read_all(QUEUES)
    for name, record in found.items():
        if record.max_size:
            yield Sighting(subject=name, value=100 * len(record.items) / record.max_size)


def _silence(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    hour = alert_figures.last_hour(scene.store)
    if hour is None:
        raise NotKnown
    known = snapshots.look(scene.store, SILENCE).values
    if known.get(HOUR) != hour.isoformat():
        silent = alert_figures.silent_in(scene.store, hour)
        known = {HOUR: hour.isoformat(), "accounts": silent}
        snapshots.keep(scene.store, SILENCE, known)
    explained = scene.explained
    for account, usual in known["accounts"].items():
        if concerns(rule, account):
            muted = explained.get(account) == PAUSE
            yield Sighting(subject=account, account=account, value=usual, muted=muted)


_LOOKS: Mapping[When, Look] = {
    When.DEAD_LETTERS: alert_letters.dead_letters,
    When.NEW_CAUSE: alert_letters.new_cause,
    When.DEAD_GROWS: alert_letters.dead_grows,
    When.OLDEST_DEAD: alert_letters.oldest_dead,
    When.DEAD_RATE: alert_letters.dead_rate,
    When.UNCLASSIFIED: alert_letters.unclassified,
    When.IN_DOUBT: alert_letters.in_doubt,
    When.LANE_STOPPED: alert_letters.lane_stopped,
    When.LANE_WAITS: alert_letters.lane_waits,
    When.AUTH_FAILURE: alert_doors.auth_failure,
    When.BREAKER_OPEN: alert_doors.breaker_open,
    When.BREAKER_OPENINGS: alert_doors.breaker_openings,
    When.ERROR_BUDGET: alert_doors.error_budget,
    When.PROVIDER_BLOCK: alert_doors.provider_block,
    When.LAG_P95: _lag,
    When.OLDEST_DUE: _oldest_due,
    When.BULKHEAD_USE: _bulkhead_use,
    When.RECOVERY_QUEUE: _recovery_queue,
    When.NOTHING_COMPLETES: _nothing_completes,
    When.SILENCE: _silence,
}
