"""What do rules of alerts find among dead letters and lanes?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from dlq_console.health.alert_values import ANY, AlertRule
from dlq_console.redact import redact_text
from dlq_console.store import alert_figures, alert_letters
from dlq_console.store.alert_figures import Dead
from dlq_console.store.alerts import Sighting
from dlq_console.store.limits import read_limits
from dlq_console.watch.alert_scene import (
    CIRCUIT,
    PAUSE,
    PROVIDER,
    NotKnown,
    Scene,
    concerns,
    now_and_then,
    of_account,
    of_kind,
)

#: Of an unclassified death, how many days are looked back.
DAY, EVER = 1, 36_500
#: Readings that are not taken at every look, and for how many seconds they hold.
_UNTOUCHED, _UNTOUCHED_FOR = "alert untouched", 300
_LANES, _LANES_FOR = "alert lanes", 60
_MINUTE = timedelta(minutes=1)


def dead_letters(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    """How many there are, by account or of one kind."""
    if rule.kind != ANY:
        counted = alert_figures.dead_of_kind(scene.store, rule.kind)
        yield from _kinds(
            rule, scene, (Dead(account, rule.kind, number) for account, number in counted.items())
        )
        return
    for one in scene.accounts(rule):
        if one.counts.dead:
            yield of_account(one, one.counts.dead, muted=(PAUSE,))


def new_cause(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    """Causes that an account never had before: told of within a day, and kept while anything is dead of them."""
    for one in alert_letters.new_causes(scene.store):
        if concerns(rule, one.account, one.kind):
            reason = redact_text(one.sample)[:300]
            seen = _of_kind(
                scene, one.account, one.kind, one.dead, fingerprint=one.fingerprint, reason=reason
            )
            yield replace(seen, subject=f"{seen.subject}/{one.fingerprint}", firm=one.is_new)


def dead_grows(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    """How many more there are than an hour ago."""
    then = alert_letters.dead_an_hour_ago(scene.store)
    if then is None:
        raise NotKnown
    for one in scene.accounts(rule):
        more = one.counts.dead - then.get(one.account, 0)
        if more > 0:
            yield of_account(one, more, muted=(PAUSE, PROVIDER), dead=one.counts.dead)


def oldest_dead(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    """Working minutes since the oldest one died that nobody has been given or put out of sight."""
    kept = now_and_then(
        scene,
        _UNTOUCHED,
        _UNTOUCHED_FOR,
        lambda: {name: at.isoformat() for name, at in alert_letters.untouched(scene.store).items()},
    )
    for account, at in kept.items():
        if concerns(rule, account):
            since = datetime.fromisoformat(at)
            worked = scene.hours.minutes(since, scene.now, scene.zone)
            yield Sighting(subject=account, account=account, value=worked, figures={"died_at": at})


def dead_rate(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    """Percent of what ended lately that died, where so many died that the rule counts them at all."""
    for one in alert_letters.death_rates(scene.store, at_least=rule.at_least):
        if concerns(rule, one.account, one.kind):
            yield _of_kind(scene, one.account, one.kind, 100 * one.died / one.ended, died=one.died)


def in_doubt(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    """Events of which nobody has known for so long whether they were applied."""
    older = 60 * rule.for_minutes
    counted = alert_figures.dead_of_reason(scene.store, "in_doubt", days=EVER, older=older)
    if rule.kind != ANY:
        yield from _kinds(rule, scene, counted)
        return
    yield from _sums(rule, ((one.account, one.account, one.number) for one in counted))


def unclassified(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    """Dead letters of a day that no rule of errors knows: by provider, whose rules are to be written, else by account."""
    counted = alert_figures.dead_of_reason(scene.store, "unclassified", days=DAY)
    if rule.kind != ANY:
        yield from _kinds(rule, scene, counted)
        return
    with scene.store.read() as connection:
        kinds = read_limits(scene.store, connection)
    providers = {name: one.provider for name, one in kinds.items() if one.provider}
    if rule.account != ANY:
        providers = {}
    yield from _sums(
        rule,
        (
            (provider, None, one.number)
            if (provider := providers.get(one.kind))
            else (one.account, one.account, one.number)
            for one in counted
        ),
    )


def _sums(rule: AlertRule, parts: Iterable[tuple[str, str | None, int]]) -> Iterator[Sighting]:
    """What belongs together added up: its name, its account where it is of one, a number."""
    sums: Counter[tuple[str, str | None]] = Counter()
    for name, account, number in parts:
        if account is None or concerns(rule, account):
            sums[name, account] += number
    for (name, account), number in sums.items():
        subject = name if account is not None else f"provider:{name}"
        figures = {} if account is not None else {"provider": name}
        yield Sighting(subject=subject, account=account, value=number, figures=figures)


def _kinds(rule: AlertRule, scene: Scene, counted: Iterable[Dead]) -> Iterator[Sighting]:
    for one in counted:
        if concerns(rule, one.account, one.kind):
            yield _of_kind(scene, one.account, one.kind, one.number)


def _of_kind(scene: Scene, account: str, kind: str, value: float, **figures: Any) -> Sighting:
    """Something found in one kind of an account, of which nobody is told while a person keeps the account closed."""
    muted = scene.explained.get(account) == PAUSE
    seen = Sighting(subject=account, account=account, value=value, figures=figures, muted=muted)
    return of_kind(seen, account, kind)


# Lanes


def lane_stopped(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    """Lanes that a dead letter stops which nobody sees to."""
    stopped = [one for one in scene.accounts(rule) if one.counts.stopped_lanes]
    held = alert_letters.lanes_in_hands(scene.store) if stopped else {}
    for one in stopped:
        alone = one.counts.stopped_lanes - held.get(one.account, 0)
        if alone > 0:
            yield of_account(one, alone, muted=(PAUSE,))


def lane_waits(rule: AlertRule, scene: Scene) -> Iterator[Sighting]:
    """Minutes for which the events of a lane have waited behind the same one that is not dead."""
    kept = now_and_then(
        scene,
        _LANES,
        _LANES_FOR,
        lambda: {
            name: at.isoformat() for name, at in alert_letters.longest_waiting_lanes(scene.store).items()
        },
    )
    for one in scene.accounts(rule):
        if one.account in kept:
            waited = (scene.now - datetime.fromisoformat(kept[one.account])) / _MINUTE
            yield of_account(one, waited, muted=(PAUSE, PROVIDER, CIRCUIT))
