"""Would a dead event pass now? `@hub.precheck` of its kind asks the outside system, in a worker, by a small job of its own.

The job ends with an answer whatever happens: what raises, takes too long or kills its worker cannot tell, and is no dead
letter. What it meets says something about the outside system all the same, so circuits and closed doors hear of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dlq_console.errors import LeaseLost
from dlq_console.hub.endings import Kind, ending_of, precheck_ended
from dlq_console.hub.failures import failure
from dlq_console.hub.handlers import Run, TimeLimitReached
from dlq_console.store import prechecks, transitions
from dlq_console.store.events import Event
from dlq_console.store.queries import get_event
from dlq_console.store.states import Outcome, Status
from dlq_console.store.store import Store
from dlq_console.store.transitions import Ending

#: How long a job waits between two looks at closed doors, and for a worker that has the precheck, in seconds.
LOOK_AGAIN = 5.0
#: After so many seconds nobody has it.
NOBODY_HAS_IT = 120.0


def prechecked(store: Store, job: Event, run: Run, kind: Kind) -> Ending:
    """Ask about the event of `job`, a claimed job, and end it with the answer.

    Raises:
        LeaseLost: another worker was given the job meanwhile.
        TimeLimitReached: the answer did not come in time.
    """
    event_id, epoch = prechecks.subject(job)
    event = get_event(store, event_id)
    if (
        event is None
        or event.status != Status.DEAD
        or not prechecks.is_same_death(event, epoch, job.created_at)
    ):
        return _told("It is not dead any more as it was when this was asked.")
    precheck = kind.registry.precheck(event.kind)
    if precheck is None:
        return _not_here(job, event.kind)
    if not prechecks.may_call(store, event_id):
        return transitions.released(delay=LOOK_AGAIN)
    try:
        answer = precheck(event, replace(run, effect_key=event.effect_key))
    except (LeaseLost, TimeLimitReached):
        raise
    except Exception as error:  # noqa: BLE001 - user code
        ending = ending_of(error, job, kind)
        return ending if ending.outcome is Outcome.RELEASED else precheck_ended(ending)
    return _answered(answer, event.kind)


def _answered(answer: Any, kind: str) -> Ending:
    if isinstance(answer, str) and answer in prechecks.ANSWERS:
        return transitions.completed(f'{{"answer":"{answer}"}}')
    wrong = f"The precheck of {kind} returned {type(answer).__name__}; it must say one of {', '.join(prechecks.ANSWERS)}."
    return _told(wrong)


def _not_here(job: Event, kind: str) -> Ending:
    waited = (job.started_at or job.created_at) - job.created_at
    if waited.total_seconds() < NOBODY_HAS_IT:
        return transitions.released(delay=LOOK_AGAIN)
    return _told(f"No worker of this account has a precheck of {kind}.")


def _told(why: str) -> Ending:
    return transitions.completed(
        f'{{"answer":"{prechecks.UNKNOWN}"}}', warning=failure("PrecheckUnknown", why)
    )
