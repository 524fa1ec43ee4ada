"""How does a circuit move? The pure functions, with the time of the test."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlq_console.resilience.breaker import rules
from dlq_console.resilience.breaker.config import CircuitBreakerConfig, Window
from dlq_console.resilience.breaker.record import (
    BLANK,
    HISTORY,
    BreakerRecord,
    CircuitState,
    Override,
    Position,
    Transition,
    decode,
    encode,
)
from dlq_console.resilience.breaker.rules import Admitted, Refused
from dlq_console.resilience.breaker.window import GOOD, Evidence
from dlq_console.resilience.leases import Lease
from dlq_console.resilience.state import AS_IT_IS

T = 1_800_000_000.0
FAILED = Evidence(failed=1, error="TimeoutError")
SLOW = Evidence(slow=1)
CLOSED, OPEN, HALF_OPEN = CircuitState.CLOSED, CircuitState.OPEN, CircuitState.HALF_OPEN


class Circuit:
    """A record with the rules applied to it, at a time of the test's choice."""

    def __init__(self, config: CircuitBreakerConfig | None = None) -> None:
        self.config = config or CircuitBreakerConfig(
            failure_threshold=3, success_threshold=1, recovery_timeout=30
        )
        self.record = BLANK
        self.now = T
        self.writes = 0

    def admit(self, token: str = "a", lease: float = 35.0) -> rules.Verdict:
        outcome = rules.admit(self.record, self.now, config=self.config, token=token, lease=lease, by="p")
        self._keep(outcome.record)
        return outcome.answer

    def report(self, evidence: Evidence, generation: int | None = None, token: str = "") -> Transition | None:
        outcome = rules.report(
            self.record,
            self.now,
            config=self.config,
            generation=self.record.generation if generation is None else generation,
            token=token,
            evidence=evidence,
            by="p",
        )
        self._keep(outcome.record)
        return outcome.answer

    def fail(self, times: int) -> None:
        for _ in range(times):
            self.report(FAILED)

    def opened(self) -> Circuit:
        self.fail(self.config.failure_threshold)
        assert self.record.state is OPEN
        return self

    def probing(self, token: str = "a") -> Circuit:
        self.opened().now += self.config.recovery_timeout
        assert isinstance(self.admit(token), Admitted)
        return self

    def _keep(self, record: object) -> None:
        if isinstance(record, BreakerRecord):
            self.record = record
            self.writes += 1
        else:
            assert record is AS_IT_IS


def test_a_circuit_nobody_knows_is_closed_and_lets_calls_through() -> None:
    outcome = rules.admit(None, T, config=CircuitBreakerConfig(), token="a", lease=1, by="p")
    assert outcome.answer == Admitted(0)
    assert outcome.record is AS_IT_IS


def test_so_many_failures_in_a_row_open_it_and_the_one_that_did_is_told() -> None:
    circuit = Circuit()
    assert [circuit.report(FAILED) is not None for _ in range(4)] == [False, False, True, False]
    assert circuit.record.state is OPEN
    assert circuit.record.history[-1].why == "3 failures in a row, the last: TimeoutError"


def test_a_success_ends_a_row_of_failures() -> None:
    circuit = Circuit()
    circuit.fail(2)
    circuit.report(GOOD)
    circuit.fail(2)
    assert circuit.record.state is CLOSED


def test_a_success_with_nothing_to_end_writes_nothing() -> None:
    circuit = Circuit()
    circuit.report(GOOD)
    assert circuit.writes == 0


def test_successes_told_together_with_a_failure_came_before_it() -> None:
    circuit = Circuit()
    circuit.fail(2)
    circuit.report(replace(FAILED, good=10))
    assert (circuit.record.state, circuit.record.failures) == (CLOSED, 1)


def test_an_open_circuit_refuses_and_says_when_to_come_back() -> None:
    circuit = Circuit().opened()
    circuit.now += 10
    assert circuit.admit() == Refused("open", 20.0)


def test_a_late_failure_neither_extends_the_open_time_nor_is_told_again() -> None:
    circuit = Circuit()
    before = circuit.record.generation
    circuit.opened().now += 29
    until = circuit.record.open_until
    assert circuit.report(FAILED, generation=before) is None
    assert circuit.report(FAILED) is None
    assert circuit.record.open_until == until


