"""Was the order of every lane kept? By two witnesses: the times of the runs, and the ledger of the ERP.

No event of a lane may begin, or have its effect, before each earlier one is out of its way: done, or let go. An event is
let go when it dies and does not stop its lane, and when a person discards or skips it. From that moment on it may be
overtaken, also after a reprocess. Nothing else may be, but for two events that two shops handed over at the same moment.
Earlier is what has the lower id.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tests.chaos.handovers import Handovers
from tests.chaos.history import History
from tests.chaos.record import EventRow, Record

#: The clock of SQLite has whole milliseconds (seconds).
TICK = 0.001
NEVER = float("inf")


def complaints(record: Record) -> Iterator[str]:
    """Events of a lane that ran beside or before an earlier one, or whose effects came in another order."""
    history, let_go, handovers = History(record), moments_let_go(record), Handovers(record.promises)
    for lane, events in _lanes(record).items():
        yield from _begun_too_early(lane, events, history, _moments_out(events, history, let_go), handovers)
        yield from _at_the_same_time(lane, events, history)
    for later, earlier in overtakes(record):
        was_let_go = let_go.get(earlier, NEVER) <= history.begun(later) + TICK
        if not was_let_go and not handovers.at_the_same_moment(later, earlier):
            yield f"the effect of event {later} came before that of event {earlier}, which had not been let go"


def overtakes(record: Record) -> list[tuple[int, int]]:
    """(later, earlier) event of one lane where the effect of the later one came first; some of them are legal."""
    of_document = {(event.account, event.entity_id): event for event in record.events}
    seen: dict[str, list[int]] = defaultdict(list)
    found = []
    for entry in record.ledger:
        event = of_document.get((entry.account, entry.entity))
        if entry.what == "applied" and event is not None and event.lane is not None:
            found += [(other, event.id) for other in seen[event.lane] if other > event.id]
            seen[event.lane].append(event.id)
    return found


def moments_let_go(record: Record) -> dict[int, float]:
    """Event -> since when its lane may go on without it."""
    history = History(record)
    stops = {promise.id: promise.stops for shop in record.promises for promise in shop}
    skips: dict[str, list[float]] = defaultdict(list)
    for act in record.audit:
        if act.action == "skip_lane" and act.subject is not None:
            skips[act.subject].append(act.at)
    moments: dict[int, float] = {}
    for event in record.events:
        deaths = list(history.deaths(event))
        found = [act.at for act in history.acts[event.id] if act.action in ("discard", "skip_lane")]
        if not stops.get(event.id):
            found += deaths
        elif deaths and event.on_dead == "skip":
            # A skip lets go of everything that is dead in the lane, and names its head only.
            found += [at for at in skips[event.lane or ""] if at >= deaths[0] - TICK]
        if found:
            moments[event.id] = min(found)
    return moments


def _lanes(record: Record) -> dict[str, list[EventRow]]:
    lanes: dict[str, list[EventRow]] = defaultdict(list)
    for event in record.events:
        if event.lane is not None:
            lanes[event.lane].append(event)
    return lanes


def _moments_out(events: Sequence[EventRow], history: History, let_go: dict[int, float]) -> dict[int, float]:
    """Event -> since when it is out of the way of those behind it: done or let go."""
    moments = {}
    for event in events:
        done = [each.ended_at for each in history.attempts[event.id] if each.outcome == "done"]
        moments[event.id] = min([*done, let_go.get(event.id, NEVER)])
    return moments


def _begun_too_early(
    lane: str, events: Sequence[EventRow], history: History, out: dict[int, float], handovers: Handovers
) -> Iterator[str]:
    for place, event in enumerate(events):
        begun = history.begun(event.id)
        for earlier in events[:place]:
            if begun < out[earlier.id] - TICK and not handovers.at_the_same_moment(event.id, earlier.id):
                yield f"event {event.id} of {lane} began before event {earlier.id} was out of its way"
                break


def _at_the_same_time(lane: str, events: Sequence[EventRow], history: History) -> Iterator[str]:
    runs = sorted(
        (attempt for event in events for attempt in history.attempts[event.id]),
        key=lambda attempt: (attempt.started_at, attempt.ended_at),
    )
    for earlier, later in pairwise(runs):
        if later.started_at < earlier.ended_at - TICK:
            yield f"attempts {earlier.id} and {later.id} of {lane} ran at the same time"
