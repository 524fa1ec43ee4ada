"""Which fields do parked items of recovery queues have, and what a person decides about them?"""

from __future__ import annotations

from marshmallow import Schema, fields

from dlq_console.web.api.described import NoteSchema, about, count_field, text_field, time_field


class ParkedItemSchema(Schema):
    """One item that has failed too often."""

    id = text_field("Of the item; by it, it is decided about.")
    queue = text_field("The recovery queue that holds it.")
    item = fields.Raw(metadata=about("Any JSON: the item itself; secrets are masked."))
    error = text_field("Class of the error of its last attempt.")
    attempts = count_field("How often it was begun.")
    by = text_field("Which process tried it last.")
    since = time_field("Since when it is parked.", null=False)


class ParkedItemsSchema(Schema):
    """Parked items."""

    items = fields.List(fields.Nested(ParkedItemSchema))


class ParkedDecisionSchema(NoteSchema):
    """Which parked item is decided about."""

    id = fields.String(required=True, metadata=about("Of the item."))
    queue = text_field("Its queue, where several hold the same item.", null=True)


class ParkedDecidedSchema(Schema):
    """What became of a parked item."""

    id = text_field("Of the item.")
    queue = text_field("Its queue.")
    item = fields.Raw(metadata=about("Any JSON: the item itself; secrets are masked."))
    outcome = text_field("resumed or discarded.")
