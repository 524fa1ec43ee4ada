"""One event from claim to result.

The claim was the first transaction; here the handler runs, or the verifier is asked, and the second one writes what
came of it. Nothing raised means done, with its result stored; LeaseLost means that somebody else owns the event. What
follows from any other error is decided in `endings.py`.

Both kinds of workers run exactly this.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Any

from dlq_console.clock import monotonic
from dlq_console.errors import LeaseLost, StoreUnavailable
from dlq_console.hub.alerting import brought
from dlq_console.hub.endings import Kind, ending_of, own_circuit, own_ending, timed_out
from dlq_console.hub.failures import failure
from dlq_console.hub.handlers import Handler, Registry, Run
from dlq_console.hub.handlers import TimeLimitReached as TimeLimitReached
from dlq_console.hub.prechecking import prechecked
from dlq_console.hub.refreshing import refreshed
from dlq_console.hub.staleness import ending_without_run
from dlq_console.hub.verification import completed, verified
from dlq_console.resilience.tracing import continued, span
from dlq_console.store import holding, kinds, transitions
from dlq_console.store.events import Event
from dlq_console.store.internal import ALERT, PRECHECK
from dlq_console.store.states import Reason
from dlq_console.store.store import Store
from dlq_console.store.transitions import Ending

logger = logging.getLogger(__name__)

#: An event without a handler is looked at again after so many seconds, and is dead after the second number.
NO_HANDLER_DELAY = 30
NO_HANDLER_LIMIT = 3600
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
    needless = _ending_without_run(store, handler, event)
    if needless is not None:
        return finish(store, event, needless)
    kind = Kind(handler.policy, registry)
    try:
        with _traced(event), while_running:
            ending = _ending(store, handler, event, kind, result_max_bytes)
    except LeaseLost:
        logger.warning("event %s: its lease was lost, the run has ended without a result", event.id)
        return False
    except TimeLimitReached:
        return finish(store, event, timed_out(event, handler.policy))
    except stops:
        finish(store, event, transitions.released())
        raise
    except BaseException as error:  # noqa: BLE001 - also sys.exit and MemoryError: the worker lives on
        ending = ending_of(error, event, kind)
        return finish(store, event, own_ending(event, ending))
    return finish(store, event, ending)


@contextmanager
def _traced(event: Event) -> Iterator[None]:
    """A span of the trace in which the event was put in."""
    carried = {"traceparent": event.trace_context} if event.trace_context else None
    attributes = {"dlq.event_id": event.id, "dlq.attempt": event.attempts}
    with continued(carried), span(f"run {event.kind}", attributes):
        yield


def _ending_without_run(store: Store, handler: Handler, event: Event) -> Ending | None:
    try:
        return ending_without_run(store, event, handler.policy, asks_first=_asks_first(handler, event))
    except StoreUnavailable:  # nothing was called, so it costs no attempt
        return transitions.released()


def _asks_first(handler: Handler, event: Event) -> bool:
    """Whether it is the verifier's turn: it is not known whether the provider has the event already."""
    return event.doubts > 0 and handler.verifier is not None and not handler.policy.may_repeat


def _ending(store: Store, handler: Handler, event: Event, kind: Kind, max_bytes: int) -> Ending:
    """Run the handler, or ask the verifier where it is not known whether the provider has it already."""
    run = _run(store, event, handler)
    if event.kind == PRECHECK:
        return prechecked(store, event, run, kind)
    if event.kind == ALERT:
        return brought(event, kind.registry)
    if _asks_first(handler, event):
        return verified(handler, event, run, kind, max_bytes)
    ready = refreshed(store, handler, event, run, kind)
    if isinstance(ready, Ending):
        return ready
    done = completed(handler(*ready), max_bytes)
    return replace(done, circuit=own_circuit(event, handler.policy))


def finish(store: Store, event: Event, ending: Ending) -> bool:
    """Write how a run ended; waits for a database that is away as long as the lease may last."""
    written = _patiently(partial(transitions.end, store, event, ending))
    if not written:
        logger.warning(
            "event %s: epoch %s no longer owns it, its result is refused", event.id, event.lease_epoch
        )
    return written


def _run(store: Store, event: Event, handler: Handler) -> Run:
    return Run(
        attempt=event.attempts,
        effect_key=event.effect_key,
        log=logging.LoggerAdapter(logging.getLogger("dlq_console.handler"), {"event_id": event.id}),
        deadline=monotonic() + handler.policy.timeout,
        still_held=partial(holding.holds, store, event.id, event.lease_epoch),
    )


def _without_handler(store: Store, event: Event) -> Ending:
    waited = (event.started_at or event.due_at) - event.due_at
    # It may have waited for a closed account, while a worker that can run it is there all the time.
    if waited.total_seconds() < NO_HANDLER_LIMIT or kinds.is_handled(store, event.kind, NO_HANDLER_LIMIT):
        return transitions.released(delay=NO_HANDLER_DELAY)
    message = f'No worker had a handler for "{event.kind}" for an hour.'
    return transitions.buried(failure("NoHandler", message), Reason.NO_HANDLER)


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
