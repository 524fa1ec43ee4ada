"""Did anything take place twice, or not at all? The ledger of the ERP is compared with what the hub believes.

An effect key that was applied is recognised by the ERP, so what is looked for is a document that was applied under two keys
(it may be sent under a new one once the ERP has refused the first), and a call that was not needed: a run whose answer is
known must never be repeated. Only an attempt that nobody knows the outcome of may be followed by a second call for the
same effect.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tests.chaos.history import History
from tests.chaos.record import Entry, EventRow, Record

#: Errors after which nobody can know whether the ERP has applied the document.
IN_DOUBT = {"TimeoutError", "ConnectionError", "OutcomeUnknown", "TimeLimitExceeded", "WorkerDied"}

#: Account and document; each event has a document of its own.
Effect = tuple[str, str]


def complaints(record: Record) -> Iterator[str]:
    """Effects that are too many, missing, or of nobody."""
    applied = _by_document(entry for entry in record.ledger if entry.what == "applied")
    yield from (
        f"the effect {effect} took place {times} times" for effect, times in applied.items() if times > 1
    )
    known = {(event.account, event.entity_id) for event in record.events}
    yield from (f"the effect {effect} belongs to no event" for effect in applied.keys() - known)
    sent = [entry for entry in record.ledger if not entry.echo]
    calls, repeats = _by_document(sent), _by_document(entry for entry in sent if entry.what == "repeated")
    history = History(record)
    for event in record.events:
        effect = event.account, event.entity_id
        wrong = _wrong(history, event, applied[effect], calls[effect], repeats[effect])
        if wrong:
            yield f"{wrong}: {history.told(event)}"


def _by_document(entries: Iterable[Entry]) -> Counter[Effect]:
    return Counter((entry.account, entry.entity) for entry in entries)


def _wrong(history: History, event: EventRow, applied: int, calls: int, repeats: int) -> str | None:
    doubts = sum(attempt.error_type in IN_DOUBT for attempt in history.attempts[event.id])
    # An epoch is a claim or an act; a skip of an event that is dead already changes none.
    acts = sum(act.action != "skip_lane" or act.before == "failed" for act in history.acts[event.id])
    runs = event.lease_epoch - acts
    if event.status == "done" and not applied:
        return "done, and the ERP has never applied it"
    if event.status != "done" and applied and not doubts:
        return "applied by the ERP, and no attempt was in doubt"
    if calls > runs:
        return f"sent {calls} times in {runs} runs"
    if repeats > doubts:
        return f"sent again {repeats} times after it was applied, with {doubts} attempts in doubt"
    return None
