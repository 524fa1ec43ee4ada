"""Which fields do accounts, circuits and bulkheads have, and requests that close and open them?"""

from __future__ import annotations

from marshmallow import Schema, fields, validate

from dlq_console.hub.doors import LONGEST
from dlq_console.web.api.described import NoteSchema, about, text_field, time_field


class PauseSchema(NoteSchema):
    """How an account is paused."""

    until = time_field("Until when; until it is resumed without it.")


class ForceSchema(NoteSchema):
    """How a circuit is held."""

    seconds = fields.Float(
        allow_none=True,
        validate=validate.Range(
            0, LONGEST, min_inclusive=False, error=f"write a number greater than 0 and at most {LONGEST:g}."
        ),
        metadata=about("For how long; until it is reset without it."),
    )


class AccountSchema(Schema):
    """One account: its work, and what keeps its door closed."""

    account = text_field("Its name.")
    cause = text_field(
        "What keeps it closed: provider, circuit, pause, auth; null where it is open.", null=True
    )
    until = time_field("Until when; null where it is open, or closed until somebody acts.")
    reason = text_field("Why, in the words of whoever closed it.", null=True)
    max_running = fields.Integer(
        allow_none=True, metadata=about("How many of its events may run at once, where that was set.")
    )
    due = fields.Integer(metadata=about("Events that could run now if nothing stood in the way."))
    running = fields.Integer(metadata=about("Events that run."))
    failed = fields.Integer(metadata=about("Events that will be tried again."))
    dead = fields.Integer(metadata=about("Events that need a person."))


class AccountsSchema(Schema):
    """Accounts by name."""

    items = fields.List(fields.Nested(AccountSchema))


class OverrideSchema(Schema):
    """A person's decision about a circuit."""

    position = text_field("forced_open or forced_closed.")
    actor = text_field("Who.")
    note = text_field("Why.")
    at = time_field("Since when.", null=False)
    until = time_field("Until when; null until it is reset.")


class TransitionSchema(Schema):
    """One change of a circuit."""

    at = time_field("When.", null=False)
    before = text_field("Where it stood.")
    after = text_field("Where it stands since.")
    why = text_field("Why, in words.")
    by = text_field("Which process or person brought it about.")


class BreakerWindowSchema(Schema):
    """What the window of a circuit holds."""

    calls = fields.Integer(metadata=about("Calls in it."))
    failures = fields.Integer(metadata=about("Those that failed."))
    slow = fields.Integer(metadata=about("Those that were slow, failed or not."))
    last_calls = fields.Integer(
        allow_none=True, metadata=about("It holds so many of the last calls at most; or")
    )
    last_seconds = fields.Float(allow_none=True, metadata=about("those of so many seconds."))


class BreakerSchema(Schema):
    """One circuit."""

    scope = text_field(
        "account, method (one kind of an account), provider, or service (code behind a guard)."
    )
    state = text_field("closed, open or half_open, with a person's decision taken into account.")
    computed = text_field("Where it stands by itself.")
    failures = fields.Integer(metadata=about("Failures in a row, while closed."))
    last_failure = text_field("Class of the last error that counted.")
    since = time_field("When its state began.")
    open_until = time_field("When an open one is due for a probe.")
    probes = fields.Integer(metadata=about("Probes that are under way."))
    probe_successes = fields.Integer(metadata=about("Probes that have succeeded since it is half-open."))
    reopened = fields.Integer(metadata=about("Probes that have failed since it was last closed."))
    window = fields.Nested(
        BreakerWindowSchema, allow_none=True, metadata=about("Null where failures in a row decide.")
    )
    settings = fields.Dict(
        keys=fields.String(),
        allow_none=True,
        metadata=about("How it is set, times in seconds; null where only its program knows."),
    )
    override = fields.Nested(OverrideSchema, allow_none=True)
    history = fields.List(fields.Nested(TransitionSchema), metadata=about("Newest first."))
    counts = fields.Dict(
        keys=fields.String(),
        values=fields.Integer(),
        allow_none=True,
        metadata=about("Of a service: calls, successes, failures, ignored and short_circuits so far."),
    )
    degraded = fields.Boolean(metadata=about("Of a service: its state is away or not read; older figures."))


class OldestSchema(Schema):
    """The call that has been inside for longest."""

    owner = text_field("Which process.")
    since = time_field("Since when.", null=False)


class BulkheadSchema(Schema):
    """How many calls of a service, or events of an account, are under way, and how many may be."""

    scope = text_field("account or service.")
    max = fields.Integer(metadata=about("How many may be at once; of an account its limit or fair share."))
    in_use = fields.Integer(metadata=about("How many are."))
    available = fields.Integer(metadata=about("How many more may begin."))
    waiting = fields.Integer(metadata=about("Callers that wait for a slot; of an account its due events."))
    oldest = fields.Nested(OldestSchema, allow_none=True, metadata=about("Of a service."))
    counts = fields.Dict(
        keys=fields.String(),
        values=fields.Integer(),
        allow_none=True,
        metadata=about("Of a service: calls, rejected, timeouts and overran (outlived its lease) so far."),
    )
    degraded = fields.Boolean(metadata=about("Of a service: its state is away or not read; older figures."))
