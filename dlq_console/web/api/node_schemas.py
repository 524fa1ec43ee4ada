"""Which fields do calls that have their effect once have, and what a person decides about them?"""

from __future__ import annotations

from marshmallow import Schema, fields

from dlq_console.web.api.described import NoteSchema, about, text_field, time_field


class NodeSchema(Schema):
    """One call that may have had its effect."""

    key = text_field("Of the call; by it, it is decided about.")
    node = text_field("The node or guard whose effect happens once.")
    about = text_field("By what people know the call; secrets are masked.")
    error = text_field("Class of the error that left the doubt, or what became of its process.")
    by = text_field("Which process made it.")
    since = time_field("Since when.", null=False)
    doubt = text_field("Tells this doubt from a later one about the same call.")


class NodesSchema(Schema):
    """Calls of unknown outcome."""

    items = fields.List(fields.Nested(NodeSchema))


class DecisionSchema(NoteSchema):
    """What somebody found out about a call of unknown outcome."""

    key = fields.String(required=True, metadata=about("Of the call."))
    applied = fields.Boolean(
        required=True, metadata=about("Whether the effect is there; if not, the call may be made again.")
    )
    node = text_field("Its node, where calls of several nodes have the same key.", null=True)
    doubt = text_field(
        "As the list showed it: refused where the call was made again since. Without it, the doubt that stands now.",
        null=True,
    )
    result = fields.Raw(
        allow_none=True,
        metadata=about("Any JSON: what the call is to give to whoever makes it again, where it was applied."),
    )


class DecidedSchema(Schema):
    """What was decided about a call."""

    key = text_field("Of the call.")
    node = text_field("Its node.")
    about = text_field("By what people know it.")
    outcome = text_field("applied or not_applied.")
