"""Which fields do requests and answers have? Requests are checked with these, answers are described by them."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, fields, validate

from dlq_console.hub.actions import LONGEST_AFTER, NOTE_LIMIT
from dlq_console.hub.doors import LONGEST
from dlq_console.store.filters import VERDICTS
from dlq_console.store.queries import HOURS, MAX_GROUPS, MAX_LIMIT
from dlq_console.store.states import Reason, Status


def _about(text: str) -> dict[str, str]:
    return {"description": text}


#: What the checking library would say in words of Python.
_NO_TIME = "write a time with its zone, such as 2026-03-01T08:00-03:00 or 2026-03-01T11:00Z."
_TIME_MESSAGES: dict[str, Any] = dict.fromkeys(("invalid", "invalid_awareness", "format"), _NO_TIME)


def _time(text: str, *, null: bool = True) -> fields.Field[Any]:
    return fields.AwareDateTime(
        format="iso", allow_none=null, error_messages=_TIME_MESSAGES, metadata=_about(text)
    )


def _text(text: str, *, null: bool = False) -> fields.String:
    return fields.String(allow_none=null, metadata=_about(text))


class BodySchema(Schema):
    """The body of a request."""

    error_messages = {"type": "send one JSON object, {...}."}  # noqa: RUF012 - the library declares it so


class NewEventSchema(BodySchema):
    """An event to be put in."""

    kind = fields.String(required=True, metadata=_about("What is to be done, such as order.create."))
    account = fields.String(required=True, metadata=_about("On whose account of the outside system."))
    entity_id = fields.String(required=True, metadata=_about("The business number people know it by."))
    payload = fields.Raw(required=True, allow_none=True, metadata=_about("What the handler needs; any JSON."))
    version = _text("Makes the same content a new event.", null=True)
    ordering_key = _text("Run one at a time, in order, with the events of this key.", null=True)
    serial = fields.Boolean(
        allow_none=True, metadata=_about("Run one at a time in the account's serial lane.")
    )
    run_at = _time("Not before this moment.")
    expires_at = _time("Not after this moment.")


class IdempotencySchema(Schema):
    """Headers of a request that puts an event in."""

    idempotency_key = fields.String(
        data_key="Idempotency-Key",
        metadata=_about(
            "Your own key, instead of the one made from the content. It belongs to one event in all accounts together; "
            "begin it with the name of your program."
        ),
    )


class FilterSchema(Schema):
    """Which events are meant. It is read by the same code as that of the pages; this describes it."""

    kind = fields.List(fields.String(), metadata=_about("Any of these kinds; may repeat."))
    account = fields.List(fields.String(), metadata=_about("Any of these accounts; may repeat."))
    reason = fields.List(
        fields.String(), metadata=_about(f"Any of these reasons; may repeat: {', '.join(Reason)}.")
    )
    status = fields.List(
        fields.String(), metadata=_about(f"Any of these states; may repeat: {', '.join(Status)}.")
    )
    group = _text("Fingerprint of the last error.")
    entity = _text("The whole entity id.")
    q = _text("Text anywhere in the last error, in upper or lower case.")
    since = _text("How long ago at most: 30m, 4h, 2d, 1w.")
    from_ = fields.String(
        data_key="from",
        metadata=_about(
            "Ended (dead, done, discarded) or created (others) at or after: ISO 8601 with a zone."
        ),
    )
    to = _text("Ended or created before: ISO 8601 with a zone.")
    class_ = fields.List(
        fields.String(),
        data_key="class",
        metadata=_about(f"What the rules said about the last error; may repeat: {', '.join(VERDICTS)}."),
    )
    assignee = _text("Who has it on the desk; - for nobody.")
    tag = fields.List(fields.String(), metadata=_about("Any of these tags; may repeat."))
    attempts = _text("How many of its present cycle: 3, or 3+ for three at least.")
    payload = fields.String(
        data_key="payload.<path>",
        metadata=_about(
            "The value at a path of the payload, as payload.order.number or payload.items.0.sku; at most 5 of them."
        ),
    )
    snoozed = _text("`hide` or `only` what is put off for later.")
    at = _text(
        "Only what had ended, or been created, by then: ISO 8601 with a zone. `since` counts back from it."
    )
    sort = _text("`oldest` first; newest first without it.")


class ListSchema(FilterSchema):
    """The filter of a list, and which part of the list."""

    view = fields.Integer(
        metadata=_about("The filter of this view; what is asked for beside it replaces the same of the view.")
    )
    cursor = _text("`next_cursor` or `previous_cursor` of another page of this list.")
    limit = fields.Integer(
        load_default=50,
        validate=validate.Range(1, MAX_LIMIT, error=f"write a number from 1 to {MAX_LIMIT}."),
        metadata=_about("Most events in the answer."),
    )


class ReprocessSchema(BodySchema):
    """How an event is put back to work."""

    note = fields.String(allow_none=True, validate=validate.Length(max=NOTE_LIMIT), metadata=_about("Why."))
    after = fields.Float(
        load_default=0.0,
        validate=validate.Range(0, LONGEST_AFTER),
        metadata=_about("Seconds from now until it may run."),
    )
    even_if_newer = fields.Boolean(
        load_default=False,
        metadata=_about("Although a newer event of its entity exists, where its kind asks."),
    )


class DiscardSchema(BodySchema):
    """Why an event shall not run."""

    note = fields.String(
        required=True,
        validate=[
            validate.Length(max=NOTE_LIMIT),
            validate.Regexp(r"\s*\S", error="say why; it is kept in the audit."),
        ],
        metadata=_about("Why; kept in the audit."),
    )


class MadeSchema(Schema):
    """What became of an event that was put in."""

    id = fields.Integer()
    status = _text("Its state at that moment; a duplicate of a dead event does not run by itself.")
    created = fields.Boolean(metadata=_about("False where it was folded into an event that exists."))


class EventSummarySchema(Schema):
    """One event of a list. Times are UTC."""

    id = fields.Integer()
    kind = _text("What is to be done.")
    account = _text("On whose account of the outside system.")
    entity_id = _text("The business number people know it by.")
    idempotency_key = _text("Equal for events that are the same.")
    effect_key = _text("Under which the outside system knows the effect.")
    version = _text("What told this event apart from one of the same content.", null=True)
    ordering_key = _text("Which events run in order with this one.", null=True)
    lane = _text("Account and ordering key.", null=True)
    queue = _text("On which queue it travels.")
    status = fields.String(validate=validate.OneOf(list(Status)))
    reason = fields.String(
        allow_none=True, validate=validate.OneOf(list(Reason)), metadata=_about("Why dead or discarded.")
    )
    attempt_count = fields.Integer(metadata=_about("Attempts since it was last put to work."))
    total_attempts = fields.Integer(metadata=_about("All attempts there ever were."))
    max_attempts = fields.Integer(metadata=_about("Attempts after which it is dead."))
    cycle = fields.Integer(metadata=_about("How often it was put back to work."))
    due_at = _time("When this attempt became due.", null=False)
    next_run_at = _time("When it may be started.", null=False)
    expires_at = _time("From when on it is too late.")
    lease_epoch = fields.Integer(metadata=_about("Grows with every claim and every act of a person."))
    lease_owner = _text("Which worker has it, or had it last.", null=True)
    created_at = _time("When it came in.", null=False)
    updated_at = _time("When it last changed.", null=False)
    started_at = _time("When it was last started.")
    finished_at = _time("When it ended.")
    error_type = _text("Class of the last error.", null=True)
    last_error = _text("What the outside system said last.", null=True)
    verdict = _text("What the last error was taken for.", null=True)
    fingerprint = _text("Equal for errors of one cause.", null=True)
    died_again = _text("Whether it died again with the same or with a different error.", null=True)
    duplicates = fields.Integer(metadata=_about("How often it was sent again."))
    last_duplicate_at = _time("When it was last sent again.")
    origin = _text("Who sent it.", null=True)
    parent_id = fields.Integer(allow_none=True)
    bulk_id = fields.Integer(allow_none=True)
    trace_context = _text("The trace it belongs to.", null=True)
    waiting_for = _text("Why it does not run now; only for a single event.", null=True)
    waiting_until = _time("Until when, where that is known.")
    waiting_cause = _text("By what the door is closed: provider, circuit, pause, auth.", null=True)
    waiting_reason = _text("Why, in the words of whoever closed it.", null=True)
    waiting_by = _text("Who closed it, where somebody decided it.", null=True)
    blocked_by = fields.Integer(allow_none=True, metadata=_about("The earlier event it waits behind."))
    doubts = fields.Integer(
        metadata=_about(
            "0 where it is known whether the outside system has it, else how often that was asked, plus one."
        )
    )
    superseded_by = fields.Integer(allow_none=True, metadata=_about("The newer event that took its place."))


class PageSchema(Schema):
    """One page of a list. A short page with a `next_cursor` stopped looking; go on with the cursor."""

    items = fields.List(fields.Nested(EventSummarySchema))
    next_cursor = _text("Where the next page begins.", null=True)
    previous_cursor = _text("Where the page before begins.", null=True)
    count = fields.Integer(metadata=_about("How many events match."))
    count_capped = fields.Boolean(metadata=_about("There are that many or more."))


class GroupsQuerySchema(FilterSchema):
    """Of which dead events, and how many groups."""

    limit = fields.Integer(
        load_default=MAX_GROUPS,
        validate=validate.Range(1, MAX_GROUPS, error=f"write a number from 1 to {MAX_GROUPS}."),
        metadata=_about("Most groups in the answer."),
    )


class GroupSchema(Schema):
    """The dead events of one cause."""

    fingerprint = _text("Equal for errors of one cause; a value of the filter `group`.")
    kind = _text("What was to be done.")
    class_ = fields.String(
        data_key="class", allow_none=True, metadata=_about("What the error was taken for.")
    )
    error_type = _text("Class of the error.", null=True)
    cause = _text("What the errors have in common, with gaps where they differ.")
    sample = _text("What the outside system said to the newest of them.")
    sample_event_id = fields.Integer(metadata=_about("The newest of them."))
    count = fields.Integer(metadata=_about("How many of them there are."))
    count_capped = fields.Boolean(metadata=_about("There are that many or more."))
    share = fields.Float(metadata=_about("Part of all dead events that the answer is about, 0 to 1."))
    accounts = fields.Integer(metadata=_about("In how many accounts."))
    account = _text("In which one, where it is only one.", null=True)
    first_seen_at = _time("When the first of them died, as far as is known.", null=False)
    last_seen_at = _time("When the last of them died.", null=False)
    trend = fields.List(
        fields.Integer(),
        allow_none=True,
        metadata=_about(
            f"How many of them died in each of the last {HOURS} hours, the present one last; null where nobody has counted."
        ),
    )
    playbook = _text("How people fix it.", null=True)
    assignee = _text("Who sees to it.", null=True)
    assignment_due = _time("Until when.")


class GroupsSchema(Schema):
    """The causes of dead events, biggest first."""

    items = fields.List(fields.Nested(GroupSchema))
    count = fields.Integer(metadata=_about("How many groups there are."))
    total = fields.Integer(metadata=_about("How many dead events they have."))
    total_capped = fields.Boolean(metadata=_about("There are that many or more."))
    sampled_at = _time("When the oldest of these figures was counted; null where it was just now.")
    complete = fields.Boolean(metadata=_about("False where only the newest dead events were looked at."))


class AttemptSchema(Schema):
    """How one run of an event ended."""

    id = fields.Integer()
    event_id = fields.Integer()
    cycle = fields.Integer()
    number = fields.Integer()
    lease_epoch = fields.Integer()
    due_at = _time("When it was due.", null=False)
    started_at = _time("When it was started.", null=False)
    ended_at = _time("When it ended.", null=False)
    outcome = _text("done, failed, dead, lost, asked (its verifier was) or released.")
    error_type = _text("Class of the error.", null=True)
    error = _text("What the outside system said.", null=True)
    traceback = _text("Where in the handler.", null=True)
    verdict = _text("What the error was taken for.", null=True)
    fingerprint = _text("Equal for errors of one cause.", null=True)
    wait_seconds = fields.Float(allow_none=True, metadata=_about("Seconds until the next attempt."))
    worker = _text("Which worker ran it.", null=True)
    effect = _text("Whether the outside system applied the call: not_applied, applied, unknown.", null=True)
    reach = _text("Which scope the verdict is about: event, account, method, provider.", null=True)
    wait_source = _text("Where the wait was found.", null=True)
    rule = _text("Which rule decided; `none` where none matched.", null=True)
    rules_version = _text("Of which rule set.", null=True)
    answer = fields.Dict(
        allow_none=True,
        metadata=_about("What was said, redacted: status, code, content_type, excerpt, phase."),
    )


class NoteSchema(BodySchema):
    """Why something is done."""

    note = fields.String(allow_none=True, validate=validate.Length(max=NOTE_LIMIT), metadata=_about("Why."))


class PauseSchema(NoteSchema):
    """How an account is paused."""

    until = _time("Until when; until it is resumed without it.")


class ForceSchema(NoteSchema):
    """How a circuit is held."""

    seconds = fields.Float(
        allow_none=True,
        validate=validate.Range(
            0, LONGEST, min_inclusive=False, error=f"write a number greater than 0 and at most {LONGEST:g}."
        ),
        metadata=_about("For how long; until it is reset without it."),
    )


class AccountSchema(Schema):
    """One account: its work, and what keeps its door closed."""

    account = _text("Its name.")
    cause = _text("What keeps it closed: provider, circuit, pause, auth; null where it is open.", null=True)
    until = _time("Until when; null where it is open, or closed until somebody acts.")
    reason = _text("Why, in the words of whoever closed it.", null=True)
    max_running = fields.Integer(
        allow_none=True, metadata=_about("How many of its events may run at once, where that was set.")
    )
    due = fields.Integer(metadata=_about("Events that could run now if nothing stood in the way."))
    running = fields.Integer(metadata=_about("Events that run."))
    failed = fields.Integer(metadata=_about("Events that will be tried again."))
    dead = fields.Integer(metadata=_about("Events that need a person."))


class AccountsSchema(Schema):
    """Accounts by name."""

    items = fields.List(fields.Nested(AccountSchema))


class OverrideSchema(Schema):
    """A person's decision about a circuit."""

    position = _text("forced_open or forced_closed.")
    actor = _text("Who.")
    note = _text("Why.")
    at = _time("Since when.", null=False)
    until = _time("Until when; null until it is reset.")


