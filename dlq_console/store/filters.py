"""Which events does a person want to see? One filter, read from a query string, for tables, counts, API and commands.

A value nobody has (a kind that does not exist) is a filter that matches nothing. A value that cannot mean anything (a
status that is no status, a time that is no time) is a `FilterError` that names the parameter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Protocol, Self
from unicodedata import category, normalize

from dlq_console.errors import DLQError
from dlq_console.store.states import Reason, Status

#: Times outside of these years may be beyond what can be shown in another zone.
FIRST_YEAR, LAST_YEAR = 1970, 9998
#: Characters of one value.
MAX_LENGTH = 200
#: How often one parameter may be repeated.
MAX_REPEATS = 20
#: Seconds of each unit of `since`.
UNITS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
#: Ten years: anything longer is no filter, and far longer ones cannot be subtracted from the present.
MAX_SINCE = 3_650 * 86_400

_SINCE = re.compile(r"([0-9]{1,6})([mhdw])")
#: The "+" of a zone that was not escaped in an address arrives as a space.
_LOST_PLUS = re.compile(r"(T.*) ([0-9]{2}:?[0-9]{2})")

#: Parameter names that are not also the name of the field.
_FIELD_OF = {"from": "from_"}
_NAME_OF = {field: name for name, field in _FIELD_OF.items()}


class FilterError(DLQError):
    """The filter cannot be understood."""


class MultiDict(Protocol):
    """Query parameters as web frameworks give them."""

    def getlist(self, key: str) -> list[str]:
        """Every value of one parameter."""


@dataclass(frozen=True, kw_only=True)
class EventFilter:
    """What must hold for an event to be shown; an empty field asks for nothing.

    Several values of one field mean "any of these". `group` is the fingerprint of the last error. `entity` is the whole entity id; `q` is text anywhere in the last
    error, in upper or lower case. `since`, `from_` and `to` mean when an event ended in lists of ended events (dead,
    done, discarded) and when it was created in all others; `since` is relative ("30m", "4h", "2d", "1w").
    """

    kind: tuple[str, ...] = ()
    account: tuple[str, ...] = ()
    group: str = ""
    reason: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    entity: str = ""
    q: str = ""
    since: str = ""
    from_: datetime | None = None
    to: datetime | None = None

    @classmethod
    def parse(cls, values: Mapping[str, Sequence[str] | str] | MultiDict) -> Self:
        """Read a filter from query parameters; other parameters are left alone.

        Raises:
            FilterError: a value cannot mean anything; the message names the parameter and what to write.
        """
        flt = cls(
            kind=_texts(values, "kind"),
            account=_texts(values, "account"),
            group=_text(values, "group"),
            reason=_choices(values, "reason", Reason),
            status=_choices(values, "status", Status),
            entity=_text(values, "entity"),
            q=_text(values, "q"),
            since=_since(_text(values, "since")),
            from_=_time(_text(values, "from"), "from"),
            to=_time(_text(values, "to"), "to"),
        )
        if flt.from_ and flt.to and flt.from_ >= flt.to:
            raise FilterError("from: it must be earlier than `to`.")
        return flt

    @property
    def is_empty(self) -> bool:
        """Whether it asks for nothing."""
        return self == type(self)()

    @property
    def since_seconds(self) -> int | None:
        """`since` in seconds."""
        return _seconds(self.since) if self.since else None

    def query(self, **changes: Any) -> list[tuple[str, str]]:
        """The filter as query-string pairs, in a fixed order.

        Args:
            changes: fields to replace first, and further parameters such as `cursor`; empty ones are left out.
        """
        names = {field.name for field in fields(self)}
        flt = replace(self, **{name: value for name, value in changes.items() if name in names})
        pairs = [
            (_NAME_OF.get(field.name, field.name), value)
            for field in fields(flt)
            for value in _as_texts(getattr(flt, field.name))
        ]
        return pairs + [(name, str(value)) for name, value in changes.items() if name not in names and value]

    def without(self, name: str, value: str | None = None) -> Self:
        """The filter without one parameter, or without one value of a repeated one."""
        field = _FIELD_OF.get(name, name)
        present = getattr(self, field)
        kept: Any = "" if isinstance(present, str) else None
        if isinstance(present, tuple):
            kept = tuple(one for one in present if value is not None and one != value)
        change: dict[str, Any] = {field: kept}
        return replace(self, **change)


def _as_texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, tuple):
        return value
    if isinstance(value, datetime):
        return (value.astimezone(UTC).isoformat().replace("+00:00", "Z"),)
    return (value,) if value else ()


def _texts(values: Any, name: str) -> tuple[str, ...]:
    """Every value of `name` that is not empty, each once."""
    given = values.getlist(name) if hasattr(values, "getlist") else values.get(name, ())
    given = [given] if isinstance(given, str) else given
    texts = tuple(dict.fromkeys(_clean(value, name) for value in given[: MAX_REPEATS + 1] if value))
    if len(given) > MAX_REPEATS:
        raise FilterError(f"{name}: it is given {len(given)} times; give it at most {MAX_REPEATS} times.")
    return tuple(text for text in texts if text)


def _text(values: Any, name: str) -> str:
    texts = _texts(values, name)
    if len(texts) > 1:
        raise FilterError(f"{name}: it has two values; give one.")
    return texts[0] if texts else ""


def _clean(value: str, name: str) -> str:
    """As the store keeps such texts: without outer white space, in Unicode form NFC."""
    if len(value) > MAX_LENGTH:
        raise FilterError(
            f"{name}: {len(value):,} characters are more than the limit of {MAX_LENGTH}; shorten it."
        )
    text = normalize("NFC", value).strip()
    # Neither engine can compare them: NUL ends a text on PostgreSQL, and half a character has no UTF-8 form.
    if any(category(character) in ("Cc", "Cs") for character in text):
        raise FilterError(f"{name}: a control character is not allowed; remove it.")
    return text


def _choices(values: Any, name: str, words: type[Reason] | type[Status]) -> tuple[str, ...]:
    texts = _texts(values, name)
    allowed = [str(word) for word in words]
    if not set(texts) <= set(allowed):
        raise FilterError(f"{name}: choose one of {', '.join(allowed)}.")
    return texts


def _since(text: str) -> str:
    if text and not 0 < _seconds(text) <= MAX_SINCE:
        raise FilterError(
            "since: write a number and m, h, d or w, such as 30m, 4h, 2d or 1w, up to ten years."
        )
    return text


def _seconds(text: str) -> int:
    """0 where it cannot be understood."""
    match = _SINCE.fullmatch(text)
    return int(match[1]) * UNITS[match[2]] if match else 0


def _time(text: str, name: str) -> datetime | None:
    if not text:
        return None
    example = "write a date, a time and a zone, such as 2026-03-01T08:00-03:00 or 2026-03-01T11:00Z"
    try:
        moment = datetime.fromisoformat(_LOST_PLUS.sub(r"\1+\2", text))
        if moment.tzinfo is None:
            raise FilterError(f"{name}: the zone is missing; {example}.")
        if not FIRST_YEAR < moment.year < LAST_YEAR:
            years = f"between the years {FIRST_YEAR} and {LAST_YEAR}"
            raise FilterError(f"{name}: it is no time {years}; {example}.")
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise FilterError(f"{name}: it is no time; {example}.") from error
