"""How does a function of a program, such as a node of a graph, have its effect once although it is run again?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial, update_wrapper
from typing import Any, TypeVar, cast

from dlq_console.errors import ConfigurationError
from dlq_console.resilience.calls import Replay, is_async, no_generator
from dlq_console.resilience.defaults import lasting_state
from dlq_console.resilience.idempotency.calls import TTL, IdempotentCalls
from dlq_console.resilience.idempotency.inputs import arguments_of, fingerprint_of, without_defaults
from dlq_console.resilience.idempotency.verifying import asking, asking_async, checked_verifier
from dlq_console.resilience.spelling import digest, spelled
from dlq_console.resilience.state import MemoryState, SharedState, checked_state

Function = TypeVar("Function", bound=Callable[..., Any])


def idempotent_node(
    state: SharedState | None,
    name: str,
    key_fields: Sequence[str],
    *,
    ttl: float = TTL,
    lease: float | None = None,
    verify: Callable[..., Any] | None = None,
) -> Callable[[Function], Function]:
    """Decorator: a function, sync or async, that has its effect once for each value of its key fields.

    All that it is called with is its input; the same key with another one is refused. Where the key fields are fields of the
    first argument, the others are compared as far as they have a stable spelling, and the config of LangGraph is not.

    An error ends the call with an unknown outcome unless it shows that nothing was done; the function itself says so with
    TransientError or PermanentError. Its result is kept as JSON. The first caller gets it as it is, repetitions get lists for tuples and text for the keys
    of a dict; a result that is no JSON, such as a set, is not given again (PayloadRefused).

    Args:
        state: shared by all processes that run it; None for the default of the process.
        name: of the node; part of the key.
        key_fields: names of arguments, or of fields of the first argument, that make two calls the same one.
        ttl: how long a result is kept, in seconds.
        lease: how long its process may be without a sign of life, in seconds.
        verify: called with the arguments of a call whose outcome is unknown; asks the service and answers "applied",
            "not_applied", "unknown", or a dict: the result of a call that was applied.

    Raises:
        ConfigurationError: an argument is not fit, or the function is a generator.
        When it is called, see `IdempotentCalls.run`.
    """
    if (
        isinstance(key_fields, str)
        or not key_fields
        or not all(isinstance(field, str) for field in key_fields)
    ):
        raise ConfigurationError(f'The key fields of "{name}" are a list of names, at least one.')
    if state is not None:
        checked_state(state)

    calls = _calls(state, name, ttl, lease)

    def decorate(function: Function) -> Function:
        node = _Node(function, name, tuple(key_fields), verify, calls)
        return cast(Function, node.wrapped())

    return decorate


def _calls(
    state: SharedState | None, name: str, ttl: float, lease: float | None
) -> Callable[[], IdempotentCalls]:
    """Gives the calls; with the default state they are made at the first one, so that importing opens nothing."""
    if state is not None:
        made = IdempotentCalls(name, state, ttl=ttl, lease=lease)
        return lambda: made
    IdempotentCalls(name, MemoryState(), ttl=ttl, lease=lease)  # what is not fit is told now
    return cache(lambda: IdempotentCalls(name, lasting_state(), ttl=ttl, lease=lease))


class _Node:
    """A function that is called through the layer."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        fields: tuple[str, ...],
        verify: Callable[..., Any] | None,
        calls: Callable[[], IdempotentCalls],
    ) -> None:
        no_generator(function, name)
        self._function = function
        self._name = name
        self._fields = fields
        self._verify = checked_verifier(verify, function, name)
        self._calls = calls

    def wrapped(self) -> Callable[..., Any]:
        """The function as its callers see it."""

        def run(*args: Any, **kwargs: Any) -> Any:
            return self._run(args, kwargs)

        async def arun(*args: Any, **kwargs: Any) -> Any:
            return await self._arun(args, kwargs)

        return update_wrapper(arun if is_async(self._function) else run, self._function)

    def _run(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        key, fingerprint, about = self._identity(args, kwargs)
        verify = asking(self._verify, self._name, args, kwargs)
        call = partial(self._function, *args, **kwargs)
        return _value(self._calls().run(key, fingerprint, call, about=about, verify=verify))

    async def _arun(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        key, fingerprint, about = self._identity(args, kwargs)
        verify = asking_async(self._verify, args, kwargs)
        call = partial(self._function, *args, **kwargs)
        return _value(await self._calls().arun(key, fingerprint, call, about=about, verify=verify))

    def _identity(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, str, str]:
        """The key of a call, the fingerprint of its whole input, and its key fields as people read them."""
        arguments = arguments_of(self._function, args, kwargs)
        compared = without_defaults(self._function, arguments)
        if all(field in arguments for field in self._fields):
            source: Any = arguments
            fingerprint = digest(spelled(compared))
        else:
            first = next(iter(arguments), "")
            source = arguments.get(first)
            # Beside its input, a node may be given what cannot be compared, such as the runtime of its graph.
            compared.pop(first, None)
            fingerprint = fingerprint_of(compared, spelled(source))
        values = [spelled(self._field(source, field), field) for field in self._fields]
        about = ", ".join(f"{field}={value}" for field, value in zip(self._fields, values, strict=True))
        return digest(self._name, *values), fingerprint, about

    def _field(self, source: Any, field: str) -> Any:
        value = source.get(field) if isinstance(source, Mapping) else getattr(source, field, None)
        if value is None:
            raise ConfigurationError(
                f'"{self._name}" was called without a value for "{field}", which is part of its key.'
            )
        return value


def _value(result: Any) -> Any:
    return result.value if isinstance(result, Replay) else result
