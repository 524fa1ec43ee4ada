"""How is a rule written down in the file that DLQ_ALERTS names? For whoever wants another one than those in force."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from dlq_console.health.alert_values import ANY, LEVELS, TICKET, AlertRule, When
from dlq_console.health.working_hours import WorkingHours, hours_as_written

#: A key that TOML takes without quotes.
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def lines(
    rules: Iterable[AlertRule],
    channels: Sequence[str],
    written: Mapping[str, str] = MappingProxyType({}),
    hours: WorkingHours | None = None,
) -> str:
    """These rules as TOML, as they would be read again.

    Args:
        rules: in the order in which they are to stand.
        channels: all that are configured, which a rule tells unless it names some.
        written: the addresses of those that stand in the file, by name, without what may be secret.
        hours: when people work; left out where that is not known.
    """
    tables = (
        [_lines("[channels]", {_key(name): address for name, address in written.items()})] if written else []
    )
    if hours is not None:
        tables.append(_lines("[hours]", hours_as_written(hours)))
    return "\n\n".join([*tables, *(_table(rule, tuple(channels)) for rule in rules)])


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _table(rule: AlertRule, channels: tuple[str, ...]) -> str:
    told: dict[str, str | float | Sequence[str]] = {
        "name": rule.name,
        "when": str(rule.when),
        "over": rule.over,
        "for_minutes": rule.for_minutes,
        "repeat_hours": rule.repeat_hours,
    }
    if rule.when is When.DEAD_RATE:
        told["at_least"] = rule.at_least
    if rule.level != LEVELS.get(rule.when, TICKET):
        told["level"] = rule.level
    if rule.account != ANY:
        told["account"] = rule.account
    if rule.kind != ANY:
        told["kind"] = rule.kind
    if rule.to != channels:
        told["to"] = rule.to
    return _lines("[[rule]]", told)


def _lines(head: str, values: Mapping[str, str | float | Sequence[str]]) -> str:
    return "\n".join([head, *(f"{name} = {_value(value)}" for name, value in values.items())])


def _value(value: str | float | Sequence[str]) -> str:
    if isinstance(value, str):
        # TOML writes a text as JSON does, but for the one character that it wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return f"{value:g}" if value < 1e6 else repr(value)
    return f"[{', '.join(map(_value, value))}]"
