"""Does the checker find every broken promise? A small true record is falsified in one place each time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.chaos.checker import complaints
from tests.chaos.record import AttemptRow, AuditRow, Entry, EventRow, Promise, Record

LANE = "branch-00|red"


def promise(id_: int, *, stops: bool = False, at: float | None = None) -> Promise:
    return Promise(
        id=id_,
        entity=f"e{id_}",
        kind="price.change",
        account="branch-00",
        lane=LANE,
        stops=stops,
        at=id_ if at is None else at,
    )


def event(id_: int, status: str = "done", reason: str | None = None, **changed: object) -> EventRow:
    row = EventRow(
        id=id_,
        entity_id=f"e{id_}",
        kind="price.change",
        account="branch-00",
        lane=LANE,
        on_dead="skip",
        effect_key=f"k{id_}",
        status=status,
        reason=reason,
        attempts=1,
        total_attempts=1,
        max_attempts=3,
        cycle=0,
        lease_epoch=1,
    )
    return replace(row, **changed)  # type: ignore[arg-type] # each test names fields of the row


def attempt(id_: int, event_id: int, start: float, outcome: str = "done", **changed: object) -> AttemptRow:
    row = AttemptRow(
        id=id_,
        event_id=event_id,
        cycle=0,
        number=1,
        lease_epoch=1,
        outcome=outcome,
        error_type=None,
        started_at=start,
        ended_at=start + 1,
    )
    return replace(row, **changed)  # type: ignore[arg-type] # as above


def entry(id_: int, what: str = "applied", key: str = "", *, echo: bool = False) -> Entry:
    return Entry(account="branch-00", key=key or f"k{id_}", entity=f"e{id_}", what=what, echo=echo)


def act(id_: int, event_id: int, action: str, before: str, after: str, at: float) -> AuditRow:
    return AuditRow(
        id=id_,
        event_id=event_id,
        action=action,
        subject=LANE if action == "skip_lane" else None,
        before=before,
        after=after,
        at=at,
    )


#: Two events of a lane, one after the other.
TRUE = Record(
    promises=[[promise(1), promise(2)]],
    events=[event(1), event(2)],
    attempts=[attempt(1, 1, 10), attempt(2, 2, 20)],
    audit=[],
    ledger=[entry(1), entry(2)],
)
#: The first one dies and is reprocessed after the second one: it may be overtaken, because its lane skips what is dead.
OVERTAKEN = Record(
    promises=[[promise(1), promise(2)]],
    events=[event(1, cycle=1, total_attempts=2, lease_epoch=3), event(2)],
    attempts=[
        attempt(1, 1, 10, "dead", error_type="PermanentError"),
        attempt(2, 2, 20),
        attempt(3, 1, 30, cycle=1, lease_epoch=3),
    ],
    audit=[act(1, 1, "reprocess", "dead", "pending", 25)],
    ledger=[entry(1, "refused"), entry(2), entry(1)],
)
#: The first one stops its lane, until somebody skips it.
STOPPED = Record(
    promises=[[promise(1, stops=True), promise(2, stops=True)]],
    events=[event(1, "dead", "permanent"), event(2, on_dead="block")],
    attempts=[attempt(1, 1, 10, "dead", error_type="PermanentError"), attempt(2, 2, 20)],
    audit=[act(1, 1, "skip_lane", "dead", "dead", 15)],
    ledger=[entry(1, "refused"), entry(2)],
    acts=[("skip_lane", 1)],
)
#: An answer is lost, so the effect is sent again and recognised; the network doubles one call.
DOUBTED = Record(
    promises=[[promise(1)]],
    events=[event(1, attempts=2, total_attempts=2, lease_epoch=2)],
    attempts=[
        attempt(1, 1, 10, "failed", error_type="TimeoutError"),
        attempt(2, 1, 20, number=2, lease_epoch=2),
    ],
    audit=[],
    ledger=[entry(1), entry(1, "repeated", echo=True), entry(1, "repeated")],
)
#: Two shops at once: the first one had its id first and was the last one to commit. Nothing is told of their order.
SIMULTANEOUS = Record(
    promises=[[promise(1, at=6)], [promise(2, at=5)]],
    events=[event(1), event(2)],
    attempts=[attempt(1, 2, 10), attempt(2, 1, 20)],
    audit=[],
    ledger=[entry(2), entry(1)],
)
#: Two shops, and the second one began with event 3 when the first one had ended with event 2: that order is promised.
SUCCESSIVE = Record(
    promises=[[promise(2, at=5)], [promise(1, at=6), promise(3, at=7)]],
    events=[event(1), event(2), event(3)],
    attempts=[attempt(1, 1, 10), attempt(2, 3, 20), attempt(3, 2, 30)],
    audit=[],
    ledger=[entry(1), entry(3), entry(2)],
)


#: Refused under one effect key and, once somebody has corrected the record, applied under another.
RENEWED = replace(OVERTAKEN, ledger=[entry(1, "refused", "the first"), entry(2), entry(1)])


@pytest.mark.parametrize("record", [TRUE, OVERTAKEN, STOPPED, DOUBTED, SIMULTANEOUS, RENEWED])
def test_a_true_record_raises_no_complaint(record: Record) -> None:
    assert complaints(record) == []


def changed_event(record: Record, place: int, **fields: object) -> Record:
    events = list(record.events)
    events[place] = replace(events[place], **fields)  # type: ignore[arg-type] # as above
    return replace(record, events=events)


def changed_attempt(record: Record, place: int, **fields: object) -> Record:
    attempts = list(record.attempts)
    attempts[place] = replace(attempts[place], **fields)  # type: ignore[arg-type] # as above
    return replace(record, attempts=attempts)


def changed_act(record: Record, **fields: object) -> Record:
    return replace(record, audit=[replace(record.audit[0], **fields)])  # type: ignore[arg-type] # as above


FALSE = {
    "a promised event is gone": (replace(TRUE, events=TRUE.events[:1]), "is lost"),
    "an event that nobody promised": (replace(TRUE, promises=[[promise(1)]]), "never promised"),
    "an event in another lane": (changed_event(TRUE, 1, lane=None), "not as it was handed over"),
    "handed over in another order": (
        replace(TRUE, promises=[[promise(2), promise(1)]]),
        "handed over after",
    ),
    "not ended": (changed_event(TRUE, 1, status="blocked"), "has not ended"),
    "dead without a reason": (changed_event(STOPPED, 0, reason=None), "has not ended for a stated reason"),
    "a confirmed act is gone": (replace(STOPPED, audit=[]), "was confirmed 1 times"),
    "one effect twice": (replace(TRUE, ledger=[*TRUE.ledger, entry(2)]), "took place 2 times"),
    "one document under two keys": (
        replace(TRUE, ledger=[*TRUE.ledger, entry(2, key="another")]),
        "took place 2 times",
    ),
    "an effect of no event": (replace(TRUE, ledger=[*TRUE.ledger, entry(3)]), "belongs to no event"),
    "done without an effect": (replace(TRUE, ledger=[entry(1)]), "has never applied it"),
    "refused and applied": (replace(STOPPED, ledger=[entry(1), entry(2)]), "no attempt was in doubt"),
    "sent more often than run": (
        replace(TRUE, ledger=[entry(1), entry(1, "repeated"), entry(2)]),
        "sent 2 times in 1 runs",
    ),
    "sent again without a doubt": (
        changed_attempt(DOUBTED, 0, error_type="TransientError"),
        "sent again 1 times",
    ),
    "effects in another order": (replace(TRUE, ledger=[entry(2), entry(1)]), "came before that of event 1"),
    "begun before the earlier one ended": (
        changed_attempt(TRUE, 1, started_at=10.5),
        "began before event 1",
    ),
    "two runs at the same time": (changed_attempt(TRUE, 1, started_at=10.5), "ran at the same time"),
    "two shops, one after the other: begun too early": (SUCCESSIVE, "began before event 2"),
    "two shops, one after the other: effects in another order": (SUCCESSIVE, "came before that of event 2"),
    "two shops at once: two runs at the same time": (
        changed_attempt(SIMULTANEOUS, 1, started_at=10.5),
        "ran at the same time",
    ),
    "overtaken before it died": (
        changed_attempt(OVERTAKEN, 1, started_at=9, ended_at=9.5),
        "began before event 1",
    ),
    "a stopped lane went on": (changed_act(STOPPED, at=25), "began before event 1"),
    "a dead one of a stopping lane was overtaken": (
        replace(OVERTAKEN, promises=[[promise(1, stops=True), promise(2, stops=True)]]),
        "which had not been let go",
    ),
    "an epoch twice": (changed_attempt(OVERTAKEN, 2, lease_epoch=1), "epochs do not grow"),
    "an epoch from nowhere": (changed_attempt(TRUE, 1, lease_epoch=2), "beyond 1"),
    "an attempt left out": (changed_attempt(DOUBTED, 1, number=3), "is number 3 instead of 2"),
    "an attempt not counted": (changed_event(DOUBTED, 0, attempts=1), "counts 1 attempts of 2"),
    "an attempt not counted in all": (changed_event(DOUBTED, 0, total_attempts=1), "attempts of 2 in all"),
    "a cycle without a reprocess": (replace(OVERTAKEN, audit=[]), "reprocessed 0 times"),
    "run again after its end": (changed_attempt(DOUBTED, 0, outcome="done"), "ran again after its end"),
    "an act in the wrong status": (changed_act(OVERTAKEN, before="failed"), "took it from failed"),
    "an act with the wrong outcome": (changed_act(OVERTAKEN, after="running"), "to running"),
    "done after a failure": (changed_attempt(TRUE, 1, outcome="failed"), "it should be failed"),
}


@pytest.mark.parametrize("name", FALSE)
def test_a_false_record_is_found_out(name: str) -> None:
    record, sentence = FALSE[name]
    found = complaints(record)
    assert any(sentence in complaint for complaint in found), found
