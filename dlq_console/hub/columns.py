"""Which fields of its payload may a kind show in lists and be found by?"""

from __future__ import annotations

from collections.abc import Mapping
from unicodedata import category

from dlq_console.errors import ConfigurationError
from dlq_console.store.filters import check_path

#: Of one kind: a list has no room for more, and each is a row per event.
MAX_COLUMNS = 8
#: Characters of a label.
MAX_LABEL = 40


def check_columns(columns: object) -> dict[str, str]:
    """The columns of a policy: label -> path.

    Raises:
        ConfigurationError: they cannot be columns; the message says what to write.
    """
    if not isinstance(columns, Mapping) or len(columns) > MAX_COLUMNS:
        raise _wrong(
            f'write up to {MAX_COLUMNS} labels with a path each, such as {{"Order": "order.number"}}.'
        )
    return {_label(label): _path(label, path) for label, path in columns.items()}


def _label(label: object) -> str:
    text = label.strip() if isinstance(label, str) else ""
    if not 0 < len(text) <= MAX_LABEL or any(category(character).startswith("C") for character in text):
        raise _wrong(f"a label is a text of 1 to {MAX_LABEL} characters.")
    return text


def _path(label: str, path: object) -> str:
    if not isinstance(path, str):
        raise _wrong(f"{label}: the path is a text, such as order.number.")
    try:
        return check_path(path)
    except ValueError as error:
        raise _wrong(f"{label}: {error}.") from None


def _wrong(right: str) -> ConfigurationError:
    return ConfigurationError(f"Policy.columns is wrong: {right}")
