"""What can programs do with events? List, read, put in, put back to work, put aside."""

from __future__ import annotations

from typing import Any

from flask import Response, abort, request, url_for

from dlq_console.errors import IdempotencyConflict
from dlq_console.hub.known import check_kind
from dlq_console.store import desk, queries
from dlq_console.store.filters import PARAMETERS, refuse_unknown
from dlq_console.store.people import Permission
from dlq_console.web.api import schemas
from dlq_console.web.api.access import caller, demand, found
from dlq_console.web.api.blueprints import PROBLEM, api_blueprint, json_answer
from dlq_console.web.api.filters import VIEW, read_filter
from dlq_console.web.api.representation import Document, event_json, page_json
from dlq_console.web.hub import hub

#: What a list may be asked by.
LIST_PARAMETERS = PARAMETERS | {"cursor", "limit"}
#: What somebody who sees some accounts is told of a key that cannot be used.
KEY_TAKEN = "Idempotency-Key: it cannot be used for this event; send another key, one that begins with a name of your program."


api = api_blueprint("api", __name__, "Events: read, put in, put back to work.")


@api.route("/events", methods=["GET"])
@api.arguments(schemas.ListSchema, location="query")
@api.response(200, schemas.PageSchema)
def list_events(arguments: dict[str, Any]) -> Response:
    """Events that match a filter, newest first."""
    asking = demand(Permission.VIEW)
    refuse_unknown(request.args, LIST_PARAMETERS | {VIEW})
    store = hub().store
    flt = read_filter(asking, request.args.to_dict(flat=False))
    page = queries.events_page(
        store,
        flt,
        cursor=arguments.get("cursor", ""),
        limit=arguments["limit"],
        accounts=asking.accounts,
    )
    return json_answer(page_json(page, queries.count(store, flt, accounts=asking.accounts)))


@api.route("/events", methods=["POST"])
@api.arguments(schemas.IdempotencySchema, location="headers")
@api.arguments(schemas.NewEventSchema)
@api.response(202, schemas.MadeSchema)
@api.alt_response(200, schema=schemas.MadeSchema, description="The event exists already.")
@api.alt_response(422, **PROBLEM)
def enqueue_event(headers: dict[str, str], new: dict[str, Any]) -> Response:
    """Put an event in; a repeat finds the one that exists."""
    asking = demand(Permission.ENQUEUE)
    if not asking.sees(new["account"].strip()):
        abort(403, f"The token may not use the account {new['account']}.")
    check_kind(new["kind"], hub().known_kinds())
    try:
        made = hub().enqueue(**new, idempotency_key=headers.get("idempotency_key"), origin=asking.name)
    except IdempotencyConflict:
        if asking.accounts is None:
            raise
        # Keys are one name space: what else the message says may be about an account that is not theirs.
        raise IdempotencyConflict(KEY_TAKEN) from None
    answer = json_answer(
        {"id": made.id, "status": made.status, "created": made.created}, 202 if made.created else 200
    )
    answer.headers["Location"] = url_for("api.get_event", event_id=made.id)
    return answer


@api.route("/events/<int:event_id>", methods=["GET"])
@api.response(200, schemas.EventSchema)
@api.alt_response(404, **PROBLEM)
def get_event(event_id: int) -> Response:
    """One event with payload, attempts and audit."""
    demand(Permission.VIEW)
    return json_answer(everything(event_id))


@api.route("/events/<int:event_id>/reprocess", methods=["POST"])
@api.arguments(schemas.ReprocessSchema, required=False)
@api.response(202, schemas.EventSchema)
@api.alt_response(409, **PROBLEM)
def reprocess_event(how: dict[str, Any], event_id: int) -> Response:
    """Put a dead event back to work."""
    asking = demand(Permission.REPROCESS)
    see(event_id)
    hub().reprocess(
        event_id,
        actor=asking.name,
        note=how.get("note"),
        after=how["after"],
        even_if_newer=how["even_if_newer"],
    )
    return json_answer(everything(event_id), 202)


@api.route("/events/<int:event_id>/discard", methods=["POST"])
@api.arguments(schemas.DiscardSchema)
@api.response(202, schemas.EventSchema)
@api.alt_response(409, **PROBLEM)
def discard_event(why: dict[str, Any], event_id: int) -> Response:
    """Decide that an event shall not run."""
    asking = demand(Permission.DISCARD)
    see(event_id)
    hub().discard(event_id, actor=asking.name, note=why["note"])
    return json_answer(everything(event_id), 202)


def see(event_id: int) -> None:
    """Refuse to act on what the program may not see."""
    found(queries.get_event(hub().store, event_id, accounts=caller().accounts), event_id)


def everything(event_id: int) -> Document:
    """The event with payload, attempts and audit, if there is one that the program may see.

    Raises:
        EventNotFound: there is none.
    """
    store = hub().store
    event = found(queries.get_event(store, event_id, accounts=caller().accounts), event_id)
    return event_json(
        event,
        queries.attempts(store, event.id),
        queries.audit(store, event.id),
        desk.marks(store, [event.id])[event.id],
        desk.notes(store, event.id),
    )
