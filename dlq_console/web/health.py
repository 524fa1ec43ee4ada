"""Which circuits, slots and workers are there, and how do they stand? Pages for people, JSON for programs.

The same addresses answer both, see `for_programs.py`. What the pages show is made in `breakers.py`, `breaker.py`,
`bulkheads.py` and `crew.py`. The parts below `/_f/` are what a page asks for again every few seconds.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, render_template, request
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.web import breaker as one_breaker
from dlq_console.web import breakers as every
from dlq_console.web import bulkheads as rooms
from dlq_console.web import crew, doubts, pulse
from dlq_console.web.for_programs import answered, wants_json
from dlq_console.web.health_figures import every_breaker, every_bulkhead, every_worker
from dlq_console.web.hub import hub, store

health = Blueprint("health", __name__)

#: What programs may ask for at the addresses of people.
_FOR_PROGRAMS = {"health.breakers", "health.bulkheads", "health.workers"}


@health.before_request
def require_somebody() -> AnyResponse | None:
    """A person in front of every page; who asks for JSON is looked at where that is answered."""
    if request.endpoint in _FOR_PROGRAMS and wants_json():
        return None
    refused = pulse.require_watcher()
    if refused is None:
        pulse.by_the_database()
    return refused


@health.get("/health/breakers")
def breakers() -> AnyResponse | str:
    """Circuits that have anything to tell: those that are open first."""
    if wants_json():
        return answered(lambda asking: every_breaker(store(), asking, hub().known_kinds()))
    return render_template("health/breakers.html", **_judged(), **every.page())


@health.get("/_f/health/breakers")
def breakers_part() -> AnyResponse:
    """The list without its surroundings."""
    return pulse.just_read(render_template("health/_breakers.html", **every.page()), doubts.age())


@health.get("/health/breakers/one")
def breaker() -> str:
    """One circuit, with everything that is known of it."""
    shown = one_breaker.one(request.args.get("name", ""))
    return render_template("health/breaker.html", **_judged(), **shown)


@health.get("/_f/health/breakers/one")
def breaker_part() -> AnyResponse:
    """The same without its surroundings and its forms."""
    return pulse.just_read(
        render_template("health/_breaker.html", **one_breaker.one(request.args.get("name", ""))), doubts.age()
    )


@health.get("/health/bulkheads")
def bulkheads() -> AnyResponse | str:
    """How many events of each account and calls of each service are under way, and how many may be."""
    if wants_json():
        return answered(lambda asking: every_bulkhead(store(), asking))
    return render_template("health/bulkheads.html", **_judged(), **rooms.page())


@health.get("/_f/health/bulkheads")
def bulkheads_part() -> AnyResponse:
    """The same without its surroundings."""
    return pulse.just_read(render_template("health/_bulkheads.html", **rooms.page()), doubts.age())


@health.get("/health/workers")
def workers() -> AnyResponse | str:
    """Who is at work, on what, and who runs the periodic steps."""
    if wants_json():
        return answered(lambda asking: every_worker(store(), asking))
    return render_template("health/workers.html", **_pulse(), **crew.page())


@health.get("/_f/health/workers")
def workers_part() -> AnyResponse:
    """The same without its surroundings."""
    return pulse.just_read(render_template("health/_workers.html", **crew.page()))


def _pulse() -> dict[str, Any]:
    """What a page says of its age: what it shows was read within the last second."""
    return {"every": pulse.EVERY, "pulse": pulse.just_now()}


def _judged() -> dict[str, Any]:
    """The same of a page whose figures nobody may count any more."""
    return {"every": pulse.EVERY, "pulse": doubts.age()}
