"""How is a text found on SQLite whatever the case of its letters? Its own LIKE knows the case of ASCII letters alone."""

from __future__ import annotations

#: The same in SQL, on every SQLite connection of the store.
SMALL_LETTERS = "dlq_small_letters"


def small_letters(text: str | None) -> str | None:
    """The text in small letters, each by itself, as PostgreSQL compares texts; None stays None."""
    # Python alone writes a sigma at the end of a word in another way.
    return None if text is None else text.replace("\u03a3", "\u03c3").lower()