class TransitionSchema(Schema):
    """One change of a circuit."""

    at = _time("When.", null=False)
    before = _text("Where it stood.")
    after = _text("Where it stands since.")
    why = _text("Why, in words.")
    by = _text("Which process or person brought it about.")


class BreakerWindowSchema(Schema):
    """What the window of a circuit holds."""

    calls = fields.Integer(metadata=_about("Calls in it."))
    failures = fields.Integer(metadata=_about("Those that failed."))
    slow = fields.Integer(metadata=_about("Those that were slow, failed or not."))
    last_calls = fields.Integer(
        allow_none=True, metadata=_about("It holds so many of the last calls at most; or")
    )
    last_seconds = fields.Float(allow_none=True, metadata=_about("those of so many seconds."))


class BreakerSchema(Schema):
    """One circuit."""

    scope = _text("account, method (one kind of an account), provider, or service (code behind a guard).")
    state = _text("closed, open or half_open, with a person's decision taken into account.")
    computed = _text("Where it stands by itself.")
    failures = fields.Integer(metadata=_about("Failures in a row, while closed."))
    last_failure = _text("Class of the last error that counted.")
    since = _time("When its state began.")
    open_until = _time("When an open one is due for a probe.")
    probes = fields.Integer(metadata=_about("Probes that are under way."))
    probe_successes = fields.Integer(metadata=_about("Probes that have succeeded since it is half-open."))
    reopened = fields.Integer(metadata=_about("Probes that have failed since it was last closed."))
    window = fields.Nested(
        BreakerWindowSchema, allow_none=True, metadata=_about("Null where failures in a row decide.")
    )
    settings = fields.Dict(
        keys=fields.String(),
        allow_none=True,
        metadata=_about("How it is set, times in seconds; null where only its program knows."),
    )
    override = fields.Nested(OverrideSchema, allow_none=True)
    history = fields.List(fields.Nested(TransitionSchema), metadata=_about("Newest first."))
    counts = fields.Dict(
        keys=fields.String(),
        values=fields.Integer(),
        allow_none=True,
        metadata=_about("Of a service: calls, successes, failures, ignored and short_circuits so far."),
    )
    degraded = fields.Boolean(metadata=_about("Of a service: its state is away or not read; older figures."))


