"""Is what rules of alerts ask for answered along indexes on both engines, however large the tables are?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dlq_console.clock import utc_now
from dlq_console.store import alert_figures, alert_letters, alert_messages, doors, sampling
from dlq_console.store.store import Store
from tests.store.plans import ENGINES, explain, on_engine, read_whole
from tests.store.recording import recording
from tests.store.test_query_plans import NUMBERS
from tests.store.test_sampling import ATTEMPTS, FIGURES, FILL

#: Circuits that have moved 20,000 times, causes by the thousand, scopes of which few are guarded, and a few desks.
MORE = (
    """
    INSERT INTO {scope_change} (type, name, generation, at, before, after, why, actor)
    NUMBERS SELECT 'account', 'filial-' || (i % 20), i, {now} - CAST({second} * (20 * i) AS {duration}), 'closed', 'open', '', '' FROM g
    """,
    """
    INSERT INTO {error_group} (fingerprint, account, kind, sample, sample_event_id, dead, first_seen_at, last_seen_at, sampled_at)
    NUMBERS SELECT 'f' || i, 'filial-' || (i % 20), 'order.create', '', i, i % 3,
        {now} - CAST({second} * (600 * i) AS {duration}), {now}, {now} FROM g
    """,
    """
    INSERT INTO {scope} (type, name, account, created_at, updated_at, guarded)
    NUMBERS SELECT 'account', 'filial-' || i, 'filial-' || i, {now}, {now}, CASE WHEN i % 500 = 0 THEN 1 ELSE 0 END FROM g
    """,
    """
    INSERT INTO {desk} (event_id, assignee, updated_at)
    SELECT id, CASE WHEN id % 80 = 1 THEN 'maria' END, {now} FROM {event} WHERE id % 40 = 1
    """,
    """
    INSERT INTO {group_desk} (fingerprint, assignee, updated_at)
    NUMBERS SELECT 'f' || i, CASE WHEN i % 80 = 1 THEN 'maria' END, {now} FROM g
    """,
    "UPDATE {event} SET fingerprint = 'f' || id, reason = 'in_doubt' WHERE status = 'dead'",
)
#: Those that grow without a bound that people set.
LARGE = (
    "event", "attempt", "rollup", "sample", "scope_change", "error_group", "scope", "desk", "group_desk",
)  # fmt: skip


@pytest.fixture(scope="module", params=ENGINES)
def full(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with 20,000 rows of everything, on each engine."""
    with on_engine(request, tmp_path_factory.mktemp("alerts")) as store:
        with store.write() as connection:
            for template in (FILL, ATTEMPTS, *FIGURES, *MORE):
                connection.execute(store.statement(template.replace("NUMBERS", NUMBERS[store.sqlite])))
        sampling.count(store)
        if "without" not in request.param:
            with store.write() as connection:
                connection.exec_driver_sql("ANALYZE")
        yield store


LOOKS: dict[str, Callable[[Store], Any]] = {
    "due messages": alert_messages.due,
    "new causes": alert_letters.new_causes,
    "an hour ago": alert_letters.dead_an_hour_ago,
    "untouched": alert_letters.untouched,
    "death rates": lambda store: alert_letters.death_rates(store, at_least=1),
    "lanes in hands": alert_letters.lanes_in_hands,
    "waiting lanes": alert_letters.longest_waiting_lanes,
    "openings": alert_figures.openings,
    "silence": lambda store: alert_figures.silent_in(store, utc_now()),
    "of a reason": lambda store: alert_figures.dead_of_reason(store, "in_doubt", days=9, older=60),
    "guarded doors": doors.read_guarded,
}


@pytest.mark.parametrize("name", LOOKS)
def test_no_look_of_a_rule_reads_a_table_from_end_to_end(full: Store, name: str) -> None:
    with recording(full) as sent:
        LOOKS[name](full)
    assert sent
    for statement in sent:
        found = read_whole(full, statement, LARGE)
        assert not found, (found, statement[0])


@pytest.mark.parametrize(
    ("name", "table", "alias", "index"),
    [
        ("new causes", "error_group", "error_group", "error_group_first_ix"),
        ("openings", "scope_change", "scope_change", "scope_change_at_ix"),
        ("guarded doors", "scope", "s", "scope_guarded_ix"),
    ],
)
def test_what_is_new_is_read_along_its_time(
    full: Store, name: str, table: str, alias: str, index: str
) -> None:
    with recording(full) as sent:
        LOOKS[name](full)
    assert index in explain(full, sent[-1], table=table, alias=alias).indexes


def test_a_table_that_is_read_from_end_to_end_is_noticed(full: Store) -> None:
    with recording(full) as sent, full.read() as connection:
        connection.execute(full.statement("SELECT count(*) FROM {error_group} WHERE sample LIKE '%x%'"))
    assert read_whole(full, sent[-1], LARGE) == {"error_group"}


def test_the_figures_are_found_in_large_tables_too(full: Store) -> None:
    assert len(alert_letters.new_causes(full)) == alert_letters.MOST + 1
    assert len(alert_figures.openings(full)) == 19
    assert set(alert_letters.untouched(full)) == {"filial-0", "filial-10"}
    assert len(doors.read_guarded(full)) == 40
