"""How do several real processes do the same thing at the same time, and hand back what they saw?"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from typing import Any, Concatenate, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Seen = TypeVar("Seen")

#: Called by a process when it is ready; returns when all are.
Start = Callable[[], Any]

#: Seconds in which every process must be ready.
_READY_WITHIN = 60.0

# A fresh interpreter each, as workers and producers are in production.
_context = multiprocessing.get_context("spawn")


def in_processes(
    count: int,
    work: Callable[Concatenate[Start, Parameters], Seen],
    *arguments: Parameters.args,
    **named: Parameters.kwargs,
) -> list[Seen]:
    """Call `work(start, ...)` in `count` processes and return their answers.

    Args:
        count: how many processes.
        work: a function of a module; it calls `start()` once it is ready, then does what is measured.
        arguments: passed on to `work`.
        named: passed on to `work`.

    Raises:
        ChildProcessError: one of them failed; its traceback stands above.
    """
    barrier = _context.Barrier(count, timeout=_READY_WITHIN)
    pipes = [_context.Pipe(duplex=False) for _ in range(count)]
    processes = [
        _context.Process(target=_run, args=(theirs, barrier, work, arguments, named), daemon=True)
        for _, theirs in pipes
    ]
    for process in processes:
        process.start()
    for _, theirs in pipes:
        # Only the child holds it now, so that its death ends the wait below.
        theirs.close()
    try:
        return [ours.recv() for ours, _ in pipes]
    except EOFError:
        raise ChildProcessError("a process of the benchmark failed") from None
    finally:
        for process in processes:
            process.join()


def _run(answer: Connection, barrier: Barrier, work: Callable[..., Any], arguments: Any, named: Any) -> None:
    answer.send(work(barrier.wait, *arguments, **named))