def test_a_late_success_from_before_it_opened_decides_nothing() -> None:
    circuit = Circuit().probing()
    circuit.report(GOOD, generation=0)
    assert circuit.record.state is HALF_OPEN


def test_exactly_one_probe_is_let_through_when_the_open_time_is_over() -> None:
    circuit = Circuit().opened()
    circuit.now += 30
    verdicts = [circuit.admit(token) for token in "abcdef"]
    assert [isinstance(verdict, Admitted) for verdict in verdicts] == [
        True,
        False,
        False,
        False,
        False,
        False,
    ]
    assert verdicts[1] == Refused("waiting for a probe", 35.0)


def test_asking_again_with_the_same_token_is_the_same_permit() -> None:
    circuit = Circuit().probing("a")
    assert circuit.admit("a") == Admitted(circuit.record.generation, probe=True)
    assert len(circuit.record.probes) == 1


def test_a_probe_that_succeeds_closes_it() -> None:
    circuit = Circuit().probing("a")
    told = circuit.report(GOOD, token="a")
    assert told is not None
    assert (told.before, told.after) == (HALF_OPEN, CLOSED)
    assert circuit.record.probes == ()


def test_a_probe_that_fails_opens_it_again_even_with_an_empty_window() -> None:
    config = CircuitBreakerConfig(window=Window(calls=100, minimum_calls=50), recovery_timeout=30)
    circuit = Circuit(config)
    circuit.report(Evidence(failed=50, error="E"))
    circuit.now += 30
    circuit.admit("a")
    circuit.report(FAILED, token="a")
    assert (circuit.record.state, circuit.record.open_until) == (OPEN, circuit.now + 30)


def test_a_probe_that_proves_nothing_returns_its_permit_and_moves_nothing() -> None:
    circuit = Circuit().probing("a")
    assert circuit.report(Evidence(), token="a") is None
    assert circuit.record.state is HALF_OPEN
    assert isinstance(circuit.admit("b"), Admitted)


def test_a_probe_that_never_comes_back_blocks_only_until_its_lease_is_over() -> None:
    circuit = Circuit().probing("a")
    circuit.now += 34.9
    assert isinstance(circuit.admit("b"), Refused)
    circuit.now += 0.2
    assert isinstance(circuit.admit("b"), Admitted)
    assert [probe.token for probe in circuit.record.probes] == ["b"]


def test_the_result_of_a_probe_whose_permit_went_to_another_decides_nothing() -> None:
    circuit = Circuit().probing("a")
    circuit.now += 36
    circuit.admit("b")
    assert circuit.report(GOOD, token="a") is None
    assert circuit.record.state is HALF_OPEN


def test_a_result_without_a_permit_decides_nothing_while_half_open() -> None:
    circuit = Circuit().probing("a")
    circuit.report(GOOD)
    circuit.report(FAILED)
    assert circuit.record.state is HALF_OPEN


def test_so_many_probes_must_succeed_and_any_failure_opens_again() -> None:
    circuit = Circuit(CircuitBreakerConfig(failure_threshold=1, success_threshold=3, recovery_timeout=30))
    circuit.probing("p0").report(GOOD, token="p0")
    assert circuit.record.state is HALF_OPEN
    circuit.admit("p1")
    circuit.report(FAILED, token="p1")
    assert circuit.record.state is OPEN
    circuit.now += 30
    for number in range(3):
        assert circuit.record.state is not CLOSED
        circuit.admit(f"q{number}")
        circuit.report(GOOD, token=f"q{number}")
    assert circuit.record.state is CLOSED


def test_no_more_probes_at_once_than_successes_are_needed() -> None:
    circuit = Circuit(
        CircuitBreakerConfig(
            failure_threshold=1, success_threshold=2, half_open_max_calls=5, recovery_timeout=30
        )
    )
    circuit.probing("a")
    assert [isinstance(circuit.admit(token), Admitted) for token in "bcd"] == [True, False, False]
    circuit.report(GOOD, token="a")
    assert isinstance(circuit.admit("e"), Refused)


