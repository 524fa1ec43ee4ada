"""Under which names are circuits and bulkheads of the hub and of services shown side by side? No two under the same.

A name that begins like those that this makes is never shown plainly, whoever it belongs to.
"""

from __future__ import annotations

from collections.abc import Collection

#: Begin the names of a service's, and of an account's or kind's, where the plain name could be taken for another.
PREFIX, OF_HUB = "service:", "account:"


def shown_name(service: str, hubs: Collection[str]) -> str:
    """The name under which a service is shown beside those of the hub."""
    return f"{PREFIX}{service}" if service in hubs or service.startswith((PREFIX, OF_HUB)) else service


def hub_name(name: str) -> str:
    """The name under which an account, or a kind of one, is shown beside services."""
    return f"{OF_HUB}{name}" if name.startswith((PREFIX, OF_HUB)) else name
