"""Do programs of two versions work with the tables of either, and does an upgrade survive whatever happens to it?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text

from dlq_console import Hub, PermanentError
from dlq_console.errors import StoreUnavailable
from dlq_console.settings import read_settings
from dlq_console.store import compatibility, migrate, queries
from dlq_console.store.filters import EventFilter
from dlq_console.store.session import make_engine
from dlq_console.store.store import Store
from tests.deploy.next_version import NEXT, OWN, NextVersion, after
from tests.services.postgres import PostgresServer
from tests.services.process import Child, StartChild
from tests.workers.table import Table

#: Seconds in which anything must have happened on a busy machine.
SOON = 60


@pytest.fixture(scope="module")
def next_version(tmp_path_factory: pytest.TempPathFactory) -> NextVersion:
    return NextVersion(tmp_path_factory.mktemp("next"))


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Address of a database without any table."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    with server.database() as url:
        yield url


@pytest.fixture
def postgres_table(postgres_url: str, tmp_path: Path, start_child: StartChild) -> Iterator[Table]:
    notes = tmp_path / "notes"
    notes.mkdir()
    table = Table(postgres_url, notes, start_child)
    yield table
    table.go()
    table.hub.close()


def _tables(url: str) -> dict[str, set[str]]:
    """The tables of the database and their columns."""
    engine = make_engine(url)
    found = inspect(engine)
    described = {name: {each["name"] for each in found.get_columns(name)} for name in found.get_table_names()}
    engine.dispose()
    return described


def _revision(url: str) -> str | None:
    engine = make_engine(url)
    found = migrate.current(engine)
    engine.dispose()
    return found


# Two versions at once


def test_workers_of_both_versions_work_before_during_and_after_the_upgrade(
    postgres_table: Table, next_version: NextVersion, start_child: StartChild
) -> None:
    table = postgres_table

    def start_new(*arguments: str) -> Child:
        environment = {"DLQ_DATABASE_URL": table.url, "DLQ_APP": "tests.workers.faulty:hub"}
        return start_child(
            [sys.executable, "-m", "dlq_console", *arguments], env=environment | next_version.environment
        )

    def run_by(worker: Child) -> None:
        """An event is run while this is the only worker."""
        worker.wait_for_line(r"worker \S+ runs \d+ events at once", timeout=SOON)
        assert table.ended(table.enqueue("noop"), timeout=SOON).status == "done"

    # A new worker with old tables.
    new = start_new("worker", "--concurrency", "1")
    run_by(new)
    assert _revision(table.url) == OWN
    assert new.stop() == 0

    # An old worker lives through the upgrade, with an event running.
    old = table.start_worker()
    running = table.enqueue("waits")
    table.process_of(running)
    upgrade = start_new("db", "upgrade")
    assert upgrade.wait_for_exit(SOON) == 0, upgrade.output()
    assert _revision(table.url) == NEXT
    table.go()
    assert table.ended(running).status == "done"
    run_by(old)
    assert old.stop() == 0

    # An old worker begins with new tables, and so does a new one.
    for worker in (table.start_worker(), start_new("worker", "--concurrency", "1")):
        run_by(worker)
        assert worker.stop() == 0


def test_tables_one_step_away_are_ready_and_the_command_says_how_they_stand(store: Store) -> None:
    assert queries.standing(store) == f"{OWN} (up to date)"
    _pretend(store, NEXT)
    assert queries.why_not_ready(store) is None
    assert queries.standing(store) == (
        f"{NEXT} (one step newer than this program, which knows {OWN} and works with it)"
    )


def test_tables_two_steps_newer_are_refused_and_left_alone(store: Store) -> None:
    _pretend(store, after(OWN, 2))
    refusal = (
        f"The tables are of version {after(OWN, 2)}, more than one step newer than this program, "
        f"which knows {OWN}; install a newer version of DLQ Console."
    )
    assert queries.why_not_ready(store) == refusal
    with pytest.raises(StoreUnavailable) as refused:
        migrate.upgrade(store.engines.database_url)
    assert str(refused.value) == refusal
    assert queries.revision(store) == after(OWN, 2)


def test_upgrading_with_an_old_program_leaves_new_tables_alone(store: Store) -> None:
    _pretend(store, NEXT)
    migrate.upgrade(store.engines.database_url)
    assert queries.revision(store) == NEXT


def _pretend(store: Store, revision: str) -> None:
    with store.write() as connection:
        statement = text(f"UPDATE {migrate.version_table('dlq_')} SET version_num = :revision")
        connection.execute(statement, {"revision": revision})


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    store = Store(database_url)
    yield store
    store.engines.dispose()


@pytest.mark.parametrize(
    ("found", "works"), [("0003", False), ("0004", True), ("0005", True), ("0006", True), ("0007", False)]
)
def test_a_program_works_with_one_step_either_way(
    found: str, works: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compatibility, "NEEDED", "0001")
    assert compatibility.works_with(found, own="0005") is works


def test_a_program_that_needs_its_own_tables_works_with_no_older_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compatibility, "NEEDED", "0005")
    assert not compatibility.works_with("0004", own="0005")
    assert compatibility.works_with("0005", own="0005")


# What this version promises


MIGRATIONS = sorted(
    file.name.partition("_")[0] for file in (migrate.MIGRATIONS / "versions").glob("[0-9]*.py")
)
ACCEPTED = [number for number in MIGRATIONS if compatibility.works_with(number, migrate.head())]


def test_migrations_are_numbered_without_a_gap() -> None:
    assert [int(number) for number in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))


@pytest.mark.parametrize("revision", ACCEPTED)
def test_this_program_works_with_every_older_version_of_the_tables_that_it_accepts(
    empty_url: str, revision: str
) -> None:
    """Fails where a statement needs a newer migration; `compatibility.NEEDED` must then name that one."""
    migrate.upgrade(empty_url, to=revision)
    hub = Hub(read_settings(database_url=empty_url, broker_url=""))

    @hub.handler("order.create")
    def create_order(event: Any) -> dict[str, int]:
        if event.cycle == 0:
            raise PermanentError("The customer is not registered.")
        return {"number": 8841}

    assert queries.why_not_ready(hub.store) is None
    made = hub.enqueue("order.create", account="filial-sp", entity_id="8841", payload={})
    hub.run_due()
    page = queries.events_page(hub.store, EventFilter.parse({"status": "dead"}))
    assert [event.id for event in page.items] == [made.id]
    hub.reprocess(made.id, actor="maria")
    hub.run_due()
    assert hub.get(made.id).result == {"number": 8841}
    hub.close()


@pytest.mark.parametrize("revision", [*MIGRATIONS[1:], NEXT])
def test_a_migration_only_adds_what_older_programs_need_not_know(
    empty_url: str, revision: str, next_version: NextVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "MIGRATIONS", next_version.migrations)
    migrate.upgrade(empty_url, to=after(revision, -1))
    old = _columns(empty_url)
    migrate.upgrade(empty_url, to=revision)
    new = _columns(empty_url)
    assert {name: column for name, column in new.items() if name in old} == old
    old_tables = {table for table, _ in old}
    added = {name: column for name, column in new.items() if name not in old and name[0] in old_tables}
    assert [name for name, column in added.items() if not column["may_be_left_out"]] == []


def _columns(url: str) -> dict[tuple[str, str], dict[str, Any]]:
    engine = make_engine(url)
    found = inspect(engine)
    described = {
        (table, column["name"]): {
            "type": str(column["type"]),
            "may_be_left_out": column["nullable"] or column["default"] is not None,
        }
        for table in found.get_table_names()
        for column in found.get_columns(table)
    }
    engine.dispose()
    return described


# An upgrade that is killed, repeated, or in somebody's way


def test_a_killed_upgrade_leaves_nothing_behind_and_can_be_run_again(
    database_url: str, next_version: NextVersion, start_child: StartChild, tmp_path: Path
) -> None:
    hold = tmp_path / "hold"
    before = _tables(database_url)
    killed = _upgrade(database_url, next_version, start_child, HOLD_MIGRATION=str(hold))
    killed.wait_until(hold.exists, SOON, "the middle of the migration")
    killed.kill()
    assert (_revision(database_url), _tables(database_url)) == (OWN, before)
    again = _upgrade(database_url, next_version, start_child)
    assert again.wait_for_exit(SOON) == 0, again.output()
    assert _revision(database_url) == NEXT
    assert _tables(database_url)["dlq_event"] == before["dlq_event"] | {"colour"}


def test_a_second_upgrade_waits_for_the_first_and_finds_nothing_to_do(
    database_url: str, next_version: NextVersion, start_child: StartChild, tmp_path: Path
) -> None:
    hold = tmp_path / "hold"
    first = _upgrade(database_url, next_version, start_child, HOLD_MIGRATION=str(hold))
    first.wait_until(hold.exists, SOON, "the middle of the migration")
    second = _upgrade(database_url, next_version, start_child)
    second.wait_for_line("^upgrading")
    hold.unlink()
    assert [each.wait_for_exit(SOON) for each in (first, second)] == [0, 0], second.output()
    assert _revision(database_url) == NEXT


def test_an_upgrade_that_waits_for_a_table_lets_others_go_ahead(
    postgres_url: str, next_version: NextVersion, start_child: StartChild
) -> None:
    store = Store(postgres_url)
    hub = Hub(read_settings(database_url=postgres_url, broker_url=""))
    waiting = text("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'dlq_event'::regclass")
    with store.write() as backup:
        backup.execute(text("SELECT id FROM dlq_event"))
        upgrade = _upgrade(postgres_url, next_version, start_child)
        with store.read() as connection:
            upgrade.wait_until(lambda: connection.execute(waiting).scalar(), SOON, "waiting for the table")
        # Behind the upgrade in the queue, and the backup ends only after it.
        assert hub.enqueue("noop", account="a", entity_id="1", payload={}).created
    assert upgrade.wait_for_exit(SOON) == 0, upgrade.output()
    assert _revision(postgres_url) == NEXT
    hub.close()
    store.engines.dispose()


def test_a_table_that_stays_in_use_is_told_in_one_sentence(
    postgres_url: str, next_version: NextVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrate, "MIGRATIONS", next_version.migrations)
    monkeypatch.setattr(migrate, "LOCK_PATIENCE", (1,))
    store = Store(postgres_url)
    with store.write() as backup:
        backup.execute(text("SELECT id FROM dlq_event"))
        with pytest.raises(
            StoreUnavailable, match=r"^A long transaction.* Nothing was changed; run this again"
        ):
            migrate.upgrade(postgres_url)
    assert queries.revision(store) == OWN
    store.engines.dispose()


UPGRADING = """
import sys
from dlq_console.store.migrate import upgrade

print("upgrading")
upgrade(sys.argv[1])
"""


def _upgrade(url: str, version: NextVersion, start_child: StartChild, **environment: str) -> Child:
    arguments = [sys.executable, "-W", "error", "-c", UPGRADING, url]
    return start_child(arguments, env=environment | version.environment)
