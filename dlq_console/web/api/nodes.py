"""Which calls wait for somebody to say whether they had their effect, and how do programs say so?

They belong to no account: whoever may see some accounts only neither sees nor decides them.
"""

from __future__ import annotations

from typing import Any

from flask import Response, abort

from dlq_console.hub.nodes import decide, undecided_nodes
from dlq_console.store.people import Permission
from dlq_console.web.api import node_schemas
from dlq_console.web.api.access import demand
from dlq_console.web.api.blueprints import PROBLEM, api_blueprint, json_answer
from dlq_console.web.hub import hub

nodes = api_blueprint("api_nodes", __name__, "Calls that have their effect once.")


@nodes.route("/nodes", methods=["GET"])
@nodes.response(200, node_schemas.NodesSchema)
@nodes.alt_response(503, **PROBLEM)
def list_nodes() -> Response:
    """Calls of unknown outcome, the oldest first."""
    asking = demand(Permission.VIEW)
    return json_answer({"items": undecided_nodes(hub().state) if asking.accounts is None else []})


@nodes.route("/nodes/decide", methods=["POST"])
@nodes.arguments(node_schemas.DecisionSchema)
@nodes.response(200, node_schemas.DecidedSchema)
@nodes.alt_response(404, **PROBLEM)
@nodes.alt_response(409, **PROBLEM)
def decide_node(decision: dict[str, Any]) -> Response:
    """Say whether a call of unknown outcome had its effect."""
    asking = demand(Permission.DECIDE_NODE)
    if asking.accounts is not None:
        abort(403, "The token may use some accounts only; a node belongs to none.")
    decided = decide(
        hub().store,
        hub().state,
        decision["key"],
        applied=decision["applied"],
        actor=asking.name,
        node=decision.get("node"),
        note=decision.get("note"),
        result=decision.get("result"),
        doubt=decision.get("doubt"),
    )
    return json_answer(decided)
