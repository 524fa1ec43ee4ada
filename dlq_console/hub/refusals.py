"""What does it mean when the caller's own database connection refuses a statement of the hub, and what can the caller do?"""

from __future__ import annotations

_READ_BEFORE = (
    "SQLite does not let this transaction write: it has read before, and another connection has written since. Roll it "
    "back, and begin it with BEGIN IMMEDIATE or do this before anything is read. Nothing was written."
)
_LOCKED = (
    "Another connection holds the write lock of this SQLite database and did not let go of it in time. Roll back and "
    "try again; a transaction that begins with BEGIN IMMEDIATE waits for its turn. Nothing was written."
)
_NO_TABLES = (
    "The database of the given session has no tables of DLQ Console: give a session on the database that DLQ_DATABASE_URL "
    "names, and run there: dlq-console db upgrade"
)


def explain(error: Exception) -> str | None:
    """A sentence about a refusal that a caller meets by mistake; None for what is the caller's own to handle.

    To that belong lost connections and failed serialization: the caller repeats its transaction as it does anyway.
    """
    # The driver's own error, however SQLAlchemy or Django has wrapped it.
    for cause in (error, getattr(error, "orig", None), error.__cause__):
        name = getattr(cause, "sqlite_errorname", "")
        if name == "SQLITE_BUSY_SNAPSHOT":
            return _READ_BEFORE
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return _LOCKED
        # psycopg2 has another word for it.
        state = getattr(cause, "sqlstate", None) or getattr(cause, "pgcode", None)
        if state == "42P01" or (name == "SQLITE_ERROR" and str(cause).startswith("no such table")):
            return _NO_TABLES
    return None
