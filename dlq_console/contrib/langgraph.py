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


async def run_thread(graph: Graph, work: WorkRegister, thread_id: str, given: Any) -> Any:
    """Run a thread; if this process dies meanwhile, the thread is an orphan of the register.

    Raises:
        StillRunningError: the thread is under way elsewhere.
    """
    async with work.ahold(thread_id):
        return await graph.ainvoke(given, _config(thread_id))


def resuming(graph: Graph, work: WorkRegister) -> Callable[[str], Awaitable[Any]]:
    """What a recovery consumer calls with the id of an orphaned thread: it goes on from its last checkpoint."""

    async def resume(thread_id: str) -> Any:
        return await run_thread(graph, work, thread_id, None)

    return resume


def _config(thread_id: str) -> Mapping[str, Any]:
    return {"configurable": {"thread_id": thread_id}}
