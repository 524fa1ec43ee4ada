"""Which fields do requests for error groups, and their answers, have?"""

from __future__ import annotations

from marshmallow import Schema, fields, validate

from dlq_console.store.queries import HOURS, MAX_GROUPS
from dlq_console.web.api.described import about, text_field, time_field
from dlq_console.web.api.schemas import FilterSchema


class GroupsQuerySchema(FilterSchema):
    """Of which dead events, and how many groups."""

    limit = fields.Integer(
        load_default=MAX_GROUPS,
        validate=validate.Range(1, MAX_GROUPS, error=f"write a number from 1 to {MAX_GROUPS}."),
        metadata=about("Most groups in the answer."),
    )


class GroupSchema(Schema):
    """The dead events of one cause."""

    fingerprint = text_field("Equal for errors of one cause; a value of the filter `group`.")
    kind = text_field("What was to be done.")
    class_ = fields.String(data_key="class", allow_none=True, metadata=about("What the error was taken for."))
    error_type = text_field("Class of the error.", null=True)
    cause = text_field("What the errors have in common, with gaps where they differ.")
    sample = text_field("What the outside system said to the one that died last.")
    sample_event_id = fields.Integer(metadata=about("The one that died last."))
    count = fields.Integer(metadata=about("How many of them there are."))
    count_capped = fields.Boolean(metadata=about("There are that many or more."))
    share = fields.Float(metadata=about("Part of all dead events that the answer is about, 0 to 1."))
    accounts = fields.Integer(metadata=about("In how many accounts."))
    account = text_field("In which one, where it is only one.", null=True)
    first_seen_at = time_field("When the first of them died, as far as is known.", null=False)
    last_seen_at = time_field("When the last of them died.", null=False)
    trend = fields.List(
        fields.Integer(),
        allow_none=True,
        metadata=about(
            f"How many of them died in each of the last {HOURS} hours, the present one last; null where nobody has counted."
        ),
    )
    playbook = text_field("How people fix it.", null=True)
    assignee = text_field("Who sees to it.", null=True)
    assignment_due = time_field("Until when.")


class GroupsSchema(Schema):
    """The causes of dead events, biggest first."""

    items = fields.List(fields.Nested(GroupSchema))
    count = fields.Integer(metadata=about("How many groups there are."))
    total = fields.Integer(metadata=about("How many dead events they have."))
    total_capped = fields.Boolean(metadata=about("There are that many or more."))
    sampled_at = time_field("When the oldest of these figures was counted; null where it was just now.")
    complete = fields.Boolean(metadata=about("False where only the newest dead events were looked at."))
