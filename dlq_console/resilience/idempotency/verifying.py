"""How is the service asked whether it holds an effect? By a function of the program, with the arguments of the call."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Literal, cast

from dlq_console.errors import ConfigurationError
from dlq_console.resilience import checks
from dlq_console.resilience.calls import is_async, no_awaitable

#: What a verifier answers: whether the service holds the effect; a dict is the result of a call that has it.
Verdict = Literal["applied", "not_applied", "unknown"] | dict[str, Any]
Verifier = Callable[..., Any]


def checked_verifier(verify: Verifier | None, function: Callable[..., Any], name: str) -> Verifier | None:
    """The verifier itself, if it can be asked where the function is called; None for none.

    Raises:
        ConfigurationError: it is no function, or async where the function is not.
    """
    if verify is None:
        return None
    checks.function(verify, "verify")
    if is_async(verify) and not is_async(function):
        raise ConfigurationError(f'The verifier of "{name}" is async, but its function is not.')
    return verify


def asking(
    verify: Verifier | None, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[[], Verdict] | None:
    """Asks about one call, in sync code; None where there is no verifier."""
    if verify is None:
        return None
    return lambda: cast(Verdict, no_awaitable(verify(*args, **kwargs), name))


def asking_async(
    verify: Verifier | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[[], Awaitable[Verdict]] | None:
    """As `asking`, in async code; the verifier may be either."""
    return None if verify is None else partial(_ask, verify, args, kwargs)


async def _ask(verify: Verifier, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Verdict:
    answer = verify(*args, **kwargs)
    return cast(Verdict, await answer if inspect.isawaitable(answer) else answer)
