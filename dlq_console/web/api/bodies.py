"""How is the body of a request read? As JSON of which no digit is lost: 12.50 stays 12.50."""

from __future__ import annotations

from typing import Any

from flask import Request, abort
from marshmallow import Schema
from webargs import missing
from webargs.flaskparser import FlaskParser, is_json_request

from dlq_console.errors import PayloadRefused
from dlq_console.store.canonical import decode_payload


class ExactParser(FlaskParser):
    """Reads arguments; a wrong one is answered with 400."""

    DEFAULT_VALIDATION_STATUS = 400

    def load_json(self, req: Request, schema: Schema) -> Any:
        """The body; nothing where there is none and nothing has to be in it."""
        data = req.get_data(cache=True)
        if not data:
            _refuse_if_needed(schema)
            return missing
        if not is_json_request(req):
            abort(415, "Send JSON with Content-Type: application/json.")
        try:
            return decode_payload(data.decode(), name="body")
        except UnicodeDecodeError:
            abort(400, "body: this is not UTF-8.")
        except PayloadRefused as refused:
            abort(400, refused.message)


def _refuse_if_needed(schema: Schema) -> None:
    needed = [name for name, field in schema.fields.items() if field.required]
    if needed:
        abort(400, f"body: it is empty; send a JSON object with {', '.join(needed)}.")
