"""What do the fields of the sheet "+ filter" hold and offer?"""

from __future__ import annotations

from typing import Any

from flask_babel import gettext

from dlq_console.store.filters import NOBODY, PAYLOAD, VERDICTS, EventFilter, seconds_of
from dlq_console.web import words
from dlq_console.web.asking import DEAD_LETTERS, PATH_FIELD, VALUE_FIELD, local_time
from dlq_console.web.auth import person
from dlq_console.web.beside import Column
from dlq_console.web.hub import hub
from dlq_console.web.lists import Choices
from dlq_console.web.refused_filter import wrong_field

#: Parameters that always have a field there.
NAMES = frozenset({"class", "assignee", "attempts", "since", "from", "to", "snoozed"})

#: Fields of payloads that are offered.
MOST_KNOWN = 40
#: Spans of time to choose from.
_SPANS = ("1h", "4h", "1d", "2d", "7d", "30d")


def fields(page: str, flt: EventFilter, columns: tuple[Column, ...]) -> dict[str, Any]:
    """The fields of the sheet.

    Args:
        page: which list.
        flt: its filter.
        columns: fields of the payload that the kind of the list names.
    """
    asked_for = dict(flt.payload)
    paths = [f"{PAYLOAD}{column.path}" for column in columns]
    return {
        "classes": [(name, words.class_word(name)) for name in VERDICTS],
        "assignees": _assignees(flt.assignee),
        "tag": flt.tag[0] if len(flt.tag) == 1 else "",
        "spans": _spans(flt.since),
        "snoozed": _snoozed(page),
        "from": local_time(flt.from_),
        "to": local_time(flt.to),
        "columns": [
            (path, column.label, asked_for.get(column.path, ""))
            for path, column in zip(paths, columns, strict=True)
        ],
        "known": _known(columns),
        "number": sum(_is_here(name) for name, _ in flt.query()),
        "is_wrong": any(map(wrong_field, [*NAMES, "tag", PATH_FIELD, VALUE_FIELD, *paths])),
    }


def _known(columns: tuple[Column, ...]) -> Choices:
    """The fields that any kind names and that have no field of their own here, with what they are called."""
    has_field = {column.path for column in columns}
    labels: dict[str, dict[str, None]] = {}
    for kind in hub().known_kinds().values():
        for label, path in kind.policy.get("columns", {}).items():
            labels.setdefault(path, {})[label] = None
    return [(path, ", ".join(labels[path])) for path in sorted(labels.keys() - has_field)[:MOST_KNOWN]]


def _is_here(parameter: str) -> bool:
    return parameter in NAMES or parameter == "tag" or parameter.startswith(PAYLOAD)


def _assignees(chosen: str) -> Choices:
    me = person().name
    choices = [("", gettext("Anybody")), (me, gettext("Me (%(name)s)", name=me)), (NOBODY, gettext("Nobody"))]
    return choices if chosen in ("", me, NOBODY) else [*choices, (chosen, chosen)]


def _spans(chosen: str) -> Choices:
    spans = [*_SPANS, *([chosen] if chosen and chosen not in _SPANS else [])]
    return [("", gettext("Any time")), *((span, words.last(seconds_of(span))) for span in spans)]


def _snoozed(page: str) -> Choices:
    only = ("only", gettext("Only these"))
    if page == DEAD_LETTERS:
        return [("", gettext("Hidden")), only]
    return [("", gettext("Shown")), ("hide", gettext("Hidden")), only]
