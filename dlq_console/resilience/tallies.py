"""How often did something happen, here and in all processes? Counted here at once, added to the shared sum now and then."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Mapping

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.resilience.forks import forget_in_child
from dlq_console.resilience.link import Link
from dlq_console.resilience.state import A_WEEK, Change, Kind

#: Seconds between two additions to the shared sum.
EVERY = 2.0
#: A sum is kept so long after the last addition.
_KEPT = 4 * A_WEEK


def _decode(text: str) -> Mapping[str, int] | None:
    try:
        counts = json.loads(text)
        return {str(name): int(count) for name, count in counts.items()}
    except (ValueError, TypeError, AttributeError):
        return None


TALLIES: Kind[Mapping[str, int]] = Kind("tally", json.dumps, _decode, remembered=False, hurried=True)


class Tally:
    """What one process counts for one name.

    Args:
        link: to the state that holds the sum.
        name: of the sum; the kind of thing and its name.
    """

    def __init__(self, link: Link, name: str) -> None:
        self._link = link
        self._name = name
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        """Count from nothing, as in a forked child: what its parent has counted is its parent's to say."""
        self._lock = threading.Lock()
        self._all: Counter[str] = Counter()
        self._unsaid: Counter[str] = Counter()
        self._kept = False
        self._due = 0.0

    def add(self, *names: str) -> None:
        """Count one more of each."""
        with self._lock:
            for name in names:
                self._all[name] += 1
            if self._link.state.local:
                return
            self._unsaid.update(names)
            if self._kept:
                return
            self._kept, self._due = True, monotonic() + EVERY
        self._link.keep(self)

    def own(self) -> dict[str, int]:
        """What this process has counted."""
        with self._lock:
            return dict(self._all)

    def tick(self) -> bool:
        """Add to the shared sum when it is time; a sum that cannot be reached is told later."""
        with self._lock:
            if monotonic() < self._due and not self._link.is_stopping:
                return True
            unsaid, self._unsaid, self._kept = self._unsaid, Counter(), False
        try:
            self._link.state.change(TALLIES, self._name, lambda sums, _now: _added(sums, unsaid))
        except StoreUnavailable:
            with self._lock:
                self._unsaid.update(unsaid)
                self._kept, self._due = True, monotonic() + EVERY
            return True
        return False


def _added(sums: Mapping[str, int] | None, more: Mapping[str, int]) -> Change[Mapping[str, int], None]:
    total = Counter(sums or {})
    total.update(more)
    return Change(None, dict(total), _KEPT)
