"""Which events does a person want to see? One filter, read from a query string, for tables, counts, API and commands.

A value nobody has (a kind that does not exist) is a filter that matches nothing. A value that cannot mean anything (a
status that is no status, a time that is no time) is a `FilterError` that names the parameter.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any, Protocol, Self
from unicodedata import category, normalize

from dlq_console.errors import DLQError
from dlq_console.redact.fields import is_never_shown
from dlq_console.store.states import Reason, Status
from dlq_console.store.tags import folded_tag

#: Times outside of these years may be beyond what can be shown in another zone.
FIRST_YEAR, LAST_YEAR = 1970, 9998
#: Characters of one value.
MAX_LENGTH = 200
#: How often one parameter may be repeated.
MAX_REPEATS = 20
#: Fields of payloads that one filter may ask for, and names and places of one path to such a field.
MAX_FIELDS = 5
MAX_DEPTH = 10
#: Of everything: more attempts than any policy allows.
MAX_ATTEMPTS = 10_000
#: Seconds of each unit of `since`.
UNITS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
#: Ten years: anything longer is no filter, and far longer ones cannot be subtracted from the present.
MAX_SINCE = 3_650 * 86_400

#: What the rules may say about the last error; a filter names it `class`.
VERDICTS = ("transient", "rate_limited", "permanent", "auth", "duplicate", "benign", "unknown")
#: Written for `assignee`: nobody has it.
NOBODY = "-"
#: How a parameter begins that asks for a field of the payload.
PAYLOAD = "payload."

_SINCE = re.compile(r"([0-9]{1,6})([mhdw])")
#: The "+" of a zone that was not escaped in an address arrives as a space.
_LOST_PLUS = re.compile(r"(T.*) ([0-9]{2}:?[0-9]{2})")

#: "3+", or its "+" as a space.
_ATTEMPTS = re.compile(r"([0-9]{1,5})([+ ]?)")

#: Parameter names that are not also the name of the field.
_FIELD_OF = {"from": "from_", "class": "class_"}
_NAME_OF = {field: name for name, field in _FIELD_OF.items()}


#: Every parameter that a filter is read from, beside those of PAYLOAD.
PARAMETERS = frozenset(
    {
        "account", "assignee", "at", "attempts", "class", "entity", "from", "group", "kind", "q", "reason", "since",
        "snoozed", "sort", "status", "tag", "to",
    }
)  # fmt: skip


class FilterError(DLQError):
    """The filter cannot be understood."""

    def __init__(
        self, message: str | None = None, *, name: str = "", cause: str = "", **facts: object
    ) -> None:
        #: The parameter that was not taken, what is wrong with it, for whoever says it in another language, and the `facts`
        #: of that sentence; empty where nobody does.
        self.name = name
        self.cause = cause
        self.facts = facts
        super().__init__(message)


class MultiDict(Protocol):
    """Query parameters as web frameworks give them."""

    def getlist(self, key: str) -> list[str]:
        """Every value of one parameter."""

    def keys(self) -> Iterable[str]:
        """The names of all parameters."""


@dataclass(frozen=True, kw_only=True)
class EventFilter:
    """What must hold for an event to be shown; an empty field asks for nothing.

    Several values of one field mean "any of these". Times are aware.

    Attributes:
        kind, account, reason, status: as the event has them.
        group: the fingerprint of the last error.
        class_: what the rules said about the last error; the parameter is `class`.
        q: text anywhere in the last error, in upper or lower case.
        entity: the whole entity id.
        since, from_, to: when an event ended in lists of ended events (dead, done, discarded) and when it was created
            in all others; `since` is relative ("30m", "4h", "2d", "1w"), to `at` where that is given.
        assignee: who has it on the desk; "-" for nobody.
        tag: a word that people stuck to it.
        attempts: how many of its present cycle: "3" exactly, "3+" at least.
        payload: pairs of a path into the payload (`items.0.sku`) and the value there, as text; all must hold.
        snoozed: "hide" or "only" what is put aside for later.
        at: only what had ended, or been created, by then.
        sort: "oldest" first; newest first where empty.
    """

    kind: tuple[str, ...] = ()
    account: tuple[str, ...] = ()
    group: str = ""
    reason: tuple[str, ...] = ()
    class_: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    entity: str = ""
    q: str = ""
    since: str = ""
    from_: datetime | None = None
    to: datetime | None = None
    assignee: str = ""
    tag: tuple[str, ...] = ()
    attempts: str = ""
    payload: tuple[tuple[str, str], ...] = ()
    snoozed: str = ""
    at: datetime | None = None
    sort: str = ""

    @classmethod
    def parse(cls, values: Mapping[str, Sequence[str] | str] | MultiDict) -> Self:
        """Read a filter from query parameters; other parameters are left alone.

        Raises:
            FilterError: a value cannot mean anything; the message names the parameter and what to write.
        """
        flt = cls(
            kind=_texts(values, "kind"),
            account=_texts(values, "account"),
            group=read_text(values, "group"),
            reason=_choices(values, "reason", tuple(map(str, Reason))),
            class_=_choices(values, "class", VERDICTS),
            status=_choices(values, "status", tuple(map(str, Status))),
            entity=read_text(values, "entity"),
            q=read_text(values, "q"),
            since=_since(read_text(values, "since")),
            from_=_time(read_text(values, "from"), "from"),
            to=_time(read_text(values, "to"), "to"),
            assignee=read_text(values, "assignee"),
            tag=tuple(dict.fromkeys(folded_tag(text) for text in _texts(values, "tag"))),
            attempts=_attempts(values),
            payload=_fields(values),
            snoozed=_choice(values, "snoozed", ("hide", "only")),
            at=_time(read_text(values, "at"), "at"),
            sort=_choice(values, "sort", ("oldest",)),
        )
        if flt.from_ and flt.to and flt.from_ >= flt.to:
            raise FilterError("from: it must be earlier than `to`.", name="from", cause="order")
        return flt

    @classmethod
    def parse_all(
        cls, values: Mapping[str, Sequence[str] | str], *, beside: Collection[str] = frozenset()
    ) -> Self:
        """As `parse`, where every parameter must be known: a misspelt one must not ask for everything.

        Args:
            values: the parameters.
            beside: names that are no filter and may be among them all the same.

        Raises:
            FilterError: as `parse`, or there is no such filter.
        """
        refuse_unknown(values, PARAMETERS, beside=beside)
        return cls.parse(values)

    @property
    def is_empty(self) -> bool:
        """Whether it asks for nothing: it may still say in which order."""
        return replace(self, sort="") == type(self)()

    @property
    def since_seconds(self) -> int | None:
        """`since` in seconds."""
        return seconds_of(self.since) if self.since else None

    def query(self, **changes: Any) -> list[tuple[str, str]]:
        """The filter as query-string pairs, in a fixed order.

        Args:
            changes: fields to replace first, and further parameters such as `cursor`; empty ones are left out.
        """
        names = {field.name for field in fields(self)}
        flt = replace(self, **{name: value for name, value in changes.items() if name in names})
        pairs = [pair for field in fields(flt) for pair in _pairs(field.name, getattr(flt, field.name))]
        return pairs + [(name, str(value)) for name, value in changes.items() if name not in names and value]

    def parameters(self) -> dict[str, list[str]]:
        """The same pairs, every value of a parameter together."""
        together: dict[str, list[str]] = {}
        for name, value in self.query():
            together.setdefault(name, []).append(value)
        return together

    def without(self, name: str, value: str | None = None) -> Self:
        """The filter without one parameter, or without one value of a repeated one."""
        if name.startswith(PAYLOAD):
            kept_fields = tuple(one for one in self.payload if one[0] != name.removeprefix(PAYLOAD))
            return replace(self, payload=kept_fields)
        field = _FIELD_OF.get(name, name)
        present = getattr(self, field)
        kept: Any = "" if isinstance(present, str) else None
        if isinstance(present, tuple):
            kept = tuple(one for one in present if value is not None and one != value)
        change: dict[str, Any] = {field: kept}
        return replace(self, **change)


def refuse_unknown(
    parameters: Iterable[str],
    known: Collection[str],
    *,
    beside: Collection[str] = frozenset(),
    fields: bool = True,
) -> None:
    """A misspelt filter must not answer everything: somebody may act on all that comes back.

    Args:
        parameters: the names that were given.
        known: those that mean something.
        beside: those that do and are no filter; the message does not offer them.
        fields: whether fields of the payload may be asked for as well.

    Raises:
        FilterError: one of them is none of these.
    """
    for name in parameters:
        if name not in known and name not in beside and not (fields and name.startswith(PAYLOAD)):
            shown = name if len(name) <= MAX_LENGTH else f"{name[:MAX_LENGTH]}…"
            offered = ", ".join(sorted(known)) + (f", or {PAYLOAD}<path>" if fields else "")
            message = f"{shown}: there is no such filter; use one of {offered}."
            raise FilterError(message, name=name, cause="unknown", shown=shown)


def _pairs(field: str, value: Any) -> list[tuple[str, str]]:
    """A field of the filter as parameters."""
    if field == "payload":
        return [(PAYLOAD + path, text) for path, text in value]
    return [(_NAME_OF.get(field, field), text) for text in _as_texts(value)]


def _as_texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, tuple):
        return value
    if isinstance(value, datetime):
        return (value.astimezone(UTC).isoformat().replace("+00:00", "Z"),)
    return (value,) if value else ()


def _given(values: Any, name: str) -> Sequence[str]:
    given: Sequence[str] | str = values.getlist(name) if hasattr(values, "getlist") else values.get(name, ())
    return [given] if isinstance(given, str) else given


def _texts(values: Any, name: str) -> tuple[str, ...]:
    """Every value of `name` that is not empty, each once."""
    given = _given(values, name)
    texts = tuple(dict.fromkeys(_clean(value, name) for value in given[: MAX_REPEATS + 1] if value))
    if len(given) > MAX_REPEATS:
        message = f"{name}: it is given {len(given)} times; give it at most {MAX_REPEATS} times."
        raise FilterError(message, name=name, cause="too_many", limit=MAX_REPEATS)
    return tuple(text for text in texts if text)


def read_text(values: Any, name: str) -> str:
    """One text, as every filter has it: without outer white space, in Unicode form NFC; "" where there is none.

    Raises:
        FilterError: it is too long, holds a control character, or there are two.
    """
    texts = _texts(values, name)
    if len(texts) > 1:
        raise FilterError(f"{name}: it has two values; give one.", name=name, cause="too_many", limit=1)
    return texts[0] if texts else ""


def _clean(value: str, name: str) -> str:
    """As the store keeps such texts: without outer white space, in Unicode form NFC."""
    if len(value) > MAX_LENGTH:
        raise FilterError(
            f"{name}: {len(value):,} characters are more than the limit of {MAX_LENGTH}; shorten it.",
            name=name,
            cause="too_long",
            limit=MAX_LENGTH,
        )
    text = normalize("NFC", value).strip()
    # Neither engine can compare them: NUL ends a text on PostgreSQL, and half a character has no UTF-8 form.
    if any(category(character) in ("Cc", "Cs") for character in text):
        message = f"{name}: a control character is not allowed; remove it."
        raise FilterError(message, name=name, cause="characters")
    return text


def _choices(values: Any, name: str, allowed: tuple[str, ...]) -> tuple[str, ...]:
    texts = _texts(values, name)
    if not set(texts) <= set(allowed):
        raise FilterError(f"{name}: choose one of {', '.join(allowed)}.", name=name, cause="choice")
    return texts


def _choice(values: Any, name: str, allowed: tuple[str, ...]) -> str:
    text = read_text(values, name)
    if text and text not in allowed:
        message = f"{name}: write {' or '.join(allowed)}, or leave it out."
        raise FilterError(message, name=name, cause="choice")
    return text


def _attempts(values: Any) -> str:
    """As it is kept: "3" or "3+"."""
    # Read by itself, because the space that a "+" has become stands at the end.
    given = [value for value in _given(values, "attempts") if value]
    if not given:
        return ""
    match = _ATTEMPTS.fullmatch(given[0]) if len(given) == 1 else None
    if match is None or int(match[1]) > MAX_ATTEMPTS:
        raise FilterError(
            "attempts: write one number, such as 3 for exactly three or 3+ for three at least.",
            name="attempts",
            cause="attempts",
        )
    return f"{int(match[1])}{'+' if match[2] else ''}"


def _fields(values: Any) -> tuple[tuple[str, str], ...]:
    names = [name for name in values if name.startswith(PAYLOAD)]
    if len(names) > MAX_FIELDS:
        message = f"payload: {len(names)} fields are asked for; ask for at most {MAX_FIELDS}."
        raise FilterError(message, name=names[-1], cause="too_many_fields", limit=MAX_FIELDS)
    pairs = {_path(name): read_text(values, name) for name in names}
    return tuple((path, text) for path, text in sorted(pairs.items()) if text)


def _path(parameter: str) -> str:
    """The path into the payload that a parameter names."""
    path = parameter.removeprefix(PAYLOAD)
    if len(path) > MAX_LENGTH:
        raise FilterError(
            f"payload: a path of {len(path):,} characters is longer than {MAX_LENGTH}; shorten it.",
            name=parameter,
            cause="path",
        )
    try:
        return check_path(path)
    except ValueError as error:
        cause = "secret" if any(map(is_never_shown, path.split("."))) else "path"
        raise FilterError(f"payload: {error}.", name=parameter, cause=cause) from None


def check_path(text: str) -> str:
    """A path into a payload as it is kept: names of fields and places in lists, from 0, joined by dots.

    Raises:
        ValueError: it is none, or leads to a secret; the message says what to write.
    """
    path = normalize("NFC", text)
    names = path.split(".")
    if len(path) > MAX_LENGTH or len(names) > MAX_DEPTH or not all(name.strip() for name in names):
        raise ValueError(f"write up to {MAX_DEPTH} names joined by dots, such as order.number or items.0.sku")
    if any(category(character) in ("Cc", "Cs") or character == '"' for character in path):
        raise ValueError("a path holds no quotes and no control characters; remove them")
    if any(is_never_shown(name) for name in names):
        raise ValueError(f"{path} is a secret, which nobody can search for; name another field")
    return path


def _since(text: str) -> str:
    if text and not 0 < seconds_of(text) <= MAX_SINCE:
        raise FilterError(
            "since: write a number and m, h, d or w, such as 30m, 4h, 2d or 1w, up to ten years.",
            name="since",
            cause="since",
        )
    return text


def seconds_of(text: str) -> int:
    """How long `since` is; 0 where it cannot be understood."""
    match = _SINCE.fullmatch(text)
    return int(match[1]) * UNITS[match[2]] if match else 0


def _time(text: str, name: str) -> datetime | None:
    if not text:
        return None
    example = "write a date, a time and a zone, such as 2026-03-01T08:00-03:00 or 2026-03-01T11:00Z"
    try:
        moment = datetime.fromisoformat(_LOST_PLUS.sub(r"\1+\2", text))
        if moment.tzinfo is None:
            raise FilterError(f"{name}: the zone is missing; {example}.", name=name, cause="time")
        if not FIRST_YEAR < moment.year < LAST_YEAR:
            years = f"between the years {FIRST_YEAR} and {LAST_YEAR}"
            raise FilterError(f"{name}: it is no time {years}; {example}.", name=name, cause="years")
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise FilterError(f"{name}: it is no time; {example}.", name=name, cause="time") from error
