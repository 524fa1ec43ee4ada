"""Is there one span for each node, and does the trace travel? With the real OpenTelemetry, and without it."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from dlq_console.errors import ConfigurationError
from dlq_console.resilience.idempotency import idempotent_node
from dlq_console.resilience.state import MemoryState
from dlq_console.resilience.tracing import continued, inject, trace_context, traced_node
from tests.services.process import StartChild
from tests.services.spans import no_spans_yet


@pytest.fixture
def spans() -> Any:
    return no_spans_yet()


def test_each_call_of_a_node_is_a_span(spans: Any) -> None:
    @traced_node("book", kind="order")
    def book(number: int) -> int:
        """Book it."""
        return number

    assert [book(1), book(2)] == [1, 2]
    assert [(span.name, span.attributes["kind"]) for span in spans()] == [("book", "order")] * 2
    assert (book.__name__, book.__doc__) == ("book", "Book it.")


@pytest.mark.anyio
async def test_an_async_node_is_a_span_around_its_whole_run(spans: Any) -> None:
    @traced_node("outer")
    async def outer() -> dict[str, str]:
        return await inner()

    @traced_node("inner")
    async def inner() -> dict[str, str]:
        return trace_context()

    context = await outer()
    first, second = spans()
    assert (first.name, second.name) == ("inner", "outer")
    assert first.parent.span_id == second.context.span_id
    assert f"{second.context.trace_id:032x}" in context["traceparent"]


def test_an_error_is_told_by_its_class_and_never_by_its_text(spans: Any) -> None:
    @traced_node("book")
    def book() -> None:
        raise ValueError("password=hunter2")

    with pytest.raises(ValueError, match="hunter2"):
        book()
    (span,) = spans()
    assert span.attributes["error.type"] == "ValueError"
    assert span.status.is_ok is False
    assert "hunter2" not in span.to_json()


def test_the_trace_goes_with_an_event_and_is_continued_where_it_is_run(spans: Any) -> None:
    @traced_node("enqueue")
    def enqueue() -> dict[str, str]:
        headers = {"kept": "yes"}
        inject(headers)
        return headers

    @traced_node("run")
    def run() -> None:
        """The event."""

    carried = enqueue()
    assert carried["kept"] == "yes"
    with continued(carried):
        run()
    sent, received = spans()
    assert received.parent.span_id == sent.context.span_id
    assert trace_context() == {}


def test_a_replayed_node_is_still_a_span(spans: Any) -> None:
    """The order of decorators: traced, then idempotent, then the function."""
    made: list[int] = []

    @traced_node("book")
    @idempotent_node(MemoryState(), "book", ["order"])
    def book(given: dict[str, int]) -> int:
        made.append(given["order"])
        return given["order"]

    assert [book({"order": 1}), book({"order": 1})] == [1, 1]
    assert (made, len(spans())) == ([1], 2)


def test_a_name_is_needed() -> None:
    with pytest.raises(ConfigurationError):
        traced_node("")


WITHOUT = """
import sys
sys.modules["opentelemetry"] = None
from dlq_console.resilience.tracing import continued, inject, trace_context, traced_node

@traced_node("book")
def book():
    headers = {}
    inject(headers)
    return headers, trace_context()

with continued({"traceparent": "00-" + "1" * 32 + "-" + "2" * 16 + "-01"}):
    assert book() == ({}, {})
"""


def test_without_opentelemetry_nothing_is_traced_and_nothing_breaks(start_child: StartChild) -> None:
    assert start_child([sys.executable, "-c", WITHOUT]).wait_for_exit() == 0
