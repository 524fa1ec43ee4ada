"""Which fields does what people put on events and groups have: who sees to it, tags, notes, a playbook, a snooze?"""

from __future__ import annotations

from marshmallow import Schema, fields

from dlq_console.web.api.described import TIME_MESSAGES, BodySchema, about, text_field, time_field


class WrittenNoteSchema(Schema):
    """What somebody wrote about an event."""

    id = fields.Integer()
    at = time_field("When.", null=False)
    actor = text_field("Who.")
    text = text_field("What.")


class AssignSchema(BodySchema):
    """Who is to see to something."""

    to = fields.String(required=True, allow_none=True, metadata=about("Name of a person; null for nobody."))
    due = time_field("Until when.")


class TagsSchema(BodySchema):
    """The tags of an event, all of them."""

    tags = fields.List(
        fields.String(),
        required=True,
        metadata=about("They replace the ones it has; each of at most 40 characters."),
    )


class WriteNoteSchema(BodySchema):
    """A note to be written."""

    text = fields.String(required=True, metadata=about("Plain text of at most 4,000 characters."))


class NoteKeySchema(Schema):
    """Headers of a request that writes a note."""

    idempotency_key = fields.String(
        data_key="Idempotency-Key", metadata=about("A repeat with the same key writes no second note.")
    )


class PlaybookSchema(BodySchema):
    """How a cause is fixed."""

    text = fields.String(
        required=True,
        allow_none=True,
        metadata=about("Plain text of at most 4,000 characters; null for none."),
    )


class SnoozeSchema(BodySchema):
    """Until when a dead event is out of sight."""

    until = fields.AwareDateTime(
        required=True,
        format="iso",
        allow_none=True,
        error_messages=TIME_MESSAGES,
        metadata=about("A moment within a year; null brings it back now."),
    )


class GroupMarksSchema(Schema):
    """What people have put on a cause."""

    fingerprint = text_field("Of the cause.")
    playbook = text_field("How it is fixed.", null=True)
    playbook_by = text_field("Who wrote that.", null=True)
    playbook_at = time_field("When.")
    assignee = text_field("Who sees to it.", null=True)
    assignment_due = time_field("Until when that person is to see to it.")
