"""Which events were handed over at the same moment, so that nothing is promised about the order of the two?

An id is given when a row is inserted, and others see the row once that transaction is committed. Between the two, an event
of another shop with a higher id may be inserted, committed and let go. No order is promised for such a pair. A shop hands over one
chunk after the other, so a chunk was handed over at some time between the promise before it and its own, in whichever of
its lives.
"""

from __future__ import annotations

from collections.abc import Sequence

from tests.chaos.record import Promise

#: Shop, and the two moments between which it handed an event over.
Span = tuple[int, float, float]


class Handovers:
    """When each event was handed over, and by whom.

    Args:
        promises: those of each shop, in the order in which it wrote them down.
    """

    def __init__(self, promises: Sequence[Sequence[Promise]]) -> None:
        self._spans: dict[int, Span] = {}
        for shop, promised in enumerate(promises):
            before = last = float("-inf")
            for promise in promised:
                if promise.at != last:
                    before, last = last, promise.at
                self._spans[promise.id] = (shop, before, last)

    def at_the_same_moment(self, one: int, other: int) -> bool:
        """Whether two events come from different shops and neither was committed for certain before the other was begun."""
        if one not in self._spans or other not in self._spans:
            return False
        shop, begun, committed = self._spans[one]
        other_shop, other_begun, other_committed = self._spans[other]
        return shop != other_shop and begun < other_committed and other_begun < committed
