"""Fields of requests and answers with the sentence that the description of the API tells of each."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, fields, validate

from dlq_console.hub.actions import NOTE_LIMIT

#: What the checking library would say in words of Python.
_NO_TIME = "write a time with its zone, such as 2026-03-01T08:00-03:00 or 2026-03-01T11:00Z."
TIME_MESSAGES: dict[str, Any] = dict.fromkeys(("invalid", "invalid_awareness", "format"), _NO_TIME)


def about(text: str) -> dict[str, str]:
    """The sentence itself, for a field that none of those below makes."""
    return {"description": text}


def text_field(text: str, *, null: bool = False) -> fields.String:
    """Text."""
    return fields.String(allow_none=null, metadata=about(text))


def time_field(text: str, *, null: bool = True) -> fields.Field[Any]:
    """A moment with its zone."""
    return fields.AwareDateTime(
        format="iso", allow_none=null, error_messages=TIME_MESSAGES, metadata=about(text)
    )


def count_field(text: str, *, null: bool = False) -> fields.Integer:
    """A whole number."""
    return fields.Integer(allow_none=null, metadata=about(text))


def number_field(text: str) -> fields.Float:
    """A number that may be missing."""
    return fields.Float(allow_none=True, metadata=about(text))


def flag_field(text: str) -> fields.Boolean:
    """Yes or no, or unknown."""
    return fields.Boolean(allow_none=True, metadata=about(text))


class BodySchema(Schema):
    """The body of a request."""

    error_messages = {"type": "send one JSON object, {...}."}  # noqa: RUF012 - the library declares it so


class NoteSchema(BodySchema):
    """Why something is done."""

    note = fields.String(allow_none=True, validate=validate.Length(max=NOTE_LIMIT), metadata=about("Why."))


class ProblemSchema(Schema):
    """What went wrong (RFC 9457)."""

    type = text_field("Which problem it is.")
    title = text_field("Its name.")
    status = fields.Integer(metadata=about("The HTTP status."))
    detail = text_field("One sentence: what, and what to do.")
    event_status = text_field("With 409: the state the event is in now.")
