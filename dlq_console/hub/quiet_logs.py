"""How does a client of others write its log without the address that it was given? Addresses of channels hold tokens."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import unquote

from dlq_console.redact import MASK

#: Those that write addresses, or parts of them.
_LOGGERS = ("apprise", "urllib3.connectionpool")
_PARTS = re.compile(r"[^\w.-]+")
#: Shorter parts are no secrets, and masking them would leave nothing of a line.
_SHORTEST = 4

_hidden: ContextVar[frozenset[str]] = ContextVar("hidden", default=frozenset())


class _Filter(logging.Filter):
    """Leaves others' records as they are, and of ours the warnings, masked."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written."""
        hidden = _hidden.get()
        if not hidden:
            return True
        text = record.getMessage()
        for part in sorted(hidden, key=len, reverse=True):
            text = text.replace(part, MASK)
        record.msg, record.args = text, None
        return record.levelno >= logging.WARNING


#: One for all, so that no logger gets it twice.
_FILTER = _Filter()


@contextmanager
def without(address: str) -> Iterator[None]:
    """Inside the block no part of `address` but its scheme comes into the logs of these clients."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)
    rest = address.partition("://")[2]
    parts = {part for text in (rest, unquote(rest)) for part in _PARTS.split(text) if len(part) >= _SHORTEST}
    token = _hidden.set(frozenset({*parts, address}))
    try:
        yield
    finally:
        _hidden.reset(token)
