"""Is a value of a configuration fit to be used? Said at construction, in one sentence."""

from __future__ import annotations

import math
import unicodedata
from typing import Any, TypeVar

from dlq_console.errors import ConfigurationError

#: Longest name of a breaker, a bulkhead, a queue or a node.
LONGEST_NAME = 200
#: The longest time that may be configured, in seconds: ten years. Stores and clocks cannot count much longer ones.
LONGEST_TIME = 10 * 365 * 86_400.0

#: Digits of a whole number that a sentence repeats.
_LONGEST_SHOWN = 30

Config = TypeVar("Config")


def name(value: Any, what: str) -> str:
    """A name: any text on one line, not empty.

    Raises:
        ConfigurationError: it is something else.
    """
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_NAME:
        raise ConfigurationError(
            f"The name of a {what} is text of 1 to {LONGEST_NAME} characters, not {value!r}."
        )
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in value):
        raise ConfigurationError(f"The name of a {what} stands on one line of text, unlike {value!r}.")
    return value


def number(
    value: Any, what: str, *, at_least: float = 0.0, above: float | None = None, at_most: float = math.inf
) -> None:
    """A finite number within bounds.

    Raises:
        ConfigurationError: it is something else.
    """
    if not is_number(value) or value < at_least or value > at_most or (above is not None and value <= above):
        raise ConfigurationError(f"{what} must be {_bounds(at_least, above, at_most)}, not {_shown(value)}.")


def is_number(value: Any) -> bool:
    """Whether it is a finite number that a float can hold."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def seconds(value: Any, what: str, *, at_least: float = 0.0, above: float | None = None) -> None:
    """A time, of ten years at most.

    Raises:
        ConfigurationError: it is something else.
    """
    number(value, what, at_least=at_least, above=above)
    if value > LONGEST_TIME:
        raise ConfigurationError(
            f"{what} must be ten years ({LONGEST_TIME:.0f} s) at most, not {_shown(value)}."
        )


def count(value: Any, what: str, *, at_least: int = 1) -> None:
    """A whole number.

    Raises:
        ConfigurationError: it is something else.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < at_least:
        raise ConfigurationError(
            f"{what} must be a whole number of at least {at_least}, not {_shown(value)}."
        )


def errors(value: Any, what: str) -> tuple[type[BaseException], ...]:
    """One class of error, or several, as a tuple.

    Raises:
        ConfigurationError: it is something else.
    """
    classes = value if isinstance(value, tuple) else (value,)
    for cls in classes:
        if not (isinstance(cls, type) and issubclass(cls, BaseException)):
            raise ConfigurationError(f"{what} must be an error class or a tuple of them, not {value!r}.")
    return classes


def config(value: Any, what: str, cls: type[Config]) -> Config:
    """A configuration of the class, or its default for None.

    Raises:
        ConfigurationError: it is something else.
    """
    if value is None:
        return cls()
    if not isinstance(value, cls):
        raise ConfigurationError(f"{what} must be a {cls.__name__}, not {value!r}.")
    return value


def function(value: Any, what: str) -> None:
    """Something that can be called.

    Raises:
        ConfigurationError: it is something else.
    """
    if not callable(value):
        raise ConfigurationError(f"{what} must be a function, not {value!r}.")


def _shown(value: Any) -> str:
    """A value as a sentence can hold it: a whole number may have more digits than can be written."""
    if isinstance(value, int) and abs(value) >= 10**_LONGEST_SHOWN:
        return "a number of so many digits"
    return repr(value)


def _bounds(at_least: float, above: float | None, at_most: float) -> str:
    low = f"a number above {above:g}" if above is not None else f"a number of at least {at_least:g}"
    return low if at_most == math.inf else f"{low} and at most {at_most:g}"
