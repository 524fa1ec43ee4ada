"""By which indexes does an engine answer a statement? Its own word for it, EXPLAIN, in one form for both engines."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from psycopg import sql

from dlq_console.store.store import Store
from tests.store.recording import Sent

_PLACEHOLDER = re.compile(r"%\((\w+)\)s")
_SQLITE_INDEX = re.compile(
    r"(?:SEARCH|SCAN) (\w+)(?: USING (?:COVERING )?(?:INDEX (\w+)|INTEGER PRIMARY KEY))?"
)
_ALONG_THE_KEY = re.compile(r"ORDER BY (?:e\.)?id (?:ASC|DESC)\s+LIMIT")


#: The engines whose plans are looked at; SQLite also as it is where nobody ever gathered statistics.
ENGINES = ("sqlite", "sqlite without statistics", "postgresql")


@contextmanager
def on_engine(request: pytest.FixtureRequest, folder: Path) -> Iterator[Store]:
    """An empty store on the engine that `request.param` names, for all tests of a file; `folder` is for its file."""
    with ExitStack() as stack:
        if request.param == "postgresql":
            server, template = (
                request.getfixturevalue(name) for name in ("postgres_server", "_postgres_template")
            )
            url = stack.enter_context(server.database(template))
        else:
            file = shutil.copy(request.getfixturevalue("_sqlite_template"), folder / "full.db")
            url = f"sqlite:///{file}"
        store = Store(url)
        stack.callback(store.engines.dispose)
        yield store


@dataclass(frozen=True)
class Plan:
    """What an engine does for one statement.

    `indexes` are those of one table that it reads, the primary key as `<table>_pk`; `scans` says whether it also
    reads the table from end to end, `sorts` whether it puts rows in order by itself.
    """

    indexes: frozenset[str]
    scans: bool
    sorts: bool


def explain(store: Store, sent: Sent, *, table: str = "event", alias: str = "e") -> Plan:
    """The plan of a recorded statement; on PostgreSQL the one that it keeps for any values of the parameters.

    `table` is the one that is looked at, `alias` what the statement may call it.
    """
    name = getattr(store.tables, table).name
    return _sqlite(store, sent, name, alias) if store.sqlite else _postgres(store, sent, name)


def read_whole(store: Store, sent: Sent, tables: Iterable[str]) -> set[str]:
    """Which of these tables an engine reads from end to end for a recorded statement.

    SQLite calls a walk along the primary key that a LIMIT ends a scan as well; where a statement has such a walk, it is
    not told from one of the whole table.
    """
    names = {getattr(store.tables, table).name: table for table in tables}
    if not store.sqlite:
        return {names[name] for name in _scanned(_nodes_of(store, sent)) if name in names}
    lines = _lines_of(store, sent)
    whole = {
        table
        for name, table in names.items()
        if any(_is_scan(line, _aliases(sent[0], name)) for line in lines)
    }
    return whole - {"event", "audit"} if _ALONG_THE_KEY.search(sent[0]) else whole


def _aliases(statement: str, table: str) -> tuple[str, ...]:
    """What a statement calls a table."""
    return (table, *re.findall(rf"\b{table} (?:AS )?([a-z_]+)\b", statement))


def _is_scan(line: str, names: Iterable[str]) -> bool:
    begins = tuple(f"SCAN {name} " for name in names)
    return f"{line} ".startswith(begins) and "USING INDEX" not in line and "COVERING" not in line


def _lines_of(store: Store, sent: Sent) -> list[str]:
    with store.read() as connection:
        return [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sent[0]}", sent[1])]


def _sqlite(store: Store, sent: Sent, table: str, alias: str) -> Plan:
    lines = _lines_of(store, sent)
    names = (table, alias)
    reads = [match for line in lines if (match := _SQLITE_INDEX.match(line)) and match[1] in names]
    return Plan(
        indexes=frozenset(_short(store, match[2] or f"{table}_pk") for match in reads if "USING" in match[0]),
        scans=any(_is_scan(line, names) for line in lines),
        sorts=any("USE TEMP B-TREE" in line for line in lines),
    )


def _postgres(store: Store, sent: Sent, table: str) -> Plan:
    nodes = _nodes_of(store, sent)
    return Plan(
        indexes=frozenset(
            _short(store, node["Index Name"])
            for node in nodes
            if node.get("Index Name", "").startswith(table)
        ),
        scans=table in _scanned(nodes),
        sorts=any(node["Node Type"] in ("Sort", "Incremental Sort") for node in nodes),
    )


def _scanned(nodes: Iterable[dict[str, Any]]) -> set[str]:
    return {node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"}


def _nodes_of(store: Store, sent: Sent) -> list[dict[str, Any]]:
    statement, parameters = sent
    names = list(dict.fromkeys(_PLACEHOLDER.findall(statement)))
    numbered = _PLACEHOLDER.sub(lambda match: f"${names.index(match[1]) + 1}", statement).replace("%%", "%")
    values = sql.SQL(", ").join(sql.Literal(parameters[name]) for name in names)
    with store.read() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        with driver.cursor() as cursor:
            cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
            cursor.execute(f"PREPARE asked AS {numbered}")
            execute = sql.SQL("EXPLAIN (FORMAT JSON) EXECUTE asked")
            cursor.execute(execute + sql.SQL("({})").format(values) if names else execute)
            answer = cursor.fetchone()[0]
            cursor.execute("DEALLOCATE asked")
    tree = answer if isinstance(answer, list) else json.loads(answer)
    return list(_nodes(tree[0]["Plan"]))


def _nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from _nodes(child)


def _short(store: Store, index: str) -> str:
    return index.removeprefix(store.tables.prefix)
