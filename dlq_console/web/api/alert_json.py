"""What do alerts look like as JSON? One answer for the API and for `--json` of the command line; sentences are English."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from gettext import NullTranslations

from dlq_console.health import alert_words
from dlq_console.health.alert_reading import InForce
from dlq_console.health.alert_values import UNITS, AlertRule
from dlq_console.store.queries.alerts import Delivery, Notice, Snooze
from dlq_console.web.api.representation import Document

_ENGLISH = NullTranslations()


def notices_json(
    notices: Iterable[Notice],
    rules: InForce,
    snoozes: Mapping[str, Snooze],
    brought: Mapping[int, tuple[Delivery, ...]],
) -> list[Document]:
    """Notices with what they say, where they lead and how each channel was told.

    Args:
        notices: which.
        rules: those in force.
        snoozes: those that stand, by rule.
        brought: the last message of each notice to each channel, by the id of the notice.
    """
    return [_notice_json(one, rules, snoozes.get(one.rule), brought.get(one.id, ())) for one in notices]


def _notice_json(
    one: Notice, rules: InForce, snooze: Snooze | None, brought: tuple[Delivery, ...]
) -> Document:
    when = rules.when_of(one.rule, one.when)
    return asdict(one) | {
        "account": one.account,
        "when": when,
        "unit": UNITS[when] if when else None,
        "sentence": sentence(one, rules),
        "path": alert_words.link(when, one.subject, one.found) if when else None,
        "snoozed_until": snooze.until if snooze and one.closed_at is None else None,
        "deliveries": [_delivery_json(each) for each in brought],
    }


def sentence(one: Notice, rules: InForce) -> str:
    """What was found, in English."""
    when = rules.when_of(one.rule, one.when)
    if when is None:
        return one.subject
    over = rules.over_of(one.rule)
    ended = one.closed_at is not None
    return alert_words.sentence(
        when, one.subject, one.value or 0.0, one.found, _ENGLISH, over=over, ended=ended
    )


def rule_json(rule: AlertRule, snooze: Snooze | None) -> Document:
    """A rule in force, and the snooze that stands."""
    return asdict(rule) | {
        "level": rule.level,
        "unit": UNITS[rule.when],
        "snooze": None
        if snooze is None
        else {name: value for name, value in asdict(snooze).items() if name != "rule"},
    }


def channel_json(name: str, where: str | None, trial: Delivery | None) -> Document:
    """A channel, and how the last trial message to it fared."""
    told = (
        None
        if trial is None
        else {name: value for name, value in _delivery_json(trial).items() if name != "channel"}
    )
    return {"name": name, "where": where, "last_test": told}


def _delivery_json(one: Delivery) -> Document:
    return asdict(one) | {"error": one.error if one.told_at is None else None}
