"""Who gets a slot? The pure functions, and a machine of random acts on one record."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from dlq_console.resilience.bulkhead import rules
from dlq_console.resilience.bulkhead.rules import (
    BLANK,
    BulkheadRecord,
    Full,
    Granted,
    Slot,
    Waiting,
    decode,
    encode,
)
from dlq_console.resilience.leases import Lease, holds, settled
from dlq_console.resilience.state import AS_IT_IS, Change

T = 1_800_000_000.0
LEASE = 30.0


class Room:
    """A record with the rules applied to it, at a time of the test's choice."""

    def __init__(self, limit: int = 2) -> None:
        self.limit = limit
        self.record = BLANK
        self.now = T

    def acquire(self, token: str, *, wait: bool = True, owner: str = "h:1") -> Any:
        return self._keep(
            rules.acquire(
                self.record, self.now, limit=self.limit, token=token, owner=owner, lease=LEASE, wait=wait
            )
        )

    def release(self, token: str) -> Any:
        return self._keep(rules.release(self.record, self.now, token=token))

    def renew(self, *tokens: str) -> Any:
        return self._keep(rules.renew(self.record, self.now, tokens=tokens))

    def figures(self) -> dict[str, Any]:
        return rules.figures(self.record, self.now)

    def _keep(self, outcome: Change[BulkheadRecord, Any]) -> Any:
        if isinstance(outcome.record, BulkheadRecord):
            self.record = outcome.record
        else:
            assert outcome.record is AS_IT_IS
        return outcome.answer


def test_slots_are_given_until_all_are_taken() -> None:
    room = Room(2)
    assert [room.acquire(token, wait=False) for token in "abc"] == [Granted(), Granted(), Full()]
    assert room.figures()["available"] == 0


def test_asking_again_with_the_same_token_takes_no_second_slot() -> None:
    room = Room(2)
    room.acquire("a")
    assert room.acquire("a") == Granted()
    assert room.figures()["in_use"] == 1


def test_a_slot_is_freed_by_its_own_token_only_and_only_once() -> None:
    room = Room(2)
    room.acquire("a")
    room.acquire("b")
    assert room.release("somebody else's") is False
    assert room.release("a") is True
    assert room.release("a") is False
    assert room.figures()["in_use"] == 1


def test_a_slot_whose_holder_died_is_free_when_its_lease_is_over() -> None:
    room = Room(1)
    room.acquire("dead")
    room.now += LEASE - 0.1
    assert room.acquire("b", wait=False) == Full()
    room.now += 0.1
    assert room.acquire("b", wait=False) == Granted()
    assert room.release("dead") is False
    assert room.figures()["in_use"] == 1


def test_a_renewed_slot_outlives_its_first_lease_and_a_lost_one_is_not_taken_back() -> None:
    room = Room(1)
    room.acquire("a")
    room.now += 20
    assert room.renew("a") == frozenset()
    room.now += 20
    assert room.acquire("b", wait=False) == Full()
    room.now += 20
    assert room.acquire("b", wait=False) == Granted()
    assert room.renew("a", "b") == {"a"}
    assert room.figures()["in_use"] == 1


def test_whoever_waits_is_served_in_order_and_nobody_slips_in() -> None:
    room = Room(1)
    room.acquire("a")
    assert [room.acquire("b"), room.acquire("c")] == [Waiting(0), Waiting(1)]
    room.release("a")
    assert room.acquire("new", wait=False) == Full()
    assert room.acquire("c") == Waiting(1)
    assert room.acquire("b") == Granted()
    room.release("b")
    assert room.acquire("c") == Granted()


def test_a_waiter_that_leaves_or_dies_lets_the_next_one_pass() -> None:
    room = Room(1)
    room.acquire("a")
    for token in ("gone", "dead", "c"):
        room.acquire(token)
    room.release("gone")
    room.release("a")
    assert room.acquire("c") == Waiting(1)
    room.now += rules.TICKET
    assert room.acquire("c") == Granted()


def test_a_ticket_is_renewed_by_looking_again_and_looking_too_often_writes_nothing() -> None:
    room = Room(1)
    room.acquire("a")
    room.acquire("b")
    for _ in range(5):
        before = room.record
        room.now += 0.1
        room.acquire("b")
        assert room.record is before
    for _ in range(10):
        room.now += rules.TICKET * 0.6
        assert room.acquire("b") == Waiting(0)
        room.renew("a")
    assert room.figures()["waiting"] == 1


def test_a_bulkhead_without_slots_lets_nobody_in() -> None:
    room = Room(0)
    assert room.acquire("a", wait=False) == Full()
    assert room.figures() == {"max": 0, "in_use": 0, "available": 0, "waiting": 0, "oldest": None}


def test_a_smaller_size_is_never_shown_below_zero_and_a_larger_one_serves_the_line() -> None:
    room = Room(3)
    for token in "abc":
        room.acquire(token)
    room.limit = 1
    assert room.acquire("d") == Waiting(0)
    figures = rules.figures(room.record, room.now)
    assert (figures["max"], figures["in_use"], figures["available"]) == (1, 3, 0)
    room.release("a")
    room.release("b")
    assert room.acquire("d") == Waiting(0)
    room.limit = 3
    assert [room.acquire(token) for token in "def"] == [Granted(), Granted(), Waiting(0)]


