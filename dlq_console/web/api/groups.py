"""Which causes do the dead events have? The same figures as the page of groups."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from dlq_console.store import queries
from dlq_console.store.filters import EventFilter
from dlq_console.store.people import Permission
from dlq_console.store.queries import Group, Groups
from dlq_console.web.api import problems, schemas
from dlq_console.web.api.access import demand, require_token
from dlq_console.web.api.events import LIST_PARAMETERS, ApiBlueprint, refuse_unknown
from dlq_console.web.api.representation import Document, to_text
from dlq_console.web.hub import hub

PARAMETERS = LIST_PARAMETERS - {"cursor"}

groups = ApiBlueprint(
    "api_groups", __name__, url_prefix="/api/v1", description="Groups: the causes of dead events."
)
problems.install(groups)
groups.before_request(require_token)


@groups.route("/groups", methods=["GET"])
@groups.arguments(schemas.GroupsQuerySchema, location="query")
@groups.response(200, schemas.GroupsSchema)
def list_groups(arguments: dict[str, Any]) -> Response:
    """The causes of the dead events that match a filter, biggest first."""
    asking = demand(Permission.VIEW)
    refuse_unknown(request.args, PARAMETERS)
    found = queries.groups(
        hub().store, EventFilter.parse(request.args), accounts=asking.accounts, limit=arguments["limit"]
    )
    return Response(to_text(groups_json(found)), mimetype="application/json")


def groups_json(found: Groups) -> Document:
    """The answer about groups."""
    return {
        "items": [group_json(group) for group in found.items],
        "count": found.number,
        "total": found.total.number,
        "total_capped": found.total.capped,
        "sampled_at": found.sampled_at,
        "complete": found.complete,
    }


def group_json(group: Group) -> Document:
    """One group."""
    return {
        "fingerprint": group.fingerprint,
        "kind": group.kind,
        "class": group.verdict,
        "error_type": group.error_type,
        "cause": group.cause,
        "sample": group.sample,
        "sample_event_id": group.sample_event_id,
        "count": group.count.number,
        "count_capped": group.count.capped,
        "share": round(group.share, 6),
        "accounts": group.accounts,
        "account": group.account,
        "first_seen_at": group.first_seen_at,
        "last_seen_at": group.last_seen_at,
    }
