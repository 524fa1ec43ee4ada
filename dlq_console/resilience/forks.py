"""What does a forked child not go on with? Locks that a thread of its parent held, and calls that are its parent's.

Only the thread that forks lives on in the child: a lock held by another one would stay locked for ever, and a slot or
a claim of the parent would be renewed, or given back, by two processes.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forgetful(Protocol):
    """Something that belongs to one process."""

    def forget(self) -> None:
        """Begin anew: with new locks, and without what its parent holds, counts or has yet to say."""
        ...


_living: weakref.WeakSet[Forgetful] = weakref.WeakSet()


def forget_in_child(thing: Forgetful) -> None:
    """Have a thing forget what is its parent's in every child that is forked while it lives."""
    _living.add(thing)


def _after_fork() -> None:
    for thing in list(_living):
        thing.forget()


os.register_at_fork(after_in_child=_after_fork)
