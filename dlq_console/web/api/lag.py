"""How far is each account behind? The same figures as on the page /health/lag."""

from __future__ import annotations

from flask import Response
from marshmallow import Schema, fields

from dlq_console.store.people import Permission
from dlq_console.web.api.access import demand
from dlq_console.web.api.blueprints import api_blueprint, json_answer
from dlq_console.web.api.described import about, count_field, number_field, time_field
from dlq_console.web.health_seen import seen
from dlq_console.web.hub import hub
from dlq_console.web.lag_figures import every_lag

#: How an object whose names are those of accounts is described.
BY_ACCOUNT = {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Lag"}}

lag = api_blueprint("api_lag", __name__, "Lag: how far each account is behind.")


class LagSchema(Schema):
    """How far one account was behind when the states were read last; durations in seconds."""

    lag_p50 = number_field(
        "Half of the first attempts of the last minutes started within this time of being due."
    )
    lag_p95 = number_field("95 of 100 did; null where none started.")
    oldest_due = number_field("How long the first of the due events had waited; null where none was due.")
    due = count_field("Events that could start if the door of the account is open.")
    scheduled = count_field("Events that will be due later.")
    paused = count_field("Due events behind a closed door.")
    blocked = count_field("Events behind an earlier one of their lane.")
    running = count_field("Events that were running.")
    capped = fields.List(fields.String(), metadata=about("Which of these counts stopped at a cap."))
    arrivals_per_minute = number_field("Events that came in.")
    completions_per_minute = number_field("Events that ended well or died.")
    minutes = count_field("Over how many minutes lag and rates were counted.")
    drain_seconds = number_field("Until what is due will be through; null where that is not so or not known.")
    drain_bound = fields.String(
        metadata=about("What limits it: pace, provider, door, opening (too short ago) or nothing.")
    )
    as_of = time_field("When the states were read.")
    stale = fields.Boolean(metadata=about("More has probably changed since then than is told."))


@lag.route("/lag", methods=["GET"])
@lag.response(200, BY_ACCOUNT)
def list_lag() -> Response:
    """Every account that has anything to tell, by name."""
    return json_answer(every_lag(seen(hub().store), demand(Permission.VIEW)))
