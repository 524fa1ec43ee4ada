"""What do the rows of people and tokens mean?"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from sqlalchemy import RowMapping

from dlq_console.store.events import read_time
from dlq_console.store.people.roles import Person, Role


def person_from_row(row: RowMapping) -> Person:
    """A person from a row of the table of users."""
    return Person(
        id=row["id"],
        name=row["name"],
        role=Role(row["role"]),
        accounts=read_accounts(row["accounts"]),
        locale=row["locale"],
        timezone=row["timezone"],
        theme=row["theme"],
        keys_off=bool(row["keys_off"]),
    )


def read_accounts(cell: str | None) -> tuple[str, ...] | None:
    """Accounts as the tables hold them: a JSON list, or nothing for all."""
    return None if cell is None else tuple(json.loads(cell))


def known_time(value: Any) -> datetime:
    """A time that the table cannot be without."""
    moment = read_time(value)
    assert moment is not None, "the column is never empty"  # noqa: S101 - tells the type checker
    return moment
