"""Which workers are there, what do they run, and does anybody run the periodic steps? As on the page /health/workers."""

from __future__ import annotations

from flask import Response
from marshmallow import Schema, fields

from dlq_console.store.people import Permission
from dlq_console.web.api.access import demand
from dlq_console.web.api.blueprints import api_blueprint, json_answer
from dlq_console.web.api.described import about, text_field, time_field
from dlq_console.web.health_figures import every_worker
from dlq_console.web.hub import hub

workers = api_blueprint("api_workers", __name__, "Workers: who is alive, and what runs.")


class RunningSchema(Schema):
    """One event that runs."""

    event = fields.Integer(metadata=about("Its id."))
    kind = text_field("Its kind.")
    account = text_field("Its account.")
    since = time_field("Since when it runs.")
    late = fields.Boolean(metadata=about("Its lease is over: it will be taken from its worker."))


class WorkerSchema(Schema):
    """One worker, as it told last."""

    id = text_field("Its own.")
    mode = text_field("table or celery.")
    host = text_field("Where it runs.")
    pid = fields.Integer(metadata=about("Its process."))
    version = text_field("Of dlq-console.")
    state = text_field("running, or stopping once it takes nothing new.")
    alive = fields.Boolean(metadata=about("Whether it was heard of lately."))
    slots = fields.Integer(metadata=about("How many events it runs at once."))
    accounts = fields.List(fields.String(), allow_none=True, metadata=about("Those it serves; null for all."))
    started_at = time_field("When it started.", null=False)
    heartbeat_at = time_field("When it was heard of last.", null=False)
    running = fields.List(fields.Nested(RunningSchema))


class StepSchema(Schema):
    """One periodic step."""

    owner = text_field("Which process leads it.", null=True)
    last_run_at = time_field("When it ran last.")
    last_error = text_field("What went wrong then; empty for who sees some accounts only.", null=True)


class WorkersSchema(Schema):
    """Workers, the living ones first, and the periodic steps by name."""

    items = fields.List(fields.Nested(WorkerSchema))
    steps = fields.Dict(keys=fields.String(), values=fields.Nested(StepSchema))
    last_step_at = time_field("When anybody ran any step last; null: never.")


@workers.route("/workers", methods=["GET"])
@workers.response(200, WorkersSchema)
def list_workers() -> Response:
    """Workers with what they run, and when the periodic steps ran last."""
    return json_answer(every_worker(hub().store, demand(Permission.VIEW)))
