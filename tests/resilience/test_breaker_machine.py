"""Whatever happens in whatever order, does a circuit keep its promises? Random acts on one record."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from dlq_console.resilience.breaker import rules
from dlq_console.resilience.breaker.config import CircuitBreakerConfig, Window
from dlq_console.resilience.breaker.figures import figures
from dlq_console.resilience.breaker.record import BLANK, BREAKERS, BreakerRecord, CircuitState, Position
from dlq_console.resilience.breaker.window import GOOD, Evidence
from dlq_console.resilience.leases import settled
from dlq_console.resilience.state import MemoryState
from tests.resilience.states import FrozenClock

LEASE = 20.0
FAILED = Evidence(failed=1, error="TimeoutError")

configs = st.builds(
    CircuitBreakerConfig,
    failure_threshold=st.integers(1, 3),
    success_threshold=st.integers(1, 3),
    recovery_timeout=st.sampled_from([0.0, 5.0, 30.0]),
    half_open_max_calls=st.integers(1, 3),
    recovery_multiplier=st.sampled_from([1.0, 2.0]),
    window=st.none()
    | st.just(Window(calls=6, minimum_calls=3))
    | st.just(Window(seconds=30, minimum_calls=3, slow_rate=0.5, slow_after=1)),
)


class Circuit(RuleBasedStateMachine):
    """Callers that come, end in every way or never, while the clock goes, jumps and people interfere."""

    calls = Bundle("calls")

    @initialize(config=configs)
    def begin(self, config: CircuitBreakerConfig) -> None:
        self.config = config
        self.clock = FrozenClock()
        self.state = MemoryState(self.clock)
        self.tokens = 0
        self.probes_out: set[str] = set()

    @property
    def record(self) -> BreakerRecord:
        return self.state.read(BREAKERS, "x").record or BLANK

    def change(self, function: Any, **arguments: Any) -> Any:
        return self.state.change(BREAKERS, "x", partial(function, **arguments))

    @rule(target=calls)
    def a_caller_comes(self) -> tuple[str, int]:
        self.tokens += 1
        token = f"t{self.tokens}"
        before = self.record
        state = rules.effective_state(before, self.clock.now)
        verdict = self.change(rules.admit, config=self.config, token=token, lease=LEASE, by="p")
        if isinstance(verdict, rules.Refused):
            assert state is not CircuitState.CLOSED
            return token, rules.NO_EVIDENCE
        assert state is not CircuitState.OPEN
        if verdict.probe:
            assert self.record.state is CircuitState.HALF_OPEN
            self.probes_out.add(token)
        return token, verdict.generation

    @rule(call=consumes(calls), evidence=st.sampled_from([GOOD, FAILED, Evidence(slow=1), Evidence()]))
    def a_call_ends(self, call: tuple[str, int], evidence: Evidence) -> None:
        token, generation = call
        before = self.record
        moved = self.change(
            rules.report, config=self.config, generation=generation, token=token, evidence=evidence, by="p"
        )
        after = self.record
        if generation != before.generation:
            # It may give a permit back and nothing else.
            assert moved is None
            assert (
                after.state,
                after.generation,
                after.failures,
                after.successes,
                after.outcomes,
                after.buckets,
            ) == (
                before.state,
                before.generation,
                before.failures,
                before.successes,
                before.outcomes,
                before.buckets,
            )
        assert (moved is None) == (after.generation == before.generation)
        self.probes_out.discard(token)

    @rule(call=consumes(calls))
    def a_caller_dies(self, call: tuple[str, int]) -> None:
        """Nobody reports; only its lease can free what it held."""

    @rule(seconds=st.sampled_from([0.1, 4.9, 5.0, 20.0, 31.0, 3600.0]))
    def time_goes_on(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule(seconds=st.sampled_from([0.001, 1.0, 25.0, 86_400.0]))
    def the_clock_is_set_back(self, seconds: float) -> None:
        self.clock.advance(-seconds)

    @rule(position=st.sampled_from(Position), seconds=st.sampled_from([None, 10.0]))
    def a_person_decides(self, position: Position, seconds: float | None) -> None:
        self.change(rules.force, position=position, actor="ana", note="", seconds=seconds)

    @rule()
    def a_person_resets(self) -> None:
        self.change(rules.reset, actor="ana", note="")
        assert self.record.state is CircuitState.CLOSED

    @invariant()
    def there_are_never_more_probes_than_permitted(self) -> None:
        if hasattr(self, "config"):
            assert len(self.record.probes) <= self.config.half_open_max_calls
            assert self.record.successes < self.config.success_threshold
            assert self.record.state is CircuitState.HALF_OPEN or self.record.probes == ()

    @invariant()
    def no_permit_lasts_longer_than_it_was_given_for(self) -> None:
        if hasattr(self, "config"):
            for probe in settled(self.record.probes, self.clock.now):
                assert 0 < probe.expires - self.clock.now <= LEASE

    @invariant()
    def looking_changes_nothing(self) -> None:
        if hasattr(self, "config"):
            before = self.state.read(BREAKERS, "x").record
            figures(before, self.clock.now)
            rules.effective_state(before or BLANK, self.clock.now)
            assert self.state.read(BREAKERS, "x").record is before

    @invariant()
    def a_circuit_without_an_override_can_always_recover(self) -> None:
        """Once its time is over and every lease has lapsed, a caller is let through."""
        if hasattr(self, "config"):
            later = self.clock.now + self.record.open_for + LEASE + 10_000
            verdict = rules.admit(
                self.record, later, config=self.config, token="z", lease=LEASE, by="p"
            ).answer
            override = rules.standing_override(self.record, later)
            assert isinstance(verdict, rules.Admitted) or (
                override is not None and override.position is Position.FORCED_OPEN
            )


Circuit.TestCase.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
TestCircuit = Circuit.TestCase
