"""What is the input of a call? Its arguments by name, so that `pay(1)` and `pay(order=1)` are the same one."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from dlq_console.errors import PayloadRefused
from dlq_console.resilience.spelling import digest, spelled

#: What the object or class to which a method belongs is called; it is no part of the input.
_OWN_OBJECT = ("self", "cls")
#: The program that was started, and the same in a process that `multiprocessing` has spawned.
_STARTED = ("__main__", "__mp_main__")


def arguments_of(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments by name, those that were not given with their defaults; without the object of a method.

    Where nobody can know the names, as of a function in C, or of one whose decorator takes others than it shows, they
    are called by their places.

    Raises:
        TypeError: the function cannot be called with them.
    """
    try:
        signature = inspect.signature(function)
        bound = signature.bind(*args, **kwargs)
    except ValueError:
        return {**_by_place(args), **kwargs}
    except TypeError:
        if not hasattr(function, "__wrapped__"):
            raise
        return {**_by_place(args), **kwargs}
    bound.apply_defaults()
    found: dict[str, Any] = {}
    for place, (name, parameter) in enumerate(signature.parameters.items()):
        value = bound.arguments[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            found.update(_by_place(value))
        elif parameter.kind is parameter.VAR_KEYWORD:
            found.update(value)
        elif place or name not in _OWN_OBJECT:
            found[name] = value
    return found


def without_defaults(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that say something else than the default; so a call is the same one when a default is added."""
    try:
        parameters: Mapping[str, inspect.Parameter] = inspect.signature(function).parameters
    except ValueError:
        parameters = {}
    defaults = {name: each.default for name, each in parameters.items() if each.default is not each.empty}
    return {
        name: value
        for name, value in arguments.items()
        if name not in defaults or _spelling(name, value) != _spelling(name, defaults[name])
    }


def fingerprint_of(arguments: Mapping[str, Any], *before: str) -> str:
    """Of all arguments that have a stable spelling, and of what stands before them.

    An argument that has none, such as a session, is not compared. Nor is what a graph hands to its nodes about the run,
    its `config`: it is another one when the same thread is taken up again.
    """
    compared = (name for name in sorted(arguments) if not _is_of_the_run(name, arguments[name]))
    return digest(*before, *(part for name in compared for part in _spelling(name, arguments[name])))


def name_of(function: Callable[..., Any]) -> str:
    """By what a function is told from others: its module and its name in it; of a method, that of its class too."""
    while isinstance(function, partial):
        function = function.func
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{_module_name(named)}.{named.__qualname__}"


def _module_name(named: Any) -> str:
    """The module by the name under which others import it, also where it is the program that was started."""
    module = str(getattr(named, "__module__", None))
    if module not in _STARTED:
        return module
    started = sys.modules["__main__"]
    spec = getattr(started, "__spec__", None)
    return spec.name if spec is not None else Path(getattr(started, "__file__", None) or module).stem


def _is_of_the_run(name: str, value: Any) -> bool:
    """Whether it is the RunnableConfig of LangGraph: told by what every one holds, so that the package is not needed."""
    return name == "config" and isinstance(value, Mapping) and "configurable" in value


def _by_place(values: tuple[Any, ...]) -> dict[str, Any]:
    return {f"*{place}": value for place, value in enumerate(values)}


def _spelling(name: str, value: Any) -> tuple[str, ...]:
    try:
        return name, spelled(value, name)
    except PayloadRefused:
        return ()
