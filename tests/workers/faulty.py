"""Which handlers do the tests of workers run? Ones that do to their process what bad code and bad luck do.

An event says in its payload where to leave notes: `folder`. A handler that waits does so until the test writes the
file `go` (or `go.<attempt>`) there.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from dlq_console import Event, Hub, PermanentError, Policy, Run

#: Fast enough that three attempts are over within a second.
FAST = Policy(max_attempts=3, base_delay=0.05, max_delay=0.1, timeout=30)
#: A time limit that a test can wait for (seconds).
SHORT_LIMIT = 1
SHORT = Policy(max_attempts=2, base_delay=0.05, max_delay=0.1, timeout=SHORT_LIMIT)
#: Far longer than any test.
FOREVER = 600

hub = Hub()

#: What a process that this one forks waits for before it is a program, in seconds.
_held_up = 0.0
# It comes before what the process that runs handlers does with its copies.
os.register_at_fork(after_in_child=lambda: time.sleep(_held_up))


def _note(event: Event, what: str = "started", process: int | None = None) -> Path:
    """Leave the id of a process, usually of this one, as `<what>.<event>.<epoch>`.

    A second run of the same claim would fail here.
    """
    folder = Path(event.payload["folder"])
    note = folder / f"{what}.{event.id}.{event.lease_epoch}"
    # Written aside first, so that whoever sees the name also finds the content.
    aside = folder / f".{os.getpid()}"
    aside.write_text(str(process or os.getpid()))
    os.link(aside, note)
    aside.unlink()
    return folder


@hub.handler("noop", policy=FAST)
def noop(_event: Event) -> dict[str, Any]:
    return {"pid": os.getpid()}


@hub.handler("noted", policy=FAST)
def noted(event: Event) -> None:
    _note(event)


@hub.handler("killed", policy=FAST)
def killed(event: Event) -> None:
    _note(event)
    os.kill(os.getpid(), signal.SIGKILL)


@hub.handler("vanishes", policy=FAST)
def vanishes(event: Event) -> None:
    _note(event)
    os._exit(0)


@hub.handler("exits", policy=FAST)
def exits(event: Event) -> None:
    _note(event)
    sys.exit(3)


@hub.handler("out_of_memory", policy=FAST)
def out_of_memory(event: Event) -> None:
    _note(event)
    raise MemoryError("no room for 4 GiB")


@hub.handler("waits", policy=FAST)
def waits(event: Event, run: Run) -> dict[str, Any]:
    folder = _note(event)
    while not ((folder / "go").exists() or (folder / f"go.{run.attempt}").exists()):
        time.sleep(0.02)
    _note(event, "returned")
    return {"attempt": run.attempt}


@hub.handler("hangs", policy=Policy(timeout=60))
def hangs(event: Event) -> None:
    _note(event)
    time.sleep(FOREVER)


@hub.handler("overtime", policy=SHORT)
def overtime(event: Event) -> None:
    _note(event)
    time.sleep(FOREVER)


@hub.handler("overtime.async", policy=SHORT)
async def overtime_async(event: Event) -> None:
    _note(event)
    await asyncio.sleep(FOREVER)


@hub.handler("overtime.blocks_loop", policy=SHORT)
async def overtime_blocks_loop(event: Event) -> None:
    _note(event)
    time.sleep(FOREVER)  # noqa: ASYNC251 - the fault itself: it holds up every other coroutine


@hub.handler("noop.async", policy=FAST)
async def noop_async(_event: Event) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"pid": os.getpid()}


@hub.handler("late_once", policy=SHORT)
def late_once(event: Event, run: Run) -> None:
    _note(event)
    while run.attempt == 1:
        time.sleep(0.05)


@hub.handler("starts_program", policy=FAST)
def starts_program(_event: Event) -> dict[str, Any]:
    """Tell which of the signals that a worker handles a program would ignore."""
    look = "import signal; print(*(s.name for s in (signal.SIGTERM, signal.SIGINT) if signal.getsignal(s) == signal.SIG_IGN))"
    finished = subprocess.run(
        [sys.executable, "-I", "-c", look], capture_output=True, text=True, check=True, timeout=20
    )
    return {"ignores": finished.stdout.split()}


def _start_programs(event: Event) -> None:
    """Start one by its file and one by a fork, as libraries do, and leave their ids."""
    program = subprocess.Popen([sys.executable, "-I", "-c", f"import time; time.sleep({FOREVER})"])
    _note(event, "program", program.pid)
    forked = multiprocessing.Process(target=time.sleep, args=(FOREVER,))
    forked.start()
    _note(event, "forked", forked.pid)


@hub.handler("overtime.with_programs", policy=SHORT)
def overtime_with_programs(event: Event) -> None:
    _start_programs(event)
    time.sleep(FOREVER)


@hub.handler("hangs.with_programs", policy=FAST)
def hangs_with_programs(event: Event) -> None:
    _start_programs(event)
    time.sleep(FOREVER)


@hub.handler("dies.with_programs", policy=FAST)
def dies_with_programs(event: Event, run: Run) -> None:
    if run.attempt == 1:
        _start_programs(event)
        os.kill(os.getpid(), signal.SIGKILL)


@hub.handler("shares_work", policy=FAST)
def shares_work(_event: Event) -> dict[str, Any]:
    with multiprocessing.Pool(2) as pool:
        return {"lengths": pool.map(len, ["a", "bb", "ccc"])}


@hub.handler("interrupts", policy=FAST)
def interrupts(_event: Event) -> None:
    raise KeyboardInterrupt


@hub.handler("writes_everywhere", policy=SHORT)
def writes_everywhere(_event: Event) -> None:
    for descriptor in range(3, 40):
        try:
            os.write(descriptor, b"junk")
        except OSError:
            continue


@hub.handler("forks", policy=FAST)
def forks(_event: Event) -> None:
    os.fork()


@hub.handler("ends_its_copy", policy=FAST)
def ends_its_copy(_event: Event) -> dict[str, Any]:
    """Tell by which signal a copy ended that was told to at once."""
    global _held_up  # noqa: PLW0603 - the hook above knows no event
    _held_up = 0.3
    copy = os.fork()
    if copy == 0:
        time.sleep(FOREVER)
        os._exit(1)
    _held_up = 0.0
    os.kill(copy, signal.SIGTERM)
    return {"ended_by": os.WTERMSIG(os.waitpid(copy, 0)[1])}


@hub.handler("refused", policy=FAST)
def refused(_event: Event) -> None:
    raise PermanentError("not registered")


@hub.precheck("refused")
def would_pass(event: Event, run: Run) -> str:
    """Asked the first time it answers, after that it ends its process."""
    folder = _note(event, f"asked{len(list(Path(event.payload['folder']).glob('asked*')))}")
    if len(list(folder.glob("asked*"))) > 1:
        os.kill(os.getpid(), signal.SIGKILL)
    assert run.remaining() > 0
    return "likely"
