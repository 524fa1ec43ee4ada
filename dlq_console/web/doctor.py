"""What should be different in this installation? What the doctor found last, with its age; "check again" asks a step for more.

A step of the workers looks, because a page talks to no broker. What only this process knows of itself is looked at here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask_babel import gettext, ngettext
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.health import process_findings
from dlq_console.health.findings import (
    ASKED,
    BROKER,
    DOCTOR,
    FOUND,
    TOTAL,
    Finding,
    Level,
    ordered,
    read,
    visible,
)
from dlq_console.health.values import Health
from dlq_console.store import snapshots
from dlq_console.store.people import Permission, Person
from dlq_console.store.snapshots import Snapshot
from dlq_console.web import display, health_seen
from dlq_console.web.auth import demand, require_person
from dlq_console.web.finding_words import WORDS, Words
from dlq_console.web.health_probes import SILENT
from dlq_console.web.hub import hub, store
from dlq_console.web.words import Look

doctor = Blueprint("doctor", __name__, url_prefix="/health/doctor")
doctor.before_request(require_person)

#: What is older than this, in seconds, was not looked at when its time came.
STALE_AFTER = 900.0
#: For so many seconds after somebody has asked, an answer is waited for; the step comes every five seconds.
AWAITED = 30.0
#: Seconds between two looks whether it is there.
BRISK = 2


@dataclass(frozen=True, slots=True)
class Shown:
    """A finding in the language of the reader; `id` stays as it is, for whoever looks it up."""

    id: str
    look: Look
    words: Words
    accounts: tuple[str, ...]
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorView:
    """The page as its template needs it.

    Attributes:
        answer: the sentence on top.
        findings: the worst first.
        looked_at: when the step looked last; None: never.
        stale: whether that is too long ago to be true now.
        awaited: whether somebody has asked and the answer is not there yet.
        unanswered: when somebody asked whom nobody has answered in time; None: all were.
        broker: what lies in the broker, in a sentence; empty in table mode.
    """

    answer: str
    findings: tuple[Shown, ...]
    looked_at: datetime | None
    stale: bool
    awaited: bool
    unanswered: datetime | None
    broker: str


@doctor.get("")
def show() -> str:
    """What was found last."""
    return render_template("health/doctor.html", doctor=_view(demand(Permission.DOCTOR)), seconds=BRISK)


@doctor.get("/found")
def found() -> AnyResponse | str:
    """The same, for a page that waits for another look; 204 as long as there is none."""
    view = _view(demand(Permission.DOCTOR))
    if view.awaited:
        return Response(status=204)
    return render_template("health/_findings.html", doctor=view, seconds=BRISK, in_fragment=True)


@doctor.post("/again")
def again() -> AnyResponse | str:
    """Ask the step for another look."""
    asking = demand(Permission.DOCTOR)
    snapshots.keep(store(), ASKED, {"by": asking.name})
    if "HX-Request" in request.headers:
        return render_template("health/_findings.html", doctor=_view(asking), seconds=BRISK, in_fragment=True)
    return redirect(url_for("doctor.show"), 303)


def _view(asking: Person) -> DoctorView:
    kept, asked = snapshots.look(store(), DOCTOR), snapshots.taken_last(store(), ASKED)
    states = health_seen.look(store()).health
    silent = states.as_of is not None and states.age > SILENT
    known = _with(_of_this_process(), read(kept.values.get(FOUND, [])))
    findings = ordered(visible(_with(_nobody_runs(states) if silent else [], known), asking.accounts))
    open_ = asked.taken_at is not None and asked.age < kept.age
    return DoctorView(
        answer=_nobody_looks(states) if silent else _answer(findings, kept),
        findings=tuple(_shown(finding) for finding in findings),
        looked_at=kept.taken_at,
        stale=silent or kept.taken_at is None or kept.age > STALE_AFTER,
        awaited=open_ and asked.age < AWAITED,
        unanswered=asked.taken_at if open_ and asked.age >= AWAITED else None,
        broker=_broker(asking),
    )


def _nobody_runs(states: Health) -> list[Finding]:
    """What a step could not find: that none runs. The command finds the same."""
    minutes = {"minutes": round(states.age / 60)}
    return [Finding(id="scheduler_dead", level=Level.FAULT, figures=minutes, command="dlq-console scheduler")]


def _nobody_looks(states: Health) -> str:
    since = display.current().moment(states.as_of) if states.as_of else ""
    return gettext("Nobody looks: no worker or scheduler has been seen since %(time)s.", time=since)


def _of_this_process() -> list[Finding]:
    """What is wrong with this process, which the step's own process says nothing about."""
    key, environ = hub().settings.secret_key, os.environ
    return [*process_findings.secret_key(key), *process_findings.debug(environ)]


def _with(own: list[Finding], found: Iterable[Finding]) -> list[Finding]:
    """What was seen here, and of what was found elsewhere the rest."""
    known = {finding.id for finding in own}
    return [*own, *(finding for finding in found if finding.id not in known)]


def _shown(finding: Finding) -> Shown:
    # A worker of a newer version may have found something that this program has no words for.
    texts = WORDS.get(finding.id)
    figures = {name: _figure(value) for name, value in finding.figures.items()}
    said = Words(*(gettext(text) % figures for text in texts)) if texts else Words(finding.id, "", "")
    look = (
        Look("square", "fail", gettext("fault"))
        if finding.level is Level.FAULT
        else Look("triangle", "warn", gettext("warning"))
    )
    return Shown(finding.id, look, said, finding.accounts, finding.command)


def _figure(value: Any) -> str:
    if isinstance(value, str):
        return value
    shown = display.current()
    return shown.number(value) if isinstance(value, int) else shown.decimal(value)


def _answer(findings: tuple[Finding, ...], kept: Snapshot) -> str:
    if kept.taken_at is None and not findings:
        return gettext("Nobody has looked yet: a worker does, once it runs.")
    faults = sum(finding.level is Level.FAULT for finding in findings)
    if faults:
        told = ngettext("%(num)d fault must be repaired.", "%(num)d faults must be repaired.", faults)
    elif findings:
        told = gettext("Nothing is broken.")
    else:
        return gettext("Nothing was found. All is as it should be.")
    warnings = len(findings) - faults
    if not warnings:
        return told
    more = ngettext("%(num)d thing may hurt one day.", "%(num)d things may hurt one day.", warnings)
    return f"{told} {more}"


def _broker(asking: Person) -> str:
    """What lies in the broker beside what the table has sent; for those only who see all accounts."""
    if not hub().settings.broker_url or asking.accounts is not None:
        return ""
    kept, shown = snapshots.look(store(), BROKER), display.current()
    if TOTAL not in kept.values or kept.taken_at is None:
        return gettext("The broker could not be asked yet.") if kept.away or not kept.values else ""
    told = kept.values[TOTAL]
    sentence = gettext(
        "In the broker: %(ready)s waiting, %(unacked)s held by workers. By the table: %(sent)s sent, %(running)s running.",
        ready=shown.number(told["ready"]),
        unacked="?" if told["unacked"] is None else shown.number(told["unacked"]),
        sent=shown.number(told["sent"]),
        running=shown.number(told["running"]),
    )
    if kept.away is not None:
        since = shown.moment(kept.taken_at)
        return (
            gettext("The broker does not answer since %(since)s; before that:", since=since) + f" {sentence}"
        )
    return sentence
