"""What do processes share, and how does one of them change it? A small record per name, changed all or not at all.

A change is a pure function of the record as it stands and the time of the state. It may be called several times
before it is kept, so it must do nothing but compute.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeVar

from dlq_console.errors import ConfigurationError, StoreUnavailable

Record = TypeVar("Record")
Answer = TypeVar("Answer")

#: A record that nobody has changed for so long is forgotten, in seconds, where its kind does not say otherwise.
A_WEEK = 7 * 86_400.0


class Keep(Enum):
    """Says that a change leaves the record as it is."""

    AS_IT_IS = "as it is"


AS_IT_IS: Literal[Keep.AS_IT_IS] = Keep.AS_IT_IS


@dataclass(frozen=True, slots=True)
class Kind(Generic[Record]):
    """One kind of record, and how it is written down.

    Attributes:
        name: small letters; part of the key under which a record is kept.
        encode: the record as text.
        decode: the inverse; None for text that says nothing, so that a damaged record counts as absent.
        listed: whether `read_all` can find its records without being told their names.
        remembered: whether a process keeps what it last saw of each record; not for kinds with many names.
        hurried: whether calls of a program wait for its changes, which are given up where somebody else keeps the store
            busy; anything else waits for its turn.
    """

    name: str
    encode: Callable[[Record], str]
    decode: Callable[[str], Record | None]
    listed: bool = True
    remembered: bool = True
    hurried: bool = False


@dataclass(frozen=True, slots=True)
class Change(Generic[Record, Answer]):
    """What a change function computed.

    Attributes:
        answer: what its caller is told once the change is kept.
        record: the record as it shall be; None to remove it; AS_IT_IS to write nothing.
        keep_for: seconds after which the record is forgotten unless it is changed again.
    """

    answer: Answer
    record: Record | Literal[Keep.AS_IT_IS] | None = AS_IT_IS
    keep_for: float = A_WEEK


#: Computes a change from the record (None: absent) and the time of the state, in seconds since 1970.
Changing = Callable[[Record | None, float], Change[Record, Answer]]


@dataclass(frozen=True, slots=True)
class Reading(Generic[Record]):
    """A record as it stood at a moment of the state's time."""

    record: Record | None
    now: float


class Contended(StoreUnavailable):
    """The shared state is well, but others were faster with this record every time; nothing was changed."""


class SharedState(Protocol):
    """Where processes keep what they must agree on.

    Every method but `close` may raise StoreUnavailable when the state cannot be reached. Reading never writes.
    """

    #: Whether it lives in this process, so that using it never waits.
    local: ClassVar[bool]
    #: How often a process that depends on a record looks at it again, in seconds.
    refresh_every: ClassVar[float]

    def change(self, kind: Kind[Record], name: str, change: Changing[Record, Answer]) -> Answer:
        """Change one record all or not at all, and return the answer of the change that was kept."""
        ...

    def read(self, kind: Kind[Record], name: str) -> Reading[Record]:
        """One record."""
        ...

    def read_all(
        self, kind: Kind[Record], names: Collection[str] | None = None
    ) -> tuple[Mapping[str, Record], float]:
        """The records of these names, or all of a listed kind, and the state's time."""
        ...

    def now(self) -> float:
        """The state's time in seconds since 1970; may be told from its last answer without asking again."""
        ...

    def when_closed(self, callback: Callable[[], object]) -> None:
        """Call `callback` when the state is closed, before its connections are."""
        ...

    def close(self) -> None:
        """Close connections; the next use opens new ones."""
        ...


def unchanged(answer: Answer) -> Change[Any, Answer]:
    """A change that writes nothing."""
    return Change(answer)


#: What a shared state can do.
_METHODS = ("change", "read", "read_all", "now", "when_closed", "close")


def checked_state(state: Any) -> SharedState:
    """The state itself, if it is one; an address may hold a password, so it is not repeated.

    Raises:
        ConfigurationError: it is something else, such as an address.
    """
    if isinstance(state, type) or not all(callable(getattr(state, method, None)) for method in _METHODS):
        raise ConfigurationError(
            "state must be a shared state, such as RedisState(url), SqlState(url) or MemoryState(),"
            f" not a {type(state).__name__}."
        )
    shared: SharedState = state
    return shared
