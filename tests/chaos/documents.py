"""What do the shops of the storm hand over, and what is each event's place in line? All of it follows from the seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

#: Accounts of the ERP. Each is fed by every shop, so that several producers feed a lane.
ACCOUNTS = tuple(f"branch-{number:02}" for number in range(20))
SHOPS = 2

#: Kind of event -> how it is ordered, and whether a dead one stops its lane.
KINDS: dict[str, tuple[Literal["none", "key", "account"], bool]] = {
    "order.create": ("none", False),
    "customer.update": ("key", False),
    "price.change": ("key", True),
    "stock.move": ("account", True),
    "stock.count": ("account", True),
}
#: What the accounts send, by turns.
_KINDS_OF_ACCOUNTS = (
    ("order.create",),
    ("customer.update", "order.create"),
    ("stock.move", "stock.count"),
    tuple(KINDS),
)
#: Ordering keys within an account.
_KEYS = ("red", "green")
#: Share of documents that the ERP refuses until somebody has registered them.
_REFUSED = 0.1

#: How a shop hands a chunk over: each by itself, in a transaction of the shop's own, by one call for all of them, or in
#: a transaction that the shop rolls back.
Way = Literal["alone", "joined", "many", "regretted"]
#: Way -> documents in such a chunk, and how often it is chosen.
_WAYS: dict[Way, tuple[int, int]] = {"alone": (1, 6), "joined": (2, 3), "many": (5, 1), "regretted": (1, 1)}


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a shop, which becomes one event."""

    kind: str
    account: str
    entity_id: str
    ordering_key: str | None
    #: Whether the ERP refuses it until it is registered there.
    refused: bool

    @property
    def lane(self) -> str | None:
        """The lane in which its event has to stand."""
        order, _ = KINDS[self.kind]
        return {"none": None, "key": f"{self.account}|{self.ordering_key}", "account": f"{self.account}|*"}[
            order
        ]

    @property
    def stops(self) -> bool:
        """Whether its lane stops when its event dies."""
        return KINDS[self.kind][1]


@dataclass(frozen=True, slots=True)
class Chunk:
    """Documents that are handed over together."""

    way: Way
    documents: tuple[Document, ...]


def chunks(seed: int, shop: int, events: int) -> Iterator[Chunk]:
    """What a shop hands over, in this order, until so many events have been promised."""
    random = Random(f"documents:{seed}:{shop}")
    ways, weights = list(_WAYS), [weight for _, weight in _WAYS.values()]
    number = promised = 0
    while promised < events:
        way = random.choices(ways, weights)[0]
        made = []
        for _ in range(_WAYS[way][0]):
            number += 1
            made.append(_document(random, shop, number))
        yield Chunk(way, tuple(made))
        promised += 0 if way == "regretted" else len(made)


def _document(random: Random, shop: int, number: int) -> Document:
    place = random.randrange(len(ACCOUNTS))
    kind = random.choice(_KINDS_OF_ACCOUNTS[place % len(_KINDS_OF_ACCOUNTS)])
    key = random.choice(_KEYS) if KINDS[kind][0] == "key" else None
    return Document(kind, ACCOUNTS[place], f"{shop}-{number:05}", key, random.random() < _REFUSED)
