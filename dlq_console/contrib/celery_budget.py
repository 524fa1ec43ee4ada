"""How does the budget of a request reach a Celery task? In the headers of its message; the time in the queue counts.

    carry_budget()

Call it once where the application is made, by senders and workers alike. A retry of a task gets what is left.
"""

from __future__ import annotations

import time
from typing import Any

from celery.signals import before_task_publish, task_postrun, task_prerun

from dlq_console.resilience import budget
from dlq_console.resilience.checks import is_number

#: Headers of a message: the seconds it had when it was sent, and when that was (seconds since 1970, sender's clock).
SECONDS, SENT_AT = "dlq_budget", "dlq_budget_sent_at"

_ATTRIBUTE = "dlq_console_budget"


def carry_budget() -> None:
    """Send the budget with every task, and take it over where one is run."""
    before_task_publish.connect(_send, dispatch_uid="dlq_console.budget.send")
    task_prerun.connect(_begin, dispatch_uid="dlq_console.budget.begin")
    task_postrun.connect(_end, dispatch_uid="dlq_console.budget.end")


def received(seconds: Any, sent_at: Any, now: float) -> float | None:
    """Seconds that are left of what a message had; None when it had none.

    Clocks of two hosts may differ: a message from the future has waited no time, and no wait makes a budget longer.
    One from a moment that is none, such as an endless number, counts as from the future.
    """
    if not isinstance(seconds, str) or not isinstance(sent_at, (int, float)) or isinstance(sent_at, bool):
        return None
    waited = now - sent_at if is_number(sent_at) else 0.0
    return max(0.0, budget.read_header(seconds) - (waited if waited > 0 else 0.0))


def _send(headers: dict[str, Any] | None = None, **_: Any) -> None:
    if headers is not None and budget.is_set():
        headers[SECONDS] = budget.header_value(budget.remaining_budget())
        headers[SENT_AT] = time.time()


def _begin(task: Any = None, **_: Any) -> None:
    request = task.request
    left = received(getattr(request, SECONDS, None), getattr(request, SENT_AT, None), time.time())
    if left is not None:
        setattr(request, _ATTRIBUTE, budget.init_budget(left))


def _end(task: Any = None, **_: Any) -> None:
    begun = getattr(task.request, _ATTRIBUTE, None)
    if begun is not None:
        begun.end()
