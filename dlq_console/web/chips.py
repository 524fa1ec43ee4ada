"""How does a filter read, one chip for each of its values, and where is the list without it?"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from flask import g
from flask_babel import gettext, lazy_gettext
from flask_babel.speaklater import LazyString

from dlq_console.store import queries
from dlq_console.store.filters import NOBODY, PAYLOAD, EventFilter
from dlq_console.web import display, words
from dlq_console.web.auth import person
from dlq_console.web.beside import columns_of, cut
from dlq_console.web.hub import store

#: Values of one parameter that have a chip each.
MOST_CHIPS = 5
#: Characters of a cause that a chip shows, and of a fingerprint where the cause is not known yet.
_CAUSE_SHOWN, _GROUP_SHOWN = 60, 12

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
    "since": lazy_gettext("When"),
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
    """A chip for each value of the filter, or one for many of a kind; `address` is that of the list without any."""
    values: dict[str, list[str]] = {}
    for name, value in flt.query(sort=""):
        values.setdefault(name, []).append(value)
    return [chip for name, several in values.items() for chip in _chips(flt, address, name, several)]


def _chips(flt: EventFilter, address: str, name: str, values: list[str]) -> list[Chip]:
    shown = [_value(flt, name, value) for value in values]
    if len(values) > MOST_CHIPS:
        # Each chip names all other values in its address, which would make a page of many huge.
        few = f"{', '.join(shown[:MOST_CHIPS])} +{len(values) - MOST_CHIPS}"
        return [Chip(_name(flt, name), few, _without(flt, address, name, None))]
    return [
        Chip(_name(flt, name), text, _without(flt, address, name, value))
        for value, text in zip(values, shown, strict=True)
    ]


def in_words(flt: EventFilter) -> str:
    """The whole filter in one line: "Kind: order.create · Account: filial-sp"."""
    return " · ".join(f"{_name(flt, name)}: {_value(flt, name, value)}" for name, value in flt.query(sort=""))


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
        case "since":
            return words.last(flt.since_seconds or 0)
        case "assignee" if value == NOBODY:
            return gettext("nobody")
        case "snoozed":
            return gettext("only these") if value == "only" else gettext("hidden")
        case "group":
            return _cause(value)
    moment = {"from": flt.from_, "to": flt.to, "at": flt.at}.get(name)
    return shown.full(moment) if moment else value


def _cause(fingerprint: str) -> str:
    """What a group is about, in few words; read once for a page, which names its filter several times."""
    known: dict[str, str] = g.setdefault("causes", {})
    if fingerprint not in known:
        known[fingerprint] = queries.cause_of(store(), fingerprint, accounts=person().accounts)
    return cut(known[fingerprint], _CAUSE_SHOWN) if known[fingerprint] else cut(fingerprint, _GROUP_SHOWN)


def _without(flt: EventFilter, address: str, name: str, value: str | None) -> str:
    pairs = flt.without(name, value).query()
    return f"{address}?{urlencode(pairs)}" if pairs else address
