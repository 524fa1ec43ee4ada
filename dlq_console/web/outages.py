"""What does somebody read who asks while the database is away? Not where it is: that stands in the log."""

from __future__ import annotations

from flask import current_app, request

from dlq_console.errors import StoreUnavailable


def told(error: StoreUnavailable) -> str:
    """The sentence for whoever asked, known or unknown; the whole one is written to the log."""
    current_app.logger.error("%s %s: %s", request.method, request.path, error.message)
    return error.for_everybody
