"""When is somebody told? The rules of the file that DLQ_ALERTS names, or where there is none, the built-in ones.

[[rule]]
name = "orders are late"
when = "lag_p95"
over = 300
for_minutes = 10
account = "filial-sp"
to = ["mail"]

[hours]
days = ["mon", "tue", "wed", "thu", "fri"]
from = "08:00"
to = "18:00"
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dlq_console.classify.tables import Source, Table
from dlq_console.health.alert_values import ANY, LEVELS, OF_A_KIND, ONCE, PAGE, TICKET, AlertRule, When
from dlq_console.health.working_hours import DAYS, WorkingHours, read_time
from dlq_console.hub.channels import read_file

#: The longest that something must hold or that nobody is told again: a week in minutes, a year in hours.
_LONGEST_HOLD, _LONGEST_REPEAT = 7 * 24 * 60.0, 366 * 24.0
#: More than this is no limit that anything reaches.
_LARGEST = 1e9
#: Figures that end somewhere: a rule that allows as much never finds anything.
_ENDS: Mapping[When, int] = {
    When.BULKHEAD_USE: 100,
    When.RECOVERY_QUEUE: 100,
    When.DEAD_RATE: 100,
    When.BREAKER_OPEN: 1,
    When.AUTH_FAILURE: 1,
}
#: Characters of a name.
LONGEST_NAME = 80
#: What stands for the source of the rules where no file is named.
BUILT_IN = "built-in"

#: What is worth telling anywhere: over what, and held for how many minutes.
_DEFAULTS: tuple[tuple[When, float, float], ...] = (
    (When.DEAD_LETTERS, 0, 0),
    (When.LAG_P95, 300, 10),
    (When.OLDEST_DUE, 600, 5),
    (When.BREAKER_OPEN, 0, 10),
    (When.BULKHEAD_USE, 80, 10),
    (When.RECOVERY_QUEUE, 70, 0),
    (When.LANE_STOPPED, 0, 5),
    (When.NOTHING_COMPLETES, 10, 0),
    (When.SILENCE, 0, 0),
    (When.UNCLASSIFIED, 3, 0),
    (When.IN_DOUBT, 0, 15),
    (When.PROVIDER_BLOCK, 10, 0),
    (When.NEW_CAUSE, 0, 0),
    (When.DEAD_GROWS, 10, 0),
    (When.OLDEST_DEAD, 240, 0),
    (When.DEAD_RATE, 5, 0),
    (When.AUTH_FAILURE, 0, 0),
    (When.ERROR_BUDGET, 60, 0),
    (When.BREAKER_OPENINGS, 2, 0),
    (When.LANE_WAITS, 30, 0),
)
#: An open notice is told again after so many hours.
_REPEAT = 4.0


class _Level(StrEnum):
    """What a rule may say of how much it hurries."""

    PAGE = PAGE
    TICKET = TICKET


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules in force, where they come from (a file, or BUILT_IN), and when people work."""

    rules: tuple[AlertRule, ...]
    source: str
    hours: WorkingHours = field(default_factory=WorkingHours)


def read_rules(file: str, channels: Collection[str]) -> RuleSet:
    """The rules of the file; without one, or where it holds channels only, the built-in ones.

    Args:
        file: as DLQ_ALERTS names it; empty for none.
        channels: names of all that are configured, which a rule tells unless it names some of them.

    Raises:
        ConfigurationError: something in the file makes no sense; the message says what, with file and line.
    """
    to = tuple(channels)
    if not file:
        return RuleSet(_built_in(to), BUILT_IN)
    source = read_file(file)
    top = Table(source, source.parsed())
    top.take("channels")
    rules = top.take("rule", [])
    hours = _hours(top.table("hours"))
    top.done()
    if not isinstance(rules, list):
        source.refuse(source.line_of("", None, "rule"), "write each rule as a table of its own: [[rule]].")
    if not rules:
        return RuleSet(_built_in(to), BUILT_IN, hours)
    found: dict[str, AlertRule] = {}
    for place, values in enumerate(rules):
        rule = _rule(source, values, place, to)
        if rule.name in found:
            _refuse(source, place, "name", f'there are two rules named "{rule.name}".')
        found[rule.name] = rule
    return RuleSet(tuple(found.values()), source.name, hours)


