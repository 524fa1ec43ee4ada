"""What are the columns and indexes of our tables made of? Shared by `models.py` and `triage_tables.py`."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Index, Integer, Text, text

from dlq_console.store.types import BigId, UtcTime


def id_() -> Column[int]:
    """A number of its own for each row."""
    return Column("id", BigId, primary_key=True, autoincrement=True)


def text_(name: str, *, null: bool = False) -> Column[Any]:
    """A text of any length."""
    return Column(name, Text, nullable=null)


def moment(name: str, *, null: bool = True) -> Column[Any]:
    """A moment, told by the database's clock."""
    return Column(name, UtcTime, nullable=null)


def integer(name: str, default: int | None = 0, *, null: bool = False) -> Column[Any]:
    """A whole number, 0 where nothing is said."""
    server_default = None if default is None else text(str(default))
    return Column(name, Integer, nullable=null, server_default=server_default)


def partial_index(name: str, where: str, *columns: Any, unique: bool = False) -> None:
    """An index over the rows for which `where` holds."""
    condition = text(where)
    Index(name, *columns, unique=unique, postgresql_where=condition, sqlite_where=condition)