class OldestSchema(Schema):
    """The call that has been inside for longest."""

    owner = _text("Which process.")
    since = _time("Since when.", null=False)


class BulkheadSchema(Schema):
    """How many calls of a service, or events of an account, are under way, and how many may be."""

    scope = _text("account or service.")
    max = fields.Integer(metadata=_about("How many may be at once; of an account its limit or fair share."))
    in_use = fields.Integer(metadata=_about("How many are."))
    available = fields.Integer(metadata=_about("How many more may begin."))
    waiting = fields.Integer(metadata=_about("Callers that wait for a slot; of an account its due events."))
    oldest = fields.Nested(OldestSchema, allow_none=True, metadata=_about("Of a service."))
    counts = fields.Dict(
        keys=fields.String(),
        values=fields.Integer(),
        allow_none=True,
        metadata=_about("Of a service: calls, rejected, timeouts and overran (outlived its lease) so far."),
    )
    degraded = fields.Boolean(metadata=_about("Of a service: its state is away or not read; older figures."))


class NodeSchema(Schema):
    """One call that may have had its effect."""

    key = _text("Of the call; by it, it is decided about.")
    node = _text("The node or guard whose effect happens once.")
    about = _text("By what people know the call; secrets are masked.")
    error = _text("Class of the error that left the doubt, or what became of its process.")
    by = _text("Which process made it.")
    since = _time("Since when.", null=False)


