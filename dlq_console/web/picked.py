"""What does the browser keep of a selection of single rows? Its ids, under a name for the list and the filter they are of.

The script keeps them in the tab until what was to be done with them has been done, which the page after that tells it.
"""

from __future__ import annotations

from hashlib import blake2s
from urllib.parse import urlencode

from flask import flash, get_flashed_messages

from dlq_console.store.filters import EventFilter

#: Under which name a selection that is done with is carried to the next page.
_OVER = "picked over"


def key_of(page: str, flt: EventFilter) -> str:
    """The name of a selection: the same on every page and in either order of the list, another one for each filter."""
    return blake2s(f"{page}?{urlencode(flt.query(sort=''))}".encode(), digest_size=12).hexdigest()


def is_over(page: str, flt: EventFilter) -> None:
    """What was selected there has been dealt with; the next page says so to the script."""
    flash(key_of(page, flt), _OVER)


def over() -> str:
    """The name of the selection that was dealt with right before this page; empty for none."""
    told = get_flashed_messages(category_filter=[_OVER])
    return str(told[-1]) if told else ""
