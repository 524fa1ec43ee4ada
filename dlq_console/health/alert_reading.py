"""Which rules are in force, as pages and commands know it? What the last look wrote down, for nobody else reads the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dlq_console.health.alert_values import AlertRule, When
from dlq_console.health.working_hours import WorkingHours, hours_from

#: The reading under which they are kept, and the one value in it.
READING, RULES = "alert rules", "rules"
#: The rules are looked at every 15 seconds; what is older than this, in seconds, was not looked at as it should.
STALE_AFTER = 60.0


@dataclass(frozen=True, slots=True)
class InForce:
    """The rules as they were read last.

    Attributes:
        rules: by name.
        source: where they come from.
        channels: the names of those that there are.
        where: to where each of them leads, without what may be secret.
        written: how the file says the address of each channel that stands in it, likewise.
        hours: when people work.
        wrong: the mistake for which no rule is looked at now; None where there is none, empty where it is not for everybody.
    """

    rules: Mapping[str, AlertRule]
    source: str
    channels: tuple[str, ...]
    where: Mapping[str, str] = field(default_factory=dict)
    written: Mapping[str, str] = field(default_factory=dict)
    hours: WorkingHours | None = None
    wrong: str | None = None

    def over_of(self, rule: str) -> float:
        """Above which figure a rule finds something; 0 of one that is in force no more."""
        known = self.rules.get(rule)
        return known.over if known else 0.0

    def when_of(self, rule: str, kept: str | None = None) -> When | None:
        """What a rule looks at: what was `kept` with its notice, else what it does now, else what its name says."""
        if kept in tuple(When):
            return When(kept)
        known = self.rules.get(rule)
        if known is not None:
            return known.when
        return When(rule) if rule in tuple(When) else None


NOTHING = InForce({}, "", ())


def read(values: Mapping[str, Any], wrong: str | None = None) -> InForce:
    """The rules from the values of that reading, and why there is nothing newer."""
    kept = values.get(RULES)
    if not isinstance(kept, dict):
        return replace(NOTHING, wrong=wrong)
    rules = [_rule(values) for values in kept["rules"]]
    hours = kept.get("hours")
    return InForce(
        {rule.name: rule for rule in rules},
        kept["source"],
        tuple(kept["channels"]),
        kept.get("where", {}),
        kept.get("written", {}),
        hours_from(hours) if hours else None,
        wrong,
    )


def _rule(values: Mapping[str, Any]) -> AlertRule:
    return AlertRule(**{**values, "when": When(values["when"]), "to": tuple(values["to"])})
