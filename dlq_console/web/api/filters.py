"""Which events does a program ask for? The filter of its request, and that of a saved view where it names one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flask import abort

from dlq_console.store import views
from dlq_console.store.filters import EventFilter, FilterError
from dlq_console.store.hidden_fields import refuse_hidden
from dlq_console.store.people import Person
from dlq_console.web.hub import store

#: The parameter that names a saved view.
VIEW = "view"


def parameters_of(given: Any) -> dict[str, list[str]]:
    """The parameters that the body of a request writes as an object; anything else is answered with 400."""
    if not isinstance(given, Mapping):
        abort(400, "filter: write an object of parameters, or a query string.")
    parameters = {name: value if isinstance(value, list) else [value] for name, value in given.items()}
    for name, values in parameters.items():
        if not all(isinstance(one, str) for one in values):
            abort(400, f"filter.{name}: write text, or a list of texts.")
    return parameters


def read_filter(asking: Person, parameters: Mapping[str, Sequence[str] | str]) -> EventFilter:
    """The filter that parameters mean; what stands beside a view replaces the same of the view.

    Raises:
        FilterError: a value cannot mean anything, or would tell what is masked.
        ViewNotFound: there is no such view, or it is not for the program.
    """
    own = {name: [value] if isinstance(value, str) else [*value] for name, value in parameters.items()}
    numbers = [number for number in own.pop(VIEW, []) if number]
    if len(numbers) > 1 or not all(number.isascii() and number.isdecimal() for number in numbers):
        raise FilterError("view: write the id of one saved view.")
    if numbers:
        flt = views.with_filter(views.get(store(), int(numbers[0]), asking), own)
    else:
        flt = EventFilter.parse(own)
    refuse_hidden(store(), flt, asking)
    return flt
