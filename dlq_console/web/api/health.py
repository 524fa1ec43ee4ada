"""How does every account stand, for programs? The same figures as on the health page."""

from __future__ import annotations

from typing import Any

from flask import Response
from marshmallow import Schema, fields

from dlq_console.health import spelling
from dlq_console.health.values import Word
from dlq_console.store.people import Permission
from dlq_console.web.api.access import demand
from dlq_console.web.api.blueprints import api_blueprint, json_answer
from dlq_console.web.api.described import about
from dlq_console.web.health_seen import Seen, look
from dlq_console.web.hub import hub

health = api_blueprint(
    "api_health", __name__, "Whether work waits longer than it should, why, and until when."
)


class AccountHealthSchema(Schema):
    """One account, judged."""

    account = fields.String()
    word = fields.String(
        metadata=about("ok, degraded, blocked, down or unknown; unknown for all while nobody looks.")
    )
    last_word = fields.String(metadata=about("The same as it was found last."))
    since = fields.DateTime(metadata=about("Since when it has stood so."))
    why = fields.String(
        metadata=about("The one reason that is told, such as provider, behind or dead_letters.")
    )
    figure = fields.Float(allow_none=True, metadata=about("The number of that reason."))
    needs_person = fields.Boolean(metadata=about("Whether it will not become well by itself."))
    closing = fields.Dict(
        keys=fields.String(),
        allow_none=True,
        metadata=about("What keeps its door closed: cause, since, until, reason, by."),
    )
    counts = fields.Dict(
        keys=fields.String(),
        metadata=about(
            "due, scheduled, paused, blocked, running, dead, stopped_lanes, oldest_due_at; `capped` names those that "
            "were counted up to a cap only."
        ),
    )
    flow = fields.Dict(
        keys=fields.String(),
        metadata=about(
            "Of the last minutes: arrivals and completions per minute, done, died, lag in seconds."
        ),
    )
    drain = fields.Dict(
        keys=fields.String(),
        metadata=about("seconds from as_of until what is due is through, null where it will not be; bound."),
    )
    slots = fields.Integer(allow_none=True, metadata=about("How many of its events may run at once."))
    circuit = fields.String(metadata=about("closed, open or half_open."))
    circuit_forced = fields.Boolean(metadata=about("Whether a person has forced it."))


class HealthSchema(Schema):
    """Everything, as of a moment of the database's clock."""

    as_of = fields.DateTime(allow_none=True, metadata=about("When somebody looked last; null: never."))
    age_seconds = fields.Float(allow_none=True, metadata=about("Seconds since then."))
    stale = fields.Boolean(metadata=about("Nobody looks any more, so these figures are those of as_of."))
    items = fields.List(fields.Nested(AccountHealthSchema), metadata=about("What needs a person first."))


@health.route("/health", methods=["GET"])
@health.response(200, HealthSchema)
def how_things_stand() -> Response:
    """Every account that has work, a closed door or dead letters, with why and until when."""
    return json_answer(_document(look(hub().store).only(demand(Permission.VIEW).accounts)))


#: What only the next judgement asks for.
_OF_JUDGING = frozenset({"opened_with", "left"})


def _document(seen: Seen) -> dict[str, Any]:
    told = spelling.account_values(seen.health)
    as_of = seen.health.as_of
    return {
        "as_of": as_of,
        "age_seconds": round(seen.health.age, 1) if as_of else None,
        "stale": seen.is_doubtful,
        "items": [
            {
                **{name: value for name, value in told[one.account].items() if name not in _OF_JUDGING},
                "word": str(Word.UNKNOWN if seen.is_doubtful else one.word),
                "last_word": str(one.word),
                "needs_person": one.needs_person,
            }
            for one in seen.health.accounts
        ],
    }