def test_the_open_time_grows_with_each_failed_probe_up_to_its_limit_and_is_forgotten_when_closed() -> None:
    config = CircuitBreakerConfig(
        failure_threshold=1,
        success_threshold=1,
        recovery_timeout=10,
        recovery_multiplier=2,
        max_recovery_timeout=60,
    )
    circuit = Circuit(config).opened()
    times = [circuit.record.open_for]
    for _ in range(4):
        circuit.now += circuit.record.open_for
        circuit.admit("a")
        circuit.report(FAILED, token="a")
        times.append(circuit.record.open_for)
    assert times == [10, 20, 40, 60, 60]
    circuit.now += 60
    circuit.admit("a")
    circuit.report(GOOD, token="a")
    circuit.report(FAILED)
    assert circuit.record.open_for == 10


def test_growth_without_end_stops_at_the_limit_at_once() -> None:
    config = CircuitBreakerConfig(recovery_timeout=0.001, recovery_multiplier=1.0, max_recovery_timeout=60)
    assert config.open_time(10**9) == 0.001
    assert replace(config, recovery_multiplier=1.5).open_time(10**9) == 60
    assert replace(config, recovery_timeout=0.0, recovery_multiplier=2.0).open_time(10) == 0


def test_the_service_may_ask_for_its_own_open_time_but_not_for_more_than_the_limit() -> None:
    for asked, expected in ((7.0, 7.0), (86_400.0, 600.0), (None, 30.0)):
        circuit = Circuit()
        circuit.fail(2)
        circuit.report(replace(FAILED, retry_after=asked))
        assert circuit.record.open_for == expected


@pytest.mark.parametrize(("open_time", "expected"), [(60.0, 1.0), (1.0, 1.0), (0.05, 0.05), (0.0, 0.000001)])
def test_a_service_that_asks_for_a_moment_is_left_alone_for_a_second(
    open_time: float, expected: float
) -> None:
    config = CircuitBreakerConfig(failure_threshold=1, recovery_timeout=open_time)
    circuit = Circuit(config)
    circuit.report(replace(FAILED, retry_after=0.000001))
    assert circuit.record.open_for == expected


def test_an_open_time_of_zero_ends_in_one_decision() -> None:
    circuit = Circuit(CircuitBreakerConfig(failure_threshold=1, recovery_timeout=0)).opened()
    assert isinstance(circuit.admit("a"), Admitted)
    circuit.now -= 3600
    assert isinstance(circuit.admit("b"), Refused)


@given(st.floats(1.6e9, 2.2e9), st.floats(0.001, 1e5))
def test_a_circuit_that_has_just_opened_is_not_due_whatever_the_time(now: float, open_for: float) -> None:
    circuit = Circuit(CircuitBreakerConfig(failure_threshold=1, recovery_timeout=open_for))
    circuit.now = now
    assert isinstance(circuit.opened().admit(), Refused)


def test_a_clock_that_was_set_back_makes_an_open_circuit_due() -> None:
    circuit = Circuit().opened()
    circuit.now -= 3600
    assert rules.computed_state(circuit.record, circuit.now) is HALF_OPEN
    assert isinstance(circuit.admit(), Admitted)


def test_a_clock_that_was_set_back_never_lengthens_the_lease_of_a_probe() -> None:
    circuit = Circuit().probing("a")
    circuit.now -= 3600
    assert isinstance(circuit.admit("b"), Refused)
    circuit.now += 36
    assert isinstance(circuit.admit("b"), Admitted)


# Windows


def windowed(window: Window) -> Circuit:
    return Circuit(CircuitBreakerConfig(window=window, recovery_timeout=30))


def test_a_share_of_failures_among_the_last_calls_opens_it_once_there_are_enough() -> None:
    circuit = windowed(Window(calls=10, minimum_calls=4, failure_rate=0.5))
    for evidence in (FAILED, FAILED, FAILED):
        circuit.report(evidence)
    assert circuit.record.state is CLOSED
    circuit.report(FAILED)
    assert circuit.record.state is OPEN
    assert circuit.record.history[-1].why == "4 of the last 4 calls failed"