class NodesSchema(Schema):
    """Calls of unknown outcome."""

    items = fields.List(fields.Nested(NodeSchema))


class DecisionSchema(NoteSchema):
    """What somebody found out about a call of unknown outcome."""

    key = fields.String(required=True, metadata=_about("Of the call."))
    applied = fields.Boolean(
        required=True, metadata=_about("Whether the effect is there; if not, the call may be made again.")
    )
    node = _text("Its node, where calls of several nodes have the same key.", null=True)
    result = fields.Raw(
        allow_none=True,
        metadata=_about(
            "Any JSON: what the call is to give to whoever makes it again, where it was applied."
        ),
    )


class DecidedSchema(Schema):
    """What was decided about a call."""

    key = _text("Of the call.")
    node = _text("Its node.")
    about = _text("By what people know it.")
    outcome = _text("applied or not_applied.")


class AuditSchema(Schema):
    """What one person or program did."""

    id = fields.Integer()
    at = _time("When.", null=False)
    actor = _text("Who.")
    action = _text("What.")
    event_id = fields.Integer(allow_none=True)
    subject = _text("On what, where it was no event.", null=True)
    note = _text("Why.", null=True)
    before = _text("How it was.", null=True)
    after = _text("How it is since.", null=True)
    via = _text("By which door: console, api, cli, python; null for what the hub did by itself.", null=True)
    bulk_id = fields.Integer(allow_none=True, metadata=_about("Of an act upon many: its run."))
    filter = _text("What that run selected.", null=True)
    account = _text("Of which account.", null=True)


