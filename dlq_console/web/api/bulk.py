"""How does a program do one thing to many dead events? Dry run, start, look, pause, resume, cancel."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

from flask import Response, request, url_for

from dlq_console.hub.bulk import Verb
from dlq_console.hub.bulk_json import item_page_json, preview_json, run_json
from dlq_console.store.filters import EventFilter, refuse_unknown
from dlq_console.store.people import Permission, Person
from dlq_console.web.api import bulk_schemas
from dlq_console.web.api.access import demand
from dlq_console.web.api.blueprints import PROBLEM, api_blueprint, json_answer
from dlq_console.web.api.described import NoteSchema
from dlq_console.web.api.events import LIST_PARAMETERS
from dlq_console.web.api.filters import VIEW, parameters_of, read_filter
from dlq_console.web.api.representation import summary_json
from dlq_console.web.hub import hub

#: By what the events of a run may be asked for.
PARAMETERS = LIST_PARAMETERS - {"cursor", "limit", "sort"}
#: By what its items may be asked for.
ITEM_PARAMETERS = frozenset({"state", "cursor", "limit"})

bulk = api_blueprint("api_bulk", __name__, "Bulk runs: one act upon many dead events.")


@bulk.route("/bulk", methods=["GET"])
@bulk.response(200, bulk_schemas.BulkRunsSchema)
def list_runs() -> Response:
    """The newest runs."""
    asking = demand(Permission.VIEW)
    return json_answer({"items": [run_json(run) for run in hub().bulk.listed(accounts=asking.accounts)]})


@bulk.route("/bulk", methods=["POST"])
@bulk.arguments(bulk_schemas.BulkSchema)
@bulk.response(202, bulk_schemas.BulkStartedSchema)
@bulk.alt_response(200, schema=bulk_schemas.PreviewSchema, description="With dry_run: nothing was done.")
@bulk.alt_response(409, **PROBLEM)
@bulk.alt_response(422, **PROBLEM)
def start_run(asked: dict[str, Any]) -> Response:
    """Begin a run, or with `dry_run` tell what it would do."""
    asking = demand(Permission.BULK)
    demand(asked["action"])
    flt, ids = _filter(asking, asked), asked.get("ids") or ()
    who: dict[str, Any] = {
        "arguments": asked.get("arguments"),
        "actor": asking.name,
        "accounts": asking.accounts,
    }
    if asked["dry_run"]:
        preview = hub().bulk.preview(
            asked["action"],
            flt,
            ids=ids,
            exact=asked["exact"],
            selection_token=asked.get("selection_token"),
            **who,
        )
        sample = [summary_json(event) for event in preview.sample]
        return json_answer(preview_json(preview) | {"sample": sample})
    terms: dict[str, Any] = {
        name: asked.get(name) for name in ("note", "rate", "canary", "stop_share", "window", "expected_count")
    }
    token = asked.get("selection_token")
    run_id = hub().bulk.start(asked["action"], flt, ids=ids, selection_token=token, **terms, **who)
    answer = json_answer({"id": run_id}, 202)
    answer.headers["Location"] = url_for("api_bulk.get_run", run_id=run_id)
    return answer


@bulk.route("/bulk/<int:run_id>", methods=["GET"])
@bulk.response(200, bulk_schemas.BulkRunSchema)
@bulk.alt_response(404, **PROBLEM)
def get_run(run_id: int) -> Response:
    """How far a run has come."""
    asking = demand(Permission.VIEW)
    return json_answer(run_json(hub().bulk.get(run_id, accounts=asking.accounts)))


@bulk.route("/bulk/<int:run_id>/items", methods=["GET"])
@bulk.arguments(bulk_schemas.BulkItemsQuerySchema, location="query")
@bulk.response(200, bulk_schemas.BulkItemsSchema)
@bulk.alt_response(404, **PROBLEM)
def list_items(asked: dict[str, Any], run_id: int) -> Response:
    """The events of a run, all or those in one state."""
    asking = demand(Permission.VIEW)
    refuse_unknown(request.args, ITEM_PARAMETERS, fields=False)
    return json_answer(item_page_json(hub().bulk.items(run_id, accounts=asking.accounts, **asked)))


@bulk.route("/bulk/<int:run_id>/pause", methods=["POST"])
@bulk.arguments(NoteSchema, required=False)
@bulk.response(200, bulk_schemas.BulkRunSchema)
@bulk.alt_response(409, **PROBLEM)
def pause_run(why: dict[str, Any], run_id: int) -> Response:
    """Let nothing more go."""
    return _act("pause", run_id, why)


@bulk.route("/bulk/<int:run_id>/resume", methods=["POST"])
@bulk.arguments(NoteSchema, required=False)
@bulk.response(200, bulk_schemas.BulkRunSchema)
@bulk.alt_response(409, **PROBLEM)
def resume_run(why: dict[str, Any], run_id: int) -> Response:
    """Go on with a paused or stopped run."""
    return _act("resume", run_id, why)


@bulk.route("/bulk/<int:run_id>/cancel", methods=["POST"])
@bulk.arguments(NoteSchema, required=False)
@bulk.response(200, bulk_schemas.BulkRunSchema)
@bulk.alt_response(409, **PROBLEM)
def cancel_run(why: dict[str, Any], run_id: int) -> Response:
    """End a run: what was not let go stays dead."""
    return _act("cancel", run_id, why)


def _act(verb: Verb, run_id: int, why: dict[str, Any]) -> Response:
    asking: Person = demand(Permission.BULK)
    run = getattr(hub().bulk, verb)(run_id, actor=asking.name, note=why.get("note"), accounts=asking.accounts)
    return json_answer(run_json(run))


def _filter(asking: Person, asked: dict[str, Any]) -> EventFilter | None:
    """The filter of a request; None where it has none: then it names ids or a token.

    Raises:
        FilterError: it cannot be understood, or would tell what is masked.
        ViewNotFound: it names a view that is not there.
    """
    given = asked.get("filter")
    if given is None:
        names_others = asked.get("ids") or asked.get("selection_token")
        return EventFilter() if asked["all"] and not names_others else None
    parameters = parse_qs(given, keep_blank_values=True) if isinstance(given, str) else parameters_of(given)
    refuse_unknown(parameters, PARAMETERS, beside={VIEW})
    return read_filter(asking, parameters)
