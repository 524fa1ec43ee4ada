"""What does a worker do while its database is away, and is anything lost by that?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlq_console.store.migrate import upgrade
from tests.services.finding import ServiceMissingError
from tests.services.postgres import PostgresServer
from tests.services.process import StartChild, wait_until
from tests.workers.faulty import SHORT_LIMIT
from tests.workers.table import SOON, Table, is_alive

#: As long as a worker gives it by default, so that no lease lapses while the database restarts (seconds).
USUAL_LEASE = 30


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A PostgreSQL that only this module stops and starts."""
    try:
        private = PostgresServer()
    except ServiceMissingError as missing:
        pytest.skip(str(missing))
    with private:
        yield private


@pytest.fixture
def table(
    server: PostgresServer, tmp_path: Path, start_child: StartChild, request: pytest.FixtureRequest
) -> Iterator[Table]:
    """An own database on that server."""
    name = f"t{abs(hash(request.node.name))}"
    url = server.create_database(name)
    upgrade(url)
    made = Table(url, tmp_path, start_child)
    yield made
    made.go()
    made.hub.close()
    server.start()


def test_worker_survives_a_database_that_is_away_and_goes_on(table: Table, server: PostgresServer) -> None:
    worker = table.start_worker("--slots", "2")
    before = table.ended(table.enqueue("noop"))
    with server.stopped():
        worker.wait_for_line(r"no work for 0\.5 s")
        # It waits longer from one look to the next instead of asking without pause.
        worker.wait_for_line(r"no work for 2\.0 s")
        assert worker.output().count("no work for") < 10
    after = table.ended(table.enqueue("noop"))
    assert (before.status, after.status) == ("done", "done")
    assert worker.running
    # The periodic steps live in a process of their own and go on as well.
    ran = "SELECT max(last_run_at) FROM {step} WHERE name = 'rescue'"
    last = table.value(ran)
    worker.wait_until(lambda: table.value(ran) != last, SOON, "the steps to go on")


def test_result_is_written_although_the_database_was_away_at_that_moment(
    table: Table, server: PostgresServer
) -> None:
    worker = table.start_worker("--slots", "2", lease_seconds=USUAL_LEASE)
    event_id = table.enqueue("waits")
    table.process_of(event_id)
    with server.stopped():
        table.go()
        table.process_of(event_id, what="returned")
        worker.wait_for_line("no work for")  # so that some time has gone by as well
    event = table.ended(event_id)
    assert (event.status, event.result, event.attempts) == ("done", {"attempt": 1}, 1)
    assert table.outcomes(event_id) == ["done"]
    assert table.starts(event_id) == 1


def test_time_limit_holds_while_the_database_is_away_and_is_written_afterwards(
    table: Table, server: PostgresServer
) -> None:
    table.start_worker("--slots", "1", lease_seconds=USUAL_LEASE)
    event_id = table.enqueue("late_once")
    child = table.process_of(event_id)
    with server.stopped():
        wait_until(lambda: not is_alive(child), SOON, f"the run to be stopped after {SHORT_LIMIT} s")
    event = table.ended(event_id)
    assert (event.status, event.attempts) == ("done", 2)
    assert [a["error_type"] for a in table.attempts(event_id)] == ["TimeLimitExceeded", None]


def test_celery_worker_whose_database_goes_away_while_it_starts_ends_with_one_sentence(
    table: Table, server: PostgresServer, start_child: StartChild, tmp_path: Path
) -> None:
    go_on = tmp_path / "go on"
    worker = start_child(
        [sys.executable, "-m", "tests.workers.celery_waits_at_start", go_on],
        # It does not get as far as its broker.
        env={"DLQ_DATABASE_URL": table.url, "DLQ_BROKER_URL": "redis://127.0.0.1:1/0"},
    )
    worker.wait_for_line("found its tables")
    with server.stopped():
        go_on.touch()
        assert worker.wait_for_exit(2 * SOON) == 1
    assert worker.output().count("this worker does not start: ") == 1
    assert "Traceback" not in worker.output()