def test_ninety_percent_of_failures_open_it_although_none_come_in_a_row_of_many() -> None:
    circuit = windowed(Window(calls=20, minimum_calls=10, failure_rate=0.9))
    circuit.report(GOOD)
    circuit.fail(9)
    assert circuit.record.state is OPEN


def test_old_calls_leave_the_count_window() -> None:
    circuit = windowed(Window(calls=10, minimum_calls=10, failure_rate=0.5))
    circuit.fail(4)
    circuit.report(Evidence(good=10))
    circuit.fail(4)
    assert circuit.record.outcomes == "......ffff"
    assert circuit.record.state is CLOSED
    circuit.fail(1)
    assert circuit.record.state is OPEN


def test_slow_calls_open_it_whether_they_succeed_or_not() -> None:
    circuit = windowed(Window(calls=10, minimum_calls=4, failure_rate=None, slow_rate=0.5, slow_after=1.0))
    circuit.report(Evidence(good=2))
    circuit.report(SLOW)
    circuit.fail(1)
    assert circuit.record.state is CLOSED
    circuit.report(Evidence(failed=1, failed_slowly=1, error="E"))
    circuit.report(SLOW)
    assert circuit.record.state is OPEN
    assert circuit.record.history[-1].why == "3 of the last 6 calls were slow"


def test_a_time_window_forgets_what_is_older() -> None:
    circuit = windowed(Window(seconds=60, minimum_calls=4, failure_rate=0.5))
    circuit.fail(3)
    circuit.now += 61
    circuit.fail(3)
    assert circuit.record.state is CLOSED
    circuit.now += 30
    circuit.fail(1)
    assert circuit.record.state is OPEN


def test_a_time_window_has_few_spans_however_many_calls_there_are() -> None:
    circuit = windowed(Window(seconds=10, minimum_calls=10_000, failure_rate=1.0))
    for _ in range(1000):
        circuit.now += 0.05
        circuit.report(FAILED)
    assert len(circuit.record.buckets) <= 11
    assert 170 <= sum(bucket[1] for bucket in circuit.record.buckets) <= 210


def test_a_time_window_survives_a_clock_that_was_set_back() -> None:
    circuit = windowed(Window(seconds=60, minimum_calls=3, failure_rate=0.5))
    circuit.fail(2)
    circuit.now -= 3600
    circuit.fail(2)
    assert circuit.record.state is CLOSED
    circuit.fail(1)
    assert circuit.record.state is OPEN


# What a person may do


def forced(circuit: Circuit, position: Position, seconds: float | None = None) -> None:
    outcome = rules.force(
        circuit.record, circuit.now, position=position, actor="ana", note="ERP move", seconds=seconds
    )
    assert isinstance(outcome.record, BreakerRecord)
    circuit.record = outcome.record


def test_a_circuit_forced_open_refuses_until_it_lapses() -> None:
    circuit = Circuit()
    forced(circuit, Position.FORCED_OPEN, 60)
    assert circuit.admit() == Refused("held open by ana", 60.0)
    assert rules.effective_state(circuit.record, circuit.now) is OPEN
    assert rules.computed_state(circuit.record, circuit.now) is CLOSED
    circuit.now += 60
    assert isinstance(circuit.admit(), Admitted)


@pytest.mark.parametrize("position", [Position.FORCED_OPEN, Position.FORCED_CLOSED])
def test_after_the_clock_was_set_back_an_override_stands_no_longer_than_it_was_given_for(
    position: Position,
) -> None:
    circuit = Circuit()
    forced(circuit, position, 60)
    circuit.now += 59.9
    assert rules.standing_override(circuit.record, circuit.now) is not None
    circuit.now -= 3600
    assert rules.standing_override(circuit.record, circuit.now) is None
    assert isinstance(circuit.admit(), Admitted)


def test_an_override_without_an_end_stands_whatever_the_clock_says() -> None:
    circuit = Circuit()
    forced(circuit, Position.FORCED_OPEN)
    circuit.now -= 3600
    assert isinstance(circuit.admit(), Refused)


