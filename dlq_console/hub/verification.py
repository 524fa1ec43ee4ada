"""Does the provider have it already? Asked before anything is run again whose last outcome is unknown."""

from __future__ import annotations

from asyncio import CancelledError
from dataclasses import replace
from typing import Any

from dlq_console.errors import LeaseLost
from dlq_console.hub.endings import Kind, ending_of, fresh_key, own_circuit, unanswered
from dlq_console.hub.failures import failure, failure_of
from dlq_console.hub.handlers import Handler, Run, TimeLimitReached
from dlq_console.store import transitions
from dlq_console.store.canonical import encode_payload
from dlq_console.store.events import Event
from dlq_console.store.states import Outcome, Reason
from dlq_console.store.transitions import Ending

#: What a verifier may raise itself; anything else comes from its worker.
_OWN = (Exception, SystemExit, GeneratorExit, CancelledError)


def verified(handler: Handler, event: Event, run: Run, kind: Kind, max_bytes: int) -> Ending:
    """Ask the verifier, and end the run by its answer; it costs no attempt.

    `"applied"`, or a dict that becomes the result, makes the event done; `"not_applied"` lets it run at once, with a new
    effect key, where it has an attempt left; `"unknown"` asks again later, and leaves it to a person after
    `MOST_UNKNOWN` times.
    """
    try:
        answer = handler.verify(event, run)
    except LeaseLost:
        raise
    except TimeLimitReached:
        return _unknown(event, kind, f"The verifier was stopped after {kind.policy.timeout:g} seconds.")
    except _OWN as error:
        return _failed(error, event, kind)
    heard = transitions.completed(None).evidence
    return replace(
        _by_answer(answer, event, kind, max_bytes), evidence=heard, circuit=own_circuit(event, kind.policy)
    )


def completed(returned: Any, max_bytes: int) -> Ending:
    """The ending of what worked, with what was returned as its result."""
    if returned is None:
        return transitions.completed(None)
    try:
        return transitions.completed(encode_payload(returned, max_bytes=max_bytes, name="result"))
    except Exception as error:  # noqa: BLE001 - a result of user code may raise anything when it is looked at
        # The effect has happened: running it again for the sake of its result would be worse than losing that.
        reason = failure_of(error, verdict="unknown").message
        return transitions.completed(None, warning=failure("ResultNotStored", reason))


def _by_answer(answer: Any, event: Event, kind: Kind, max_bytes: int) -> Ending:
    if isinstance(answer, dict) or (isinstance(answer, str) and answer == "applied"):
        done = completed(answer if isinstance(answer, dict) else None, max_bytes)
        told = failure("Verified", "The verifier found it in the outside system, so it was not sent again.")
        return replace(done, failure=done.failure or told)
    if isinstance(answer, str) and answer == "not_applied":
        # This claim was no attempt.
        if event.attempts - 1 >= event.max_attempts:
            gone = failure(
                "Verified", "The verifier did not find it in the outside system, and no attempt is left."
            )
            return replace(transitions.buried(gone, Reason.EXHAUSTED), doubts=0, effect_key=fresh_key(event))
        told = failure("Verified", "The verifier did not find it in the outside system, so it is sent again.")
        return transitions.asked(told, delay=0.0, doubts=0, effect_key=fresh_key(event))
    if isinstance(answer, str) and answer == "unknown":
        return _unknown(event, kind, "The verifier could not tell whether the outside system has it.")
    wrong = f'The verifier of {event.kind} returned {type(answer).__name__}; it must say "applied", "not_applied" or "unknown".'
    return _unknown(event, kind, wrong)


def _unknown(event: Event, kind: Kind, message: str) -> Ending:
    return unanswered(failure("OutcomeUnknown", message, verdict="unknown"), event, kind.policy)


def _failed(error: BaseException, event: Event, kind: Kind) -> Ending:
    """What the verifier met says something about the provider, nothing about the event."""
    by_error = ending_of(error, event, kind)
    if by_error.outcome is Outcome.RELEASED:
        return by_error
    # An error of the verifier itself must end some time too.
    again = _unknown(event, kind, failure_of(error, verdict="unknown").message)
    return replace(again, evidence=by_error.evidence, circuit=by_error.circuit, doors=by_error.doors)
