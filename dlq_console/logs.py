"""How are log lines written? Redacted, because what another system said may stand in any of them."""

from __future__ import annotations

import logging

from dlq_console.redact import redact_text


class RedactingFormatter(logging.Formatter):
    """Writes a record as its parent does, traceback included, without secrets and personal numbers."""

    def format(self, record: logging.LogRecord) -> str:
        """The whole text of one record."""
        return redact_text(super().format(record))


def redacting_handler(layout: str) -> logging.Handler:
    """A handler that writes redacted lines in this layout to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(RedactingFormatter(layout))
    return handler
