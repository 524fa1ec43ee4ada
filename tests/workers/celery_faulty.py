"""Which handlers do the tests of Celery workers run? Those of the table workers, and some that concern Celery only."""

from __future__ import annotations

import os
import signal
import time

from dlq_console import Event, PermanentError, Policy, Run, TransientError
from tests.workers.faulty import FAST, SHORT, _note, hub

__all__ = ["hub"]


@hub.handler("unlucky", policy=FAST)
def unlucky(event: Event, run: Run) -> None:
    """Fails for a moment, then for good; works once it has been reprocessed."""
    _note(event)
    if event.cycle == 0:
        raise TransientError("not now") if run.attempt == 1 else PermanentError("never")


@hub.handler("fails_once", policy=FAST)
def fails_once(event: Event, run: Run) -> None:
    _note(event)
    if run.attempt == 1:
        raise TransientError("not now")


@hub.handler("takes_a_second", policy=FAST)
def takes_a_second(event: Event) -> None:
    _note(event)
    time.sleep(1)


@hub.handler("overtime.swallowed", policy=SHORT)
def overtime_swallowed(event: Event) -> None:
    _note(event)
    while True:
        try:
            time.sleep(0.1)
        except Exception:  # noqa: BLE001 - the fault itself
            continue


@hub.handler("overtime.returns", policy=Policy(max_attempts=1, timeout=SHORT.timeout))
def overtime_returns(event: Event) -> dict[str, str]:
    """Goes on past its limit until it is let go, and then finds out something."""
    folder = _note(event)
    while not (folder / "late").exists():
        time.sleep(0.02)
    return {"found": "late"}


@hub.handler("overtime.deaf", policy=Policy(max_attempts=1, timeout=SHORT.timeout))
def overtime_deaf(event: Event) -> None:
    _note(event)
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    while True:
        time.sleep(0.1)


@hub.handler("overtime.frozen", policy=Policy(max_attempts=1, timeout=SHORT.timeout))
def overtime_frozen(event: Event) -> None:
    _note(event)
    os.kill(os.getpid(), signal.SIGSTOP)


@hub.handler("overtime.stubborn", policy=Policy(max_attempts=1, timeout=SHORT.timeout))
def overtime_stubborn(event: Event) -> None:
    _note(event)
    while True:
        try:
            time.sleep(0.1)
        except BaseException:  # noqa: BLE001 - the fault itself
            continue
