"""What follows from an error of a handler?

A handler's own word comes first, then the rules of its provider:

    TransientError, retry_on,
    MemoryError                 tried again after the policy's wait; dead `exhausted` after the last attempt
    PermanentError              dead `permanent`
    RateLimited                 its scope is closed; given back unspent
    OutcomeUnknown              in doubt, see below
    CircuitOpenError,
    BulkheadFullError           given back unspent
    TimeLimitReached            in doubt where the kind writes, else tried again
    anything else               the verdict of the rules; dead `unclassified` where no rule knows it

    transient                   as TransientError; in doubt where the call may have been applied
    rate_limited                as RateLimited, with the reach and the wait of the verdict
    permanent                   dead `permanent`
    auth                        dead `auth`, and its account is paused until a person resumes it
    duplicate                   in doubt: the provider says that it has it already
    benign                      done
    unknown                     tried again up to three times where that cannot double anything; dead `unclassified`

In doubt means that nobody here knows whether the provider has it. `on_unknown` says what then: the verifier is asked,
a person decides (dead `in_doubt`), or it is tried again. What a handler may repeat without harm is never in doubt.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace

from dlq_console.classify import Call, Effect, Evidence, Phase, Reach, RuleSet, Verdict, VerdictClass
from dlq_console.errors import OutcomeUnknown, PermanentError, RateLimited, StoreUnavailable, TransientError
from dlq_console.hub.alert_endings import not_brought
from dlq_console.hub.failures import failure, failure_of, judged, said_by_handler
from dlq_console.hub.handlers import Registry
from dlq_console.hub.policy import DEFAULT_POLICY, Policy
from dlq_console.resilience import BulkheadFullError, CircuitOpenError
from dlq_console.resilience.breaker.window import GOOD
from dlq_console.resilience.breaker.window import Evidence as Proof
from dlq_console.store import keys, transitions
from dlq_console.store.door_acts import NOTHING, answered_badly, asks_to_wait, paused
from dlq_console.store.doors import DoorChange
from dlq_console.store.events import Event
from dlq_console.store.internal import ALERT, PRECHECK
from dlq_console.store.limits import KindLimits
from dlq_console.store.prechecks import UNKNOWN
from dlq_console.store.scope_names import Scope, account_scope, method_scope, provider_scope
from dlq_console.store.states import Outcome, Reason
from dlq_console.store.transitions import Circuit, Ending, Failure

#: How long a scope is closed where the provider names no time, in seconds.
USUAL_CLOSURE = 60.0
#: The shortest and the longest that one answer of a provider may close a scope, in seconds.
SHORTEST_CLOSURE, LONGEST_CLOSURE = 1.0, 86_400.0
#: The longest that a provider is left alone because it said so; a year.
LONGEST_PARKED = 366 * 86_400.0
#: Scopes that one answer has closed do not open all at the same moment; in seconds.
SPREAD = 2.0
#: Attempts of what no rule knows, where another one cannot double anything.
UNKNOWN_ATTEMPTS = 3
#: Times that a verifier may not know before a person must decide.
MOST_UNKNOWN = 5
#: A session that has lapsed is made anew at once, once.
RENEWAL_DELAY = 1.0
#: Wait of an event whose own circuit or bulkhead refused it without naming a time, in seconds.
REFUSED_DELAY = 5.0


@dataclass(frozen=True, slots=True)
class Kind:
    """What decides about the ending of an event besides its error."""

    policy: Policy
    registry: Registry

    @property
    def rules(self) -> RuleSet:
        """By which errors are classified."""
        return self.registry.rules

    @property
    def limits(self) -> KindLimits:
        """Of its provider."""
        return self.registry.limits(self.policy)


def ending_of(error: BaseException, event: Event, kind: Kind) -> Ending:
    """What follows from an error of the handler."""
    policy = kind.policy
    if isinstance(error, (RateLimited, PermanentError, OutcomeUnknown)):
        return _as_the_handler_says(error, event, kind)
    if isinstance(error, (CircuitOpenError, BulkheadFullError)):
        wait = _refused_for(error.retry_after)
        return transitions.released(failure_of(error, verdict="transient"), delay=wait)
    if isinstance(error, (StoreUnavailable, MemoryError)):
        return retried_or_exhausted(failure_of(error, verdict="transient"), event, policy)
    verdict = kind.rules.judge(error, _call(event, policy))
    if isinstance(error, (TransientError, *policy.retry_on)):
        return _retry_as_told(error, verdict, event, policy)
    return _by_verdict(error, verdict, event, kind)


def _as_the_handler_says(
    error: RateLimited | PermanentError | OutcomeUnknown, event: Event, kind: Kind
) -> Ending:
    # Raised from an error of its client, it brings along what the provider answered.
    heard = kind.rules.judge(error, _call(event, kind.policy))
    if isinstance(error, RateLimited):
        cause = failure_of(error, verdict="rate_limited")
        return _told_to_wait(error, said_by_handler(cause, heard, effect="not_applied"), event, kind)
    if isinstance(error, PermanentError):
        cause = said_by_handler(failure_of(error, verdict="permanent"), heard, effect="not_applied")
        ending = _with_key(transitions.buried(cause, Reason.PERMANENT), event, GOOD)
        return _counted_by_provider(ending, heard, event, kind)
    cause = said_by_handler(failure_of(error, verdict="unknown"), heard, effect="unknown")
    return in_doubt(cause, event, kind.policy, proof=_failed(error))


def _retry_as_told(error: BaseException, verdict: Verdict, event: Event, policy: Policy) -> Ending:
    """The handler, or its policy, says that it may be tried again; the verdict may know that it is in doubt."""
    cause = judged(failure_of(error, verdict="transient"), verdict)
    doubtful = verdict.effect is Effect.UNKNOWN and verdict.class_ is VerdictClass.TRANSIENT
    if doubtful and not isinstance(error, TransientError):
        return in_doubt(cause, event, policy, proof=_failed(error, verdict.wait))
    return retried_or_exhausted(cause, event, policy, wait=verdict.wait, proof=_failed(error, verdict.wait))


def _by_verdict(error: BaseException, verdict: Verdict, event: Event, kind: Kind) -> Ending:
    cause = judged(failure_of(error, verdict=verdict.class_), verdict)
    proof = _proof(error, verdict)
    ending = _ending_by_class(cause, verdict, event, kind, proof)
    return _counted_by_provider(ending, verdict, event, kind)


def _ending_by_class(cause: Failure, verdict: Verdict, event: Event, kind: Kind, proof: Proof) -> Ending:
    policy = kind.policy
    match verdict.class_:
        case VerdictClass.RATE_LIMITED:
            return _limited(cause, verdict, event, policy)
        case VerdictClass.TRANSIENT if verdict.effect is Effect.UNKNOWN:
            return in_doubt(cause, event, policy, proof=proof, wait=verdict.wait)
        case VerdictClass.TRANSIENT:
            return retried_or_exhausted(cause, event, policy, wait=verdict.wait, proof=proof)
        case VerdictClass.AUTH:
            return _refused_log_in(cause, verdict, event, policy, proof)
        case VerdictClass.DUPLICATE:
            return _already_there(cause, event, policy, proof)
        case VerdictClass.BENIGN:
            return replace(transitions.completed(None, warning=cause), evidence=proof)
        case VerdictClass.PERMANENT:
            return _with_key(transitions.buried(cause, Reason.PERMANENT), event, proof, verdict)
        case _:
            return _unclassified(cause, verdict, event, policy, proof)


# One way each


def retried_or_exhausted(
    cause: Failure,
    event: Event,
    policy: Policy,
    *,
    last: Reason = Reason.EXHAUSTED,
    outcome: Outcome | None = None,
    wait: float | None = None,
    proof: Proof = NOTHING,
) -> Ending:
    """Another attempt after the policy's wait, or the provider's where that is longer; dead when this was the last one."""
    delay = _within(max(policy.delay_after(event.attempts), wait or 0.0))
    again = transitions.retried(
        cause, delay=delay, max_wait=policy.max_wait, outcome=outcome or Outcome.FAILED
    )
    again = _heard(again, event, policy, proof)
    if event.attempts < event.max_attempts:
        return again
    dead = transitions.buried(cause, last, outcome=outcome or Outcome.DEAD)
    # What has failed as a probe, while others fail too, is no failure of its own.
    return replace(_heard(dead, event, policy, proof), as_probe=again)


def in_doubt(
    cause: Failure,
    event: Event,
    policy: Policy,
    *,
    proof: Proof = NOTHING,
    wait: float | None = None,
    last: Reason = Reason.EXHAUSTED,
    outcome: Outcome | None = None,
) -> Ending:
    """Whether the provider has it is unknown."""
    if policy.may_repeat or policy.on_unknown in (None, "retry"):
        again = retried_or_exhausted(cause, event, policy, wait=wait, proof=proof, last=last, outcome=outcome)
        # Remembered, so that its effect key stays whatever the next call meets.
        return _doubtful(again, event)
    if policy.on_unknown == "hold":
        held = transitions.buried(cause, Reason.IN_DOUBT, outcome=outcome or Outcome.DEAD)
        return _doubtful(_heard(held, event, policy, proof), event)
    if event.doubts:
        # It was the verifier's turn, so this is no answer of it.
        return _heard(unanswered(cause, event, policy), event, policy, proof)
    # Asking costs no attempt, so the last one is never the end before the verifier has been asked.
    delay = _within(max(policy.delay_after(1), wait or 0.0))
    asked = transitions.retried(
        cause, delay=delay, max_wait=policy.max_wait, outcome=outcome or Outcome.FAILED
    )
    return _doubtful(_heard(asked, event, policy, proof), event)


def unanswered(cause: Failure, event: Event, policy: Policy) -> Ending:
    """The verifier was asked and could not tell: it is asked again, a bounded number of times; that costs no attempt."""
    if event.doubts >= MOST_UNKNOWN:
        return replace(transitions.buried(cause, Reason.IN_DOUBT), doubts=event.doubts)
    return transitions.asked(cause, delay=policy.delay_after(event.doubts), doubts=event.doubts + 1)


def timed_out(event: Event, policy: Policy) -> Ending:
    """What follows when a run was stopped at its time limit."""
    message = f"The run was stopped at its time limit of {policy.timeout:g} seconds."
    cause = failure("TimeLimitExceeded", message, verdict="transient")
    ending = in_doubt(cause, event, policy, proof=Proof(failed=1, error="TimeLimitExceeded"))
    return own_ending(event, ending)


def died(event: Event, policy: Policy = DEFAULT_POLICY, *, how: str = "stopped answering") -> Ending:
    """What follows when the worker died or froze while it ran the event: that was an attempt."""
    message = f"The worker {how} while it was running this event (attempt {event.attempts} of {event.max_attempts})."
    lost = failure("WorkerDied", message, verdict="unknown")
    ending = in_doubt(lost, event, policy, last=Reason.ORPHANED, outcome=Outcome.LOST)
    return own_ending(event, ending)


def own_ending(event: Event, ending: Ending) -> Ending:
    """How a run ends that did not end by itself: as the ending says, unless the event is one of the hub's own."""
    if event.kind == PRECHECK:
        return precheck_ended(ending)
    if event.kind == ALERT:
        return not_brought(event, ending.failure.message if ending.failure else "It was stopped.")
    return ending


