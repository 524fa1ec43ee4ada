"""What is wrong right now, who was told of it, and when is nobody to be told? As on the page /alerts."""

from __future__ import annotations

from typing import Any

from flask import Response, abort, request

from dlq_console.errors import EventNotFound
from dlq_console.health import alert_reading
from dlq_console.health.alert_reading import READING, InForce
from dlq_console.health.alert_speech import trial
from dlq_console.hub import alerting
from dlq_console.store import snapshots
from dlq_console.store.filters import refuse_unknown
from dlq_console.store.people import Permission, Person
from dlq_console.store.queries import alerts as told
from dlq_console.web import alerts_seen, looks
from dlq_console.web.api import alert_schemas
from dlq_console.web.api.access import demand
from dlq_console.web.api.alert_json import channel_json, notices_json, rule_json
from dlq_console.web.api.blueprints import PROBLEM, api_blueprint, json_answer
from dlq_console.web.hub import hub

#: By what notices may be asked for.
PARAMETERS = frozenset({"state", "cursor", "limit"})

alerts = api_blueprint("api_alerts", __name__, "Alerts: notices, rules in force, snoozes, channels.")


@alerts.route("/alerts", methods=["GET"])
@alerts.arguments(alert_schemas.NoticesQuerySchema, location="query")
@alerts.response(200, alert_schemas.NoticesSchema)
def list_notices(asked: dict[str, Any]) -> Response:
    """Notices that are open, or those that are over; by when they began, the newest first."""
    asking, store = demand(Permission.VIEW), hub().store
    refuse_unknown(request.args, PARAMETERS, fields=False)
    read = told.open_page if asked["state"] == "open" else told.closed_notices
    page = read(store, cursor=asked.get("cursor") or "", accounts=asking.accounts, limit=asked["limit"])
    items = notices_json(
        page.items, alerts_seen.in_force(asking), told.snoozes(store), told.deliveries(store, page.items)
    )
    return json_answer({"items": items, "next_cursor": page.next_cursor})


@alerts.route("/alerts/rules", methods=["GET"])
@alerts.response(200, alert_schemas.AlertRulesSchema)
def list_rules() -> Response:
    """The rules in force, with the snoozes that stand."""
    asking, store = demand(Permission.VIEW), hub().store
    rules, snoozes = alerts_seen.in_force(asking), told.snoozes(store)
    reading = snapshots.look(store, READING)
    return json_answer(
        {
            "items": [rule_json(rule, snoozes.get(name)) for name, rule in rules.rules.items()],
            "source": rules.source or None,
            "looked_at": reading.taken_at,
            "wrong": _wrong(rules),
        }
    )


@alerts.route("/alerts/rules/<path:rule>/snooze", methods=["POST"])
@alerts.arguments(alert_schemas.AlertSnoozeSchema)
@alerts.response(200, alert_schemas.AlertRuleSchema)
@alerts.alt_response(404, **PROBLEM)
@alerts.alt_response(422, **PROBLEM)
def snooze_rule(how: dict[str, Any], rule: str) -> Response:
    """Tell nobody of a rule until a time ahead of now; its notices stay in the list."""
    asking = _for_all(Permission.SNOOZE_ALERT)
    _known(rule, alerts_seen.in_force(asking))
    alerting.snooze_alert(hub().store, rule, until=how["until"], actor=asking.name, note=how["note"])
    return _rule(rule)


@alerts.route("/alerts/rules/<path:rule>/unsnooze", methods=["POST"])
@alerts.response(200, alert_schemas.AlertRuleSchema)
@alerts.alt_response(404, **PROBLEM)
def unsnooze_rule(rule: str) -> Response:
    """Tell of a rule again before its snooze ends."""
    asking = _for_all(Permission.SNOOZE_ALERT)
    _known(rule, alerts_seen.in_force(asking))
    alerting.wake_alert(hub().store, rule, actor=asking.name)
    return _rule(rule)


@alerts.route("/alerts/channels", methods=["GET"])
@alerts.response(200, alert_schemas.AlertChannelsSchema)
def list_channels() -> Response:
    """The channels, and how the last trial message to each fared."""
    asking = demand(Permission.VIEW)
    rules = alerts_seen.in_force(asking)
    trials = alerts_seen.trials(asking, rules)
    return json_answer(
        {
            "items": [channel_json(name, rules.where.get(name), trials.get(name)) for name in rules.channels],
            "wrong": _wrong(rules),
        }
    )


@alerts.route("/alerts/test", methods=["POST"])
@alerts.arguments(alert_schemas.AlertTestSchema, required=False)
@alerts.response(202, alert_schemas.AlertTestedSchema)
@alerts.alt_response(404, **PROBLEM)
def test_channels(which: dict[str, Any]) -> Response:
    """Send a trial message to one channel, or to every channel; `/alerts/channels` says how it fared."""
    asking = _for_all(Permission.TEST_ALERT)
    rules = alerts_seen.in_force(asking)
    known = rules.channels
    wanted = [which["channel"]] if which.get("channel") else list(known)
    if not wanted:
        raise EventNotFound(_wrong(rules) or alerting.NO_CHANNEL)
    for name in wanted:
        if name not in known:
            raise EventNotFound(_wrong(rules) or f'There is no channel "{name}".')
        content = trial(name, asking.name, hub().settings.locale)
        alerting.test_channel(hub().store, name, content, actor=asking.name)
    return json_answer({"channels": wanted}, 202)


def _for_all(permission: Permission) -> Person:
    """Who asks, which must see everything: a rule and a channel belong to no account."""
    asking = demand(permission)
    if asking.accounts is not None:
        abort(403, "The token may use some accounts only; rules and channels of alerts belong to none.")
    return asking


def _known(name: str, rules: InForce) -> None:
    if name not in rules.rules:
        raise EventNotFound(_wrong(rules) or f'There is no rule "{name}" in force.')


def _wrong(rules: InForce) -> str | None:
    """Why no rule is looked at; None where they are."""
    return "The file of rules has a mistake." if rules.wrong == "" else rules.wrong


def _rule(name: str) -> Response:
    """The rule as it stands after an act."""
    looks.forget()
    rules = alert_reading.read(snapshots.look(hub().store, READING).values)
    _known(name, rules)
    return json_answer(rule_json(rules.rules[name], told.snoozes(hub().store).get(name)))
