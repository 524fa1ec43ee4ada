"""What do the rows of the page of alerts show? Notices, rules in force, channels: each in words, with what may be done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from flask_babel import get_translations, gettext

from dlq_console.health import alert_words
from dlq_console.health.alert_values import AlertRule
from dlq_console.store.queries.alerts import Delivery, Notice, Snooze
from dlq_console.web import display
from dlq_console.web.alert_words import delivery_look, level_look, rule_scope, rule_sentence
from dlq_console.web.alerts_seen import Told
from dlq_console.web.display import Stamp
from dlq_console.web.health_rows import account_address
from dlq_console.web.space import within
from dlq_console.web.words import Look

#: Bytes of a page for one sentence, and for what people or channels wrote.
SENTENCE, WRITTEN = 300, 180
#: What was put in longer ago than this has met nobody who brings it, or somebody would have tried.
UNMET = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class DeliveryRow:
    """How the last message to one channel fared: when it was brought, and why not, or not to everybody."""

    channel: str
    look: Look
    at: str
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeRow:
    """One notice as a row.

    Attributes:
        id: its own.
        rule: whose it is.
        in_force: whether that rule still is, so that it stands below and may be snoozed.
        look: how urgent it is.
        sentence: what was found; `address` leads to what it is about.
        account: whose it is; `account_address` leads there.
        since: when it began.
        seen: when it was found last.
        over: when it ended; `stood` is how long it was there.
        deliveries: by channel.
        nobody: why no channel is named.
        snooze: until when nobody is told, who said so, and why.
    """

    id: int
    rule: str
    in_force: bool
    look: Look
    sentence: str
    address: str
    account: str
    account_address: str
    since: Stamp
    seen: str
    over: Stamp | None
    stood: str
    deliveries: tuple[DeliveryRow, ...]
    nobody: str
    snooze: str


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule in force."""

    rule: AlertRule
    look: Look
    scope: str
    sentence: str
    repeat: str
    snooze: str


@dataclass(frozen=True, slots=True)
class ChannelRow:
    """One channel, and how the last trial message to it fared; `look` is None where there was none."""

    name: str
    where: str
    look: Look | None
    at: datetime | None
    error: str
    #: It is on its way, and worth asking again.
    waits: bool
    #: So long that nobody seems to be there who brings it.
    unmet: bool


def notice_row(one: Notice, seen: Told) -> NoticeRow:
    """A notice as its row shows it."""
    shown = display.current()
    when = seen.rules.when_of(one.rule, one.when)
    sentence, address = one.subject, ""
    if when is not None:
        over = seen.rules.over_of(one.rule)
        sentence = alert_words.sentence(
            when,
            one.subject,
            one.value or 0,
            one.found,
            get_translations(),
            over=over,
            ended=one.closed_at is not None,
        )
        address = alert_words.link(when, one.subject, one.found)
    ended = one.closed_at
    snooze = seen.snoozes.get(one.rule) if ended is None else None
    brought = tuple(map(_delivery, seen.brought.get(one.id, ())))
    return NoticeRow(
        id=one.id,
        rule=one.rule,
        in_force=one.rule in seen.rules.rules,
        look=level_look(one.level),
        sentence=within(sentence, SENTENCE),
        address=address,
        account=one.account or "",
        account_address=account_address(one.account) if one.account else "",
        since=shown.stamp(one.opened_at),
        seen=shown.moment(one.seen_at),
        over=shown.stamp(ended) if ended else None,
        stood=shown.span((ended - one.opened_at).total_seconds()) if ended else "",
        deliveries=brought,
        nobody="" if brought else _nobody(one, seen),
        snooze=snooze_words(snooze) if snooze else "",
    )


def rule_row(rule: AlertRule, snoozes: Mapping[str, Snooze]) -> RuleRow:
    """A rule as its row shows it."""
    snooze = snoozes.get(rule.name)
    return RuleRow(
        rule,
        level_look(rule.level),
        rule_scope(rule),
        rule_sentence(rule),
        display.current().span(rule.repeat_hours * 3600) if rule.repeat_hours else gettext("never"),
        snooze_words(snooze) if snooze else "",
    )


def channel_row(name: str, where: str, trial: Delivery | None) -> ChannelRow:
    """A channel as its row shows it."""
    if trial is None:
        return ChannelRow(name, where, None, None, "", waits=False, unmet=False)
    unmet = not trial.is_over and not trial.error and display.current().now - trial.at > UNMET
    return ChannelRow(
        name,
        where,
        delivery_look(trial),
        trial.told_at or trial.at,
        within(_said(trial), WRITTEN),
        waits=not trial.is_over,
        unmet=unmet,
    )


def snooze_words(snooze: Snooze) -> str:
    """Until when nobody is told, who said so, and why."""
    return gettext(
        "Snoozed until %(time)s by %(who)s: %(note)s",
        time=display.current().moment(snooze.until),
        who=snooze.actor,
        note=within(snooze.note, WRITTEN),
    )


def _delivery(one: Delivery) -> DeliveryRow:
    at = display.current().moment(one.told_at) if one.told_at else ""
    return DeliveryRow(one.channel, delivery_look(one), at, within(_said(one), WRITTEN))


def _said(one: Delivery) -> str:
    """Why it was not brought, or not to everybody."""
    return (one.error if one.told_at is None else one.noted) or ""


def _nobody(one: Notice, seen: Told) -> str:
    """Why a notice has no message of its own."""
    if one.told_at is not None:
        time = display.current().moment(one.told_at)
        return gettext("together with others, %(time)s", time=time)
    rule = seen.rules.rules.get(one.rule)
    if rule is not None and not rule.to:
        return gettext("on this page only")
    return gettext("nobody") if one.closed_at else gettext("nobody yet")
