"""What of all that a graph hands to a node is its input?"""

from __future__ import annotations

from typing import Any, TypedDict

import pytest

from dlq_console.errors import IdempotencyConflict
from dlq_console.resilience.idempotency import idempotent_node
from dlq_console.resilience.state import MemoryState

pytest.importorskip("langgraph.graph", reason="pip install langgraph")


class Booking(TypedDict, total=False):
    """The state of a thread."""

    order: int
    amount: int
    confirmation: str


def test_the_input_of_a_node_is_the_state_of_its_thread_and_nothing_of_the_run() -> None:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, StateGraph
    from langgraph.runtime import Runtime
    from langgraph.store.base import BaseStore
    from langgraph.store.memory import InMemoryStore
    from langgraph.types import StreamWriter

    runs: list[tuple[RunnableConfig, Any]] = []

    @idempotent_node(MemoryState(), "book", ["order"])
    def book(
        given: Booking,
        config: RunnableConfig,
        *,
        store: BaseStore,
        writer: StreamWriter,
        runtime: Runtime[Any],
    ) -> Booking:
        assert callable(writer)
        assert runtime.store is store
        runs.append((config, runtime))
        return {"confirmation": f"{len(runs)} of {given['order']}"}

    graph: Any = StateGraph(Booking)
    graph.add_node("book", book)
    graph.add_edge(START, "book")
    graph.add_edge("book", END)
    compiled = graph.compile(checkpointer=InMemorySaver(), store=InMemoryStore())

    def invoked(thread: str, **given: int) -> Any:
        config: RunnableConfig = {"configurable": {"thread_id": thread}, "metadata": {"from": thread}}
        return compiled.invoke({"order": 8841, **given}, config)["confirmation"]

    assert [invoked("a"), invoked("b")] == ["1 of 8841"] * 2
    ((config, _),) = runs
    assert config["configurable"]["thread_id"] == "a"
    with pytest.raises(IdempotencyConflict):
        invoked("c", amount=99)
