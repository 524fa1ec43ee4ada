"""How long may somebody hold something that nobody can take from a dead process? Until the lease is over.

A holder is known by its token. A lease is over when its time is; if the store's clock was set back, no lease is ever
longer than when it was given.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar


@dataclass(frozen=True, slots=True)
class Lease:
    """Something held by one call.

    Attributes:
        token: known to the holder alone.
        expires: when it is over, in seconds of the store's time.
        length: how long it was given for, in seconds.
    """

    token: str
    expires: float
    length: float


Held = TypeVar("Held", bound=Lease)

#: Times since 1970 are floats that are exact to less than a microsecond (seconds).
_ROUNDING = 0.001


def new_token() -> str:
    """A token that nobody else has."""
    return secrets.token_hex(8)


def settled(leases: Iterable[Held], now: float) -> tuple[Held, ...]:
    """The leases that stand at this moment, none of them longer than it was given for."""
    return tuple(_no_longer_than_given(lease, now) for lease in leases if lease.expires > now)


def renewed(leases: Iterable[Held], token: str, now: float) -> tuple[Held, ...]:
    """The same leases, that of the token beginning anew."""
    return tuple(
        replace(lease, expires=now + lease.length) if lease.token == token else lease for lease in leases
    )


def without(leases: Iterable[Held], token: str) -> tuple[Held, ...]:
    """The leases of all others."""
    return tuple(lease for lease in leases if lease.token != token)


def holds(leases: Iterable[Lease], token: str) -> bool:
    """Whether one of them is the token's."""
    return any(lease.token == token for lease in leases)


def is_over(until: float, length: float, now: float) -> bool:
    """Whether a wait of `length` seconds that ends at `until` is over.

    So it is, too, when it would last longer than from the start: then the clock was set back.
    """
    return not 0 < until - now <= length + _ROUNDING


def _no_longer_than_given(lease: Held, now: float) -> Held:
    latest = now + lease.length
    return replace(lease, expires=latest) if lease.expires > latest else lease