def _built_in(to: tuple[str, ...]) -> tuple[AlertRule, ...]:
    return tuple(
        AlertRule(name=str(when), when=when, over=over, for_minutes=held, repeat_hours=_repeat(when), to=to)
        for when, over, held in _DEFAULTS
    )


def _repeat(when: When) -> float:
    return 0.0 if when in ONCE else _REPEAT


def _rule(source: Source, values: object, place: int, channels: tuple[str, ...]) -> AlertRule:
    table = Table(source, values, rule=place)
    name = table.text("name")
    if len(name) > LONGEST_NAME or not name.isprintable() or name.strip() != name:
        table.refuse("name", f'"name" must be plain text of at most {LONGEST_NAME} characters.')
    when = table.choice("when", When, unsaid=(When.SOURCE_DEPTH,))
    if when is When.SOURCE_DEPTH:
        table.refuse("when", '"source_depth" needs a source of foreign letters, and none is configured.')
    usual = next(each for each in _DEFAULTS if each[0] is when)
    rule = AlertRule(
        name=name,
        when=when,
        over=_number(table, "over", usual[1], _LARGEST),
        for_minutes=_number(table, "for_minutes", usual[2], _LONGEST_HOLD),
        account=table.text("account", ANY),
        kind=table.text("kind", ANY),
        repeat_hours=_number(table, "repeat_hours", _repeat(when), _LONGEST_REPEAT),
        at_least=_number(table, "at_least", 5, _LARGEST),
        level=table.choice("level", _Level, _Level(LEVELS.get(when, TICKET))).value,
        to=_channels(table, channels),
    )
    if rule.kind != ANY and when not in OF_A_KIND:
        table.refuse("kind", f'"{when}" is known of accounts, not of kinds; leave "kind" out.')
    if rule.over >= _ENDS.get(when, math.inf):
        table.refuse(
            "over", f'"over" of "{when}" must be less than {_ENDS[when]}: nothing is more than that.'
        )
    if 0 < rule.repeat_hours < 1:
        table.refuse("repeat_hours", '"repeat_hours" must be at least 1, or 0 for never.')
    if table.has("at_least") and when is not When.DEAD_RATE:
        table.refuse("at_least", f'"at_least" belongs to "{When.DEAD_RATE}".')
    table.done()
    return rule


def _number(table: Table, key: str, default: float, most: float) -> float:
    value = table.number(key)
    if value is not None and value > most:
        table.refuse(key, f'"{key}" must be {most:,.0f} at most.')
    return default if value is None else value


def _channels(table: Table, channels: tuple[str, ...]) -> tuple[str, ...]:
    if not table.has("to"):
        return channels
    named = table.texts("to")
    for name in named:
        if name not in channels:
            known = ", ".join(f'"{each}"' for each in channels) or "none"
            # Never the text itself where it may be an address with a password in it.
            shown = "an address" if "://" in name else f'"{name}"'
            table.refuse("to", f"{shown} is no channel that is configured; there are: {known}.")
    return tuple(dict.fromkeys(named))


def _hours(table: Table) -> WorkingHours:
    """When people work, as the file says it."""
    usual = WorkingHours()
    named = table.texts("days") if table.has("days") else tuple(DAYS[day] for day in usual.days)
    if not named:
        table.refuse("days", '"days" must name at least one day.')
    for name in named:
        if name not in DAYS:
            table.refuse("days", f'"days" must be some of {", ".join(DAYS)}.')
    times = {}
    for key, default in (("from", usual.begin), ("to", usual.end)):
        value = table.text(key, f"{default:%H:%M}")
        try:
            times[key] = read_time(value)
        except ValueError:
            table.refuse(key, f'"{key}" must be a time such as "08:00".')
    if times["from"] >= times["to"]:
        table.refuse("to", '"to" must be later than "from".')
    table.done()
    return WorkingHours(tuple(sorted({DAYS.index(name) for name in named})), times["from"], times["to"])


def _refuse(source: Source, place: int, key: str, sentence: str) -> None:
    source.refuse(source.line_of("", place, key), sentence)
