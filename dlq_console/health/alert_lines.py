"""How is a rule written down in the file that DLQ_ALERTS names? For whoever wants another one than those in force."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from dlq_console.health.alert_values import ANY, LEVELS, TICKET, AlertRule, When


def lines(rules: Iterable[AlertRule], channels: Sequence[str]) -> str:
    """These rules as TOML, as they would be read again.

    Args:
        rules: in the order in which they are to stand.
        channels: all that are configured, which a rule tells unless it names some.
    """
    return "\n\n".join(_table(rule, tuple(channels)) for rule in rules)


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
    return "\n".join(["[[rule]]", *(f"{name} = {_value(value)}" for name, value in told.items())])


def _value(value: str | float | Sequence[str]) -> str:
    if isinstance(value, str):
        # TOML writes a text as JSON does, but for the one character that it wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return f"{value:g}" if value < 1e6 else repr(value)
    return f"[{', '.join(map(_value, value))}]"
