"""Which rules are in force, as pages and commands know it? What the last look wrote down, for nobody else reads the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dlq_console.health.alert_values import AlertRule, When

#: The reading under which they are kept, and the one value in it.
READING, RULES = "alert rules", "rules"
#: The rules are looked at every 15 seconds; what is older than this, in seconds, was not looked at as it should.
STALE_AFTER = 60.0


@dataclass(frozen=True, slots=True)
class InForce:
    """The rules by name, where they come from, which channels there are, and where each of them leads."""

    rules: Mapping[str, AlertRule]
    source: str
    channels: tuple[str, ...]
    where: Mapping[str, str] = field(default_factory=dict)

    def when_of(self, rule: str) -> When | None:
        """What a rule looks at; of one that is in force no more only where it has the name of a built-in one."""
        known = self.rules.get(rule)
        if known is not None:
            return known.when
        return When(rule) if rule in tuple(When) else None


NOTHING = InForce({}, "", ())


def read(values: Mapping[str, Any]) -> InForce:
    """The rules from the values of that reading."""
    kept = values.get(RULES)
    if not isinstance(kept, dict):
        return NOTHING
    rules = [_rule(values) for values in kept["rules"]]
    return InForce(
        {rule.name: rule for rule in rules}, kept["source"], tuple(kept["channels"]), kept.get("where", {})
    )


def _rule(values: Mapping[str, Any]) -> AlertRule:
    return AlertRule(**{**values, "when": When(values["when"]), "to": tuple(values["to"])})
