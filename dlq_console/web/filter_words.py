"""Why is a filter not taken? In the language of whoever asks, with what its field is called on their page."""

from __future__ import annotations

from collections.abc import Mapping

from flask import request
from flask_babel import gettext, lazy_gettext, ngettext
from flask_babel.speaklater import LazyString

from dlq_console.store.filters import FIRST_YEAR, LAST_YEAR, PAYLOAD, FilterError
from dlq_console.web import display
from dlq_console.web.beside import columns_of, cut

Labels = Mapping[str, LazyString]

#: Characters of the way to a field that a sentence names.
MOST_NAMED = 80

#: What the fields of the lists are called.
OF_LISTS: Labels = {
    "kind": lazy_gettext("Kind"),
    "account": lazy_gettext("Account"),
    "group": lazy_gettext("Group"),
    "reason": lazy_gettext("Reason"),
    "class": lazy_gettext("Taken for"),
    "status": lazy_gettext("State"),
    "entity": lazy_gettext("Order or other number"),
    "q": lazy_gettext("Text of the error"),
    "since": lazy_gettext("When"),
    "from": lazy_gettext("From"),
    "to": lazy_gettext("Until (jump to a time)"),
    "assignee": lazy_gettext("Assigned to"),
    "tag": lazy_gettext("Tag"),
    "attempts": lazy_gettext("Attempts"),
    "snoozed": lazy_gettext("Snoozed"),
    "at": lazy_gettext("As it was at"),
    "sort": lazy_gettext("Order of the list"),
    "payload_path": lazy_gettext("Field of the payload"),
    "payload_value": lazy_gettext("Its value"),
}
#: Those of the audit.
OF_AUDIT: Labels = {
    "actor": lazy_gettext("Who"),
    "action": lazy_gettext("Act"),
    "event": lazy_gettext("Event id"),
    "account": lazy_gettext("Account"),
    "from": lazy_gettext("From"),
    "to": lazy_gettext("Until"),
}


def sentence(error: FilterError, labels: Labels = OF_LISTS, *, field: str = "") -> str:
    """The refusal as a sentence; empty where only the store has words for it.

    Args:
        error: what was refused.
        labels: what the fields of the page are called.
        field: the name of the field in which it was written, if it is not that of the filter.
    """
    match error.cause:
        case "unknown":
            return gettext(
                "There is no filter “%(name)s”. Nothing was done or shown, because without it more would match than was asked for.",
                name=error.facts["shown"],
            )
        case "half":
            return gettext("A field of the payload and its value belong together: fill in both, or neither.")
        case "view":
            return gettext("There is no such view any more, or it is not yours.")
        case "cursor":
            return gettext("This list has no such page; it begins at its start.")
    why = _why(error)
    return f"{_label(field or error.name, labels)}: {why}" if why else ""


def _label(name: str, labels: Labels) -> str:
    if not name.startswith(PAYLOAD):
        return str(labels.get(name, name))
    path, kinds = name.removeprefix(PAYLOAD), request.args.getlist("kind")
    columns = columns_of(kinds[0]) if len(kinds) == 1 else ()
    return next((column.label for column in columns if column.path == path), cut(path, MOST_NAMED))


def _why(error: FilterError) -> str:
    """What is wrong with the value of a field."""
    match error.cause:
        case "too_long":
            limit = display.current().number(int(str(error.facts["limit"])))
            return gettext("what was written is longer than %(limit)s characters; shorten it.", limit=limit)
        case "characters":
            return gettext("what was written holds a character that is not shown; remove it.")
        case "too_many":
            return ngettext(
                "it takes one value only.", "it takes at most %(num)d values.", int(str(error.facts["limit"]))
            )
        case "choice":
            return gettext("what was asked for is not among the choices; choose one of them.")
        case "attempts":
            return gettext("write one number, such as 3 for exactly three, or 3+ for at least three.")
        case "since":
            return gettext("write a number and m, h, d or w, such as 30m, 4h, 2d or 1w, up to ten years.")
        case "event":
            return gettext("write the number of an event.")
    return _why_no_time(error.cause) or _why_no_field(error)


def _why_no_time(cause: str) -> str:
    match cause:
        case "time":
            return gettext("this is no time; write a date and a time, such as 2026-03-01T08:00.")
        case "years":
            years = {"first": FIRST_YEAR, "last": LAST_YEAR}
            return gettext("write a time between the years %(first)s and %(last)s.", **years)
        case "order":
            return gettext("it must be earlier than the end of the period.")
    return ""


def _why_no_field(error: FilterError) -> str:
    """Why nothing can be asked of this field of the payload."""
    match error.cause:
        case "path":
            return gettext(
                "write up to ten names joined by dots, such as order.number or items.0.sku, without quotes."
            )
        case "secret":
            return gettext("this is a secret, which nobody can search for; name another field.")
        case "hidden":
            return gettext("this field is hidden, so only those who may reveal it can search for it.")
        case "too_many_fields":
            return gettext(
                "at most %(limit)s fields of the payload can be asked for.", limit=error.facts["limit"]
            )
    return ""
