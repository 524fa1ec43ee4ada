"""Do both kinds of workers ask prechecks, and is one that kills its process over instead of being a dead letter?"""

from __future__ import annotations

from pathlib import Path

from tests.workers.celery_table import celery_table
from tests.workers.table import Table


def _asked(table: Table) -> None:
    dead = table.ended(table.enqueue("refused"))
    assert dead.status == "dead"
    for answer in ("likely", "unknown"):
        job = table.ended(table.hub.ask_precheck(dead.id, actor="maria"))
        assert (job.status, job.result) == ("done", {"answer": answer})
        assert table.outcomes(job.id) == ["done"]
    assert table.hub.get(dead.id) == dead
    assert table.ended(table.enqueue("noop")).status == "done"


def test_a_table_worker_asks_and_outlives_a_precheck_that_kills_its_process(sqlite_table: Table) -> None:
    sqlite_table.start_worker("--slots", "1")
    _asked(sqlite_table)


def test_a_celery_worker_asks_and_outlives_a_precheck_that_kills_its_process(
    postgres_url: str, redis_url: str, tmp_path: Path
) -> None:
    with celery_table(postgres_url, redis_url, tmp_path) as table:
        table.start_celery()
        _asked(table)
