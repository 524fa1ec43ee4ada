"""How does a filter read, one chip for each of its values, and where is the list without it?"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from flask_babel import gettext, lazy_gettext
from flask_babel.speaklater import LazyString

from dlq_console.store.filters import NOBODY, PAYLOAD, EventFilter
from dlq_console.web import display, words
from dlq_console.web.beside import columns_of

#: Characters of a fingerprint that a chip shows.
_GROUP_SHOWN = 11

#: What the parameters of the filter are called. The order of the list is seen in its table.
_NAMES: dict[str, LazyString] = {
    "kind": lazy_gettext("Kind"),
    "account": lazy_gettext("Account"),
    "group": lazy_gettext("Group"),
    "reason": lazy_gettext("Reason"),
    "class": lazy_gettext("Taken for"),
    "status": lazy_gettext("State"),
    "entity": lazy_gettext("Number"),
    "q": lazy_gettext("Error"),
    "since": lazy_gettext("Since"),
    "from": lazy_gettext("From"),
    "to": lazy_gettext("Until"),
    "assignee": lazy_gettext("Assigned to"),
    "tag": lazy_gettext("Tag"),
    "attempts": lazy_gettext("Attempts"),
    "snoozed": lazy_gettext("Snoozed"),
    "at": lazy_gettext("As it was at"),
}


@dataclass(frozen=True, slots=True)
class Chip:
    """One value of the filter, and where the list without it is."""

    name: str
    value: str
    address: str


def chips(flt: EventFilter, address: str) -> list[Chip]:
    """A chip for each value of the filter; `address` is that of the list without any."""
    return [
        Chip(_name(flt, name), _value(flt, name, value), _without(flt, address, name, value))
        for name, value in flt.query(sort="")
    ]


def in_words(flt: EventFilter) -> str:
    """The whole filter in one line: "Kind: order.create · Account: filial-sp"."""
    return " · ".join(f"{chip.name}: {chip.value}" for chip in chips(flt, ""))


def _name(flt: EventFilter, name: str) -> str:
    if not name.startswith(PAYLOAD):
        return str(_NAMES.get(name, name))
    path = name.removeprefix(PAYLOAD)
    labels = {column.path: column.label for kind in flt.kind for column in columns_of(kind)}
    return labels.get(path, path)


def _value(flt: EventFilter, name: str, value: str) -> str:
    shown = display.current()
    match name:
        case "reason":
            return shown.reason(value)
        case "status":
            return shown.status(value).word
        case "class":
            return words.class_word(value)
        case "assignee" if value == NOBODY:
            return gettext("nobody")
        case "snoozed":
            return gettext("only these") if value == "only" else gettext("hidden")
        case "group" if len(value) > _GROUP_SHOWN:
            return value[:_GROUP_SHOWN] + "…"
    moment = {"from": flt.from_, "to": flt.to, "at": flt.at}.get(name)
    return shown.full(moment) if moment else value


def _without(flt: EventFilter, address: str, name: str, value: str) -> str:
    pairs = flt.without(name, value).query()
    return f"{address}?{urlencode(pairs)}" if pairs else address
