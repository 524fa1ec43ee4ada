"""One event from claim to result.

The claim was the first transaction; here the handler runs and the second one writes what came of it. What the handler
raises decides:

    nothing                     done, its result stored
    TransientError, retry_on,
    MemoryError                 tried again after the policy's wait; dead `exhausted` after the last attempt
    PermanentError              dead `permanent`
    RateLimited                 its scope is closed; given back unspent
    OutcomeUnknown              as policy.on_unknown says: tried again, or dead `in_doubt`
    TimeLimitReached            as TransientError; raised into the handler by its worker
    LeaseLost                   nothing: somebody else owns the event
    anything else               dead `unclassified`

Both kinds of workers run exactly this.
"""

from __future__ import annotations

import logging
import math
import time
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from dlq_console.clock import monotonic
from dlq_console.errors import (
    LeaseLost,
    OutcomeUnknown,
    PermanentError,
    RateLimited,
    StoreUnavailable,
    TransientError,
)
from dlq_console.hub.failures import failure, failure_of
from dlq_console.hub.handlers import Handler, Registry, Run
from dlq_console.hub.handlers import TimeLimitReached as TimeLimitReached
from dlq_console.hub.policy import DEFAULT_POLICY, Policy
from dlq_console.store import kinds, scopes, transitions
from dlq_console.store.canonical import encode_payload
from dlq_console.store.events import Event
from dlq_console.store.states import Outcome, Reason
from dlq_console.store.store import Store
from dlq_console.store.transitions import Ending, Failure

logger = logging.getLogger(__name__)

#: An event without a handler is looked at again after so many seconds, and is dead after the second number.
NO_HANDLER_DELAY = 30
NO_HANDLER_LIMIT = 3600
#: How long a scope is closed where the provider names no time, in seconds.
USUAL_CLOSURE = 60.0
#: The shortest and the longest that one answer of a provider may close a scope, in seconds.
SHORTEST_CLOSURE, LONGEST_CLOSURE = 1.0, 86_400.0
#: How long a result is offered to a database that is away, in seconds; about as long as the lease lasts.
RESULT_PATIENCE = 25
_ANYTHING: AbstractContextManager[None] = nullcontext()


def run_claimed(
    store: Store,
    registry: Registry,
    event: Event,
    *,
    result_max_bytes: int = 256_000,
    while_running: AbstractContextManager[None] = _ANYTHING,
    stops: tuple[type[BaseException], ...] = (KeyboardInterrupt,),
) -> bool:
    """Run a claimed event and write its result.

    Args:
        store: where the event is.
        registry: holds the handlers.
        event: as the claim returned it.
        result_max_bytes: the largest result that is kept.
        while_running: entered for as long as the handler runs and no longer, so that a worker knows when it may raise
            `TimeLimitReached` or one of `stops` into it.
        stops: errors that mean that this process is to end, so that the event is given back. Where nothing interrupts
            the process, a KeyboardInterrupt comes from the handler itself, and giving back would run it for ever.

    Returns:
        False when the event belonged to somebody else by then, so that nothing was written.
    """
    handler = registry.get(event.kind)
    if handler is None:
        return finish(store, event, _without_handler(store, event))
    if _too_old(event, handler.policy):
        return finish(store, event, _buried_too_old(event, handler.policy))
    try:
        with while_running:
            returned = handler(event, _run(store, event, handler))
    except LeaseLost:
        logger.warning("event %s: its lease was lost, the run has ended without a result", event.id)
        return False
    except TimeLimitReached:
        return finish(store, event, timed_out(event, handler.policy))
    except RateLimited as error:
        return _close_scope(store, event, error, handler.policy)
    except stops:
        finish(store, event, transitions.released())
        raise
    except BaseException as error:  # noqa: BLE001 - also sys.exit and MemoryError: the worker lives on
        return finish(store, event, ending_of(error, event, handler.policy))
    return finish(store, event, _completed(returned, result_max_bytes))


def finish(store: Store, event: Event, ending: Ending) -> bool:
    """Write how a run ended; waits for a database that is away as long as the lease may last."""
    written = _patiently(partial(transitions.end, store, event, ending))
    if not written:
        logger.warning(
            "event %s: epoch %s no longer owns it, its result is refused", event.id, event.lease_epoch
        )
    return written


def ending_of(error: BaseException, event: Event, policy: Policy) -> Ending:
    """What follows from an error of the handler."""
    if isinstance(error, PermanentError):
        return transitions.buried(failure_of(error, verdict="permanent"), Reason.PERMANENT)
    if isinstance(error, OutcomeUnknown):
        doubt = failure_of(error, verdict="unknown")
        if policy.on_unknown == "hold":
            return transitions.buried(doubt, Reason.IN_DOUBT)
        return retried_or_exhausted(doubt, event, policy)
    if isinstance(error, (TransientError, StoreUnavailable, MemoryError, *policy.retry_on)):
        return retried_or_exhausted(failure_of(error, verdict="transient"), event, policy)
    return transitions.buried(failure_of(error, verdict="unknown"), Reason.UNCLASSIFIED)


