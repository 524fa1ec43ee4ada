"""Which values does an indexed column have? Found by jumping from one value to the next, never by reading all rows."""

from __future__ import annotations


def distinct_sql(column: str, condition: str, limit: int) -> str:
    """SQL that yields `name`, each value of `column` once, in order: one look-up in an index per value.

    Args:
        column: the first column of an index.
        condition: the condition of that index, and at most further ones on the column itself.
        limit: most values.
    """
    smallest = f"SELECT min({column}) FROM {{event}} WHERE {condition}"
    return f"""
SELECT name FROM (
    WITH RECURSIVE found(name) AS (
        {smallest}
        UNION ALL
        SELECT ({smallest} AND {column} > found.name) FROM found WHERE found.name IS NOT NULL
    )
    SELECT name FROM found LIMIT {limit}
) AS {column}_names WHERE name IS NOT NULL
"""
