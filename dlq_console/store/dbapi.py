"""How do the store's statements run over a DB-API connection that is not SQLAlchemy's?

SQLAlchemy only spells them for the driver. They run on the caller's own connection and in its own transaction, of
which SQLAlchemy knows nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

from sqlalchemy import Connection, Dialect, IteratorResult, make_url
from sqlalchemy.engine.result import SimpleResultMetaData
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler

#: Spelled statements that are kept.
_MOST_SPELLED = 200

Values = Mapping[str, Any]


def _dialect(url: str, paramstyle: str) -> Dialect:
    make: Callable[..., Dialect] = make_url(url).get_dialect()
    return make(paramstyle=paramstyle)


#: How parameters are written: `%(name)s` for drivers of PostgreSQL and for Django, `:name` for Python's sqlite3.
POSTGRESQL = _dialect("postgresql+psycopg://", "pyformat")
SQLITE = _dialect("sqlite://", "named")
SQLITE_OF_DJANGO = _dialect("sqlite://", "pyformat")


class Answer(IteratorResult[Any]):
    """The rows of one statement, all read, and how many it changed."""

    def __init__(self, names: Sequence[str], rows: Sequence[Sequence[Any]], rowcount: int) -> None:
        super().__init__(SimpleResultMetaData(names), iter(rows))
        self.rowcount = rowcount


def _as_text(value: object) -> object:
    """What the caller's driver may have been told to give as bytes; the hub keeps nothing but text and numbers."""
    return value.decode() if isinstance(value, bytes) else value


class DbapiConnection:
    """Takes the place of SQLAlchemy's connection where a function of the store only executes statements.

    Args:
        cursor: gives a new cursor whose rows are tuples.
        spelling: how the driver wants statements written.
    """

    def __init__(self, cursor: Callable[[], Any], spelling: Dialect) -> None:
        self._cursor = cursor
        self._spelling = spelling

    def execute(
        self, statement: ClauseElement, parameters: Values | Sequence[Values] | None = None
    ) -> Answer:
        """Run a statement; with a list of parameters once for each of them."""
        spelled = _spelled(statement, self._spelling)
        cursor = self._cursor()
        try:
            if isinstance(parameters, Sequence):
                cursor.executemany(spelled.text, [spelled.bound(each) for each in parameters])
            else:
                cursor.execute(spelled.text, spelled.bound(parameters or {}))
            names = [column[0] for column in cursor.description or ()]
            rows = [tuple(map(_as_text, row)) for row in cursor.fetchall()] if names else []
            return Answer(names, rows, cursor.rowcount)
        finally:
            cursor.close()

    def as_connection(self) -> Connection:
        """Itself, under the type that functions of the store ask for; those that enqueue only call `execute`."""
        return cast(Connection, self)

    def run(self, sql: str) -> None:
        """Run plain SQL, such as BEGIN."""
        cursor = self._cursor()
        try:
            cursor.execute(sql)
        finally:
            cursor.close()


@dataclass(frozen=True, slots=True)
class _Spelled:
    """A statement as a driver takes it."""

    text: str
    compiled: SQLCompiler
    #: What has to be done to the values of some parameters, such as times.
    processors: Mapping[str, Callable[[Any], Any]]

    def bound(self, values: Values) -> dict[str, Any]:
        """The values of the parameters as the driver takes them."""
        bound = dict(self.compiled.construct_params(values))
        return bound | {name: process(bound[name]) for name, process in self.processors.items()}


@lru_cache(_MOST_SPELLED)
def _spelled(statement: ClauseElement, spelling: Dialect) -> _Spelled:
    compiled = statement.compile(dialect=spelling)
    assert isinstance(compiled, SQLCompiler), "statements of the store are SQL"  # noqa: S101 - tells the type checker
    processors = {
        name: process
        for name, parameter in compiled.binds.items()
        if (process := parameter.type.dialect_impl(spelling).bind_processor(spelling)) is not None
    }
    return _Spelled(str(compiled), compiled, processors)