def precheck_ended(ending: Ending) -> Ending:
    """The end of a precheck that brought no answer: it is over, and doors hear what it met."""
    unknown = transitions.completed(f'{{"answer":"{UNKNOWN}"}}', warning=ending.failure)
    return replace(unknown, evidence=ending.evidence, circuit=ending.circuit, doors=ending.doors)


def _told_to_wait(error: RateLimited, cause: Failure, event: Event, kind: Kind) -> Ending:
    """The handler says which scope is to be left alone."""
    seconds = closure(error.retry_after)
    # Whatever was written there: a door must be closed.
    reach = Reach(error.scope) if error.scope in tuple(Reach) else Reach.ACCOUNT
    scope = _scope(reach, event, kind.policy)
    return _closing(transitions.released(cause), scope, seconds, cause.message)


def _limited(cause: Failure, verdict: Verdict, event: Event, policy: Policy) -> Ending:
    if verdict.reach is Reach.EVENT and verdict.effect is Effect.UNKNOWN:
        # The provider refuses the very same request: an earlier one may have been applied.
        return in_doubt(cause, event, policy, wait=closure(verdict.wait))
    if verdict.reach is Reach.EVENT:
        return transitions.released(cause, delay=closure(verdict.wait))
    scope = _scope(verdict.reach, event, policy)
    # What a provider asks for is kept to, however long; a person may lift it.
    seconds = closure(verdict.wait, longest=LONGEST_PARKED)
    spread = random.uniform(0, min(SPREAD, seconds / 10))  # noqa: S311 - spreads load, hides nothing
    return _closing(transitions.released(cause), scope, seconds + spread, _in_its_words(cause, verdict))


