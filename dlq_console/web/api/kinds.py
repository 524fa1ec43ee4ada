"""Which kinds of events are there, how is each run, and which fields of its payloads do lists show?"""

from __future__ import annotations

from typing import Any

from flask import Response
from marshmallow import Schema, fields

from dlq_console.hub.kind_figures import kind_figures
from dlq_console.store.people import Permission
from dlq_console.web.api.access import demand
from dlq_console.web.api.blueprints import api_blueprint, json_answer
from dlq_console.web.api.described import about, flag_field, text_field
from dlq_console.web.hub import hub

kinds = api_blueprint("api_kinds", __name__, "Kinds: how events of each are run and shown.")


def _seconds(text: str) -> fields.Float:
    return fields.Float(allow_none=True, metadata=about(f"{text}, in seconds."))


class ColumnSchema(Schema):
    """A field of the payload that lists show and that events are found by."""

    label = fields.String()
    path = fields.String(metadata=about("As the filter `payload.<path>` takes it."))


class KindSchema(Schema):
    """A kind of events, as a worker published it; what that worker did not know is null."""

    name = fields.String()
    provider = text_field("The outside system, where several accounts share it.", null=True)
    max_attempts = fields.Integer(metadata=about("Attempts until an event is dead."))
    timeout = _seconds("How long one run may take")
    base_delay = _seconds("Wait after the first failure; it doubles with every further one")
    max_delay = _seconds("The longest such wait")
    order = text_field("none, key or account: which of its events run one at a time.", null=True)
    on_dead = text_field(
        "block or skip: what a death means for those behind; null for what the order says.", null=True
    )
    on_unknown = text_field("verify, hold or retry, where nobody knows whether it was applied.", null=True)
    replay_policy = text_field("What becomes of an event when a newer one of its entity exists.", null=True)
    max_age = _seconds("Older events are dead instead of being run")
    max_wait = _seconds("Longest time from due to start")
    max_running = fields.Integer(allow_none=True, metadata=about("How many of each account run at once."))
    unique_at_provider = flag_field("The outside system itself refuses a second one of the same key.")
    writes = flag_field("Whether it changes anything there.")
    open_url = text_field("Address of the record in the outside system.", null=True)
    precheck = fields.Boolean(metadata=about("Whether a worker can ask if an event would pass now."))
    schema = fields.Raw(allow_none=True, metadata=about("JSON Schema of its payloads."))
    columns = fields.List(fields.Nested(ColumnSchema))


class KindsSchema(Schema):
    """Every kind that workers have published, by name."""

    items = fields.List(fields.Nested(KindSchema))


@kinds.route("/kinds", methods=["GET"])
@kinds.response(200, KindsSchema)
def list_kinds() -> Response:
    """The kinds that workers have published; may be some seconds old."""
    demand(Permission.VIEW)
    items: list[dict[str, Any]] = kind_figures(hub().known_kinds().values())
    return json_answer({"items": items})
