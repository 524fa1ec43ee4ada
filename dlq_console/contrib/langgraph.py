"""How is the thread of a graph taken up again when its process has died?

The graph keeps its own checkpoints; a `WorkRegister` knows which threads have lost their process, an `OrphanScanner`
queues them, and a `RecoveryConsumer` calls what `resuming` gives. Nodes with an outside effect are `idempotent_node`s.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from dlq_console.resilience.orphans import WorkRegister


class Graph(Protocol):
    """A compiled graph with a checkpointer."""

    async def ainvoke(self, input: Any, config: Any = None) -> Any:
        """Run it; without an input it goes on from its last checkpoint."""
        ...

    async def aget_state(self, config: Any) -> Any:
        """What is known of a thread; its `created_at` is None where it has no checkpoint."""
        ...


async def run_thread(graph: Graph, work: WorkRegister, thread_id: str, given: Any) -> Any:
    """Run a thread; if this process dies meanwhile, the thread is an orphan of the register.

    Its input is kept with it where it is JSON of at most 1,000 characters, for a process that dies before the first
    checkpoint.

    Raises:
        StillRunningError: the thread is under way elsewhere.
    """
    async with work.ahold(thread_id, given):
        return await graph.ainvoke(given, _config(thread_id))


def resuming(graph: Graph, work: WorkRegister) -> Callable[[str], Awaitable[Any]]:
    """What a recovery consumer calls with the id of an orphaned thread: it goes on from its last checkpoint.

    One whose process died before the first is begun with the input that was kept for it.
    """

    async def resume(thread_id: str) -> Any:
        # Asked before the thread is held: when the checkpoints cannot be reached, its input must stay kept.
        snapshot = await graph.aget_state(_config(thread_id))
        async with work.ahold(thread_id) as kept:
            given = kept if snapshot.created_at is None else None
            return await graph.ainvoke(given, _config(thread_id))

    return resume


def _config(thread_id: str) -> Mapping[str, Any]:
    return {"configurable": {"thread_id": thread_id}}
