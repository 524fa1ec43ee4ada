"""Which spans did a test make? Kept in memory by the real OpenTelemetry, whose provider is set once per process."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import pytest


def no_spans_yet() -> Any:
    """A function that returns the spans finished since now, first the one that ended first."""
    exporter = _exporter()
    exporter.clear()
    return exporter.get_finished_spans


@cache
def _exporter() -> Any:
    sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="pip install opentelemetry-sdk")
    memory = import_module("opentelemetry.sdk.trace.export.in_memory_span_exporter").InMemorySpanExporter()
    processor = import_module("opentelemetry.sdk.trace.export").SimpleSpanProcessor(memory)
    provider = sdk.TracerProvider()
    provider.add_span_processor(processor)
    import_module("opentelemetry.trace").set_tracer_provider(provider)
    return memory
