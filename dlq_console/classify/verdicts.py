"""What does one answer of a provider mean? The words in which the rest of the hub hears it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class VerdictClass(StrEnum):
    """What follows for the event."""

    TRANSIENT = "transient"
    RATE_LIMITED = "rate_limited"
    PERMANENT = "permanent"
    AUTH = "auth"
    DUPLICATE = "duplicate"
    BENIGN = "benign"
    UNKNOWN = "unknown"


class Effect(StrEnum):
    """Whether the call changed anything in the provider."""

    NOT_APPLIED = "not_applied"
    APPLIED = "applied"
    UNKNOWN = "unknown"


class Reach(StrEnum):
    """Which scope the verdict is about: the event, its account, the kind within the account, or the whole provider."""

    EVENT = "event"
    ACCOUNT = "account"
    METHOD = "method"
    PROVIDER = "provider"


class Phase(StrEnum):
    """How far the call had come: nothing sent, partly sent, sent, answered; or never a call at all."""

    BEFORE_CONNECT = "before_connect"
    CONNECTED = "connected"
    SENT = "sent"
    RESPONSE = "response"
    LOCAL = "local"


class Evidence(StrEnum):
    """What the verdict proves to a circuit breaker."""

    FAILURE = "failure"
    SUCCESS = "success"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Answer:
    """What was said, as it may be kept and shown.

    Attributes:
        status: HTTP status, where there was one.
        code: the provider's own code, as text.
        content_type: as the provider named it, without parameters.
        excerpt: redacted, at most 500 characters.
        phase: how far the call had come.
        message: the sentence in the answer that says what is wrong, redacted, at most 500 characters; None where the
            answer holds none in a place that its pack knows.
    """

    status: int | None
    code: str | None
    content_type: str | None
    excerpt: str
    phase: Phase
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one answer means.

    Attributes:
        class_: what follows for the event.
        effect: whether the call changed anything in the provider.
        reach: the scope that the verdict is about.
        wait: seconds until it makes sense to call again, never less than the provider named; None where nobody said.
            A very long wait is handed on whole: whoever uses it decides from when on a scope is parked.
        wait_source: where the wait was found ("header Retry-After", "path error.retry", "message", "cost", "next day",
            "rule default").
        rule: id of the rule that decided, such as "omie.blocked"; "none" where none matched.
        rules_version: short hash of the rules that were loaded.
        block: a block by the provider: nothing of the reach may be called before the wait is over.
        answer: what was said.
        counts: what it proves to a circuit breaker.
        adopt: id of the record that the provider says exists, where its content may be compared and then adopted.
        renew: the session or token may have lapsed: the next attempt logs in anew. The same verdict twice in a row means
            that the log-in itself is refused.
    """

    class_: VerdictClass
    effect: Effect
    reach: Reach
    wait: float | None
    wait_source: str | None
    rule: str
    rules_version: str
    block: bool
    answer: Answer | None
    counts: Evidence
    adopt: str | None = None
    renew: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """The call that was answered, as far as a rule may ask.

    Attributes:
        kind: kind of the event.
        provider: `Policy.provider` of the kind.
        writes: whether the call may change something in the provider.
        unique_at_provider: whether the provider itself refuses a second record of the same key.
    """

    kind: str
    provider: str | None = None
    writes: bool = True
    unique_at_provider: bool = False


@dataclass(frozen=True, slots=True)
class Rate:
    """How much of one scope a provider allows.

    Attributes:
        per_minute: calls in a minute; None where it names no number.
        at_once: calls at the same time; None where it names no number.
    """

    per_minute: int | None = None
    at_once: int | None = None


@dataclass(frozen=True, slots=True)
class ErrorBudget:
    """How many failing answers a provider bears before it blocks.

    Attributes:
        failures: the most failing answers within `seconds`.
        seconds: length of the window.
        keep: how many of them only fresh events may use, not those that are run again.
        reach: the scope that is counted.
    """

    failures: int
    seconds: int
    keep: int
    reach: Reach


@dataclass(frozen=True, slots=True)
class Limits:
    """What a provider allows, as its pack says; plain values for whoever keeps to them.

    Attributes:
        rates: per scope.
        writes_at_once: writing calls of one account at the same time.
        error_budget: failing answers that it bears.
    """

    rates: Mapping[Reach, Rate] = field(default_factory=dict)
    writes_at_once: int | None = None
    error_budget: ErrorBudget | None = None