def _closing(ending: Ending, scope: Scope, seconds: float, reason: str) -> Ending:
    return replace(ending, doors=(*ending.doors, DoorChange(scope, asks_to_wait(seconds, reason))))


def _refused_log_in(cause: Failure, verdict: Verdict, event: Event, policy: Policy, proof: Proof) -> Ending:
    if verdict.renew and event.verdict != VerdictClass.AUTH:
        again = transitions.retried(cause, delay=RENEWAL_DELAY, max_wait=policy.max_wait)
        return _heard(again, event, policy, proof)
    buried = _with_key(transitions.buried(cause, Reason.AUTH), event, proof, verdict)
    pause = paused(by="hub", note=_in_its_words(cause, verdict), seconds=None, cause="auth")
    return replace(buried, doors=(*buried.doors, DoorChange(account_scope(event.account), pause)))


def _already_there(cause: Failure, event: Event, policy: Policy, proof: Proof) -> Ending:
    """The provider says that it has it. Only the verifier can tell whether that is this one."""
    if policy.on_unknown == "verify":
        asked = transitions.retried(cause, delay=0.0, max_wait=policy.max_wait)
        return _doubtful(_heard(asked, event, policy, proof), event)
    return _doubtful(_heard(transitions.buried(cause, Reason.IN_DOUBT), event, policy, proof), event)


