"""How long does a service ask to be left alone? Read from an error, whatever client raised it; nonsense is no hint."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from dlq_console.clock import utc_now
from dlq_console.resilience.checks import is_number

_DIGITS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?", re.ASCII)


def retry_after_of(error: BaseException) -> float | None:
    """Seconds from the error's `retry_after`, or from the Retry-After header of the response it carries.

    A hint that is negative, not finite, in the past or no number at all is none; so is one that cannot be read.
    """
    try:
        return parse_retry_after(_hint_of(error))
    except Exception:  # noqa: BLE001 - properties of a client's error may raise; the caller gets the error itself
        return None


def _hint_of(error: BaseException) -> Any:
    hint = getattr(error, "retry_after", None)
    if hint is None:
        headers = getattr(getattr(error, "response", None), "headers", None)
        if isinstance(headers, Mapping):
            hint = headers.get("Retry-After") or headers.get("retry-after")
    return hint


def parse_retry_after(hint: Any, now: datetime | None = None) -> float | None:
    """Seconds from a number, its text, or an HTTP date; None for anything else."""
    if isinstance(hint, (int, float)) and not isinstance(hint, bool):
        return float(hint) if is_number(hint) and hint > 0 else None
    if not isinstance(hint, str):
        return None
    text = hint.strip()
    if _DIGITS.fullmatch(text):
        return float(text) or None
    return _until(text, now or utc_now())


def _until(text: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(text)
        left = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now
    except (ValueError, OverflowError, TypeError):
        return None
    return left.total_seconds() if left.total_seconds() > 0 else None
