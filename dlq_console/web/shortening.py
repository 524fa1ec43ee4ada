"""How much of a history fits on a page? The newest entries, with long texts cut; the rest is one click away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dlq_console.web.history import Entry
from dlq_console.web.space import CUT, Space

#: Entries that are shown, and bytes of the page for all of their texts.
MOST_ENTRIES, SPACE = 15, 14_000
#: Bytes for one text of each sort.
_SAID, _DETAIL, _TRACEBACK, _NOTE = 3_000, 2_000, 4_000, 2_000


@dataclass(frozen=True, slots=True)
class Shortened:
    """Entries of a history; not `whole` where some are left out or a text of one is cut."""

    entries: tuple[Entry, ...]
    whole: bool


def shortened(entries: Sequence[Entry]) -> Shortened:
    """The newest entries, as much of them as a page has room for; `entries` are newest first."""
    space = Space(SPACE)
    shown = tuple(_short(entry, space) for entry in entries[:MOST_ENTRIES])
    return Shortened(shown, shown == tuple(entries))


def _short(entry: Entry, space: Space) -> Entry:
    if entry.attempt and entry.told:
        told = replace(
            entry.told,
            said=_cut(entry.told.said, _SAID, space),
            detail=_cut(entry.told.detail, _DETAIL, space),
        )
        trace = entry.attempt.traceback
        attempt = replace(entry.attempt, traceback=trace and _cut(trace, _TRACEBACK, space, keep_end=True))
        return replace(entry, told=told, attempt=attempt)
    if entry.act and entry.act.note:
        return replace(entry, act=replace(entry.act, note=_cut(entry.act.note, _NOTE, space)))
    return entry


def _cut(text: str, most: int, space: Space, *, keep_end: bool = False) -> str:
    shown = space.take(text, most=most, keep_end=keep_end)
    if len(shown) == len(text):
        return text
    return CUT + shown if keep_end else shown + CUT
