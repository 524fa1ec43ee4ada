"""What is an alert made of? Rules and the words that they use: plain values, without any reading."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class When(StrEnum):
    """What a rule looks at; `over` of the rule is a number of the unit that `UNITS` names."""

    DEAD_LETTERS = "dead_letters"
    LAG_P95 = "lag_p95"
    OLDEST_DUE = "oldest_due"
    BREAKER_OPEN = "breaker_open"
    BULKHEAD_USE = "bulkhead_use"
    RECOVERY_QUEUE = "recovery_queue"
    LANE_STOPPED = "lane_stopped"
    NOTHING_COMPLETES = "nothing_completes"
    SILENCE = "silence"
    UNCLASSIFIED = "unclassified"
    IN_DOUBT = "in_doubt"
    PROVIDER_BLOCK = "provider_block"
    NEW_CAUSE = "new_cause"
    DEAD_GROWS = "dead_grows"
    OLDEST_DEAD = "oldest_dead"
    DEAD_RATE = "dead_rate"
    AUTH_FAILURE = "auth_failure"
    ERROR_BUDGET = "error_budget"
    BREAKER_OPENINGS = "breaker_openings"
    LANE_WAITS = "lane_waits"
    #: Letters in the dead-letter queue of another system; there are no such sources yet.
    SOURCE_DEPTH = "source_depth"


#: The unit of the figure that is compared with `over`: something that is counted, seconds, minutes or percent.
UNITS: Mapping[When, str] = {
    When.DEAD_LETTERS: "events",
    When.LAG_P95: "seconds",
    When.OLDEST_DUE: "seconds",
    When.BREAKER_OPEN: "circuits",
    When.BULKHEAD_USE: "percent",
    When.RECOVERY_QUEUE: "percent",
    When.LANE_STOPPED: "lanes",
    When.NOTHING_COMPLETES: "minutes",
    When.SILENCE: "events",
    When.UNCLASSIFIED: "events",
    When.IN_DOUBT: "events",
    When.PROVIDER_BLOCK: "minutes",
    When.NEW_CAUSE: "events",
    When.DEAD_GROWS: "events",
    When.OLDEST_DEAD: "minutes",
    When.DEAD_RATE: "percent",
    When.AUTH_FAILURE: "accounts",
    When.ERROR_BUDGET: "percent",
    When.BREAKER_OPENINGS: "openings",
    When.LANE_WAITS: "minutes",
    When.SOURCE_DEPTH: "events",
}
#: Those of which a rule may name one kind; all others are known of accounts as a whole.
OF_A_KIND = frozenset(
    {
        When.DEAD_LETTERS, When.LAG_P95, When.BREAKER_OPEN, When.BREAKER_OPENINGS, When.UNCLASSIFIED, When.IN_DOUBT,
        When.NEW_CAUSE, When.DEAD_RATE,
    }
)  # fmt: skip
#: Those that are told once while they stand, unless a rule says otherwise.
ONCE = frozenset({When.NEW_CAUSE, When.AUTH_FAILURE})
#: Those that ask themselves for how long what they find has stood: it is told as soon as it is found.
AGED = frozenset({When.IN_DOUBT})
#: What must be seen at once, and what can wait until somebody has time.
PAGE, TICKET = "page", "ticket"
LEVELS: Mapping[When, str] = {
    When.LAG_P95: PAGE,
    When.OLDEST_DUE: PAGE,
    When.BREAKER_OPEN: PAGE,
    When.LANE_STOPPED: PAGE,
    When.NOTHING_COMPLETES: PAGE,
    When.DEAD_RATE: PAGE,
    When.AUTH_FAILURE: PAGE,
    When.BREAKER_OPENINGS: PAGE,
    When.LANE_WAITS: PAGE,
}


def urgency(level: str) -> int:
    """Its place in a list: what must be seen at once comes first."""
    return int(level != PAGE)


#: Stands for all accounts, or all kinds.
ANY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRule:
    """One rule, as it was read.

    Attributes:
        name: by which it is snoozed; no two rules have the same.
        when: what it looks at.
        over: found where the figure is larger than this; the unit is that of `when`.
        for_minutes: how long it must be found without a break before anybody is told.
        account: of which account; ANY for each of them.
        kind: of which kind; ANY for all together.
        repeat_hours: an open notice is told again no sooner than this; 0: never.
        at_least: of a rate, so many events must stand behind it.
        level: PAGE or TICKET; empty for the usual one of `when`.
        to: names of channels.
    """

    name: str
    when: When
    over: float = 0.0
    for_minutes: float = 0.0
    account: str = ANY
    kind: str = ANY
    repeat_hours: float = 4.0
    at_least: float = 5.0
    level: str = ""
    to: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.level:
            object.__setattr__(self, "level", LEVELS.get(self.when, TICKET))
