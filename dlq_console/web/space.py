"""How much text may a page still hold? A budget in bytes of HTML, so that no payload and no traceback makes a page huge."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import escape

#: Stands where a text was cut.
CUT = "…"
#: By how much a text that is still too long is shortened at each further try.
_SHORTER = 0.9


class Space:
    """The bytes that a part of a page may still fill.

    Args:
        size: how many there are to begin with.
    """

    def __init__(self, size: int) -> None:
        self.left = size

    def take(self, text: str, *, most: int | None = None, keep_end: bool = False) -> str:
        """As much of `text` as there is room for; fills it.

        Args:
            text: what is to be shown.
            most: bytes that it may fill at most.
            keep_end: shorten it at its beginning.
        """
        room = max(self.left if most is None else min(self.left, most), 0)
        shown = _within(text, room, keep_end=keep_end)
        self.left -= weight(shown)
        return shown

    def fill(self, size: int) -> bool:
        """Fill `size` bytes; whether there was any room left for them."""
        had_room = self.left > 0
        self.left -= size
        return had_room


def fairly(texts: Sequence[str], room: int) -> list[str]:
    """`texts` in `room` bytes of a page: short ones whole, and what they leave shared by the long ones."""
    shown, left = list(texts), room
    for place, number in enumerate(sorted(range(len(texts)), key=lambda number: len(texts[number]))):
        shown[number] = within(texts[number], left // (len(texts) - place))
        left -= weight(shown[number])
    return shown


def within(text: str, most: int) -> str:
    """`text`, or as much of it as fills `most` bytes of a page, with a sign that it was cut."""
    return text if weight(text) <= most else _within(text, most - weight(CUT), keep_end=False) + CUT


def weight(text: str) -> int:
    """How many bytes a text fills on a page."""
    return len(str(escape(text)).encode())


def _within(text: str, room: int, *, keep_end: bool) -> str:
    # One character fills a byte at least, so that a long text is not weighed as a whole.
    shown = _cut(text, room, keep_end=keep_end)
    while (fills := weight(shown)) > room:
        shown = _cut(shown, int(len(shown) * min(room / fills, _SHORTER)), keep_end=keep_end)
    return shown


def _cut(text: str, length: int, *, keep_end: bool) -> str:
    if len(text) <= length:
        return text
    return text[len(text) - length :] if keep_end else text[:length]
