"""Models: names that every database takes, and an index for whatever is asked often."""

from __future__ import annotations

import pytest
from sqlalchemy import CheckConstraint, Index, Table

from dlq_console.store.events import EVENT_COLUMNS, SUMMARY_COLUMNS
from dlq_console.store.models import tables
from dlq_console.store.states import Status

#: PostgreSQL cuts longer names without a word.
LONGEST_NAME = 63
LONGEST_PREFIX = "x" * 20


def _all(prefix: str = "dlq_") -> list[Table]:
    return list(tables(prefix).metadata.tables.values())


def test_no_name_is_longer_than_databases_take() -> None:
    names = [table.name for table in _all(LONGEST_PREFIX)]
    names += [str(index.name) for table in _all(LONGEST_PREFIX) for index in table.indexes]
    names += [str(one.name) for table in _all(LONGEST_PREFIX) for one in table.constraints]
    names += [
        f"{table.name}_{column.name}_seq" for table in _all(LONGEST_PREFIX) for column in table.primary_key
    ]
    assert [name for name in names if len(name) > LONGEST_NAME] == []
    assert "None" not in names


def test_every_name_begins_with_the_prefix() -> None:
    names = [str(index.name) for table in _all("mine_") for index in table.indexes]
    names += [str(one.name) for table in _all("mine_") for one in table.constraints]
    names += [table.name for table in _all("mine_")]
    assert [name for name in names if not name.startswith("mine_")] == []


def test_the_tables_of_a_prefix_are_described_once() -> None:
    assert tables("dlq_") is tables("dlq_")
    assert tables("dlq_") is not tables("other_")


def test_lists_show_everything_but_payload_and_result() -> None:
    assert set(EVENT_COLUMNS) - set(SUMMARY_COLUMNS) == {"payload", "result"}
    assert set(EVENT_COLUMNS) <= set(tables("dlq_").event.columns.keys())


def test_the_database_knows_the_same_statuses_as_the_table_of_states() -> None:
    [check] = [one for one in tables("dlq_").event.constraints if isinstance(one, CheckConstraint)]
    assert str(check.sqltext) == f"status IN ({', '.join(repr(str(status)) for status in Status)})"


@pytest.mark.parametrize(
    "name", ["ready", "give_up", "running", "lane_running", "dead", "ended", "discarded"]
)
def test_a_partial_index_has_the_same_predicate_on_both_engines(name: str) -> None:
    found = [
        index for index in tables("dlq_").event.indexes if str(index.name).startswith(f"dlq_event_{name}")
    ]
    assert found
    for index in found:
        predicates = [_predicate(index, engine) for engine in ("postgresql", "sqlite")]
        assert predicates[0] == predicates[1]
        # A parameter in the place of the status would match no partial index.
        assert "status = '" in predicates[0] or "status IN ('" in predicates[0]


def _predicate(index: Index, engine: str) -> str:
    return str(index.dialect_options[engine]["where"])
