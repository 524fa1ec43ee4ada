"""What do programs read of circuits and bulkheads at the addresses of people? JSON, the same figures as in the API.

With the session of a person who is logged in, or with the bearer token of a program.
"""

from __future__ import annotations

from flask import Blueprint, Response, g, request

from dlq_console.store.people import Permission, Person
from dlq_console.web.api import problems
from dlq_console.web.api.access import demand, require_token
from dlq_console.web.api.representation import to_text
from dlq_console.web.auth import load_person
from dlq_console.web.health_figures import every_breaker, every_bulkhead
from dlq_console.web.hub import store

health = Blueprint("health", __name__, url_prefix="/health")
problems.install(health)


@health.before_request
def require_somebody() -> None:
    """A person of the console or a program with a token, else 401."""
    known = None if "Authorization" in request.headers else load_person()
    if known is None:
        require_token()
    else:
        g.caller = known


@health.get("/breakers")
def breakers() -> Response:
    """Circuits that have anything to tell, by name."""
    return Response(to_text(every_breaker(store(), _asking())), mimetype="application/json")


@health.get("/bulkheads")
def bulkheads() -> Response:
    """Accounts that have work and bulkheads of services, by name."""
    return Response(to_text(every_bulkhead(store(), _asking())), mimetype="application/json")


def _asking() -> Person:
    return demand(Permission.VIEW)
