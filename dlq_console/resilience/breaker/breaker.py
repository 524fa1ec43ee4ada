"""How does a program use a circuit breaker? `breaker.call(fn, ...)`; or `admit` and say what came of it.

While a circuit is closed nothing is asked of the shared state: what was last seen of the record decides, failures are
reported at once and successes are reported together in the background. No lock is held during the call.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

from dlq_console.resilience import checks
from dlq_console.resilience.breaker import rules
from dlq_console.resilience.breaker.admission import Admission
from dlq_console.resilience.breaker.config import CircuitBreakerConfig
from dlq_console.resilience.breaker.figures import figures
from dlq_console.resilience.breaker.record import (
    BLANK,
    BREAKERS,
    BreakerRecord,
    CircuitState,
    Position,
    Transition,
)
from dlq_console.resilience.breaker.rules import NO_EVIDENCE, Refused, Verdict
from dlq_console.resilience.breaker.window import GOOD, Evidence
from dlq_console.resilience.calls import (
    is_async,
    is_interrupt,
    is_local,
    no_generator,
    no_generator_made,
    off_the_loop,
    owner,
)
from dlq_console.resilience.errors import CircuitOpenError
from dlq_console.resilience.forks import forget_in_child
from dlq_console.resilience.hints import retry_after_of
from dlq_console.resilience.leases import new_token
from dlq_console.resilience.link import link_to
from dlq_console.resilience.state import AS_IT_IS, Change, Changing, Contended, MemoryState, SharedState
from dlq_console.resilience.tallies import Tally

logger = logging.getLogger(__name__)

#: A probe whose call has no known limit may take so long, in seconds; the margin comes on top of every limit.
PROBE_LIMIT, PROBE_MARGIN = 30.0, 5.0

Listener = Callable[[str, Transition], object]
Moving = Changing[BreakerRecord, Transition | None]


class CircuitBreaker:
    """Keeps calls away from a service that fails.

    Args:
        name: of the service; all processes that use the same name and state share the circuit.
        config: when it opens and closes.
        state: where the circuit is kept; None: in this process alone.
        on_transition: called with the name and the transition by the one process that brought it about.

    Raises:
        ConfigurationError: an argument is not fit.
    """

    def __init__(
        self,
        name: str,
        config: CircuitBreakerConfig | None = None,
        *,
        state: SharedState | None = None,
        on_transition: Listener | None = None,
    ) -> None:
        self.name = checks.name(name, "circuit breaker")
        self.config = checks.config(config, "config", CircuitBreakerConfig)
        self._link = link_to(state if state is not None else MemoryState())
        self._on_transition = on_transition
        self._tally = Tally(self._link, f"breaker {name}")
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        """Have nothing to say of any call, as in a forked child: the calls of its parent are not its own."""
        self._lock = threading.Lock()
        self._unsaid = 0
        self._unsaid_generation = 0
        #: Changes of the shared record that could not be made at their moment.
        self._later: list[Moving] = []

    @property
    def state(self) -> CircuitState:
        """Where the circuit stands now, a person's decision taken into account."""
        return rules.effective_state(self._record(), self._link.now())

    def stats(self) -> dict[str, Any]:
        """What stands in the record, and what this process has counted."""
        counted = self._tally.own()
        return {
            **figures(self._record(), self._link.now()),
            **{
                name: counted.get(name, 0)
                for name in ("calls", "successes", "failures", "ignored", "short_circuits")
            },
            "failure_threshold": self.config.failure_threshold,
            "success_threshold": self.config.success_threshold,
            "recovery_timeout": self.config.recovery_timeout,
            "degraded": self._link.away is not None,
        }

    def call(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call `fn` unless the circuit is open; gives an awaitable when `fn` is async.

        Raises:
            CircuitOpenError: it was not called.
            ConfigurationError: `fn` is or gave a generator.
        """
        no_generator(fn, self.name)
        if is_async(fn):
            return self._call_async(fn, args, kwargs)
        admission = self.admit()
        try:
            result = no_generator_made(fn(*args, **kwargs), self.name)
        except BaseException as error:
            admission.failed(error)
            raise
        if hasattr(type(result), "__await__"):
            # What `breaker.call(bulkhead.run, async_fn)` gives.
            return self._awaited(lambda: result, admission)
        admission.succeeded()
        return result

    async def _call_async(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        return await self._awaited(partial(fn, *args, **kwargs), await self.aadmit())

    async def _awaited(self, call: Callable[[], Awaitable[Any]], admission: Admission) -> Any:
        try:
            result = no_generator_made(await call(), self.name)
        except BaseException as error:
            await admission.afailed(error)
            raise
        await admission.asucceeded()
        return result

    # What a person may do

    def force_open(self, *, actor: str, note: str = "", seconds: float | None = None) -> None:
        """Refuse every call for some seconds, or until `reset`.

        Raises:
            StoreUnavailable: the shared state is away; an override of one process alone would mislead.
        """
        self._force(Position.FORCED_OPEN, actor, note, seconds)

    def force_closed(self, *, actor: str, note: str = "", seconds: float | None = None) -> None:
        """Let every call through for some seconds, or until `reset`; the circuit goes on computing underneath.

        Raises:
            StoreUnavailable: as for `force_open`.
        """
        self._force(Position.FORCED_CLOSED, actor, note, seconds)

    def reset(self, *, actor: str = "program", note: str = "") -> None:
        """Close the circuit and end an override.

        Raises:
            StoreUnavailable: as for `force_open`.
        """
        self._notify(self._link.insist(BREAKERS, self.name, partial(rules.reset, actor=actor, note=note)))

    def _force(self, position: Position, actor: str, note: str, seconds: float | None) -> None:
        if seconds is not None:
            checks.seconds(seconds, "seconds", above=0)
        change = partial(rules.force, position=position, actor=actor, note=note, seconds=seconds)
        self._notify(self._link.insist(BREAKERS, self.name, change))

    # Admission

    def admit(self, limit: float | None = None) -> Admission:
        """Ask for a call; say afterwards what came of it.

        Args:
            limit: of the call, in seconds; a probe's permit lasts that long and a little more.

        Raises:
            CircuitOpenError: the call must not be made.
        """
        return self._admit_at_once() or self._admit_inline(limit)

    async def aadmit(self, limit: float | None = None) -> Admission:
        """As `admit`, for async code."""
        admission = self._admit_at_once()
        if admission is not None:
            return admission
        work = partial(self._admit_inline, limit)
        return await off_the_loop(self._link.state, work, undo=Admission.given_back)

    def _admit_at_once(self) -> Admission | None:
        """Decide by what is known; None where the record must be asked or changed."""
        seen = self._link.at_hand(BREAKERS, self.name)
        if seen is None:
            return None
        record: BreakerRecord = seen.record or BLANK
        if record.state is CircuitState.CLOSED and record.override is None:
            return self._admission(record.generation)
        outcome = rules.admit(record, self._link.now(), config=self.config, token="", lease=0.0, by="")
        return None if outcome.record is not AS_IT_IS else self._admitted(outcome.answer, "")

    def _admit_inline(self, limit: float | None) -> Admission:
        token = new_token()
        lease = (PROBE_LIMIT if limit is None else limit) + PROBE_MARGIN
        change = partial(rules.admit, config=self.config, token=token, lease=lease, by=owner())
        try:
            verdict = self._link.change(BREAKERS, self.name, change)
        except Contended:
            # Only a circuit that is due for a probe is written to here, and others are taking its permits.
            verdict = Refused("being probed by others", None)
        return self._admitted(verdict, token)

    def _admitted(self, verdict: Verdict, token: str) -> Admission:
        if isinstance(verdict, Refused):
            self._tally.add("short_circuits")
            raise CircuitOpenError(
                f'"{self.name}" is not called now: its circuit is {verdict.why}.',
                name=self.name,
                retry_after=verdict.retry_after,
            )
        self._notify(verdict.moved)
        return self._admission(verdict.generation, token if verdict.probe else "")

    def _admission(self, generation: int, token: str = "") -> Admission:
        return Admission(self, self._link.epoch, generation, token)

    # What came of it; used by the admission

    @property
    def shared_state(self) -> SharedState:
        """Where the circuit is kept."""
        return self._link.state

    def weigh(self, error: BaseException) -> Evidence | None:
        """What an error proves; None for nothing."""
        if is_interrupt(error) or is_local(error):
            return None
        if isinstance(error, self.config.ignored_exceptions):
            return None
        if isinstance(error, self.config.success_exceptions):
            return GOOD
        if not isinstance(error, self.config.expected_exception):
            return None
        return Evidence(failed=1, error=type(error).__name__, retry_after=retry_after_of(error))

    def note(self, admission: Admission, evidence: Evidence | None, seconds: float) -> Evidence | None:
        """Count what came of a call that took so long; what is returned must be told (see `tell`)."""
        if evidence is None:
            self._tally.add("calls", "ignored")
        else:
            evidence = self._slowed(evidence, seconds)
            self._tally.add("calls", "failures" if evidence.failed else "successes")
        if admission.generation == NO_EVIDENCE:
            return None
        if admission.epoch != self._link.epoch:
            self._return_permit(admission)
            return None
        if admission.probe:
            return evidence or Evidence()
        if evidence is None or not self._must_tell(evidence, admission.generation):
            return None
        return evidence

    def tell(self, admission: Admission, evidence: Evidence) -> None:
        """Change the record by what came of a call, and of the good ones before it that were not told yet."""
        earlier = self._take_unsaid(admission.generation)
        self._report(admission.generation, admission.token, replace(evidence, good=evidence.good + earlier))
        if admission.epoch != self._link.epoch:
            # The state was lost just now: this process knows the result, the others wait for the permit.
            self._return_permit(admission)

    def stands(self, admission: Admission) -> bool:
        """Whether the circuit is as it was when it admitted the call."""
        if admission.generation == NO_EVIDENCE:
            return True
        if admission.epoch != self._link.epoch:
            return False
        seen = self._link.at_hand(BREAKERS, self.name)
        return seen is None or (seen.record or BLANK).generation == admission.generation

    def tick(self) -> bool:
        """Report the successes of the last moments together, and what could not be told before; in the background."""
        generation = self._unsaid_generation
        good = self._take_unsaid(generation)
        if good and (self.config.window is not None or self._has_failures()):
            self._report(generation, "", Evidence(good=good))
        return not self._caught_up()

    def _slowed(self, evidence: Evidence, seconds: float) -> Evidence:
        window = self.config.window
        if window is None or window.slow_after is None or seconds <= window.slow_after:
            return evidence
        return replace(evidence, failed_slowly=1) if evidence.failed else Evidence(slow=1)

    def _must_tell(self, evidence: Evidence, generation: int) -> bool:
        if evidence.failed or evidence.slow:
            return True
        if self._link.state.local:
            return self.config.window is not None or self._has_failures()
        with self._lock:
            first = self._unsaid == 0 or self._unsaid_generation != generation
            self._unsaid = 1 if first else self._unsaid + 1
            self._unsaid_generation = generation
        if first:
            self._link.keep(self)
        return False

    def _has_failures(self) -> bool:
        """Whether a success ends a row of failures."""
        seen = self._link.at_hand(BREAKERS, self.name)
        return seen is not None and seen.record is not None and seen.record.failures > 0

    def _take_unsaid(self, generation: int) -> int:
        with self._lock:
            unsaid, self._unsaid = self._unsaid, 0
            return unsaid if self._unsaid_generation == generation else 0

    def _report(self, generation: int, token: str, evidence: Evidence) -> None:
        change = partial(
            rules.report,
            config=self.config,
            generation=generation,
            token=token,
            evidence=evidence,
            by=owner(),
        )
        try:
            moved = self._link.change(BREAKERS, self.name, change)
        except Contended:
            self._do_later(change)
        else:
            self._notify(moved)

    def _return_permit(self, admission: Admission) -> None:
        """Give the permit of a probe back when the state that gave it can be reached again."""
        if admission.probe:
            self._do_later(partial(rules.give_back, token=admission.token))

    def _do_later(self, change: Moving) -> None:
        with self._lock:
            self._later.append(change)
        self._link.keep(self)

    def _caught_up(self) -> bool:
        """Make the changes that could not be made before; False when some are still left."""
        with self._lock:
            later, self._later = self._later, []
        while later and self._done(later[0]):
            later.pop(0)
        with self._lock:
            self._later = later + self._later
        return not later

    def _done(self, change: Moving) -> bool:
        moved: list[Transition | None] = [None]

        def noting(record: BreakerRecord | None, now: float) -> Change[BreakerRecord, Transition | None]:
            outcome = change(record, now)
            moved[0] = outcome.answer
            return outcome

        done = self._link.done_unless_away(BREAKERS, self.name, noting)
        if done:
            self._notify(moved[0])
        return done

    def _notify(self, moved: Transition | None) -> None:
        """Tell of a transition that this process brought about; its listener cannot harm the call."""
        if moved is None:
            return
        logger.warning("circuit %s: %s -> %s (%s)", self.name, moved.before, moved.after, moved.why)
        if self._on_transition is not None:
            try:
                self._on_transition(self.name, moved)
            except Exception:
                logger.exception("the listener of circuit %s failed", self.name)

    def _record(self) -> BreakerRecord:
        return self._link.look(BREAKERS, self.name) or BLANK
