"""Where does an act come from? The door that a request came in by, for the audit row that is written while it is served.

Kept beside the call and not handed through it: twenty functions act, and none of them has a use for it.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum

#: Who the audit says it was where nobody decided it.
HUB = "hub"


class Via(StrEnum):
    """The doors by which somebody can act."""

    CONSOLE = "console"
    API = "api"
    CLI = "cli"
    PYTHON = "python"


@dataclass(frozen=True, slots=True)
class Origin:
    """By which door, and from which address where there is one."""

    via: Via
    address: str | None = None


_UNSAID = Origin(Via.PYTHON)
#: What is being served right now, in this thread or task.
current: ContextVar[Origin] = ContextVar("dlq_console_origin", default=_UNSAID)


def origin_of(actor: str) -> tuple[str | None, str | None]:
    """Door and address of an act of `actor`; neither for what the hub does by itself."""
    origin = current.get()
    return (None, None) if actor == HUB else (str(origin.via), origin.address)
