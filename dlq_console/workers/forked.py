"""What is a copy that a handler forks of its process? A program like any other: signals end it.

The process itself treats them in ways of its own. A signal that came before the copy is a program would be treated
so too, in effect lost; who sent it would wait for its end for ever, as a `multiprocessing.Pool` does. It is held back
until then.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable


def let_copies_be_programs(signals: Iterable[signal.Signals], copied: Callable[[], None]) -> None:
    """Hold signals back wherever this process forks, until `copied` has been called in the copy.

    Args:
        signals: which of them.
        copied: gives each of them the meaning that it has for a program.
    """
    kept = tuple(signals)
    # Several threads may be about to fork.
    own = threading.local()

    def hold_back() -> None:
        own.mask = signal.pthread_sigmask(signal.SIG_BLOCK, kept)

    def let_through() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, own.mask)

    def be_a_program() -> None:
        copied()
        let_through()

    os.register_at_fork(before=hold_back, after_in_parent=let_through, after_in_child=be_a_program)
