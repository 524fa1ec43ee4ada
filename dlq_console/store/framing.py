"""Which pages may frame a status frame? Origins, one spelling each, of which nothing but a header can be made."""

from __future__ import annotations

import re
from collections.abc import Iterable

from dlq_console.store.people.rules import PeopleError

#: Pages that one frame may name.
MOST_ORIGINS = 20
#: Characters of the name of a host, as the internet allows them.
LONGEST_HOST = 253

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
#: What a browser calls an origin: neither path nor sign that could end a header or a directive of the policy.
_ORIGIN = re.compile(rf"(https?)://({_LABEL}(?:\.{_LABEL})*)(?::([0-9]{{1,5}}))?", re.ASCII)
_USUAL_PORT = {"https": 443, "http": 80}
_LOOPBACK = re.compile(r"127(?:\.[0-9]{1,3}){3}|(?:.+\.)?localhost", re.ASCII)


def check_origins(origins: Iterable[str]) -> tuple[str, ...]:
    """Every origin as a browser spells it, each once, in the order given; none is none.

    Raises:
        PeopleError: one is no origin, or may not frame anything; the message says what to write.
    """
    known = tuple(dict.fromkeys(check_origin(one) for one in origins))
    if len(known) > MOST_ORIGINS:
        raise PeopleError(
            f"origin: name at most {MOST_ORIGINS} for one frame.", cause="origins_number", limit=MOST_ORIGINS
        )
    return known


def check_origin(origin: str) -> str:
    """An origin as a browser spells it, such as `https://intranet.example`.

    Raises:
        PeopleError: it is none, or is not https; the message says what to write.
    """
    spelt = read_origin(origin)
    if spelt is None:
        raise PeopleError(
            f"origin: {_shown(origin)} is none; write scheme and host alone, such as https://intranet.example, "
            "without path, * or anything else.",
            cause="origin_none",
            origin=_shown(origin),
        )
    if not _is_safe(spelt):
        raise PeopleError(
            f"origin: {spelt} is not https; http is for this machine alone, such as http://localhost:8080.",
            cause="origin_http",
            origin=spelt,
        )
    return spelt


def usable_origins(kept: Iterable[str]) -> tuple[str, ...]:
    """Those of the origins that were kept which may become part of a header, whoever wrote them down."""
    return tuple(one for one in kept if read_origin(one) == one)


def read_origin(text: str) -> str | None:
    """The origin that a text names, as a browser spells it; None where it names none."""
    # A slash at the end is what a browser's address line adds.
    found = _ORIGIN.fullmatch(_in_ascii(text.removesuffix("/")).lower())
    if found is None:
        return None
    scheme, host, port = found.groups()
    if len(host) > LONGEST_HOST or (port is not None and not 0 < int(port) < 65_536):
        return None
    usual = port is None or int(port) == _USUAL_PORT[scheme]
    return f"{scheme}://{host}" if usual else f"{scheme}://{host}:{int(port)}"


def _is_safe(spelt: str) -> bool:
    """Whether nobody on the way can put another page in its place."""
    scheme, _, rest = spelt.partition("://")
    return scheme == "https" or _LOOPBACK.fullmatch(rest.partition(":")[0]) is not None


def _in_ascii(text: str) -> str:
    """A host with letters of other alphabets as browsers send it; a text that cannot be sent so is left as it is."""
    if text.isascii():
        return text
    scheme, slashes, rest = text.partition("://")
    host, colon, port = rest.partition(":")
    try:
        return f"{scheme}{slashes}{host.encode('idna').decode('ascii')}{colon}{port}"
    except UnicodeError:
        return text


def _shown(text: str) -> str:
    """What was written, cut, and with nothing that would end a line."""
    return repr(text if len(text) <= 80 else f"{text[:79]}…")
