"""When is somebody told? The rules of the file that DLQ_ALERTS names, or where there is none, the built-in ones.

[[rule]]
name = "orders are late"
when = "lag_p95"
over = 300
for_minutes = 10
account = "filial-sp"
to = ["mail"]
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dlq_console.classify.tables import Source, Table
from dlq_console.health.alert_values import ANY, OF_A_KIND, AlertRule, When
from dlq_console.hub.channels import read_file

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
)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules in force, and where they come from: a file, or BUILT_IN."""

    rules: tuple[AlertRule, ...]
    source: str


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
    top.done()
    if not isinstance(rules, list):
        source.refuse(source.line_of("", None, "rule"), "write each rule as a table of its own: [[rule]].")
    if not rules:
        return RuleSet(_built_in(to), BUILT_IN)
    found: dict[str, AlertRule] = {}
    for place, values in enumerate(rules):
        rule = _rule(source, values, place, to)
        if rule.name in found:
            _refuse(source, place, "name", f'there are two rules named "{rule.name}".')
        found[rule.name] = rule
    return RuleSet(tuple(found.values()), source.name)


def _built_in(to: tuple[str, ...]) -> tuple[AlertRule, ...]:
    return tuple(
        AlertRule(name=str(when), when=when, over=over, for_minutes=held, to=to)
        for when, over, held in _DEFAULTS
    )


def _rule(source: Source, values: object, place: int, channels: tuple[str, ...]) -> AlertRule:
    table = Table(source, values, rule=place)
    name = table.text("name")
    if len(name) > LONGEST_NAME or not name.isprintable() or name.strip() != name:
        table.refuse("name", f'"name" must be plain text of at most {LONGEST_NAME} characters.')
    when = table.choice("when", When)
    if when is When.SOURCE_DEPTH:
        table.refuse("when", '"source_depth" needs a source of foreign letters, and none is configured.')
    usual = next(each for each in _DEFAULTS if each[0] is when)
    rule = AlertRule(
        name=name,
        when=when,
        over=_number(table, "over", usual[1]),
        for_minutes=_number(table, "for_minutes", usual[2]),
        account=table.text("account", ANY),
        kind=table.text("kind", ANY),
        repeat_hours=_number(table, "repeat_hours", 4),
        to=_channels(table, channels),
    )
    if rule.kind != ANY and when not in OF_A_KIND:
        table.refuse("kind", f'"{when}" is known of accounts, not of kinds; leave "kind" out.')
    if rule.repeat_hours < 1:
        table.refuse("repeat_hours", '"repeat_hours" must be at least 1.')
    table.done()
    return rule


def _number(table: Table, key: str, default: float) -> float:
    value = table.number(key)
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


def _refuse(source: Source, place: int, key: str, sentence: str) -> None:
    source.refuse(source.line_of("", place, key), sentence)
