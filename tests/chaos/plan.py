"""Which faults happen, when, and to whom? All of it follows from the seed, so that a storm can be repeated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

#: Seconds between two faults, on average.
GAP = 0.5
#: Seconds that pass before the first one.
CALM = 1.0

#: Fault -> shortest and longest time that it lasts (seconds), and how often it is in the deck. A lease of the storm lasts
#: 3 seconds, so that some of the frozen processes keep theirs and others lose it.
Deck = dict[str, tuple[float, float, int]]

PROCESSES: Deck = {
    "kill_worker": (0, 0, 2),
    "kill_worker_with_children": (0, 0, 3),
    "kill_worker_child": (0, 0, 3),
    "freeze_worker": (1, 6, 2),
    "freeze_worker_with_children": (1, 6, 3),
    "freeze_worker_child": (1, 6, 2),
    # Until an event that it was running is run by somebody else: the worst moment to come back. At most so long.
    "freeze_worker_until_replaced": (9, 12, 2),
    "kill_shop": (0, 0, 1),
    "freeze_shop": (1, 4, 1),
}
ERP: Deck = {
    "erp_killed": (0.5, 2, 1),
    "erp_frozen": (1, 3, 1),
    "erp_unavailable": (1, 4, 1),
    "erp_limits": (1, 4, 1),
    "erp_hangs": (1, 4, 1),
    "erp_slow": (2, 5, 2),
    "erp_late": (2, 5, 2),
    "erp_lies": (2, 5, 2),
    "erp_breaks": (2, 5, 1),
    "erp_doubles": (2, 5, 1),
}
OPERATORS: Deck = {"reprocess": (0, 0, 3), "discard": (0, 0, 2), "skip_lane": (0, 0, 2)}
POSTGRES: Deck = {
    "postgres_restarts": (0.2, 1.5, 1),
    "postgres_crashes": (0.2, 1.5, 1),
    "backends_terminated": (0, 0, 3),
}
SQLITE: Deck = {"sqlite_held": (0.5, 3, 2)}
BROKER: Deck = {
    "kill_scheduler": (0, 0, 1),
    "freeze_scheduler": (1, 6, 1),
    "broker_restarts": (0.2, 1.5, 1),
    "broker_emptied": (0, 0, 2),
    "broker_frozen": (1, 4, 1),
    "messages_doubled": (0, 0, 3),
    "messages_dropped": (0, 0, 3),
}

#: Set-up -> what can happen there.
DECKS: dict[str, Deck] = {
    "postgres-celery": PROCESSES | ERP | OPERATORS | POSTGRES | BROKER,
    "postgres-table": PROCESSES | ERP | OPERATORS | POSTGRES,
    "sqlite-table": PROCESSES | ERP | OPERATORS | SQLITE,
    "postgres-rabbitmq": PROCESSES | ERP | OPERATORS | POSTGRES | BROKER,
}
SETUPS = tuple(DECKS)
#: The storms of every run of the suite: always the same plans, in the set-ups that it can afford.
SHORT_SEED, SHORT_STORM = 940, 20.0
SHORT_SETUPS = ("postgres-celery", "postgres-table", "sqlite-table")


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault.

    Attributes:
        at: seconds after the storm began.
        name: what happens, as in the decks.
        lasts: seconds until it is over; 0 for what happens at one moment.
        draw: seed of every choice that depends on what there is at that moment, such as which child is killed.
    """

    at: float
    name: str
    lasts: float
    draw: int

    def choose(self) -> Random:
        """The generator of its choices."""
        return Random(self.draw)

    def __str__(self) -> str:
        lasts = f" for {self.lasts:.1f} s" if self.lasts else ""
        return f"{self.at:6.2f} s  {self.name}{lasts}  (draw {self.draw})"


def plan(setup: str, seed: int, seconds: float) -> list[Fault]:
    """The faults of one storm, in order.

    First comes one of each kind, however short the storm is, and then the deck, shuffled anew whenever it is empty.
    """
    random = Random(f"faults:{setup}:{seed}")
    deck = DECKS[setup]
    cards = _shuffled(random, list(deck))
    number = max(len(cards), round((seconds - CALM) / GAP))
    while len(cards) < number:
        cards += _shuffled(random, [name for name, (_, _, times) in deck.items() for _ in range(times)])
    moments = sorted(random.uniform(CALM, seconds) for _ in range(number))
    return [_fault(random, at, name, deck) for at, name in zip(moments, cards, strict=False)]


def _shuffled(random: Random, cards: list[str]) -> list[str]:
    return random.sample(cards, len(cards))


def _fault(random: Random, at: float, name: str, deck: Deck) -> Fault:
    shortest, longest, _ = deck[name]
    return Fault(at, name, random.uniform(shortest, longest), random.randrange(1_000_000))


def described(setup: str, seed: int, faults: Sequence[Fault], seconds: float) -> str:
    """The plan for a person, with the command that repeats it."""
    command = f'make chaos CHAOS_ARGS="--seed {seed} --setup {setup} --storm {seconds:g}"'
    return "\n".join([f"Seed {seed} in {setup}; repeat it with: {command}", *map(str, faults)])
