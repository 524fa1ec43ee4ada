"""How does a circuit move? Pure functions over its record; every process and every store uses exactly these.

    closed     calls go through; failures in a row, or the shares of a window, open it
    open       calls are refused until the open time is over; then the next caller makes it half-open
    half-open  so many probes at a time, each a lease; a failed one opens it again, enough good ones close it

What was admitted under one generation decides nothing under another. A result that proves nothing moves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dlq_console.resilience.breaker import window as windows
from dlq_console.resilience.breaker.config import CircuitBreakerConfig
from dlq_console.resilience.breaker.record import (
    BLANK,
    HISTORY,
    BreakerRecord,
    CircuitState,
    Override,
    Position,
    Transition,
)
from dlq_console.resilience.breaker.window import Evidence
from dlq_console.resilience.leases import Lease, holds, is_over, settled, without
from dlq_console.resilience.state import A_WEEK, Answer, Change, unchanged

CLOSED, OPEN, HALF_OPEN = CircuitState.CLOSED, CircuitState.OPEN, CircuitState.HALF_OPEN

#: The generation of a call that was let through although the circuit is open: it is no evidence.
NO_EVIDENCE = -1

#: How long an override is kept when nobody calls the service, in seconds.
_FOR_EVER = 10 * 365 * 86_400.0


@dataclass(frozen=True, slots=True)
class Admitted:
    """The call may be made.

    Attributes:
        generation: to be given back with its result.
        probe: whether it holds a permit of a half-open circuit.
        moved: the transition that this admission brought about.
    """

    generation: int
    probe: bool = False
    moved: Transition | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """The call must not be made.

    Attributes:
        why: in words, for the error.
        retry_after: seconds until another try makes sense; None where nobody can know.
    """

    why: str
    retry_after: float | None


Verdict = Admitted | Refused
Moved = Transition | None


def admit(
    record: BreakerRecord | None,
    now: float,
    *,
    config: CircuitBreakerConfig,
    token: str,
    lease: float,
    by: str,
) -> Change[BreakerRecord, Verdict]:
    """Whether a call may be made now.

    Args:
        record: as it stands.
        now: the state's time.
        config: of the caller.
        token: becomes the holder of a probe's permit, if it is one.
        lease: how long that permit lasts, in seconds.
        by: the process that asks.
    """
    record = record or BLANK
    override = standing_override(record, now)
    if override is not None and override.position is Position.FORCED_OPEN:
        left = None if override.until is None else override.until - now
        return unchanged(Refused(f"held open by {override.actor}", left))
    computed = _admit(record, config, now, token, lease, by)
    if override is not None and isinstance(computed.answer, Refused):
        return replace(computed, answer=Admitted(NO_EVIDENCE))
    return computed


def _admit(
    record: BreakerRecord, config: CircuitBreakerConfig, now: float, token: str, lease: float, by: str
) -> Change[BreakerRecord, Verdict]:
    if record.state is CLOSED:
        return unchanged(Admitted(record.generation))
    if record.state is OPEN and not due(record, now):
        return unchanged(Refused("open", record.open_until - now))
    half_open = (
        record if record.state is HALF_OPEN else _move(record, HALF_OPEN, now, "its open time is over", by)
    )
    probes = settled(half_open.probes, now)
    if holds(probes, token):
        return unchanged(Admitted(half_open.generation, probe=True))
    # No more probes at once than successes are needed: the others would prove nothing.
    room = max(1, min(config.half_open_max_calls, config.success_threshold - half_open.successes))
    if len(probes) >= room:
        refused = Refused("waiting for a probe", min(probe.expires for probe in probes) - now)
        return _kept(refused, record, replace(half_open, probes=probes))
    granted = replace(half_open, probes=(*probes, Lease(token, now + lease, lease)))
    moved = None if record.state is HALF_OPEN else granted.history[-1]
    return _kept(Admitted(granted.generation, probe=True, moved=moved), record, granted)


def report(
    record: BreakerRecord | None,
    now: float,
    *,
    config: CircuitBreakerConfig,
    generation: int,
    token: str,
    evidence: Evidence,
    by: str,
) -> Change[BreakerRecord, Moved]:
    """What follows from calls that were admitted under `generation`; the answer is the transition, if there is one.

    A probe gives its permit back here; evidence that holds nothing gives it back and moves nothing.
    """
    record = record or BLANK
    held = holds(record.probes, token)
    after = replace(record, probes=without(record.probes, token)) if held else record
    if generation == record.generation:
        if record.state is CLOSED:
            after = _closed(after, config, now, evidence, by)
        elif record.state is HALF_OPEN and held:
            after = _half_open(after, config, now, evidence, by)
    return _kept(after.history[-1] if after.generation != record.generation else None, record, after)


def give_back(record: BreakerRecord | None, _now: float, *, token: str) -> Change[BreakerRecord, Moved]:
    """Return the permit of a probe whose result cannot count any more; nothing else is moved."""
    if record is None or not holds(record.probes, token):
        return unchanged(None)
    return _kept(None, record, replace(record, probes=without(record.probes, token)))


def _closed(
    record: BreakerRecord, config: CircuitBreakerConfig, now: float, evidence: Evidence, by: str
) -> BreakerRecord:
    record = replace(record, last_failure=evidence.error or record.last_failure)
    if config.window is not None:
        counted = windows.add(record, config.window, evidence, now)
        why = windows.too_bad(windows.shares(counted, config.window, now), config.window)
        return _open(counted, config, now, why, evidence, by) if why else counted
    failures = (0 if evidence.successes else record.failures) + evidence.failed
    if failures >= config.failure_threshold:
        return _open(
            record, config, now, f"{failures} failures in a row, the last: {evidence.error}", evidence, by
        )
    return replace(record, failures=failures)


def _half_open(
    record: BreakerRecord, config: CircuitBreakerConfig, now: float, evidence: Evidence, by: str
) -> BreakerRecord:
    if evidence.failed:
        again = replace(record, reopened=record.reopened + 1, last_failure=evidence.error)
        return _open(again, config, now, f"the probe failed: {evidence.error}", evidence, by)
    successes = record.successes + evidence.successes
    if successes < config.success_threshold:
        return replace(record, successes=successes)
    return replace(_move(record, CLOSED, now, f"{successes} probes succeeded", by), reopened=0)


def _open(
    record: BreakerRecord, config: CircuitBreakerConfig, now: float, why: str, evidence: Evidence, by: str
) -> BreakerRecord:
    open_for = config.open_time(record.reopened, evidence.retry_after)
    return replace(_move(record, OPEN, now, why, by), open_until=now + open_for, open_for=open_for)


def _kept(
    answer: Answer, before: BreakerRecord | None, after: BreakerRecord
) -> Change[BreakerRecord, Answer]:
    if after == before:
        return unchanged(answer)
    # An open circuit must not be forgotten before its time, an override not at all.
    keep_for = _FOR_EVER if after.override is not None else A_WEEK + after.open_for
    return Change(answer, after, keep_for)


def _move(record: BreakerRecord, after: CircuitState, now: float, why: str, by: str) -> BreakerRecord:
    generation = record.generation + 1
    transition = Transition(now, record.state, after, why, by, generation)
    return replace(
        record,
        state=after,
        generation=generation,
        since=now,
        failures=0,
        successes=0,
        open_until=0.0,
        open_for=0.0,
        probes=(),
        outcomes="",
        buckets=(),
        override=standing_override(record, now),
        history=(*record.history, transition)[-HISTORY:],
    )


# What a person may do


def force(
    record: BreakerRecord | None,
    now: float,
    *,
    position: Position,
    actor: str,
    note: str,
    seconds: float | None,
) -> Change[BreakerRecord, Moved]:
    """Put the circuit where a person wants it, for some seconds or until it is reset."""
    record = record or BLANK
    until = None if seconds is None else now + seconds
    forced = _move(
        record, record.state, now, f"{_WORDS[position]}: {note}" if note else _WORDS[position], actor
    )
    # What was computed goes on underneath.
    forced = replace(
        forced,
        since=record.since,
        open_until=record.open_until,
        open_for=record.open_for,
        override=Override(position, actor, note, now, until),
    )
    return _kept(forced.history[-1], record, forced)


def reset(record: BreakerRecord | None, now: float, *, actor: str, note: str) -> Change[BreakerRecord, Moved]:
    """Close the circuit and end any override."""
    closed = _move(record or BLANK, CLOSED, now, f"reset: {note}" if note else "reset", actor)
    closed = replace(closed, override=None, reopened=0)
    return _kept(closed.history[-1], record, closed)


_WORDS = {Position.FORCED_OPEN: "forced open", Position.FORCED_CLOSED: "forced closed"}


# What is read


def due(record: BreakerRecord, now: float) -> bool:
    """Whether an open circuit may be probed; also when the clock was set back before it was opened."""
    return is_over(record.open_until, record.open_for, now)


def standing_override(record: BreakerRecord, now: float) -> Override | None:
    """The person's decision that stands at this moment; one for some seconds ends when the clock was set back behind it."""
    override = record.override
    if override is None or override.until is None:
        return override
    return None if is_over(override.until, override.until - override.at, now) else override


def computed_state(record: BreakerRecord, now: float) -> CircuitState:
    """Where the circuit stands by itself at this moment; reading changes nothing."""
    return HALF_OPEN if record.state is OPEN and due(record, now) else record.state


def effective_state(record: BreakerRecord, now: float) -> CircuitState:
    """Where the circuit stands with a person's decision taken into account."""
    override = standing_override(record, now)
    if override is None:
        return computed_state(record, now)
    return OPEN if override.position is Position.FORCED_OPEN else CLOSED
