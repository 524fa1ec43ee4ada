"""Was every change of a status a legal one? Attempts and audit must follow from one another, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tests.chaos.history import Cycle, History
from tests.chaos.record import EventRow, Record

#: Outcome of the last attempt of a cycle -> statuses in which the event may be met after it. An attempt that is given back
#: unspent leaves no row where there is nothing to tell, so what can run again may also be `pending`.
MET_AFTER: dict[str | None, set[str]] = {
    None: {"pending", "blocked"},
    "released": {"pending"},
    "failed": {"failed", "pending"},
    "lost": {"failed", "pending", "dead"},
    "dead": {"dead"},
    "done": {"done"},
}
#: Action -> statuses in which it is allowed, and those it leads to.
ACTS: dict[str, tuple[set[str], set[str]]] = {
    "reprocess": ({"dead"}, {"pending", "blocked"}),
    "discard": ({"dead", "failed", "pending", "blocked"}, {"discarded"}),
    "skip_lane": ({"dead", "failed"}, {"dead"}),
}


def complaints(record: Record) -> Iterator[str]:
    """Events whose rows do not follow from one another."""
    history = History(record)
    for event in record.events:
        wrong = _wrong_epochs(history, event) or _wrong_counts(history, event) or _wrong_acts(history, event)
        if wrong:
            yield f"{wrong}: {history.told(event)}"


def _wrong_epochs(history: History, event: EventRow) -> str | None:
    """At most one row for an epoch, in the order in which the epochs were given."""
    epochs = [attempt.lease_epoch for attempt in history.attempts[event.id]]
    if any(later <= earlier for earlier, later in pairwise([0, *epochs])):
        return "its epochs do not grow"
    if epochs and epochs[-1] > event.lease_epoch:
        return f"an attempt names an epoch beyond {event.lease_epoch}"
    return None


def _wrong_counts(history: History, event: EventRow) -> str | None:
    """Attempts are numbered from 1 in each cycle; one that was given back does not count."""
    spent = 0
    for cycle in history.cycles(event):
        number = 1
        for attempt in cycle.attempts:
            if attempt.number != number:
                return f"its attempt {attempt.id} is number {attempt.number} instead of {number}"
            number += attempt.outcome != "released"
        spent += number - 1
        if cycle.number == event.cycle and event.attempts != number - 1:
            return f"it counts {event.attempts} attempts of {number - 1}"
    return (
        None
        if spent == event.total_attempts
        else f"it counts {event.total_attempts} attempts of {spent} in all"
    )


def _wrong_acts(history: History, event: EventRow) -> str | None:
    """Every cycle begins with a reprocess, and every act was allowed in the status that the event had."""
    reprocessed = sum(act.action == "reprocess" for act in history.acts[event.id])
    if reprocessed != event.cycle:
        return f"it was reprocessed {reprocessed} times and is in cycle {event.cycle}"
    if any(later.cycle < earlier.cycle for earlier, later in pairwise(history.attempts[event.id])):
        return "one of its attempts belongs to an earlier cycle than the one before it"
    wrong, status = None, {"pending"}
    for cycle in history.cycles(event):
        wrong, status = _follow(cycle)
        if wrong:
            return wrong
    return None if event.status in status else f"it should be {_either(status)}"


def _follow(cycle: Cycle) -> tuple[str | None, set[str]]:
    """What is wrong in a cycle, and the statuses in which it may have left the event."""
    if any(attempt.outcome in ("done", "dead") for attempt in cycle.attempts[:-1]):
        return f"it ran again after its end, in cycle {cycle.number}", set()
    status = MET_AFTER[cycle.attempts[-1].outcome if cycle.attempts else None]
    for act in cycle.acts:
        before, after = ACTS.get(act.action, (set(), set()))
        if act.before not in before & status or act.after not in after:
            return (
                f"{act.action} took it from {act.before} to {act.after} when it was {_either(status)}",
                set(),
            )
        status = {str(act.after)}
    return None, status


def _either(statuses: set[str]) -> str:
    return " or ".join(sorted(statuses))
