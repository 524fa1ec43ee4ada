"""Which fields do events have, and requests that put them in, find them and act on them?"""

from __future__ import annotations

from marshmallow import Schema, fields, validate

from dlq_console.hub.actions import LONGEST_AFTER, NOTE_LIMIT
from dlq_console.store.filters import VERDICTS
from dlq_console.store.queries import MAX_LIMIT
from dlq_console.store.states import Reason, Status
from dlq_console.web.api.described import BodySchema, about, text_field, time_field
from dlq_console.web.api.desk_schemas import WrittenNoteSchema


class NewEventSchema(BodySchema):
    """An event to be put in."""

    kind = fields.String(required=True, metadata=about("What is to be done, such as order.create."))
    account = fields.String(required=True, metadata=about("On whose account of the outside system."))
    entity_id = fields.String(required=True, metadata=about("The business number people know it by."))
    payload = fields.Raw(required=True, allow_none=True, metadata=about("What the handler needs; any JSON."))
    version = text_field("Makes the same content a new event.", null=True)
    ordering_key = text_field("Run one at a time, in order, with the events of this key.", null=True)
    serial = fields.Boolean(
        allow_none=True, metadata=about("Run one at a time in the account's serial lane.")
    )
    run_at = time_field("Not before this moment.")
    expires_at = time_field("Not after this moment.")


class IdempotencySchema(Schema):
    """Headers of a request that puts an event in."""

    idempotency_key = fields.String(
        data_key="Idempotency-Key",
        metadata=about(
            "Your own key, instead of the one made from the content. It belongs to one event in all accounts together; "
            "begin it with the name of your program."
        ),
    )


class FilterSchema(Schema):
    """Which events are meant. It is read by the same code as that of the pages; this describes it."""

    kind = fields.List(fields.String(), metadata=about("Any of these kinds; may repeat."))
    account = fields.List(fields.String(), metadata=about("Any of these accounts; may repeat."))
    reason = fields.List(
        fields.String(), metadata=about(f"Any of these reasons; may repeat: {', '.join(Reason)}.")
    )
    status = fields.List(
        fields.String(), metadata=about(f"Any of these states; may repeat: {', '.join(Status)}.")
    )
    group = text_field("Fingerprint of the last error.")
    entity = text_field("The whole entity id.")
    q = text_field("Text anywhere in the last error, in upper or lower case.")
    since = text_field("How long ago at most: 30m, 4h, 2d, 1w.")
    from_ = fields.String(
        data_key="from",
        metadata=about(
            "Ended (dead, done, discarded) or created (others) at or after: ISO 8601 with a zone."
        ),
    )
    to = text_field("Ended or created before: ISO 8601 with a zone.")
    class_ = fields.List(
        fields.String(),
        data_key="class",
        metadata=about(f"What the rules said about the last error; may repeat: {', '.join(VERDICTS)}."),
    )
    assignee = text_field("Who has it on the desk; - for nobody.")
    tag = fields.List(fields.String(), metadata=about("Any of these tags; may repeat."))
    attempts = text_field("How many of its present cycle: 3, or 3+ for three at least.")
    payload = fields.String(
        data_key="payload.<path>",
        metadata=about(
            "The value at a path of the payload, as payload.order.number or payload.items.0.sku; at most 5 of them."
        ),
    )
    snoozed = text_field("`hide` or `only` what is put off for later.")
    at = text_field(
        "Only what had ended, or been created, by then: ISO 8601 with a zone. `since` counts back from it."
    )
    sort = text_field("`oldest` first; newest first without it.")


class ListSchema(FilterSchema):
    """The filter of a list, and which part of the list."""

    view = fields.Integer(
        metadata=about("The filter of this view; what is asked for beside it replaces the same of the view.")
    )
    cursor = text_field("`next_cursor` or `previous_cursor` of another page of this list.")
    limit = fields.Integer(
        load_default=50,
        validate=validate.Range(1, MAX_LIMIT, error=f"write a number from 1 to {MAX_LIMIT}."),
        metadata=about("Most events in the answer."),
    )


class ReprocessSchema(BodySchema):
    """How an event is put back to work."""

    note = fields.String(allow_none=True, validate=validate.Length(max=NOTE_LIMIT), metadata=about("Why."))
    after = fields.Float(
        load_default=0.0,
        validate=validate.Range(0, LONGEST_AFTER),
        metadata=about("Seconds from now until it may run."),
    )
    even_if_newer = fields.Boolean(
        load_default=False,
        metadata=about("Although a newer event of its entity exists, where its kind asks."),
    )


class DiscardSchema(BodySchema):
    """Why an event shall not run."""

    note = fields.String(
        required=True,
        validate=[
            validate.Length(max=NOTE_LIMIT),
            validate.Regexp(r"\s*\S", error="say why; it is kept in the audit."),
        ],
        metadata=about("Why; kept in the audit."),
    )


class MadeSchema(Schema):
    """What became of an event that was put in."""

    id = fields.Integer()
    status = text_field("Its state at that moment; a duplicate of a dead event does not run by itself.")
    created = fields.Boolean(metadata=about("False where it was folded into an event that exists."))


