"""Is there anybody who could run this kind of event? Asked where a kind is typed in, so that a slip is told at once."""

from __future__ import annotations

from collections.abc import Collection

from dlq_console.errors import UnknownKind

#: Kinds that a refusal lists.
_SHOWN = 20


def check_kind(kind: str, published: Collection[str]) -> None:
    """Refuse a kind that no worker has published; while none has published any, every kind is as good as another.

    Raises:
        UnknownKind: the kind is not among them; the message says which there are.
    """
    if published and kind.strip() not in published:
        known = ", ".join(sorted(published)[:_SHOWN])
        more = f" and {len(published) - _SHOWN} more" if len(published) > _SHOWN else ""
        raise UnknownKind(f'No worker has published a handler for "{kind}"; known kinds are: {known}{more}.')
