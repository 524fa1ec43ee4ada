"""What did it say, in one spelling? Messages are compared without accents, capitals and odd spaces."""

from __future__ import annotations

import re
import unicodedata

#: Characters of a message that are compared; of a longer one the beginning and the end.
MESSAGE_LIMIT = 1_000
_HEAD = 600
_TAIL = MESSAGE_LIMIT - _HEAD - 1
#: Characters at either end that are looked at before spaces are joined; what a program sends is mostly spaces at worst.
_RAW_LIMIT = 4_000

_SPACE = re.compile(r"\s+")
_IDS = re.compile(
    r"\[[^\[\]]{1,200}\]"  # Omie writes every name and number in square brackets
    r"|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
    r"|\b(?=[a-z]{0,40}[0-9])[a-z0-9]{1,100}\b"
)


class _Plain(dict[int, str]):
    """The plain form of each character, one for one, found out at its first use."""

    def __missing__(self, code: int) -> str:
        first = unicodedata.normalize("NFD", chr(code))[0].casefold()
        plain = first if len(first) == 1 else chr(code)
        if len(self) < 10_000:
            self[code] = plain
        return plain


_PLAIN = _Plain()


def tidy(text: str) -> str:
    """`text` in composed form, its spaces joined, cut to `MESSAGE_LIMIT` characters."""
    if len(text) > 2 * _RAW_LIMIT:
        text = f"{text[:_RAW_LIMIT]} {text[-_RAW_LIMIT:]}"
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    text = _SPACE.sub(" ", text).strip()
    return text if len(text) <= MESSAGE_LIMIT else f"{text[:_HEAD]}…{text[-_TAIL:]}"


def plain(tidied: str) -> str:
    """The same without accents and capitals, character for character, so that places in one are places in the other."""
    return tidied.lower() if tidied.isascii() else tidied.translate(_PLAIN)


def masked(plain_text: str) -> str:
    """Numbers, ids and what stands in square brackets as "#"."""
    return _IDS.sub("#", plain_text)
