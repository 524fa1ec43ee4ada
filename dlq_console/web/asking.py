"""What does the address of a list ask for? The filter of the API, and what only forms of the console write."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime

from flask import request
from werkzeug.datastructures import MultiDict

from dlq_console.store import views
from dlq_console.store.filters import PARAMETERS, PAYLOAD, EventFilter, FilterError, refuse_unknown
from dlq_console.store.hidden_fields import refuse_hidden
from dlq_console.store.views import View, ViewNotFound
from dlq_console.web import display
from dlq_console.web.auth import person
from dlq_console.web.hub import store

#: The two fields of the form that ask for a field of the payload by its path.
PATH_FIELD, VALUE_FIELD = "payload_path", "payload_value"
#: The lists, as addresses and saved views call them.
DEAD_LETTERS, EVENTS = "dead-letters", "events"

#: What the address of a list holds beside its filter.
_BESIDE = frozenset({"view", "cursor"})

#: A time as a field of a browser writes it: of the person's own zone.
_LOCAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?")
_NUMBER = re.compile(r"[0-9]{1,18}")
_TIMES = ("from", "to", "at")

Parameters = MultiDict[str, str]


def asked(
    parameters: MultiDict[str, str] | None = None, *, beside: AbstractSet[str] = frozenset()
) -> EventFilter:
    """The filter that the parameters of this request ask for, or others in its place.

    Args:
        parameters: those to read, where they are not those of the address.
        beside: names that are no filter and may be among them, in addition to those of every list.

    Raises:
        FilterError: a value cannot mean anything, or a parameter does not.
    """
    values = _as_the_api_has_them(request.args if parameters is None else parameters)
    refuse_unknown(values, PARAMETERS, beside=_BESIDE | beside)
    view = values.pop("view", "")
    flt = views.with_filter(_view(view), values.to_dict(flat=False)) if view else EventFilter.parse(values)
    refuse_hidden(store(), flt, person())
    return flt


def for_page(page: str, flt: EventFilter) -> EventFilter:
    """What a page shows of a filter: the dead letters leave out those that somebody has put aside for later."""
    return replace(flt, snoozed="hide") if page == DEAD_LETTERS and not flt.snoozed else flt


def local_time(moment: datetime | None) -> str:
    """A time as a field of a browser takes it, in the person's zone; empty for none."""
    return "" if moment is None else f"{moment.astimezone(display.current().zone):%Y-%m-%dT%H:%M}"


def _view(number: str) -> View:
    try:
        return views.get(store(), int(number) if _NUMBER.fullmatch(number) else 0, person())
    except ViewNotFound:
        message = "view: there is no such view, or it is not yours; leave it out."
        raise FilterError(message, name="view", cause="view") from None


def _as_the_api_has_them(given: MultiDict[str, str]) -> Parameters:
    parameters: Parameters = MultiDict(given)
    for name in _TIMES:
        parameters.setlist(name, [_with_zone(value) for value in parameters.getlist(name)])
    path, value = parameters.pop(PATH_FIELD, "").strip(), parameters.pop(VALUE_FIELD, "")
    if bool(path) != bool(value):
        # Left out, more would match than is meant.
        message = "payload: a field and its value belong together; fill in both, or neither."
        raise FilterError(message, name=PATH_FIELD if value else VALUE_FIELD, cause="half")
    if path:
        parameters[f"{PAYLOAD}{path}"] = value
    return parameters


def _with_zone(value: str) -> str:
    """A time without a zone is one of the person's own."""
    if not _LOCAL.fullmatch(value):
        return value
    try:
        moment = datetime.fromisoformat(value).replace(tzinfo=display.current().zone)
    except ValueError:  # such as the 31st of a short month; the filter refuses it
        return value
    return moment.isoformat()
