"""Where did a request go, across processes? One span for each node or call, where OpenTelemetry is installed.

Without it everything here does nothing. An error is told by its class alone: its message may hold personal data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from functools import cache, update_wrapper
from importlib import import_module
from typing import Any, TypeVar, cast

from dlq_console.resilience import checks
from dlq_console.resilience.calls import is_async, no_generator

Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def _telemetry() -> Any:
    """The parts of OpenTelemetry that are used; None where it is not installed."""
    try:
        import_module("opentelemetry.trace")
        import_module("opentelemetry.propagate")
        import_module("opentelemetry.context")
    except ImportError:
        return None
    return import_module("opentelemetry")


def traced_node(name: str, **attributes: str | int | float | bool) -> Callable[[Function], Function]:
    """Decorator: a span around each call of the function, sync or async. The outermost one: traced, then idempotent.

    Args:
        name: of the span.
        attributes: of each span.

    Raises:
        ConfigurationError: the name is not fit, or the function is a generator.
    """
    checks.name(name, "node")

    def decorate(function: Function) -> Function:
        no_generator(function, name)

        def run(*args: Any, **kwargs: Any) -> Any:
            with span(name, attributes):
                return function(*args, **kwargs)

        async def arun(*args: Any, **kwargs: Any) -> Any:
            with span(name, attributes):
                return await function(*args, **kwargs)

        return cast(Function, update_wrapper(arun if is_async(function) else run, function))

    return decorate


@contextmanager
def span(name: str, attributes: Mapping[str, Any] | None = None) -> Iterator[None]:
    """A span for the block; an error that leaves it is told by its class."""
    telemetry = _telemetry()
    if telemetry is None:
        yield
        return
    tracer = telemetry.trace.get_tracer("dlq_console")
    with tracer.start_as_current_span(
        name, attributes=dict(attributes or {}), record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield
        except BaseException as error:
            current.set_attribute("error.type", type(error).__name__)
            current.set_status(telemetry.trace.Status(telemetry.trace.StatusCode.ERROR, type(error).__name__))
            raise


def inject(headers: MutableMapping[str, str]) -> None:
    """Add the trace to the headers of an outgoing call."""
    telemetry = _telemetry()
    if telemetry is not None:
        telemetry.propagate.inject(headers)


def trace_context() -> dict[str, str]:
    """The trace as text, to be carried by an event or a message; empty where there is none."""
    carried: dict[str, str] = {}
    inject(carried)
    return carried


def traceparent() -> str | None:
    """The place in the trace in the spelling of W3C, short enough to be kept with an event; None where there is none.

    What else travels with a request, its baggage, may hold personal data and is not kept.
    """
    return trace_context().get("traceparent") if _telemetry() is not None else None


@contextmanager
def continued(carried: Mapping[str, str] | None) -> Iterator[None]:
    """The block belongs to the trace that an event or a message carried."""
    telemetry = _telemetry()
    if telemetry is None or not carried:
        yield
        return
    token = telemetry.context.attach(telemetry.propagate.extract(carried))
    try:
        yield
    finally:
        telemetry.context.detach(token)
