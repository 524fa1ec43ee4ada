"""Is the process up, and can it serve? For load balancers and supervisors; no log-in."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify

from dlq_console.errors import StoreUnavailable
from dlq_console.store import queries
from dlq_console.web.hub import store

blueprint = Blueprint("health_probes", __name__)


@blueprint.get("/healthz")
def up() -> Response:
    """The process answers; nothing else is asked."""
    return jsonify(status="up")


@blueprint.get("/readyz")
def ready() -> Response:
    """The database is reachable and its tables are those of this program; else 503 with the reason."""
    try:
        reason = queries.why_not_ready(store())
    except StoreUnavailable:
        # Where the database is, is nobody's business here.
        reason = "The database cannot be reached."
    response = jsonify(status="not ready", reason=reason) if reason else jsonify(status="ready")
    response.status_code = 503 if reason else 200
    return response
