"""How is a tag spelled, wherever it is kept or looked for?"""

from __future__ import annotations

from unicodedata import normalize


def folded_tag(text: str) -> str:
    """In small letters, with single blanks, in Unicode form NFC."""
    return " ".join(normalize("NFC", text.casefold()).split())
