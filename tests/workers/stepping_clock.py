"""How does a test run a worker on a host whose clock jumps? With all that this package is told of the time stepped.

As `tests.workers.table_worker`: python -m tests.workers.stepping_clock --slots 1. The clock is ahead by a day in one
second and behind by a day in the next; only the monotonic one goes on.
"""

from __future__ import annotations

import datetime
import sys
import time
from typing import Any, Self

from tests.workers.table_worker import main

STEP = 86_400
_time, _time_ns = time.time, time.time_ns


def _step() -> int:
    return STEP if int(time.monotonic()) % 2 else -STEP


class _AnyDatetime(type):
    """Objects that others have made by the real class count as well."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, datetime.datetime)


class SteppedDatetime(datetime.datetime, metaclass=_AnyDatetime):
    """A `datetime` that tells the stepped time."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> Self:
        return cls.fromtimestamp(time.time(), tz)


def step_all_clocks() -> None:
    """From now on this process, and what it forks, is told the stepped time."""
    clocks: dict[str, Any] = {
        "time": lambda: _time() + _step(),
        "time_ns": lambda: _time_ns() + _step() * 1_000_000_000,
    }
    for name, clock in clocks.items():
        setattr(time, name, clock)
    # Not for all modules: drivers and `pickle` know the class itself by heart.
    for module in [module for name, module in sys.modules.items() if name.startswith("dlq_console")]:
        if getattr(module, "datetime", None) is datetime.datetime:
            vars(module)["datetime"] = SteppedDatetime


if __name__ == "__main__":
    step_all_clocks()
    sys.exit(main())