class EventSummarySchema(Schema):
    """One event of a list. Times are UTC."""

    id = fields.Integer()
    kind = text_field("What is to be done.")
    account = text_field("On whose account of the outside system.")
    entity_id = text_field("The business number people know it by.")
    idempotency_key = text_field("Equal for events that are the same.")
    effect_key = text_field("Under which the outside system knows the effect.")
    version = text_field("What told this event apart from one of the same content.", null=True)
    ordering_key = text_field("Which events run in order with this one.", null=True)
    lane = text_field("Account and ordering key.", null=True)
    queue = text_field("On which queue it travels.")
    status = fields.String(validate=validate.OneOf(list(Status)))
    reason = fields.String(
        allow_none=True, validate=validate.OneOf(list(Reason)), metadata=about("Why dead or discarded.")
    )
    attempt_count = fields.Integer(metadata=about("Attempts since it was last put to work."))
    total_attempts = fields.Integer(metadata=about("All attempts there ever were."))
    max_attempts = fields.Integer(metadata=about("Attempts after which it is dead."))
    cycle = fields.Integer(metadata=about("How often it was put back to work."))
    due_at = time_field("When this attempt became due.", null=False)
    next_run_at = time_field("When it may be started.", null=False)
    expires_at = time_field("From when on it is too late.")
    lease_epoch = fields.Integer(metadata=about("Grows with every claim and every act of a person."))
    lease_owner = text_field("Which worker has it, or had it last.", null=True)
    created_at = time_field("When it came in.", null=False)
    updated_at = time_field("When it last changed.", null=False)
    started_at = time_field("When it was last started.")
    finished_at = time_field("When it ended.")
    error_type = text_field("Class of the last error.", null=True)
    last_error = text_field("What the outside system said last.", null=True)
    verdict = text_field("What the last error was taken for.", null=True)
    fingerprint = text_field("Equal for errors of one cause.", null=True)
    died_again = text_field("Whether it died again with the same or with a different error.", null=True)
    duplicates = fields.Integer(metadata=about("How often it was sent again."))
    last_duplicate_at = time_field("When it was last sent again.")
    origin = text_field("Who sent it.", null=True)
    parent_id = fields.Integer(allow_none=True)
    bulk_id = fields.Integer(allow_none=True)
    trace_context = text_field("The trace it belongs to.", null=True)
    waiting_for = text_field("Why it does not run now; only for a single event.", null=True)
    waiting_until = time_field("Until when, where that is known.")
    waiting_cause = text_field("By what the door is closed: provider, circuit, pause, auth.", null=True)
    waiting_reason = text_field("Why, in the words of whoever closed it.", null=True)
    waiting_by = text_field("Who closed it, where somebody decided it.", null=True)
    blocked_by = fields.Integer(allow_none=True, metadata=about("The earlier event it waits behind."))
    doubts = fields.Integer(
        metadata=about(
            "0 where it is known whether the outside system has it, else how often that was asked, plus one."
        )
    )
    superseded_by = fields.Integer(allow_none=True, metadata=about("The newer event that took its place."))


class PageSchema(Schema):
    """One page of a list. A short page with a `next_cursor` stopped looking; go on with the cursor."""

    items = fields.List(fields.Nested(EventSummarySchema))
    next_cursor = text_field("Where the next page begins.", null=True)
    previous_cursor = text_field("Where the page before begins.", null=True)
    count = fields.Integer(metadata=about("How many events match."))
    count_capped = fields.Boolean(metadata=about("There are that many or more."))


class AttemptSchema(Schema):
    """How one run of an event ended."""

    id = fields.Integer()
    event_id = fields.Integer()
    cycle = fields.Integer()
    number = fields.Integer()
    lease_epoch = fields.Integer()
    due_at = time_field("When it was due.", null=False)
    started_at = time_field("When it was started.", null=False)
    ended_at = time_field("When it ended.", null=False)
    outcome = text_field("done, failed, dead, lost, asked (its verifier was) or released.")
    error_type = text_field("Class of the error.", null=True)
    error = text_field("What the outside system said.", null=True)
    traceback = text_field("Where in the handler.", null=True)
    verdict = text_field("What the error was taken for.", null=True)
    fingerprint = text_field("Equal for errors of one cause.", null=True)
    wait_seconds = fields.Float(allow_none=True, metadata=about("Seconds until the next attempt."))
    worker = text_field("Which worker ran it.", null=True)
    effect = text_field(
        "Whether the outside system applied the call: not_applied, applied, unknown.", null=True
    )
    reach = text_field("Which scope the verdict is about: event, account, method, provider.", null=True)
    wait_source = text_field("Where the wait was found.", null=True)
    rule = text_field("Which rule decided; `none` where none matched.", null=True)
    rules_version = text_field("Of which rule set.", null=True)
    answer = fields.Dict(
        allow_none=True,
        metadata=about("What was said, redacted: status, code, content_type, excerpt, phase."),
    )


class AuditSchema(Schema):
    """What one person or program did."""

    id = fields.Integer()
    at = time_field("When.", null=False)
    actor = text_field("Who.")
    action = text_field("What.")
    event_id = fields.Integer(allow_none=True)
    subject = text_field("On what, where it was no event.", null=True)
    note = text_field("Why.", null=True)
    before = text_field("How it was.", null=True)
    after = text_field("How it is since.", null=True)
    via = text_field(
        "By which door: console, api, cli, python; null for what the hub did by itself.", null=True
    )
    bulk_id = fields.Integer(allow_none=True, metadata=about("Of an act upon many: its run."))
    filter = text_field("What that run selected.", null=True)
    account = text_field("Of which account.", null=True)


class EventSchema(EventSummarySchema):
    """One event with everything; secret-looking fields of payload and result are masked."""

    payload = fields.Raw(allow_none=True)
    result = fields.Raw(allow_none=True)
    attempts = fields.List(fields.Nested(AttemptSchema), metadata=about("Newest first."))
    audit = fields.List(fields.Nested(AuditSchema), metadata=about("Newest first."))
    assignee = text_field("Who sees to it.", null=True)
    assignment_due = time_field("Until when that person is to see to it.")
    tags = fields.List(fields.String(), metadata=about("In order."))
    snoozed_until = time_field("Until when it is out of sight; null once that is over.")
    notes = fields.List(fields.Nested(WrittenNoteSchema), metadata=about("Newest first."))
