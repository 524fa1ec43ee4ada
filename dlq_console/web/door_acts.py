"""What may a person do with accounts and circuits from a page? Pause, resume, reset: forms that answer in place too."""

from __future__ import annotations

import json
import re
from datetime import timedelta

from flask import Blueprint, abort, make_response, redirect, render_template, request, url_for
from flask_babel import gettext
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.errors import ActionNotAllowed, EventNotFound
from dlq_console.hub.doors import account_name, circuit_scope
from dlq_console.hub.services import service_of
from dlq_console.store import queries
from dlq_console.store.people import Permission, Person
from dlq_console.web import display, errors, looks, pulse
from dlq_console.web.auth import demand, require_person
from dlq_console.web.breaker import HOLDS
from dlq_console.web.doors import PAUSES
from dlq_console.web.events import event_fragment, found_event
from dlq_console.web.health_rows import account_address
from dlq_console.web.hub import hub
from dlq_console.web.triage import overview_context

door_acts = Blueprint("door_acts", __name__)
door_acts.before_request(require_person)


@door_acts.post("/accounts/pause")
def pause() -> AnyResponse:
    """Let no further event of an account start."""
    actor = demand(Permission.PAUSE_ACCOUNT)
    account = _account(actor)
    minutes = request.form.get("minutes", "0")
    if minutes not in [str(choice) for choice in PAUSES]:
        abort(400)
    until = display.current().now + timedelta(minutes=int(minutes)) if int(minutes) else None
    hub().pause_account(account, actor=actor.name, note=request.form.get("note") or None, until=until)
    return _answer(gettext("%(account)s is paused.", account=account), account)


@door_acts.post("/accounts/resume")
def resume() -> AnyResponse:
    """Let events of a paused account start again; answers with the event whose page asked for it, or the overview."""
    actor = demand(Permission.RESUME_ACCOUNT)
    account = _account(actor)
    try:
        hub().resume_account(account, actor=actor.name, note=request.form.get("note") or None)
    except ActionNotAllowed:
        sentence = gettext("%(account)s is not paused any more.", account=account)
        return errors.answer(errors.problem(409, sentence=sentence))
    return _answer(gettext("%(account)s goes on.", account=account), account)


@door_acts.post("/breakers/force")
def force() -> AnyResponse:
    """Hold a circuit open or closed, for a while or until somebody resets it."""
    actor = demand(Permission.FORCE_BREAKER)
    name, minutes = _circuit(actor), request.form.get("minutes", "0")
    position = request.form.get("position", "")
    if minutes not in [str(choice) for choice in HOLDS]:
        abort(400)
    seconds = int(minutes) * 60 or None
    note = request.form.get("note") or None
    if position == "open":
        hub().force_breaker(name, "open", actor=actor.name, note=note, seconds=seconds)
        told = gettext("The circuit of %(name)s is held open.", name=name)
    elif position == "closed":
        hub().force_breaker(name, "closed", actor=actor.name, note=note, seconds=seconds)
        told = gettext("The circuit of %(name)s is held closed.", name=name)
    else:
        abort(400)
    return _answer(told)


@door_acts.post("/breakers/reset")
def reset() -> AnyResponse:
    """Close a circuit, and end what a person had decided about it."""
    actor = demand(Permission.FORCE_BREAKER)
    name = _circuit(actor)
    try:
        hub().reset_breaker(name, actor=actor.name, note=request.form.get("note") or None)
    except EventNotFound:
        abort(404)
    return _answer(
        gettext("The circuit of %(name)s is closed.", name=name), circuit_scope(hub().store, name).account
    )


def _circuit(actor: Person) -> str:
    """The circuit of the form, if the person may act upon it; else 404. Services belong to no account."""
    name = request.form.get("name", "")
    if not queries.concerns(circuit_scope(hub().store, name), actor.accounts):
        abort(404)
    if actor.accounts is not None and service_of(hub().store, hub().state, name) is not None:
        abort(404)
    return name


def _account(actor: Person) -> str:
    """The account of the form, if the person may see it; else 404."""
    account = account_name(request.form.get("account", ""))
    if not actor.sees(account):
        abort(404)
    return account


def _answer(news: str, account: str | None = None) -> AnyResponse:
    """The page that asked for it as it is now, and a sentence for those who cannot see it change.

    Args:
        news: the sentence.
        account: whose door it was; its own page asks by `page=health`.
    """
    looks.forget()
    pulse.acted()
    if request.form.get("page") == "breaker":
        return redirect(url_for("health.breaker", name=request.form.get("name", "")), 303)
    if account and request.form.get("page") == "health":
        return redirect(account_address(account), 303)
    event_id = request.form.get("event", "")
    if not re.fullmatch(r"[0-9]{0,18}", event_id):
        abort(400)
    if "HX-Request" not in request.headers:
        page = url_for("events.show", event_id=int(event_id)) if event_id else url_for("triage.overview")
        return redirect(page, 303)
    if event_id:
        response = make_response(event_fragment(found_event(int(event_id))))
    else:
        response = make_response(
            render_template("overview/_fragment.html", in_fragment=True, **overview_context())
        )
    response.headers["HX-Trigger"] = json.dumps({"announce": {"text": news}})
    return response
