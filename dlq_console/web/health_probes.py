"""Is the process up, and can it serve? For load balancers and supervisors; no log-in."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify

from dlq_console.errors import StoreUnavailable
from dlq_console.health.alert_reading import READING
from dlq_console.health.spelling import ACCOUNTS
from dlq_console.store import queries, snapshots
from dlq_console.web.hub import store

blueprint = Blueprint("health_probes", __name__)

#: The states are read every two seconds. Once they have not been for so many seconds, nobody runs the periodic steps:
#: nothing is rescued, and no alert can leave.
SILENT = 60.0
NEVER_RUN = (
    "The periodic steps have never run: start a worker or the scheduler. No alert can leave until then."
)
NOT_ALERTING = "No alert can leave: the rules were last looked at"
NOT_RUNNING = "The periodic steps do not run, so that no alert can leave; the state was read last"


@blueprint.get("/healthz")
def up() -> Response:
    """The process answers; nothing else is asked."""
    return jsonify(status="up")


@blueprint.get("/readyz")
def ready() -> Response:
    """The database answers, its tables are those of this program, the periodic steps run, that of alerts too; else 503.

    As long as the steps have never run, as in a new installation without a worker, that is a warning only.
    """
    try:
        reason = queries.why_not_ready(store())
        age = None if reason else snapshots.age(store(), ACCOUNTS)
        # Where the file of rules is wrong, they are not looked at either.
        rules_age = None if reason else snapshots.age(store(), READING)
    except StoreUnavailable:
        # Where the database is, is nobody's business here.
        return _not_ready(reason="The database cannot be reached.")
    if reason:
        return _not_ready(reason=reason)
    if age is None:
        return jsonify(status="ready", warning=NEVER_RUN)
    seconds = round(age, 1)
    if age > SILENT:
        return _not_ready(reason=f"{NOT_RUNNING} {seconds:g} seconds ago.", snapshot_age_seconds=seconds)
    if rules_age is not None and rules_age > SILENT:
        return _not_ready(
            reason=f"{NOT_ALERTING} {rules_age:.0f} seconds ago. The log of the steps says why.",
            snapshot_age_seconds=seconds,
        )
    return jsonify(status="ready", snapshot_age_seconds=seconds)


def _not_ready(**told: object) -> Response:
    response = jsonify(status="not ready", **told)
    response.status_code = 503
    return response
