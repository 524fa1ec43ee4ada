"""May a call that ended with this error have had its effect? Yes, unless the error itself shows that it had none.

An error that nobody here knows leaves a doubt: a lost connection has as many names as there are clients, and an answer
that cannot be read was an answer. These show that nothing was done:

    what the function says itself    TransientError, PermanentError, RateLimited
    a layer of this library refused  CircuitOpenError, BulkheadFullError, StillRunningError and the like
    there was no connection          refused, not found, not in time, no certificate, none left in the client's pool
    the service answered with no     an HTTP status of 4xx, or one that says that it cannot do such a thing at all; but
                                     not 409, where an earlier attempt may be in the way
"""

from __future__ import annotations

from typing import Any

from dlq_console.errors import DLQError, PermanentError, RateLimited, TransientError
from dlq_console.resilience.calls import is_interrupt
from dlq_console.resilience.errors import (
    BudgetExceededError,
    BulkheadTimeoutError,
    Refusal,
    UndecidedError,
)

#: Errors that say by what they are that nothing was done.
_SAID = (TransientError, PermanentError, RateLimited, Refusal, UndecidedError)

#: Errors of a connection that was never made: the top name of the package and the class, so that none is needed.
_NEVER_CONNECTED = frozenset(
    {
        "aiohttp.ClientConnectorError", "aiohttp.ConnectionTimeoutError", "aiohttp.ServerFingerprintMismatch",
        "builtins.ConnectionRefusedError",
        "httpcore.ConnectError", "httpcore.ConnectTimeout", "httpcore.PoolTimeout", "httpcore.ProxyError",
        "httpx.ConnectError", "httpx.ConnectTimeout", "httpx.PoolTimeout", "httpx.ProxyError",
        "requests.ConnectTimeout",
        "socket.gaierror", "socket.herror",
        "ssl.SSLCertVerificationError",
        "urllib3.ConnectTimeoutError", "urllib3.EmptyPoolError", "urllib3.NewConnectionError",
    }
)  # fmt: skip

#: The caller's own database, cache or broker: what is wrong there tells nothing about the service.
_OWN_SERVICES = frozenset(
    {"amqp", "kombu", "psycopg", "psycopg2", "pymongo", "redis", "sqlalchemy", "sqlite3"}
)

#: Answers that are a no. A server that failed, or sends its caller elsewhere, may have done it before.
_REFUSED = frozenset({*range(400, 500), 501, 505, 507} - {409})
#: Where clients keep the status of an answer.
_STATUS_NAMES = ("status_code", "status", "http_status")

#: Errors within errors that are looked at, one inside the other.
_DEEPEST = 10


def leaves_doubt(error: BaseException) -> bool:
    """Whether a call that ended with this error may have had its effect."""
    return not _had_no_effect(error, _DEEPEST)


def _had_no_effect(error: BaseException, depth: int) -> bool:
    if is_interrupt(error):
        return False
    if isinstance(error, DLQError):
        return _says_so(error)
    packages, names = _names_of(type(error))
    if packages & _OWN_SERVICES:
        return False
    if _status_of(error) in _REFUSED or names & _NEVER_CONNECTED:
        return True
    inside = _inside(error) if depth else []
    return bool(inside) and all(_had_no_effect(each, depth - 1) for each in inside)


def _says_so(error: DLQError) -> bool:
    if isinstance(error, BudgetExceededError):
        return not error.during_call
    return isinstance(error, _SAID) and not isinstance(error, BulkheadTimeoutError)


def _names_of(cls: type) -> tuple[set[str], set[str]]:
    """The top names of the packages of the class and its bases, and its names with them."""
    tops = [(str(each.__module__).partition(".")[0], each.__name__) for each in cls.__mro__]
    return {top for top, _ in tops}, {f"{top}.{name}" for top, name in tops}


def _status_of(error: BaseException) -> int | None:
    """The HTTP status that an error carries, itself or in its response."""
    for thing in (_attribute(error, "response"), error):
        for name in _STATUS_NAMES:
            value = _attribute(thing, name)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return None


def _inside(error: BaseException) -> list[BaseException]:
    """What an error wraps, or was raised from.

    An error that was merely raised while another one was handled says nothing about that one: a client that found no
    connection may have tried a second time.
    """
    group = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    found = (*group, *error.args, _attribute(error, "reason"), error.__cause__)
    return list({id(each): each for each in found if isinstance(each, BaseException)}.values())


def _attribute(thing: Any, name: str) -> Any:
    """An attribute of a stranger; None where it has none, or where asking for it fails."""
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001 - properties of strangers may raise anything, and an unknown fact leaves a doubt
        return None
