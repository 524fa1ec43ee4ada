"""Which causes do the dead events have? The same figures as the page of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flask import Response, request

from dlq_console.store import desk, queries
from dlq_console.store.desk import GroupMarks
from dlq_console.store.filters import refuse_unknown
from dlq_console.store.people import Permission
from dlq_console.store.queries import Group, Groups
from dlq_console.web.api import group_schemas
from dlq_console.web.api.access import demand
from dlq_console.web.api.blueprints import api_blueprint, json_answer
from dlq_console.web.api.events import LIST_PARAMETERS
from dlq_console.web.api.filters import read_filter
from dlq_console.web.api.representation import Document
from dlq_console.web.hub import hub

PARAMETERS = LIST_PARAMETERS - {"cursor"}

groups = api_blueprint("api_groups", __name__, "Groups: the causes of dead events.")


@groups.route("/groups", methods=["GET"])
@groups.arguments(group_schemas.GroupsQuerySchema, location="query")
@groups.response(200, group_schemas.GroupsSchema)
def list_groups(arguments: dict[str, Any]) -> Response:
    """The causes of the dead events that match a filter, biggest first."""
    asking = demand(Permission.VIEW)
    refuse_unknown(request.args, PARAMETERS)
    store, flt = hub().store, read_filter(asking, request.args.to_dict(flat=False))
    found = queries.groups(store, flt, accounts=asking.accounts, limit=arguments["limit"])
    fingerprints = [group.fingerprint for group in found.items]
    marks = desk.group_marks(store, fingerprints) if fingerprints else {}
    trends = queries.trends(store, fingerprints, accounts=queries.counted_in(flt, asking.accounts))
    return json_answer(groups_json(found, marks, trends))


def groups_json(
    found: Groups, marks: Mapping[str, GroupMarks], trends: Mapping[str, Sequence[int]]
) -> Document:
    """The answer about groups, with what people have put on them and when their events died."""
    return {
        "items": [
            group_json(group)
            | _desk_json(marks.get(group.fingerprint, GroupMarks()))
            | {"trend": _trend_json(trends.get(group.fingerprint))}
            for group in found.items
        ],
        "count": found.number,
        "total": found.total.number,
        "total_capped": found.total.capped,
        "sampled_at": found.sampled_at,
        "complete": found.complete,
    }


def _desk_json(marks: GroupMarks) -> Document:
    return {"playbook": marks.playbook, "assignee": marks.assignee, "assignment_due": marks.due_at}


def _trend_json(trend: Sequence[int] | None) -> list[int] | None:
    return None if trend is None else [*trend]


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