def retried_or_exhausted(
    cause: Failure,
    event: Event,
    policy: Policy,
    *,
    last: Reason = Reason.EXHAUSTED,
    outcome: Outcome | None = None,
) -> Ending:
    """Another attempt after the policy's wait, or dead when this was the last one."""
    if event.attempts >= event.max_attempts:
        return transitions.buried(cause, last, outcome=outcome or Outcome.DEAD)
    return transitions.retried(
        cause,
        delay=policy.delay_after(event.attempts),
        max_wait=policy.max_wait,
        outcome=outcome or Outcome.FAILED,
    )


def timed_out(event: Event, policy: Policy) -> Ending:
    """What follows when a run was stopped at its time limit."""
    message = f"The run was stopped at its time limit of {policy.timeout:g} seconds."
    return retried_or_exhausted(failure("TimeLimitExceeded", message, verdict="transient"), event, policy)


def died(event: Event, policy: Policy = DEFAULT_POLICY, *, how: str = "stopped answering") -> Ending:
    """What follows when the worker died or froze while it ran the event: that was an attempt."""
    message = f"The worker {how} while it was running this event (attempt {event.attempts} of {event.max_attempts})."
    lost = failure("WorkerDied", message, verdict="unknown")
    return retried_or_exhausted(lost, event, policy, last=Reason.ORPHANED, outcome=Outcome.LOST)


def _run(store: Store, event: Event, handler: Handler) -> Run:
    return Run(
        attempt=event.attempts,
        effect_key=event.effect_key,
        log=logging.LoggerAdapter(logging.getLogger("dlq_console.handler"), {"event_id": event.id}),
        deadline=monotonic() + handler.policy.timeout,
        still_held=partial(transitions.holds, store, event.id, event.lease_epoch),
    )


def _completed(returned: Any, max_bytes: int) -> Ending:
    if returned is None:
        return transitions.completed(None)
    try:
        return transitions.completed(encode_payload(returned, max_bytes=max_bytes, name="result"))
    except Exception as error:  # noqa: BLE001 - a result of user code may raise anything when it is looked at
        # The effect has happened: running it again for the sake of its result would be worse than losing that.
        reason = failure_of(error, verdict="unknown").message
        return transitions.completed(None, warning=failure("ResultNotStored", reason))


def _without_handler(store: Store, event: Event) -> Ending:
    waited = (event.started_at or event.due_at) - event.due_at
    # It may have waited for a closed account, while a worker that can run it is there all the time.
    if waited.total_seconds() < NO_HANDLER_LIMIT or kinds.is_handled(store, event.kind, NO_HANDLER_LIMIT):
        return transitions.released(delay=NO_HANDLER_DELAY)
    message = f'No worker had a handler for "{event.kind}" for an hour.'
    return transitions.buried(failure("NoHandler", message), Reason.NO_HANDLER)


def _too_old(event: Event, policy: Policy) -> bool:
    if policy.max_age is None:
        return False
    age = (event.started_at or event.created_at) - event.created_at
    return age.total_seconds() > policy.max_age


def _buried_too_old(event: Event, policy: Policy) -> Ending:
    message = f"It is older than the {policy.max_age:g} seconds after which this kind must not run any more."
    return transitions.buried(failure("TooOld", message), Reason.TOO_OLD)


def _close_scope(store: Store, event: Event, error: RateLimited, policy: Policy) -> bool:
    seconds = _closure(error.retry_after)
    cause = failure_of(error, verdict="rate_limited")

    def write() -> bool:
        with store.write() as connection:
            if not transitions.end_in(store, connection, event, transitions.released(cause)):
                return False
            type_, name = _scope_of(event, error, policy)
            scopes.close(store, connection, type_, name, seconds, cause.message)
            return True

    return _patiently(write)


def _closure(retry_after: object) -> float:
    """Seconds for which a scope is closed, whatever was made of the provider's answer.

    What is no time to wait for (zero, negative, no number) counts as no answer: taken at its word, it would have the
    event run again and again.
    """
    try:
        seconds = float(str(retry_after))
    except ValueError:
        return USUAL_CLOSURE
    if not (math.isfinite(seconds) and seconds > 0):
        return USUAL_CLOSURE
    return min(max(seconds, SHORTEST_CLOSURE), LONGEST_CLOSURE)


def _scope_of(event: Event, error: RateLimited, policy: Policy) -> tuple[scopes.ScopeType, str]:
    if error.scope == "method":
        return "method", scopes.method_name(event.account, event.kind)
    if error.scope == "provider" and policy.provider:
        return "provider", policy.provider
    return "account", event.account


def _patiently(write: Any) -> bool:
    deadline = monotonic() + RESULT_PATIENCE
    wait = 0.2
    while True:
        try:
            return bool(write())
        except StoreUnavailable:
            if monotonic() + wait > deadline:
                raise
            time.sleep(wait)
            wait = min(wait * 2, 5.0)
