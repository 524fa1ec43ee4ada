"""What should somebody know now? Open notices, those that are over, the rules in force, and whether the channels work."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from flask import Blueprint, abort, redirect, render_template, request, url_for
from flask_babel import gettext
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.errors import EventNotFound, PayloadRefused
from dlq_console.health.alert_speech import trial
from dlq_console.hub import alerting
from dlq_console.store.people import Permission, Person
from dlq_console.web import alert_parts, alerts_seen, errors, looks, moments, pulse, refused_words, stretches
from dlq_console.web.auth import demand, limiter, person
from dlq_console.web.errors import Link
from dlq_console.web.hub import hub, store

alerts = Blueprint("alerts", __name__)
alerts.before_request(pulse.require_watcher)

#: Trial messages that one person may ask for.
TRIAL_LIMIT = "10 per minute"


@alerts.get("/alerts")
def index() -> str:
    """Everything about alerts that this person may see."""
    asking = demand(Permission.VIEW)
    start, cursor = _place()
    seen = alerts_seen.look(asking, start=start, cursor=cursor)
    return render_template(
        "alerts/alerts.html",
        every=pulse.EVERY,
        pulse=pulse.just_now(),
        poll=alert_parts.address(seen.start, cursor, endpoint="alerts.poll"),
        **alert_parts.standing(asking, seen, cursor),
        **alert_parts.rules_in_force(asking, seen),
        **alert_parts.channels(asking),
    )


@alerts.get("/_f/alerts")
def poll() -> AnyResponse:
    """What changes by itself: the notices."""
    asking = demand(Permission.VIEW)
    start, cursor = _place()
    seen = alerts_seen.look(asking, start=start, cursor=cursor)
    return pulse.just_read(
        render_template("alerts/_standing.html", **alert_parts.standing(asking, seen, cursor))
    )


@alerts.get("/_f/alerts/channels")
def channels() -> AnyResponse | str:
    """How trial messages fare, for a page that waits for one; 204 as long as nothing has changed."""
    found = alert_parts.channels(demand(Permission.VIEW))
    if found["version"] == request.args.get("seen"):
        return AnyResponse(status=204)
    return render_template("alerts/_channels.html", **found)


@alerts.post("/alerts/snooze")
def snooze() -> AnyResponse:
    """Tell nobody of a rule until a time ahead of now."""
    actor = _for_all(Permission.SNOOZE_ALERT)
    rule = request.form.get("rule", "")
    if rule not in alerts_seen.in_force(actor).rules:
        abort(404)
    try:
        alerting.snooze_alert(store(), rule, until=_until(), actor=actor.name, note=request.form.get("note"))
    except (ValueError, OverflowError):
        return _refused(gettext("This is no date and time; choose one from the calendar."))
    except PayloadRefused as refused:
        return _refused(refused_words.sentence(refused) or refused.message)
    return _back("rules")


@alerts.post("/alerts/unsnooze")
def unsnooze() -> AnyResponse:
    """Tell of a rule again."""
    actor = _for_all(Permission.SNOOZE_ALERT)
    try:
        alerting.wake_alert(store(), request.form.get("rule", "")[:200], actor=actor.name)
    except EventNotFound:
        return errors.answer(
            errors.problem(409, sentence=gettext("It is not snoozed any more; its snooze has ended."))
        )
    return _back("rules")


@alerts.post("/alerts/test")
@limiter.limit(TRIAL_LIMIT, key_func=lambda: person().name)
def test() -> AnyResponse | str:
    """Put in a message that only shows whether a channel works."""
    actor = _for_all(Permission.TEST_ALERT)
    channel = request.form.get("channel", "")
    if channel not in alerts_seen.in_force(actor).channels:
        abort(404)
    content = trial(channel, actor.name, hub().settings.locale)
    alerting.test_channel(store(), channel, content, actor=actor.name)
    if "HX-Request" in request.headers:
        return render_template("alerts/_channels.html", **alert_parts.channels(actor))
    return _back("channels")


def _place() -> tuple[int, str]:
    """Where both lists begin, as the address says; 400 where it means nothing."""
    _, start = stretches.asked()
    return start, request.args.get("cursor", "")


def _until() -> datetime:
    """Until when, as the form says: its own moment, or one of the usual ones.

    Raises:
        ValueError: it is no moment.
    """
    until = moments.read_moment(request.form.get("at", "") or request.form.get("until", ""))
    if until is None:
        raise ValueError("no moment")
    return until


def _for_all(permission: Permission) -> Person:
    actor = demand(permission)
    if not alert_parts.may_for_all(actor, permission):
        abort(403)
    return actor


def _back(anchor: str) -> AnyResponse:
    """The page, with what was just done."""
    looks.forget()
    return redirect(url_for("alerts.index", _anchor=anchor), 303)


def _refused(sentence: str) -> AnyResponse:
    link = Link(
        url_for("alerts.index", rule=request.form.get("rule", ""), _anchor="snooze"),
        gettext("Open the form again"),
    )
    shown = errors.keeping(errors.problem(400, sentence=sentence), request.form.get("note", ""))
    return errors.answer(replace(shown, link=link))
