"""What may happen to the processes of an installation, and to the clock of their host, without harm to any event?"""

from __future__ import annotations

import re
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from http.client import HTTPConnection

from tests.services.process import StartChild, free_port, wait_until
from tests.workers.table import LEASE_SECONDS, SOON, Table, moment

#: Requests, so many that each of a few processes gets some.
REQUESTS = 40
#: Of gunicorn.
OPTIONS = ("--no-control-socket", "--preload", "--workers=3", "--threads=2")


def test_application_that_was_loaded_before_the_fork_works_in_every_process(
    table: Table, start_child: StartChild
) -> None:
    port = free_port()
    server = start_child(
        [
            sys.executable,
            "-m",
            "gunicorn",
            *OPTIONS,
            f"--bind=127.0.0.1:{port}",
            "tests.workers.preloaded:application",
        ],
        env={"DLQ_DATABASE_URL": table.url},
    )
    server.wait_until(lambda: server.output().count("Booting worker") == 3, 60, "three processes")
    parent = table.value("SELECT result FROM {event}")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda number: _get(port, f"/{number}"), range(REQUESTS)))
    assert {status for status, _ in answers} == {200}, server.output()
    assert len({pid for _, pid in answers}) > 1
    assert parent not in {f'{{"pid":{pid}}}' for _, pid in answers}
    # Each event once, by the process that took it in.
    assert table.value("SELECT count(*) FROM {attempt} WHERE outcome = 'done'") == REQUESTS + 1
    assert (
        table.value("SELECT count(*) FROM {event} WHERE status = 'done' AND lease_epoch = 1") == REQUESTS + 1
    )
    assert server.stop(timeout=SOON) == 0
    assert not re.search("Error|Traceback", server.output())


def _get(port: int, path: str) -> tuple[int, int]:
    connection = HTTPConnection("127.0.0.1", port, timeout=SOON)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, int(response.read())
    finally:
        connection.close()


def test_steps_of_a_workers_clock_change_neither_leases_nor_retries_nor_due_times(
    table: Table,
) -> None:
    began = table.now()
    worker = table.start_process("--slots", "3", module="tests.workers.stepping_clock")
    worker.wait_for_line(r"worker \S+ runs 3 events at once")
    long = table.enqueue("waits")
    table.process_of(long)
    given = table.value("SELECT lease_until FROM {event} WHERE id = :id", id=long)
    retried = table.enqueue("out_of_memory", account="filial-rj")
    due = table.now() + timedelta(seconds=1)
    later = table.hub.enqueue("noop", account="filial-mg", entity_id="later", payload={}, run_at=due).id
    tomorrow = table.hub.enqueue(
        "noop", account="filial-mg", entity_id="tomorrow", payload={}, run_at=due + timedelta(hours=12)
    ).id

    assert table.outcomes(table.ended(retried).id) == ["failed", "failed", "dead"]
    assert table.ended(later).status == "done"
    # A lease that nobody had extended would have lapsed by then, and its event been rescued.
    wait_until(
        lambda: table.now() > moment(given) + timedelta(seconds=LEASE_SECONDS),
        SOON,
        "the first lease to lapse",
    )
    table.go()
    assert table.ended(long).attempts == 1
    assert table.outcomes(long) == ["done"]
    assert table.hub.get(tomorrow).status == "pending"
    for attempt in table.rows("SELECT due_at, started_at, ended_at FROM {attempt}"):
        moments = [began, *(moment(each) for each in attempt.values()), table.now()]
        assert moments == sorted(moments)
    assert table.value("SELECT count(*) FROM {worker}") == 1
    assert worker.running
