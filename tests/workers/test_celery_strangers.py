"""Does a worker say that another installation sends to its queues, and does it keep quiet about messages of its own?"""

from __future__ import annotations

from pathlib import Path

import pytest

from dlq_console import Hub
from dlq_console.settings import read_settings
from dlq_console.workers.celery_strangers import Strangers
from tests.workers.celery_table import celery_table
from tests.workers.table import Table


def test_worker_says_that_another_installation_sends_under_its_prefix_and_runs_its_own_events(
    postgres_url: str, sqlite_url: str, redis_url: str, tmp_path: Path
) -> None:
    with celery_table(postgres_url, redis_url, tmp_path) as celery:
        worker = celery.start_celery()
        first = celery.enqueue("noop", account="a")
        assert celery.ended(first).status == "done"
        other = Hub(read_settings(database_url=sqlite_url, broker_url=redis_url))
        theirs = [other.enqueue("noop", account="a", entity_id=str(n), payload={}).id for n in range(2)]
        other.close()
        worker.wait_for_line(
            f"a message for event {theirs[-1]} came through erp.a, but there is no such event.*DLQ_QUEUE_PREFIX"
        )
        assert celery.ended(celery.enqueue("noop", account="a")).status == "done"
        assert worker.running


def test_only_messages_that_do_not_fit_are_called_those_of_others(
    sqlite_table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    table = sqlite_table
    ours = table.enqueue("noop", account="a")
    for queue in ("erp.a", "erp.shard.7"):
        Strangers(table.hub.store).look_at(ours, queue)
    assert caplog.messages == []
    strangers = Strangers(table.hub.store)
    strangers.look_at(ours, "erp.b")
    # It does not go on about it.
    strangers.look_at(ours + 1, "erp.a")
    (said,) = caplog.messages
    assert f"a message for event {ours} came through erp.b, but that event belongs to erp.a" in said
