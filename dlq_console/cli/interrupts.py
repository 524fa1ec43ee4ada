"""What does Ctrl-C do while a command is still being loaded? It ends the process at once.

Nothing has begun by then that would need an orderly end. A KeyboardInterrupt in the middle of an import would be printed
with its traceback, or be lost where it meets a callback of the interpreter.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: What shells say of a process that Ctrl-C has ended.
INTERRUPTED = 130


@contextmanager
def loading() -> Iterator[None]:
    """Inside the block, Ctrl-C ends the process with a word instead of a traceback."""
    # Otherwise it is ignored, as behind nohup, or somebody else's.
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is _end:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(_signal: int, _frame: FrameType | None) -> None:
    os.write(2, b"\ndlq-console: Stopped.\n")
    os._exit(INTERRUPTED)
