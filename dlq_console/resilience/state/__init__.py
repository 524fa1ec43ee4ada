"""What is shared between processes, and where is it kept?"""

from dlq_console.resilience.state.memory import MemoryState, steady_now
from dlq_console.resilience.state.optimistic import Loaded, OptimisticState, Swapped
from dlq_console.resilience.state.records import (
    A_WEEK,
    AS_IT_IS,
    Answer,
    Change,
    Changing,
    Contended,
    Kind,
    Reading,
    Record,
    SharedState,
    checked_state,
    unchanged,
)

__all__ = [
    "AS_IT_IS",
    "A_WEEK",
    "Answer",
    "Change",
    "Changing",
    "Contended",
    "Kind",
    "Loaded",
    "MemoryState",
    "OptimisticState",
    "Reading",
    "Record",
    "SharedState",
    "Swapped",
    "checked_state",
    "steady_now",
    "unchanged",
]
