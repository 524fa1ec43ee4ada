"""Which calls wait for somebody to say whether they had their effect, and how do programs say so?

They belong to no account: whoever may see some accounts only neither sees nor decides them.
"""

from __future__ import annotations

from typing import Any

from flask import Response, abort
from flask_smorest import Blueprint

from dlq_console.hub.nodes import decide, undecided_nodes
from dlq_console.store.people import Permission
from dlq_console.web.api import problems, schemas
from dlq_console.web.api.access import demand, require_token
from dlq_console.web.api.bodies import ExactParser
from dlq_console.web.api.representation import to_text
from dlq_console.web.hub import hub


class NodeBlueprint(Blueprint):
    """A blueprint whose JSON bodies lose no digit."""

    ARGUMENTS_PARSER = ExactParser()


nodes = NodeBlueprint(
    "api_nodes", __name__, url_prefix="/api/v1", description="Calls that have their effect once."
)
problems.install(nodes)
nodes.before_request(require_token)


@nodes.route("/nodes", methods=["GET"])
@nodes.response(200, schemas.NodesSchema)
@nodes.alt_response(503, schema=schemas.ProblemSchema, content_type="application/problem+json")
def list_nodes() -> Response:
    """Calls of unknown outcome, the oldest first."""
    asking = demand(Permission.VIEW)
    return _json({"items": undecided_nodes(hub().state) if asking.accounts is None else []})


@nodes.route("/nodes/decide", methods=["POST"])
@nodes.arguments(schemas.DecisionSchema)
@nodes.response(200, schemas.DecidedSchema)
@nodes.alt_response(404, schema=schemas.ProblemSchema, content_type="application/problem+json")
@nodes.alt_response(409, schema=schemas.ProblemSchema, content_type="application/problem+json")
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
    )
    return _json(decided)


def _json(document: dict[str, Any]) -> Response:
    return Response(to_text(document), mimetype="application/json")
