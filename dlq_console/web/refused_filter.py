"""A filter that was not taken can be put right where it was written: which field is wrong and why, and what is the rest?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from flask import g, request
from flask_babel import gettext
from werkzeug.datastructures import MultiDict

from dlq_console.store.filters import PAYLOAD, EventFilter, FilterError
from dlq_console.web.asking import PATH_FIELD, VALUE_FIELD, Parameters
from dlq_console.web.beside import cut
from dlq_console.web.filter_words import OF_LISTS, Labels, sentence

#: Fields that are told together, and characters of what was written that are given back.
MOST_WRONG, MOST_TYPED = 10, 1_000
#: What is wrong with the value that a field of the payload is to have, and not with its path.
_OF_VALUES = frozenset({"too_long", "characters", "too_many"})

Filter = TypeVar("Filter")


@dataclass(frozen=True, slots=True)
class Wrong:
    """A field that was not taken: what was written there, what is said about it, and the id of that sentence."""

    typed: str
    sentence: str
    id: str

    @property
    def is_moment(self) -> bool:
        """Whether a field for times can show what was written."""
        try:
            return datetime.fromisoformat(self.typed).tzinfo is None and "T" in self.typed
        except ValueError:
            return False


def rest_of(error: FilterError, read: Callable[[Parameters], Filter], labels: Labels = OF_LISTS) -> Filter:
    """The filter of this address without what is wrong in it; the fields of its form say what that is.

    Args:
        error: what was refused first.
        read: reads the filter.
        labels: what the fields are called on the page.

    Raises:
        FilterError: it cannot be taken apart.
    """
    values: Parameters = MultiDict(request.args)
    g.wrong_fields = {}
    for number in range(1, MOST_WRONG + 1):
        taken_out = _taken_out(error, values)
        field = next(iter(taken_out), "")
        told = sentence(error, labels, field=field)
        if not told or not field:
            break
        for name, typed in taken_out.items():
            # What is given back along with it is not wrong itself.
            why = told if name == field else ""
            g.wrong_fields[name] = Wrong(cut(typed, MOST_TYPED), why, f"wrong-{number}")
        try:
            return read(values)
        except FilterError as another:
            error = another
    g.wrong_fields = {}
    raise error


def field_of(error: FilterError) -> str:
    """The name of the field in the form of this request that was not taken; empty where it has none."""
    name = next(iter(_taken_out(error, MultiDict(request.args))), "")
    return name if len(name) <= MOST_TYPED else ""


def wrong_field(name: str) -> Wrong | None:
    """What is wrong with a field of the filter on this page; None for nothing."""
    found: Wrong | None = g.get("wrong_fields", {}).get(name)
    return found


def wrong_fields() -> list[Wrong]:
    """Everything that is wrong with the filter of this page."""
    return [one for one in g.get("wrong_fields", {}).values() if one.sentence]


def answer() -> str:
    """What stands in the place of the answer to a filter that was not taken."""
    return gettext("Nothing was looked for, because the filter cannot be understood.")


def _taken_out(error: FilterError, values: Parameters) -> dict[str, str]:
    """The field that is wrong, with what was written there, which `values` have no more; then what belongs to it."""
    if error.name in (PATH_FIELD, VALUE_FIELD) or (
        error.name.startswith(PAYLOAD) and error.name not in values and PATH_FIELD in values
    ):
        return _pair_taken_out(error, values)
    given = [value for value in values.poplist(error.name) if value]
    right = [value for value in given if _is_right(error.name, value)] if len(given) > 1 else []
    if error.cause != "too_many":
        values.setlist(error.name, right)
        given = [value for value in given if value not in right]
    return {error.name: given[0]} if given else {}


def _pair_taken_out(error: FilterError, values: Parameters) -> dict[str, str]:
    """The same where a field of the payload was named by its path: path and value are two fields that belong together."""
    path, value = values.pop(PATH_FIELD, ""), values.pop(VALUE_FIELD, "")
    if error.name == VALUE_FIELD or (error.name != PATH_FIELD and error.cause in _OF_VALUES):
        return {VALUE_FIELD: value, PATH_FIELD: path}
    return {PATH_FIELD: path, VALUE_FIELD: value}


def _is_right(name: str, value: str) -> bool:
    try:
        EventFilter.parse({name: value})
    except FilterError:
        return False
    return True
