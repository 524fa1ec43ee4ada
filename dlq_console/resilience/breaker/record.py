"""What is written down about a circuit: a small record that every process reads and one at a time changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from dlq_console.resilience.leases import Lease
from dlq_console.resilience.state import Kind

#: Transitions that are kept with the record, newest last.
HISTORY = 20


class CircuitState(StrEnum):
    """Where a circuit stands."""

    #: Calls go through.
    CLOSED = "closed"
    #: Calls are refused.
    OPEN = "open"
    #: The open time is over: probes are let through and decide.
    HALF_OPEN = "half_open"


class Position(StrEnum):
    """Where a person has put a circuit, whatever its calls say."""

    FORCED_OPEN = "forced_open"
    FORCED_CLOSED = "forced_closed"


@dataclass(frozen=True, slots=True)
class Override:
    """A person's decision that stands beside what the circuit computes.

    Attributes:
        position: open or closed.
        actor: who decided it.
        note: why.
        at: when, in the state's seconds.
        until: when it lapses; None: not by itself.
    """

    position: Position
    actor: str
    note: str
    at: float
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Transition:
    """One change of a circuit.

    Attributes:
        at: when, in the state's seconds.
        before: where it stood; an override begins or ends where `before` and `after` are the same.
        after: where it stands.
        why: in words; names the class of an error, never its message.
        by: the process or person that brought it about.
        generation: of the circuit from then on.
    """

    at: float
    before: CircuitState
    after: CircuitState
    why: str
    by: str
    generation: int


@dataclass(frozen=True, slots=True)
class BreakerRecord:
    """All that decides about a circuit.

    Attributes:
        state: as the last transition left it; an open one whose time is over is due for a probe.
        generation: goes up with every transition; a result of an earlier one decides nothing.
        since: when `state` began.
        failures: in a row, while closed.
        last_failure: class of the last error that counted.
        successes: of probes, while half-open.
        open_until: when an open circuit is due for a probe.
        open_for: how long that was from the start.
        reopened: probes that have failed since it was last closed.
        probes: permits that are out.
        outcomes: of the last calls, a letter each (see `window.py`), where a count window is used.
        buckets: start, calls, failures, slow calls of each span of a time window.
        override: a person's decision.
        history: the last transitions, newest last.
    """

    state: CircuitState = CircuitState.CLOSED
    generation: int = 0
    since: float = 0.0
    failures: int = 0
    last_failure: str = ""
    successes: int = 0
    open_until: float = 0.0
    open_for: float = 0.0
    reopened: int = 0
    probes: tuple[Lease, ...] = ()
    outcomes: str = ""
    buckets: tuple[tuple[float, int, int, int], ...] = ()
    override: Override | None = None
    history: tuple[Transition, ...] = field(default=())


BLANK = BreakerRecord()


def encode(record: BreakerRecord) -> str:
    """The record as JSON, without what is as in a blank one."""
    values = asdict(record)
    blank = asdict(BLANK)
    return json.dumps(
        {key: value for key, value in values.items() if value != blank[key]}, separators=(",", ":")
    )


def decode(text: str) -> BreakerRecord | None:
    """The inverse of `encode`; None for anything else."""
    try:
        values: dict[str, Any] = {
            key: _READERS.get(key, _plain(key))(value)
            for key, value in json.loads(text).items()
            if key in BreakerRecord.__dataclass_fields__
        }
        return BreakerRecord(**values)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _plain(key: str) -> Callable[[Any], Any]:
    """Reads a number or a text as what it is in a blank record."""
    return type(getattr(BLANK, key))


def _probes(values: Any) -> tuple[Lease, ...]:
    return tuple(Lease(**probe) for probe in values)


def _buckets(values: Any) -> tuple[tuple[float, int, int, int], ...]:
    return tuple((start, calls, failures, slow) for start, calls, failures, slow in values)


def _override(values: Any) -> Override | None:
    if values is None:
        return None
    return Override(**{**values, "position": Position(values["position"])})


def _history(values: Any) -> tuple[Transition, ...]:
    return tuple(
        Transition(**{**each, "before": CircuitState(each["before"]), "after": CircuitState(each["after"])})
        for each in values
    )


_READERS: dict[str, Callable[[Any], Any]] = {
    "state": CircuitState,
    "probes": _probes,
    "buckets": _buckets,
    "override": _override,
    "history": _history,
}

BREAKERS = Kind("breaker", encode, decode, hurried=True)
