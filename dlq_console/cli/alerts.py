"""`dlq-console alerts ...`: what is wrong right now, what was, whether a channel works, and when nobody is to be told."""

from __future__ import annotations

from datetime import timedelta

import click

from dlq_console.cli.common import actor, as_json, moment, open_hub, print_table
from dlq_console.errors import EventNotFound
from dlq_console.health import alert_reading
from dlq_console.health.alert_reading import InForce
from dlq_console.health.alert_speech import trial
from dlq_console.health.alert_values import urgency
from dlq_console.health.alert_words import span
from dlq_console.hub import alerting
from dlq_console.store import snapshots
from dlq_console.store.queries import alerts as told
from dlq_console.store.queries.alerts import Notice
from dlq_console.store.queries.pages import Page
from dlq_console.store.store import Store
from dlq_console.web.api.alert_json import notices_json, sentence
from dlq_console.web.api.representation import to_text

_HEADINGS = ("RULE", "LEVEL", "SINCE", "TOLD", "WHAT")
#: Hours of a snooze.
_HOURS = click.FloatRange(min=0, min_open=True, max=alerting.LONGEST_SNOOZE)
_PAST_HEADINGS = ("RULE", "LEVEL", "SINCE", "STOOD FOR", "WHAT")


@click.group()
def alerts() -> None:
    """Alerts: notices that are open or over, trial messages, snoozes."""


@alerts.command("list")
@as_json
def list_alerts(as_json: bool) -> None:
    """List the notices that are open, urgent ones first, then the newest; fails where no rule is looked at."""
    with open_hub() as hub:
        rules = _in_force(hub.store)
        found = Page(items=tuple(told.open_notices(hub.store)))
        if as_json:
            click.echo(_as_json(hub.store, found, rules))
        else:
            in_order = sorted(found.items, key=lambda one: urgency(one.level))
            print_table(_HEADINGS, [_row(one, rules) for one in in_order])
    if rules.wrong is not None:
        raise EventNotFound(_not_looked_at(rules.wrong))


@alerts.command("history")
@click.option("--cursor", default="", help="next_cursor of a page before: the older ones behind it.")
@as_json
def history(cursor: str, as_json: bool) -> None:
    """List the notices that are over, the newest first, 50 at a time."""
    with open_hub() as hub:
        rules = _in_force(hub.store)
        found = told.closed_notices(hub.store, cursor=cursor)
        if as_json:
            click.echo(_as_json(hub.store, found, rules))
            return
    print_table(_PAST_HEADINGS, [_past_row(one, rules) for one in found.items])
    if found.next_cursor:
        click.echo(f"Older ones: --cursor {found.next_cursor}")


@alerts.command("test")
@click.argument("channel", required=False)
def test_channels(channel: str | None) -> None:
    """Send a trial message to CHANNEL, or to every channel; the periodic steps bring it."""
    with open_hub() as hub:
        rules = _in_force(hub.store)
        known = rules.channels
        wanted = [channel] if channel else list(known)
        for name in wanted:
            if name not in known:
                raise EventNotFound(_unknown("channel", name, known, rules.wrong))
            content = trial(name, actor(), hub.settings.locale)
            alerting.test_channel(hub.store, name, content, actor=actor())
    if not wanted:
        raise EventNotFound(alerting.NO_CHANNEL if rules.wrong is None else _not_looked_at(rules.wrong))
    click.echo(f"On its way to: {', '.join(wanted)}.")


@alerts.command("snooze")
@click.argument("name")
@click.option("--hours", type=_HOURS, required=True, help="For how long nobody is told.")
@click.option("--note", required=True, help="Why, so that the others know.")
def snooze(name: str, hours: float, note: str) -> None:
    """Tell nobody of the rule NAME for some hours; its notices stay in the list."""
    with open_hub() as hub:
        rules = _in_force(hub.store)
        if name not in rules.rules:
            raise EventNotFound(_unknown("rule", name, tuple(rules.rules), rules.wrong))
        span_ = timedelta(hours=hours)
        made = alerting.snooze_alert(hub.store, name, until=span_, actor=actor(), note=note)
    click.echo(f"Nobody is told of {name} until {moment(made.until)}.")


@alerts.command("unsnooze")
@click.argument("name")
def unsnooze(name: str) -> None:
    """Tell of the rule NAME again before its snooze ends."""
    with open_hub() as hub:
        alerting.wake_alert(hub.store, name, actor=actor())
    click.echo(f"Whoever is to know is told of {name} again.")


def _in_force(store: Store) -> InForce:
    reading = snapshots.look(store, alert_reading.READING)
    return alert_reading.read(reading.values, reading.away)


def _not_looked_at(wrong: str) -> str:
    return f"No rule is looked at: {wrong}"


def _unknown(what: str, name: str, known: tuple[str, ...], wrong: str | None) -> str:
    if wrong is not None:
        return _not_looked_at(wrong)
    there = ", ".join(known) or "none; the periodic steps have not looked at the rules yet"
    return f'There is no {what} "{name}"; there are: {there}.'


def _as_json(store: Store, page: Page[Notice], rules: InForce) -> str:
    items = notices_json(page.items, rules, told.snoozes(store), told.deliveries(store, page.items))
    return to_text({"items": items, "next_cursor": page.next_cursor})


def _row(one: Notice, rules: InForce) -> tuple[object, ...]:
    return one.rule, one.level, moment(one.opened_at), moment(one.told_at), sentence(one, rules)


def _past_row(one: Notice, rules: InForce) -> tuple[object, ...]:
    stood = span((one.closed_at - one.opened_at).total_seconds()) if one.closed_at else ""
    return one.rule, one.level, moment(one.opened_at), stood, sentence(one, rules)
