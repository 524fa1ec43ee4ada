"""How far had a call come when a client library gave up? Known by the names of its exceptions; none is imported."""

from __future__ import annotations

import errno
from weakref import WeakKeyDictionary

from dlq_console.classify.verdicts import Phase

_BEFORE, _CONNECTED, _SENT = Phase.BEFORE_CONNECT, Phase.CONNECTED, Phase.SENT
_RESPONSE, _LOCAL = Phase.RESPONSE, Phase.LOCAL

#: What httpx and the httpcore below it both say.
_HTTPX = {
    "ConnectError": _BEFORE,
    "ConnectTimeout": _BEFORE,
    "ProxyError": _BEFORE,
    "WriteTimeout": _CONNECTED,
    "WriteError": _CONNECTED,
    "ReadTimeout": _SENT,
    "ReadError": _SENT,
    "CloseError": _SENT,
    "RemoteProtocolError": _SENT,
    "DecodingError": _RESPONSE,
    "TooManyRedirects": _RESPONSE,
    "PoolTimeout": _LOCAL,
    "LocalProtocolError": _LOCAL,
    "UnsupportedProtocol": _LOCAL,
    "InvalidURL": _LOCAL,
}

#: Class name, with the top name of its package, to the phase. A class that is not here says nothing by itself, and
#: what it wraps is looked at.
_PHASES = {
    **{f"{package}.{name}": phase for package in ("httpx", "httpcore") for name, phase in _HTTPX.items()},
    "requests.ConnectTimeout": _BEFORE,
    "requests.ReadTimeout": _SENT,
    "requests.ChunkedEncodingError": _RESPONSE,
    "requests.ContentDecodingError": _RESPONSE,
    "requests.TooManyRedirects": _RESPONSE,
    "requests.InvalidURL": _LOCAL,
    "requests.MissingSchema": _LOCAL,
    "requests.InvalidSchema": _LOCAL,
    "requests.InvalidHeader": _LOCAL,
    "urllib3.NewConnectionError": _BEFORE,
    "urllib3.ConnectTimeoutError": _BEFORE,
    "urllib3.ReadTimeoutError": _SENT,
    "urllib3.IncompleteRead": _RESPONSE,
    "urllib3.InvalidChunkLength": _RESPONSE,
    "urllib3.DecodeError": _RESPONSE,
    "urllib3.EmptyPoolError": _LOCAL,
    "urllib3.ClosedPoolError": _LOCAL,
    "urllib3.LocationParseError": _LOCAL,
    "urllib3.LocationValueError": _LOCAL,
    "http.RemoteDisconnected": _SENT,
    "http.BadStatusLine": _SENT,
    "http.LineTooLong": _SENT,
    "http.IncompleteRead": _RESPONSE,
    "http.InvalidURL": _LOCAL,
    "http.ImproperConnectionState": _LOCAL,
    "urllib.ContentTooShortError": _RESPONSE,
    "aiohttp.ClientConnectorError": _BEFORE,
    "aiohttp.ClientSSLError": _BEFORE,
    "aiohttp.ServerFingerprintMismatch": _BEFORE,
    "aiohttp.ConnectionTimeoutError": _BEFORE,
    "aiohttp.ServerTimeoutError": _SENT,
    "aiohttp.ServerDisconnectedError": _SENT,
    "aiohttp.ClientConnectionResetError": _SENT,
    "aiohttp.ClientOSError": _CONNECTED,
    "aiohttp.ClientPayloadError": _RESPONSE,
    "aiohttp.InvalidURL": _LOCAL,
    "socket.gaierror": _BEFORE,
    "socket.herror": _BEFORE,
    "ssl.SSLCertVerificationError": _BEFORE,
    "ssl.SSLError": _CONNECTED,
    "builtins.ConnectionRefusedError": _BEFORE,
    "builtins.ConnectionResetError": _SENT,
    "builtins.ConnectionAbortedError": _SENT,
    "builtins.BrokenPipeError": _CONNECTED,
    "builtins.TimeoutError": _SENT,
}

#: For classes that usually wrap one of the others, where they do not.
_UNSURE = {
    "requests.ProxyError": _BEFORE,
    "urllib3.ProxyError": _BEFORE,
    "urllib3.ProtocolError": _SENT,
    "urllib3.SSLError": _CONNECTED,
    "requests.Timeout": _SENT,
    "urllib3.TimeoutError": _SENT,
    "requests.ConnectionError": _CONNECTED,
    "aiohttp.ClientConnectionError": _CONNECTED,
    "httpx.TransportError": _CONNECTED,
    "urllib.URLError": _CONNECTED,
    "builtins.ConnectionError": _CONNECTED,
}

#: The caller's own database, cache or broker: what is wrong there proves nothing about a provider.
_OWN_SERVICES = frozenset(
    {"amqp", "kombu", "psycopg", "psycopg2", "pymongo", "redis", "sqlalchemy", "sqlite3"}
)

_NAMES: WeakKeyDictionary[type, tuple[str, ...]] = WeakKeyDictionary()
_NEVER_LEFT = frozenset(
    {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN, errno.EADDRNOTAVAIL}
)


def class_names(cls: type) -> tuple[str, ...]:
    """The class and its bases, each with the top name of its package; without those that every error has."""
    names = _NAMES.get(cls)
    if names is None:
        names = tuple(
            f"{str(each.__module__).partition('.')[0]}.{each.__name__}"
            for each in cls.__mro__
            if each not in {object, BaseException, Exception}
        )
        _NAMES[cls] = names
    return names


def phase_of(error: BaseException) -> Phase | None:
    """How far the call had come; None where this error alone does not say."""
    names = class_names(type(error))
    if any(name.partition(".")[0] in _OWN_SERVICES for name in names):
        return Phase.LOCAL
    for name in names:
        if name in _PHASES:
            return _PHASES[name]
    if isinstance(error, OSError) and error.errno in _NEVER_LEFT:
        return Phase.BEFORE_CONNECT
    return None


def unsure_phase_of(error: BaseException) -> Phase | None:
    """The same for an error that usually wraps a clearer one; asked when none of the wrapped ones says anything."""
    return next((_UNSURE[name] for name in class_names(type(error)) if name in _UNSURE), None)
