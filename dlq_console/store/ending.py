"""How can a run end? One guarded UPDATE for each way, and the values that it writes.

Every one names the epoch of the claim: a worker that lost its lease changes nothing, whatever it finds out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from dlq_console.resilience.breaker import CircuitBreakerConfig
from dlq_console.resilience.breaker.window import GOOD, Evidence
from dlq_console.store.claim_sql import RETRY
from dlq_console.store.door_acts import NOTHING
from dlq_console.store.doors import DoorChange
from dlq_console.store.scope_names import Scope
from dlq_console.store.states import Again, Outcome, Reason

HELD = "id = :id AND status = 'running' AND lease_epoch = :epoch"
_LET_GO = "lease_owner = NULL, lease_until = NULL, updated_at = {now}"
#: The effect key changes only once it is known that the last call was not applied.
_ERROR = """effect_key = coalesce(CAST(:effect_key AS text), effect_key), doubts = CAST(:doubts AS integer),
    error_type = CAST(:error_type AS text), last_error = CAST(:error AS text),
    verdict = CAST(:verdict AS text), fingerprint = CAST(:fingerprint AS text)"""

COMPLETED = f"""status = 'done', reason = NULL, finished_at = {{now}}, result = CAST(:result AS text),
    error_type = NULL, last_error = NULL, verdict = NULL, fingerprint = NULL, died_again = NULL, doubts = 0, {_LET_GO}"""

COMPLETE = f"UPDATE {{event}} SET {COMPLETED} WHERE {HELD}"
RETRY_LATER = f"""
UPDATE {{event}} SET status = 'failed', reason = NULL, priority = {RETRY}, {_ERROR},
    due_at = {{now}} + {{interval[delay]}}, next_run_at = {{now}} + {{interval[delay]}},
    give_up_at = {{least}}(coalesce(expires_at, {{now}} + {{interval[max_wait]}} + {{interval[delay]}}),
        {{now}} + {{interval[max_wait]}} + {{interval[delay]}}), {_LET_GO}
WHERE {HELD}
"""
BURY = f"""
UPDATE {{event}} SET status = 'dead', reason = CAST(:reason AS text), finished_at = {{now}}, {_ERROR},
    died_again = CASE WHEN cycle = 0 THEN NULL
        WHEN died_with = CAST(:fingerprint AS text) THEN '{Again.SAME}' ELSE '{Again.DIFFERENT}' END,
    died_with = CAST(:fingerprint AS text), {_LET_GO}
WHERE {HELD}
"""
RELEASE = f"""
UPDATE {{event}} SET status = 'pending', attempts = attempts - 1, total_attempts = total_attempts - 1,
    next_run_at = {{now}} + {{interval[delay]}}, {_LET_GO}
WHERE {HELD}
"""
#: Unspent as above: nothing was called.
SUPERSEDE = f"""
UPDATE {{event}} SET status = 'discarded', reason = '{Reason.SUPERSEDED}', superseded_by = CAST(:newer AS bigint),
    finished_at = {{now}}, attempts = attempts - 1, total_attempts = total_attempts - 1, {_LET_GO}
WHERE {HELD}
"""
#: The verifier was asked; that was no attempt, but it used a claim, so the total goes on counting.
ASK_AGAIN = f"""
UPDATE {{event}} SET status = 'failed', reason = NULL, priority = {RETRY}, {_ERROR}, attempts = attempts - 1,
    due_at = {{now}} + {{interval[delay]}}, next_run_at = {{now}} + {{interval[delay]}}, {_LET_GO}
WHERE {HELD}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How the verdict came about.

    Attributes:
        effect: what became of the call in the outside system.
        reach: which scope the verdict concerns.
        wait_source: where its wait was found.
        rule: which rule decided.
        rules_version: of which set.
        answer: what the outside system said, as JSON.
    """

    effect: str | None = None
    reach: str | None = None
    wait_source: str | None = None
    rule: str | None = None
    rules_version: str | None = None
    answer: str | None = None


NO_JUDGEMENT = Judgement()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What is kept about an error: redacted and cut to size."""

    type: str
    message: str
    traceback: str | None
    verdict: str | None
    #: Of its cause; None for one made of the kind of its event, its verdict, type and message.
    fingerprint: str | None = None
    judgement: Judgement = NO_JUDGEMENT


