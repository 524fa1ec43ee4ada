"""`dlq-console alerts ...`: what is wrong right now, whether a channel works, and when nobody is to be told."""

from __future__ import annotations

import gettext
from dataclasses import asdict

import click

from dlq_console.cli.common import actor, as_json, moment, open_hub, print_table
from dlq_console.errors import EventNotFound
from dlq_console.health import alert_reading, alert_words
from dlq_console.health.alert_reading import InForce
from dlq_console.hub import alerting
from dlq_console.store import snapshots
from dlq_console.store.queries.alerts import Notice, open_notices
from dlq_console.store.store import Store
from dlq_console.web.api.representation import to_text

_HEADINGS = ("RULE", "LEVEL", "SINCE", "TOLD", "WHAT")


@click.group()
def alerts() -> None:
    """Alerts: open notices, trial messages, snoozes."""


@alerts.command("list")
@as_json
def list_alerts(as_json: bool) -> None:
    """List the notices that are open, the newest first."""
    with open_hub() as hub:
        found = open_notices(hub.store)
        rules = _in_force(hub.store)
    if as_json:
        click.echo(to_text({"items": [asdict(one) | {"sentence": _sentence(one, rules)} for one in found]}))
        return
    print_table(_HEADINGS, [_row(one, rules) for one in found])


@alerts.command("test")
@click.argument("channel", required=False)
def test_channels(channel: str | None) -> None:
    """Send a trial message to CHANNEL, or to every channel; the periodic steps bring it."""
    with open_hub() as hub:
        known = _in_force(hub.store).channels
        wanted = [channel] if channel else list(known)
        for name in wanted:
            if name not in known:
                raise EventNotFound(_unknown("channel", name, known))
            content = {
                "title": "DLQ Console: trial message",
                "text": f"The channel {name} works. {actor()} asked for this message.",
            }
            alerting.test_channel(hub.store, name, content, actor=actor())
    if not wanted:
        raise EventNotFound("No channel is configured; set DLQ_ALERT_WEBHOOK_URL or DLQ_SMTP_URL.")
    click.echo(f"On its way to: {', '.join(wanted)}.")


@alerts.command("snooze")
@click.argument("name")
@click.option("--hours", type=float, required=True, help="For how long nobody is told.")
@click.option("--note", required=True, help="Why, so that the others know.")
def snooze(name: str, hours: float, note: str) -> None:
    """Tell nobody of the rule NAME for some hours; its notices stay in the list."""
    with open_hub() as hub:
        known = _in_force(hub.store).rules
        if name not in known:
            raise EventNotFound(_unknown("rule", name, tuple(known)))
        made = alerting.snooze_alert(hub.store, name, hours=hours, actor=actor(), note=note)
    click.echo(f"Nobody is told of {name} until {moment(made.until)}.")


def _in_force(store: Store) -> InForce:
    return alert_reading.read(snapshots.look(store, alert_reading.READING).values)


def _unknown(what: str, name: str, known: tuple[str, ...]) -> str:
    there = ", ".join(known) or "none; the periodic steps have not looked at the rules yet"
    return f'There is no {what} "{name}"; there are: {there}.'


def _sentence(one: Notice, rules: InForce) -> str:
    rule = rules.rules.get(one.rule)
    if rule is None:
        return one.subject
    speak = gettext.NullTranslations()
    return alert_words.sentence(rule.when, one.subject, one.value or 0.0, one.found, speak)


def _row(one: Notice, rules: InForce) -> tuple[object, ...]:
    return one.rule, one.level, moment(one.opened_at), moment(one.told_at), _sentence(one, rules)