def _unclassified(cause: Failure, verdict: Verdict, event: Event, policy: Policy, proof: Proof) -> Ending:
    local = verdict.answer is None or verdict.answer.phase is Phase.LOCAL
    if not local and policy.may_repeat and event.attempts < min(UNKNOWN_ATTEMPTS, event.max_attempts):
        return retried_or_exhausted(cause, event, policy, proof=proof)
    if not local and verdict.effect is Effect.UNKNOWN and policy.on_unknown == "verify":
        return in_doubt(cause, event, policy, proof=proof)
    return _heard(transitions.buried(cause, Reason.UNCLASSIFIED), event, policy, proof)


def _counted_by_provider(ending: Ending, verdict: Verdict, event: Event, kind: Kind) -> Ending:
    """Every failing answer counts where the provider blocks whoever gets too many of them."""
    answered = verdict.answer is not None and verdict.answer.phase is Phase.RESPONSE
    if not answered:
        return ending
    limits = kind.limits
    scopes = (
        (method_scope(event.account, event.kind), limits.method),
        (account_scope(event.account), limits.account),
    )
    counted = [DoorChange(scope, answered_badly(each)) for scope, each in scopes if each.budget is not None]
    return replace(ending, doors=(*ending.doors, *counted))


# Small things


def _in_its_words(cause: Failure, verdict: Verdict) -> str:
    """What the provider said, where it did; else what the client's error says."""
    answer = verdict.answer
    if answer is None or answer.phase is not Phase.RESPONSE:
        return cause.message
    return answer.message or answer.excerpt or cause.message


def _heard(ending: Ending, event: Event, policy: Policy, proof: Proof) -> Ending:
    return replace(ending, evidence=proof, circuit=own_circuit(event, policy))


def own_circuit(event: Event, policy: Policy) -> Circuit | None:
    """The circuit of this kind alone, where its policy brings one; it replaces the account's."""
    return (
        None if policy.breaker is None else Circuit(method_scope(event.account, event.kind), policy.breaker)
    )


def _doubtful(ending: Ending, event: Event) -> Ending:
    doubts = max(1, event.doubts)
    as_probe = ending.as_probe and replace(ending.as_probe, doubts=doubts)
    return replace(ending, doubts=doubts, as_probe=as_probe)


def _with_key(ending: Ending, event: Event, proof: Proof, verdict: Verdict | None = None) -> Ending:
    """It is known that the call was not applied, so the next one is a new one for the provider too.

    Unless an earlier call is in doubt: the provider may know that one by the present key.
    """
    if event.doubts or (verdict is not None and verdict.effect is not Effect.NOT_APPLIED):
        return replace(ending, evidence=proof)
    return replace(ending, evidence=proof, effect_key=fresh_key(event))


def fresh_key(event: Event) -> str:
    """An effect key that no attempt so far has used."""
    return keys.effect_key(event.idempotency_key, event.total_attempts)


def _call(event: Event, policy: Policy) -> Call:
    return Call(event.kind, policy.provider, policy.writes, policy.unique_at_provider)


def _proof(error: BaseException, verdict: Verdict) -> Proof:
    match verdict.counts:
        case Evidence.FAILURE:
            return _failed(error, verdict.wait)
        case Evidence.SUCCESS:
            return GOOD
        case _:
            return NOTHING


def _failed(error: BaseException, wait: float | None = None) -> Proof:
    return Proof(failed=1, error=type(error).__name__, retry_after=wait)


def closure(retry_after: object, *, longest: float = LONGEST_CLOSURE) -> float:
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
    return min(max(seconds, SHORTEST_CLOSURE), longest)


def _refused_for(retry_after: float | None) -> float:
    """Never nothing: the same refusal would come again and again."""
    if retry_after is None or not math.isfinite(retry_after):
        return REFUSED_DELAY
    return min(max(retry_after, SHORTEST_CLOSURE), LONGEST_CLOSURE)


def _within(seconds: float) -> float:
    return min(max(seconds, 0.0), LONGEST_CLOSURE)


def _scope(reach: Reach, event: Event, policy: Policy) -> Scope:
    if reach is Reach.METHOD:
        return method_scope(event.account, event.kind)
    if reach is Reach.PROVIDER and policy.provider:
        return provider_scope(policy.provider)
    return account_scope(event.account)
