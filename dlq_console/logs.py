"""How are log lines written? Redacted, because what another system said may stand in any of them."""

from __future__ import annotations

import logging
import re

from dlq_console.redact import MASK, redact_text

#: The tokens of status frames and badges: whoever has such an address may look.
_TOKEN_ADDRESS = re.compile(r"(/(?:embed|badge)/)[^\s/?#\"'<>]+")


def mask_addresses(text: str) -> str:
    """`text` without the tokens in the addresses of status frames."""
    return _TOKEN_ADDRESS.sub(rf"\1{MASK}", text)


class AddressFilter(logging.Filter):
    """Takes the tokens of status frames out of records of loggers whose form is not ours to choose."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the record, masked."""
        text = record.getMessage()
        masked = mask_addresses(text)
        if masked != text:
            record.msg, record.args = masked, None
        return True


#: One for all, so that no logger gets it twice.
ADDRESS_FILTER = AddressFilter()


class RedactingFormatter(logging.Formatter):
    """Writes a record as its parent does, traceback included, without secrets and personal numbers."""

    def format(self, record: logging.LogRecord) -> str:
        """The whole text of one record."""
        return redact_text(mask_addresses(super().format(record)))


def redacting_handler(layout: str) -> logging.Handler:
    """A handler that writes redacted lines in this layout to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(RedactingFormatter(layout))
    return handler
