"""Which fields do requests and answers about alerts have?"""

from __future__ import annotations

from marshmallow import Schema, fields, validate

from dlq_console.hub.alerting import LONGEST_SNOOZE, NOTE_LIMIT
from dlq_console.store.queries import MAX_LIMIT
from dlq_console.web.api.described import BodySchema, about, text_field, time_field


class NoticesQuerySchema(Schema):
    """Which notices are meant."""

    state = fields.String(
        load_default="open",
        validate=validate.OneOf(("open", "closed"), error="write open or closed."),
        metadata=about("`open`, or `closed` for those that are over."),
    )
    cursor = text_field("`next_cursor` of another page of this list.")
    limit = fields.Integer(
        load_default=50,
        validate=validate.Range(1, MAX_LIMIT, error=f"write a number from 1 to {MAX_LIMIT}."),
        metadata=about("Most notices in the answer."),
    )


class AlertTrialSchema(Schema):
    """How one message fared."""

    told_at = time_field("When it was brought; null while it is on its way, or where it was given up.")
    is_over = fields.Boolean(metadata=about("Whether it was brought or given up."))
    error = text_field("Why not yet, or why not.", null=True)
    at = time_field("When it was put in.", null=False)
    noted = text_field("Who did not get it, where it was brought to some only.", null=True)


class DeliverySchema(AlertTrialSchema):
    """The last message of a notice to one channel."""

    channel = text_field("Its name.")


class NoticeSchema(Schema):
    """What a rule has found, from when to when."""

    id = fields.Integer(metadata=about("Its own."))
    rule = text_field("Name of its rule.")
    when = text_field("What the rule looks at; null where that is not known any more.", null=True)
    level = text_field("page: must be seen at once; ticket: can wait.")
    subject = text_field("What it is about, unique within the rule.")
    account = text_field("Whose it is; null where it is nobody's.", null=True)
    value = fields.Float(allow_none=True, metadata=about("The figure, in the unit of the rule."))
    unit = text_field("events, seconds, minutes, percent, circuits, openings, lanes or accounts.", null=True)
    found = fields.Dict(keys=fields.String(), metadata=about("Further figures, such as kind, until, reason."))
    sentence = text_field("The same in one English sentence.")
    path = text_field("The page of the console that shows it, with its filter.", null=True)
    opened_at = time_field("When it began.", null=False)
    seen_at = time_field("When it was found last.", null=False)
    closed_at = time_field("When it was over; null while it stands.")
    told = fields.Integer(metadata=about("How often it was told; the closing is not counted."))
    told_at = time_field("When it was told last.")
    snoozed_until = time_field("Until when nobody is told of its rule.")
    deliveries = fields.List(
        fields.Nested(DeliverySchema),
        metadata=about("Empty where nobody was told, or where one message told of many notices."),
    )


class NoticesSchema(Schema):
    """One page of notices."""

    items = fields.List(fields.Nested(NoticeSchema))
    next_cursor = text_field("Where the next page begins; null: this is the last one.", null=True)


class StandingSnoozeSchema(Schema):
    """Nobody is told of a rule until then."""

    until = time_field("Until when.", null=False)
    actor = text_field("Who said so.")
    note = text_field("Why.")
    at = time_field("When it was said.", null=False)


class AlertRuleSchema(Schema):
    """One rule in force. It is changed in the file that DLQ_ALERTS names."""

    name = text_field("By which it is snoozed.")
    when = text_field("What it looks at.")
    over = fields.Float(metadata=about("Found where the figure is larger than this."))
    unit = text_field("events, seconds, minutes, percent, circuits, openings, lanes or accounts.")
    for_minutes = fields.Float(metadata=about("How long it must be found before anybody is told."))
    account = text_field("Of which account; * for each of them.")
    kind = text_field("Of which kind; * for all together.")
    repeat_hours = fields.Float(metadata=about("An open notice is told again no sooner; 0: never."))
    at_least = fields.Float(metadata=about("Of a rate: so many events must stand behind it."))
    to = fields.List(fields.String(), metadata=about("Names of channels."))
    level = text_field("page: must be seen at once; ticket: can wait.")
    snooze = fields.Nested(
        StandingSnoozeSchema, allow_none=True, metadata=about("The snooze that stands; null: none.")
    )


class AlertRulesSchema(Schema):
    """The rules in force."""

    items = fields.List(fields.Nested(AlertRuleSchema))
    source = text_field("The file, or built-in; null while nobody has looked yet.", null=True)
    looked_at = time_field("When they were looked at last; null: never.")
    wrong = text_field("Why no rule is looked at; null where they are.", null=True)


class AlertSnoozeSchema(BodySchema):
    """Until when nobody is told, and why."""

    until = fields.AwareDateTime(
        format="iso",
        required=True,
        error_messages={
            "invalid": "write a time with a zone, such as 2026-03-01T08:00:00-03:00.",
            "invalid_awareness": "write a time with a zone, such as 2026-03-01T08:00:00-03:00.",
        },
        metadata=about(f"Ahead of now, {LONGEST_SNOOZE // 24} days at most; ISO 8601 with a zone."),
    )
    note = fields.String(
        required=True,
        validate=validate.Length(max=NOTE_LIMIT, error=f"write at most {NOTE_LIMIT} characters."),
        metadata=about("Why, so that the others know."),
    )


class AlertChannelSchema(Schema):
    """One channel."""

    name = text_field("Its own.")
    where = text_field(
        "Where it leads, without what may be secret; null for who sees some accounts only.", null=True
    )
    last_test = fields.Nested(
        AlertTrialSchema,
        allow_none=True,
        metadata=about("How the last trial message fared; null: never tried."),
    )


class AlertChannelsSchema(Schema):
    """The channels that are configured."""

    items = fields.List(fields.Nested(AlertChannelSchema))
    wrong = text_field("Why they are those of before, or none; null where they are known.", null=True)


class AlertTestSchema(BodySchema):
    """Which channel is tried."""

    channel = fields.String(metadata=about("Its name; without it every channel."))


class AlertTestedSchema(Schema):
    """What is on its way."""

    channels = fields.List(fields.String(), metadata=about("Those that get a trial message."))