class WrittenNoteSchema(Schema):
    """What somebody wrote about an event."""

    id = fields.Integer()
    at = _time("When.", null=False)
    actor = _text("Who.")
    text = _text("What.")


class AssignSchema(BodySchema):
    """Who is to see to something."""

    to = fields.String(required=True, allow_none=True, metadata=_about("Name of a person; null for nobody."))
    due = _time("Until when.")


class TagsSchema(BodySchema):
    """The tags of an event, all of them."""

    tags = fields.List(
        fields.String(),
        required=True,
        metadata=_about("They replace the ones it has; each of at most 40 characters."),
    )


class WriteNoteSchema(BodySchema):
    """A note to be written."""

    text = fields.String(required=True, metadata=_about("Plain text of at most 4,000 characters."))


class NoteKeySchema(Schema):
    """Headers of a request that writes a note."""

    idempotency_key = fields.String(
        data_key="Idempotency-Key", metadata=_about("A repeat with the same key writes no second note.")
    )


class PlaybookSchema(BodySchema):
    """How a cause is fixed."""

    text = fields.String(
        required=True,
        allow_none=True,
        metadata=_about("Plain text of at most 4,000 characters; null for none."),
    )


class SnoozeSchema(BodySchema):
    """Until when a dead event is out of sight."""

    until = fields.AwareDateTime(
        required=True,
        format="iso",
        allow_none=True,
        error_messages=_TIME_MESSAGES,
        metadata=_about("A moment within a year; null brings it back now."),
    )


class GroupMarksSchema(Schema):
    """What people have put on a cause."""

    fingerprint = _text("Of the cause.")
    playbook = _text("How it is fixed.", null=True)
    playbook_by = _text("Who wrote that.", null=True)
    playbook_at = _time("When.")
    assignee = _text("Who sees to it.", null=True)
    assignment_due = _time("Until when that person is to see to it.")


class EventSchema(EventSummarySchema):
    """One event with everything; secret-looking fields of payload and result are masked."""

    payload = fields.Raw(allow_none=True)
    result = fields.Raw(allow_none=True)
    attempts = fields.List(fields.Nested(AttemptSchema), metadata=_about("Newest first."))
    audit = fields.List(fields.Nested(AuditSchema), metadata=_about("Newest first."))
    assignee = _text("Who sees to it.", null=True)
    assignment_due = _time("Until when that person is to see to it.")
    tags = fields.List(fields.String(), metadata=_about("In order."))
    snoozed_until = _time("Until when it is out of sight; null once that is over.")
    notes = fields.List(fields.Nested(WrittenNoteSchema), metadata=_about("Newest first."))


class ProblemSchema(Schema):
    """What went wrong (RFC 9457)."""

    type = _text("Which problem it is.")
    title = _text("Its name.")
    status = fields.Integer(metadata=_about("The HTTP status."))
    detail = _text("One sentence: what, and what to do.")
    event_status = _text("With 409: the state the event is in now.")
