"""Which values does an indexed column have? Found by jumping from one value to the next, never by reading all rows."""

from __future__ import annotations


def distinct_sql(columns: str, condition: str, limit: int, *, table: str = "event") -> str:
    """SQL that yields `name`, each value of the first column once, in order: one look-up in an index per value.

    Args:
        columns: all columns of that index, because only the order that it alone has makes every engine choose it.
        condition: the condition of that index, and at most further ones on the first column.
        limit: most values.
        table: whose index it is.
    """
    column = columns.split(",", maxsplit=1)[0]

    def first(further: str) -> str:
        return f"(SELECT {column} FROM {{{table}}} WHERE {condition} {further} ORDER BY {columns} LIMIT 1)"

    return f"""
SELECT name FROM (
    WITH RECURSIVE found(name) AS (
        SELECT {first("")}
        UNION ALL
        SELECT {first(f"AND {column} > found.name")} FROM found WHERE found.name IS NOT NULL
    )
    SELECT name FROM found LIMIT {limit}
) AS {column}_names WHERE name IS NOT NULL
"""