def test_a_clock_that_was_set_back_never_lengthens_a_lease() -> None:
    room = Room(1)
    room.acquire("dead")
    room.now -= 86_400
    assert room.acquire("b", wait=False) == Full()
    room.now += LEASE
    assert room.acquire("b", wait=False) == Granted()


def test_the_oldest_holder_is_told_with_its_age() -> None:
    room = Room(2)
    room.acquire("a", owner="host:17")
    room.now += 12
    room.acquire("b", owner="host:18")
    assert room.figures()["oldest"] == {"owner": "host:17", "seconds": 12}


def test_what_a_process_keeps_while_the_state_is_away_is_its_own_slots() -> None:
    room = Room(3)
    room.acquire("a", owner="host:17")
    room.acquire("b", owner="host:18")
    assert [slot.token for slot in rules.only_of(room.record, "host:17").slots] == ["a"]


texts = st.text(max_size=10)
times = st.floats(0, 2e9, allow_nan=False)


@given(
    st.builds(
        BulkheadRecord,
        st.integers(0, 100),
        st.lists(st.builds(Slot, texts, times, times, times, texts), max_size=3).map(tuple),
        st.lists(st.builds(Lease, texts, times, times), max_size=3).map(tuple),
    )
)
def test_a_record_comes_back_from_text_as_it_was(record: BulkheadRecord) -> None:
    assert decode(encode(record)) == record


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{}", '{"max": 1}', '{"max": 1, "slots": 2, "waiting": []}']
)
def test_text_that_says_nothing_is_no_record(text: str) -> None:
    assert decode(text) is None


class Crowd(RuleBasedStateMachine):
    """Callers that take, wait, leave, free and die, while the clock goes, jumps and the size changes."""

    inside = Bundle("inside")
    in_line = Bundle("in_line")

    @initialize(limit=st.integers(0, 4))
    def begin(self, limit: int) -> None:
        self.room = Room(limit)
        self.number = 0
        self.overtaken: dict[str, int] = {}

    def _ask(self, token: str) -> Any:
        before = len(settled(self.room.record.slots, self.room.now))
        answer = self.room.acquire(token, wait=self.room.limit > 0)
        after = self.room.record
        if answer == Granted():
            assert len(after.slots) <= max(self.room.limit, before)
            assert not holds(after.waiting, token)
            self._count_overtaken(token)
        elif isinstance(answer, Waiting):
            assert holds(after.waiting, token)
            self.overtaken.setdefault(token, 0)
        return answer

    def _count_overtaken(self, token: str) -> None:
        """Those who came before and are still in line with a ticket that stands."""
        for ticket in settled(self.room.record.waiting, self.room.now):
            if int(ticket.token) < int(token):
                self.overtaken[ticket.token] += 1
                assert self.overtaken[ticket.token] <= 2 * max(1, self.room.limit)

    @rule(target=inside)
    def somebody_enters_without_waiting(self) -> str:
        self.number += 1
        self.room.acquire(str(self.number), wait=False)
        return str(self.number)

    @rule(target=in_line)
    def somebody_comes_and_waits(self) -> str:
        self.number += 1
        self._ask(str(self.number))
        return str(self.number)

    @rule(token=in_line)
    def somebody_looks_again(self, token: str) -> None:
        if holds(settled(self.room.record.waiting, self.room.now), token):
            self._ask(token)

    @rule(token=st.one_of(consumes(inside), consumes(in_line)))
    def somebody_ends_or_leaves(self, token: str) -> None:
        held = holds(settled(self.room.record.slots, self.room.now), token)
        assert self.room.release(token) is held

    @rule(token=consumes(inside))
    def somebody_dies(self, token: str) -> None:
        """Only the lease can free what it held."""

    @rule(token=inside)
    def somebody_shows_a_sign_of_life(self, token: str) -> None:
        self.room.renew(token)

    @rule(seconds=st.sampled_from([0.1, 1.4, 3.0, 29.9, 30.0, 3600.0]))
    def time_goes_on(self, seconds: float) -> None:
        self.room.now += seconds

    @rule(seconds=st.sampled_from([0.001, 5.0, 86_400.0]))
    def the_clock_is_set_back(self, seconds: float) -> None:
        self.room.now -= seconds

    @rule(limit=st.integers(0, 4))
    def the_size_changes(self, limit: int) -> None:
        self.room.limit = limit
        self.overtaken = dict.fromkeys(self.overtaken, 0)

    @invariant()
    def figures_make_sense(self) -> None:
        if hasattr(self, "room"):
            figures = self.room.figures()
            assert figures["available"] >= 0
            assert 0 <= figures["in_use"] <= 4
            assert figures["in_use"] + figures["available"] <= 4

    @invariant()
    def nothing_is_held_longer_than_it_was_given_for(self) -> None:
        if hasattr(self, "room"):
            now = self.room.now
            for lease in (*settled(self.room.record.slots, now), *settled(self.room.record.waiting, now)):
                assert 0 < lease.expires - now <= lease.length

    @invariant()
    def all_slots_come_back_when_everybody_is_dead(self) -> None:
        if hasattr(self, "room") and self.room.limit:
            later = self.room.now + LEASE + 0.001
            if all(slot.expires <= later for slot in self.room.record.slots):
                assert rules.figures(self.room.record, later)["in_use"] == 0


Crowd.TestCase.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
TestCrowd = Crowd.TestCase