@dataclass(frozen=True, slots=True)
class Circuit:
    """The circuit that hears how a run ended."""

    scope: Scope
    config: CircuitBreakerConfig

    @property
    def counts_successes(self) -> bool:
        """Whether a success matters also while all is well."""
        return self.config.window is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a run ends: the guarded UPDATE with its values, and what its attempt row says. Made by the functions below.

    Attributes:
        template: the UPDATE.
        values: its parameters.
        outcome: of the attempt.
        failure: what went wrong.
        wait: seconds until the next run.
        doubts: 0 where it is known whether the outside system has it, else how often its verifier was asked in vain,
            plus one; None where the run has told nothing about that.
        effect_key: the new one, once it is known that the old one's call was not applied.
        evidence: what the run proved to the circuit.
        circuit: which one hears it; None for the account's.
        doors: what else it does to doors.
        audited: what the audit says that the hub did, and to what it refers.
        as_probe: how it ends instead, if it was the probe of a circuit behind which others fail too.
    """

    template: str
    values: dict[str, Any]
    outcome: Outcome
    failure: Failure | None = None
    wait: float | None = None
    doubts: int | None = None
    effect_key: str | None = None
    evidence: Evidence = NOTHING
    circuit: Circuit | None = None
    doors: tuple[DoorChange, ...] = ()
    audited: tuple[Literal["supersede"], str] | None = None
    as_probe: Ending | None = None

    @property
    def is_last(self) -> bool:
        """Whether the event will not run again by itself."""
        return self.template in (COMPLETE, BURY, SUPERSEDE)


def completed(result: str | None, *, warning: Failure | None = None) -> Ending:
    """running -> done. `warning` stays on the attempt: it worked, but something about it should be seen."""
    return Ending(
        template=COMPLETE, values={"result": result}, outcome=Outcome.DONE, failure=warning, evidence=GOOD
    )


def retried(failure: Failure, *, delay: float, max_wait: float, outcome: Outcome = Outcome.FAILED) -> Ending:
    """running -> failed: it will be tried again in `delay` seconds, and given up `max_wait` seconds after that."""
    values = {"delay": delay, "max_wait": max_wait}
    return Ending(template=RETRY_LATER, values=values, outcome=outcome, failure=failure, wait=delay)


def buried(failure: Failure, reason: Reason, *, outcome: Outcome = Outcome.DEAD) -> Ending:
    """running -> dead: it needs a person."""
    return Ending(template=BURY, values={"reason": reason}, outcome=outcome, failure=failure)


def asked(failure: Failure, *, delay: float, doubts: int, effect_key: str | None = None) -> Ending:
    """running -> failed: its verifier was asked; it is asked again, or run where `doubts` is 0, in `delay` seconds."""
    return Ending(
        template=ASK_AGAIN,
        values={"delay": delay},
        outcome=Outcome.ASKED,
        failure=failure,
        wait=delay,
        doubts=doubts,
        effect_key=effect_key,
    )


def released(failure: Failure | None = None, *, delay: float = 0) -> Ending:
    """running -> pending, unspent: it may be claimed again in `delay` seconds; the attempt does not count.

    Without a failure there is nothing to tell and no attempt row is written.
    """
    return Ending(
        template=RELEASE, values={"delay": delay}, outcome=Outcome.RELEASED, failure=failure, wait=delay
    )


def superseded(newer: int) -> Ending:
    """running -> discarded, unspent: `newer`, a later event of its entity, has made it needless."""
    return Ending(
        template=SUPERSEDE,
        values={"newer": newer},
        outcome=Outcome.RELEASED,
        audited=("supersede", str(newer)),
    )
