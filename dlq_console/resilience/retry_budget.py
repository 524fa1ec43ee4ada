"""How much extra load may retries put on a service that is in trouble? A fifth of its calls, and always a few.

Each process counts for itself. The share then holds for all of them together; only the few add up, and nothing that
is shared without asking inline could prevent that, because they are spent within the first moments.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable

from dlq_console.clock import monotonic
from dlq_console.resilience.forks import forget_in_child

#: Retries may be this share of the calls of the last seconds; so many are always allowed.
SHARE, LEAST, SECONDS = 0.2, 3, 10


class RetryBudget:
    """Counts the calls and retries of one service in this process over the last ten seconds.

    Args:
        clock: tells seconds; only differences matter.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        """Count from nothing, as in a forked child."""
        self._lock = threading.Lock()
        #: Second, calls, retries; one entry for each second in which there were any.
        self._spans: deque[list[int]] = deque()

    def called(self) -> None:
        """A call begins, not as a retry."""
        with self._lock:
            self._span()[1] += 1

    def take(self) -> bool:
        """Whether one more retry is within the budget; then it is counted."""
        with self._lock:
            span = self._span()
            calls, retries = (sum(each[column] for each in self._spans) for column in (1, 2))
            if retries >= max(LEAST, math.floor(SHARE * calls)):
                return False
            span[2] += 1
            return True

    def _span(self) -> list[int]:
        second = int(self._clock())
        while self._spans and self._spans[0][0] <= second - SECONDS:
            self._spans.popleft()
        if not self._spans or self._spans[-1][0] != second:
            self._spans.append([second, 0, 0])
        return self._spans[-1]


_budgets: dict[str, RetryBudget] = {}


def retry_budget(service: str) -> RetryBudget:
    """The one retry budget of a service in this process."""
    return _budgets.setdefault(service, RetryBudget())