def test_a_circuit_forced_closed_lets_calls_through_and_goes_on_computing() -> None:
    circuit = Circuit()
    forced(circuit, Position.FORCED_CLOSED)
    circuit.fail(3)
    assert circuit.record.state is OPEN
    assert circuit.admit() == Admitted(rules.NO_EVIDENCE)
    assert rules.effective_state(circuit.record, circuit.now) is CLOSED
    circuit.now += 30
    assert circuit.admit("a") == Admitted(
        circuit.record.generation, probe=True, moved=circuit.record.history[-1]
    )
    assert circuit.admit("b") == Admitted(rules.NO_EVIDENCE)
    circuit.report(GOOD, token="a")
    assert circuit.record.state is CLOSED
    assert circuit.record.override is not None


def test_an_override_begins_a_new_generation_and_is_in_the_history() -> None:
    circuit = Circuit()
    circuit.fail(2)
    before = circuit.record.generation
    forced(circuit, Position.FORCED_CLOSED)
    circuit.report(FAILED, generation=before)
    assert circuit.record.failures == 0
    assert (circuit.record.history[-1].by, circuit.record.history[-1].why) == (
        "ana",
        "forced closed: ERP move",
    )


def test_a_reset_closes_and_ends_the_override() -> None:
    circuit = Circuit().opened()
    forced(circuit, Position.FORCED_OPEN)
    outcome = rules.reset(circuit.record, circuit.now, actor="ana", note="")
    assert isinstance(outcome.record, BreakerRecord)
    assert (outcome.record.state, outcome.record.override) == (CLOSED, None)


def test_a_record_with_an_override_is_kept_for_years_and_an_open_one_beyond_its_time() -> None:
    override = rules.force(BLANK, T, position=Position.FORCED_OPEN, actor="a", note="", seconds=None)
    assert override.keep_for > 365 * 86_400
    config = CircuitBreakerConfig(failure_threshold=1, recovery_timeout=30 * 86_400)
    opened = rules.report(None, T, config=config, generation=0, token="", evidence=FAILED, by="p")
    assert opened.keep_for > config.recovery_timeout


def test_the_history_keeps_the_last_transitions() -> None:
    circuit = Circuit(CircuitBreakerConfig(failure_threshold=1, success_threshold=1, recovery_timeout=1))
    for _ in range(20):
        circuit.opened().now += 1
        circuit.admit("a")
        circuit.report(GOOD, token="a")
    assert len(circuit.record.history) == HISTORY
    assert [each.generation for each in circuit.record.history] == list(range(41, 61))


# The record as text

texts = st.text(max_size=10)
times = st.floats(0, 2e9, allow_nan=False)
leases = st.builds(Lease, texts, times, times)
records = st.builds(
    BreakerRecord,
    state=st.sampled_from(CircuitState),
    generation=st.integers(0, 10**9),
    since=times,
    failures=st.integers(0, 100),
    last_failure=texts,
    open_until=times,
    open_for=times,
    probes=st.lists(leases, max_size=3).map(tuple),
    outcomes=st.text(".sfb", max_size=20),
    buckets=st.lists(st.tuples(times, st.integers(), st.integers(), st.integers()), max_size=3).map(tuple),
    override=st.none()
    | st.builds(Override, st.sampled_from(Position), texts, texts, times, st.none() | times),
    history=st.lists(
        st.builds(
            Transition,
            times,
            st.sampled_from(CircuitState),
            st.sampled_from(CircuitState),
            texts,
            texts,
            st.integers(),
        ),
        max_size=3,
    ).map(tuple),
)


@given(records)
def test_a_record_comes_back_from_text_as_it_was(record: BreakerRecord) -> None:
    assert decode(encode(record)) == record


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "7",
        '"open"',
        '{"state": "ajar"}',
        '{"probes": 3}',
        "{",
        '{"override": {}}',
        '{"failures": "many"}',
    ],
)
def test_text_that_says_nothing_is_no_record(text: str) -> None:
    assert decode(text) is None


def test_a_record_of_a_later_version_is_read_as_far_as_it_is_understood() -> None:
    assert decode('{"failures": 2, "mood": "fine"}') == replace(BLANK, failures=2)
