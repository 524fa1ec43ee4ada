"""What did the client library say? Any error, or answer, of the usual libraries becomes a `Reading`.

Libraries are recognised by the names of their classes, so none of them has to be installed. Nothing here raises, and
nothing reads a stream that may not end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dlq_console.classify.answers import get, read_answer
from dlq_console.classify.bodies import BODY_LIMIT, parse
from dlq_console.classify.network import class_names, phase_of, unsure_phase_of
from dlq_console.classify.reading import Reading
from dlq_console.classify.verdicts import Phase

#: Errors of one chain that are looked at.
_LONGEST_CHAIN = 20
_MOST_NAMES = 60


def read(error: object) -> Reading:
    """The facts that an error tells; an answer of a client library is read as well.

    The outermost error that says something wins: an answer it carries, or how far the call had come.
    """
    try:
        return _read(error)
    except Exception:  # noqa: BLE001 - an error so odd that it cannot be read is still an error to judge
        return Reading(text=type(error).__name__, exceptions=(type(error).__name__,))


def _read(error: object) -> Reading:
    if not isinstance(error, BaseException):
        return read_answer(error, ()) or Reading(text=_text_of(error))
    chain = list(_chain(error))
    names = tuple(dict.fromkeys(name for each in chain for name in class_names(type(each))))[:_MOST_NAMES]
    for each in chain:
        if (answer := read_answer(each, names)) is not None:
            return answer
        if (phase := phase_of(each)) is not None:
            return _without_answer(error, phase, names)
    unsure = next((phase for each in chain if (phase := unsure_phase_of(each)) is not None), None)
    return _without_answer(error, unsure or Phase.LOCAL, names)


def _without_answer(error: BaseException, phase: Phase, names: tuple[str, ...]) -> Reading:
    text = _text_of(error)
    # A library of the provider may put the whole answer into its message.
    return Reading(phase=phase, text=text, tree=parse(text), exceptions=names)


def _text_of(error: object) -> str:
    """What an error says of itself, cut to size."""
    arguments = get(error, "args")
    # The text of an error with one text is that text; a huge one is not copied.
    if isinstance(arguments, tuple) and len(arguments) == 1 and type(arguments[0]) is str:
        own = type(error).__str__ in {BaseException.__str__, OSError.__str__}
        if own:
            return arguments[0][:BODY_LIMIT] or type(error).__name__
    try:
        return str(error)[:BODY_LIMIT] or type(error).__name__
    except Exception:  # noqa: BLE001 - a broken __str__ of user code must not cost the verdict
        return type(error).__name__


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, what it wraps, what caused it, and so on."""
    waiting, seen = [error], set[int]()
    while waiting and len(seen) < _LONGEST_CHAIN:
        each = waiting.pop(0)
        if id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting[:0] = [inner for find in _INNER for inner in find(each)]


def _wrapped(error: BaseException) -> list[BaseException]:
    reason = get(error, "reason")
    several = get(error, "exceptions") if isinstance(error, BaseExceptionGroup) else ()
    arguments = get(error, "args")
    inside = [reason, *(several or ())[:5], *(arguments[:5] if isinstance(arguments, tuple) else ())]
    return [each for each in inside if isinstance(each, BaseException)]


def _causes(error: BaseException) -> list[BaseException]:
    cause = error.__cause__
    if cause is None and not error.__suppress_context__:
        cause = error.__context__
    return [] if cause is None else [cause]


_INNER: tuple[Callable[[BaseException], list[BaseException]], ...] = (_wrapped, _causes)
