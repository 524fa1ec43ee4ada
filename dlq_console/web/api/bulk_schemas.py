"""Which fields do requests and answers about bulk runs have?"""

from __future__ import annotations

from marshmallow import Schema, fields, validate

from dlq_console.hub.actions import NOTE_LIMIT
from dlq_console.hub.bulk import ACTIONS, MAX_ITEMS, ItemState, PaceOf, RunState
from dlq_console.web.api.described import BodySchema, about, count_field, text_field, time_field
from dlq_console.web.api.schemas import EventSummarySchema


class BulkSchema(BodySchema):
    """One thing to be done to many dead events."""

    action = fields.String(required=True, validate=validate.OneOf(list(ACTIONS)))
    filter = fields.Raw(
        metadata=about("The dead events: an object of parameters as in GET /events, or a query string.")
    )
    all = fields.Boolean(
        load_default=False,
        metadata=about("Every dead event is meant; the same as an empty filter."),
    )
    arguments = fields.Raw(
        allow_none=True,
        metadata=about("Of assign {to, due, reassign}, of tag {tags}, of snooze {until}; others take none."),
    )
    ids = fields.List(fields.Integer(strict=True), metadata=about("Or these; not together with a filter."))
    note = fields.String(
        allow_none=True,
        validate=validate.Length(max=NOTE_LIMIT),
        metadata=about("Why; needed for a discard, and for a reprocess above 10 events."),
    )
    rate = fields.Float(allow_none=True, metadata=about("Items per second."))
    canary = fields.Raw(
        allow_none=True, metadata=about("Sizes of the first stages, such as [1, 10, 100]; true for these.")
    )
    stop_share = fields.Float(
        allow_none=True, metadata=about("Share that died again, 0 to 1, above which it stops; 0.2.")
    )
    window = fields.Integer(
        strict=True,
        allow_none=True,
        metadata=about("How many may be let go and not ended at once; 100."),
    )
    dry_run = fields.Boolean(load_default=False, metadata=about("Only tell what it would do."))
    exact = fields.Boolean(
        load_default=False,
        metadata=about("With dry_run: count and group all of them, which may take some seconds."),
    )
    selection_token = text_field("Of the dry run that was looked at: means exactly its events.", null=True)
    expected_count = fields.Integer(
        strict=True,
        allow_none=True,
        validate=validate.Range(min=0),
        metadata=about("Of how many events you know; with any other number nothing is begun (409)."),
    )


class PartSchema(Schema):
    """One sort of events in a selection."""

    name = text_field("A kind, an account, or the fingerprint of a cause.")
    label = text_field("What people read: the name, or the error of one of them.")
    number = count_field("How many.")


class PreviewSchema(Schema):
    """What a bulk run would do."""

    count = count_field("How many events.")
    count_capped = fields.Boolean(metadata=about("There are more."))
    looked = count_field("How many of them, the newest, the other figures are about; all with exact.")
    by_kind = fields.List(fields.Nested(PartSchema))
    by_account = fields.List(fields.Nested(PartSchema))
    by_error = fields.List(fields.Nested(PartSchema))
    sample = fields.List(fields.Nested(EventSummarySchema))
    refused = fields.Dict(
        keys=fields.String(),
        values=fields.Integer(),
        metadata=about(
            "Cause -> how many would be refused: in_doubt, superseded, stale, not_dead, gone, assigned, not_allowed, too_many_tags."
        ),
    )
    warned = fields.Dict(
        keys=fields.String(),
        values=fields.Integer(),
        metadata=about(
            "How many would be let go, but are too_old, blocked in a lane, or wait: breaker_open."
        ),
    )
    close_look = count_field(
        "superseded, stale, blocked, assigned and too_many_tags were looked for among so many of them; null for among all.",
        null=True,
    )
    selection_token = text_field("Begins a run over exactly these events; for an hour.", null=True)


class BulkStartedSchema(Schema):
    """A run that has begun."""

    id = fields.Integer()


class BulkRunSchema(Schema):
    """A bulk run."""

    id = fields.Integer()
    action = text_field("What is done.")
    arguments = fields.Dict(keys=fields.String(), metadata=about("With what; empty where it takes none."))
    filter = text_field("What it selected, as a query string.", null=True)
    actor = text_field("Who began it.")
    acted_by = text_field("Who paused, resumed or cancelled it last.", null=True)
    note = text_field("Why.", null=True)
    state = fields.String(validate=validate.OneOf(list(RunState)))
    cause = text_field("Why it stands still: person, drift or died_again.", null=True)
    limited_by = text_field("What it waits for: closed, lane, stage, window or rate.", null=True)
    created_at = time_field("When it was begun.")
    cut_at = time_field("What ended later is not part of it.")
    frozen_at = time_field("Since when its selection is whole.")
    finished_at = time_field("When it was over.")
    expected = count_field("How many the preview counted.", null=True)
    drift = count_field("By how many the selection differs from that.", null=True)
    late = count_field("How many ended too late to be part of it.")
    late_capped = fields.Boolean(metadata=about("There are more."))
    total = count_field("How many events it has.")
    done = count_field("How many of them have come to an end.")
    released = count_field("Let go, not ended.")
    remaining = count_field("Not let go.")
    succeeded = count_field("Done; of other acts than reprocess, what was done to.")
    died_same = count_field("Dead again of the same error.")
    died_different = count_field("Dead again of another error.")
    refused = count_field("Not let go, with a cause.")
    rate = fields.Float(allow_none=True)
    window = fields.Integer()
    stages = fields.List(fields.Integer())
    stage = count_field("In which it is, from 0; as many as there are stages once they are over.")
    stop_share = fields.Float(allow_none=True)
    pace = fields.Float(
        allow_none=True,
        metadata=about("Items per second that come to an end; null where nothing can be said."),
    )
    pace_of = fields.String(
        allow_none=True,
        validate=validate.OneOf(list(PaceOf)),
        metadata=about(
            "What the pace is taken from: the last minute (recent), what it was told to keep to (set), or all the time it moved."
        ),
    )
    moved_seconds = fields.Float(
        allow_none=True,
        metadata=about("Since its selection is whole, less the time it stood on pause or stopped."),
    )
    eta_seconds = fields.Float(
        allow_none=True, metadata=about("Until its end at that pace; null where that says nothing.")
    )


class BulkRunsSchema(Schema):
    """Bulk runs, newest first."""

    items = fields.List(fields.Nested(BulkRunSchema))


class BulkItemsQuerySchema(Schema):
    """Which items are asked for."""

    state = fields.String(
        validate=validate.OneOf(list(ItemState)),
        metadata=about("Only those in this state; all if left out."),
    )
    cursor = fields.String(load_default="")
    limit = fields.Integer(load_default=50, validate=validate.Range(1, MAX_ITEMS))


class BulkItemSchema(Schema):
    """One event of a run."""

    event_id = fields.Integer()
    position = count_field("Items are let go in this order.")
    state = fields.String(validate=validate.OneOf(list(ItemState)))
    cause = text_field("Why it was refused.", null=True)
    released_at = time_field("When it was let go.")
    ended_at = time_field("When it was seen to have ended.")
    kind = text_field("Of its event.", null=True)
    account = text_field("Of its event.", null=True)
    entity_id = text_field("Of its event.", null=True)
    status = text_field("Of its event, now.", null=True)
    last_error = text_field("Of its event, now.", null=True)


class BulkItemsSchema(Schema):
    """Items in the order in which they are let go."""

    items = fields.List(fields.Nested(BulkItemSchema))
    next_cursor = text_field("Where the next page begins.", null=True)
