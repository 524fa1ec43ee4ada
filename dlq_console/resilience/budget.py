"""How much time is left for the whole request? Set once where it enters, carried to every service it calls.

Inside a process it is a moment of the monotonic clock in a context variable; between processes it is a duration, so
no two clocks have to agree. A scope can only shorten what is around it, and a caller can only shorten what the
server would allow.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from contextvars import ContextVar
from types import TracebackType
from typing import Self

from dlq_console.clock import monotonic
from dlq_console.resilience import checks
from dlq_console.resilience.errors import BudgetExceededError
from dlq_console.resilience.forks import forget_in_child
from dlq_console.settings import read_settings

#: The header that carries the remaining seconds to the next service.
HEADER = "X-Timeout-Budget"
#: A request without the header, or with one that is unfit, has so many seconds.
ABSENT = 10.0
#: What is kept back for the caller's own work after a call, in seconds; with less left no call begins.
RESERVE = 1.0

_NUMBER = re.compile(r"[0-9]{1,8}(\.[0-9]{1,6})?", re.ASCII)
_LONGEST_HEADER = 8

_innermost: ContextVar[Budget | None] = ContextVar("dlq_console_budget", default=None)


class Limits:
    """What applies to budgets in this process, in seconds: what the program has set, else the settings."""

    def __init__(self) -> None:
        self._default: float | None = None
        self._maximum: float | None = None

    @property
    def default(self) -> float:
        """Where no budget was set.

        Raises:
            ConfigurationError: nothing was set, and a setting is wrong.
        """
        if self._default is None:
            self._default = read_settings().budget_default
        return self._default

    @property
    def maximum(self) -> float:
        """The most a caller may ask for.

        Raises:
            ConfigurationError: as for `default`.
        """
        if self._maximum is None:
            self._maximum = read_settings().budget_max
        return self._maximum

    def set(self, *, default: float | None = None, maximum: float | None = None) -> None:
        """Change them, as the program starts.

        Raises:
            ConfigurationError: a value is no positive number.
        """
        if default is not None:
            checks.number(default, "the default budget", above=0)
            self._default = float(default)
        if maximum is not None:
            checks.number(maximum, "the largest budget", above=0)
            self._maximum = float(maximum)


limits = Limits()


class Budget:
    """A scope with a time limit; what `init_budget` returns. Leaving it restores the one around it.

    Attributes:
        deadline: when it is used up, by the monotonic clock.
        around: the one that was set where it began.
        ended: whether its end has come.
    """

    def __init__(self, deadline: float) -> None:
        self.deadline = deadline
        self.around = _innermost.get()
        self.ended = False
        _innermost.set(self)

    def remaining(self) -> float:
        """Seconds that are left of it, at least 0."""
        return max(0.0, self.deadline - monotonic())

    def end(self) -> None:
        """Restore the budget around it, once is enough; one further in that goes on is left to its own end."""
        self.ended = True
        if _innermost.get() is not self:
            return
        around = self.around
        while around is not None and around.ended:
            around = around.around
        _innermost.set(around)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


def init_budget(seconds: float) -> Budget:
    """Give what follows so many seconds: until the `with` block ends, or for the rest of this context.

    Within another budget it can only shorten it; never is it more than the largest budget.

    Raises:
        ConfigurationError: `seconds` is not a number of at least 0.
    """
    checks.number(seconds, "a budget in seconds")
    deadline = monotonic() + min(float(seconds), limits.maximum)
    around = _innermost.get()
    return Budget(deadline if around is None else min(deadline, around.deadline))


def is_set() -> bool:
    """Whether a budget was set here or further out."""
    return _innermost.get() is not None


def remaining_budget() -> float:
    """Seconds that are left, at least 0; the default where no budget was set."""
    innermost = _innermost.get()
    return limits.default if innermost is None else innermost.remaining()


def child_limit(own: float | None = None, *, name: str = "", reserve: float = RESERVE) -> float:
    """The limit for a call that is about to begin: its own, or what the budget leaves, whichever is shorter.

    Args:
        own: limit of the call itself; None for none.
        name: of the service, for the error.
        reserve: what is kept back for the work after it, in seconds.

    Raises:
        BudgetExceededError: so little is left that the call must not begin.
    """
    left = remaining_budget() - reserve
    if left <= 0:
        raise BudgetExceededError(
            f"{_named(name)} is not called: "
            f"{left + reserve:.1f} s of the request's budget are left, and {reserve:g} s are kept for its answer.",
            name=name,
        )
    return left if own is None else min(own, left)


# What travels


def header_value(seconds: float) -> str:
    """Seconds as the header says them: never more than there are, at most 8 characters."""
    return f"{int(min(seconds, 99_999.0) * 100) / 100:.2f}"


def read_header(values: str | Sequence[str] | None) -> float:
    """Seconds that a caller gives: from its header, or the default of a request without one.

    Only a short decimal number in ASCII counts. Anything else, two headers included, is ignored and counted (see
    `ignored`), and nobody gets more than the largest budget.
    """
    given = [values] if isinstance(values, str) else list(values or ())
    if not given:
        return min(ABSENT, limits.maximum)
    if len(given) != 1 or len(given[0]) > _LONGEST_HEADER or not _NUMBER.fullmatch(given[0]):
        ignored.add()
        return min(ABSENT, limits.maximum)
    return min(float(given[0]), limits.maximum)


class Ignored:
    """How many headers were unfit in this process.

    Attributes:
        count: so far.
    """

    def __init__(self) -> None:
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        """Count from nothing, as in a forked child."""
        self._lock = threading.Lock()
        self.count = 0

    def add(self) -> None:
        """One more."""
        with self._lock:
            self.count += 1


ignored = Ignored()


def exceeded(name: str, limit: float) -> BudgetExceededError:
    """The error for a call that was cut short by its budget."""
    return BudgetExceededError(
        f"{_named(name)} was given up after {limit:.1f} s: the budget of the request is used up.",
        name=name,
        during_call=True,
    )


def _named(name: str) -> str:
    return f'"{name}"' if name else "The service"
