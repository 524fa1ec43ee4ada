"""Which items of recovery queues are parked until somebody decides, and how do programs decide?

They belong to no account: whoever may see some accounts only neither sees nor decides them.
"""

from __future__ import annotations

from typing import Any

from flask import Response, abort

from dlq_console.hub.recovery_items import Decision, decide, parked
from dlq_console.store.people import Permission
from dlq_console.web.api import recovery_schemas
from dlq_console.web.api.access import demand
from dlq_console.web.api.blueprints import PROBLEM, api_blueprint, json_answer
from dlq_console.web.hub import hub

recovery = api_blueprint("api_recovery", __name__, "Parked items of recovery queues.")


@recovery.route("/recovery", methods=["GET"])
@recovery.response(200, recovery_schemas.ParkedItemsSchema)
@recovery.alt_response(503, **PROBLEM)
def list_parked() -> Response:
    """Parked items, the oldest first."""
    asking = demand(Permission.VIEW)
    return json_answer({"items": parked(hub().state) if asking.accounts is None else []})


@recovery.route("/recovery/resume", methods=["POST"])
@recovery.arguments(recovery_schemas.ParkedDecisionSchema)
@recovery.response(200, recovery_schemas.ParkedDecidedSchema)
@recovery.alt_response(404, **PROBLEM)
@recovery.alt_response(409, **PROBLEM)
def resume_parked(which: dict[str, Any]) -> Response:
    """Let a parked item be tried again, with all of its attempts."""
    return _decide(which, Decision.RESUME)


@recovery.route("/recovery/discard", methods=["POST"])
@recovery.arguments(recovery_schemas.ParkedDecisionSchema)
@recovery.response(200, recovery_schemas.ParkedDecidedSchema)
@recovery.alt_response(404, **PROBLEM)
@recovery.alt_response(409, **PROBLEM)
def discard_parked(which: dict[str, Any]) -> Response:
    """Take a parked item out of its queue for good."""
    return _decide(which, Decision.DISCARD)


def _decide(which: dict[str, Any], decision: Decision) -> Response:
    asking = demand(Permission.DECIDE_NODE)
    if asking.accounts is not None:
        abort(403, "The token may use some accounts only; a parked item belongs to none.")
    decided = decide(
        hub().store,
        hub().state,
        which["id"],
        decision,
        actor=asking.name,
        queue=which.get("queue"),
        note=which.get("note"),
    )
    return json_answer(decided)
