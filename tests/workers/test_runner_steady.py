"""Does a worker stay as small as it was, however many events it runs?"""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from dlq_console import NewEvent
from tests.services.process import wait_until
from tests.workers.table import Table, open_files, resident_kilobytes

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="needs /proc to look into a process"
)

#: Events after which everything that is made once has been made.
WARM_UP = 300
#: Growth of a process that counts as noise of its allocator; one lost event a run would exceed it.
NOISE_KILOBYTES = 8_192


@pytest.mark.parametrize(
    "events",
    [2_000, pytest.param(20_000, marks=[pytest.mark.chaos, pytest.mark.timeout(1_200)])],
)
def test_no_process_of_a_worker_grows_opens_files_or_begins_threads_over_many_events(
    table: Table, events: int
) -> None:
    worker = table.start_worker("--slots", "4", "--no-scheduler")
    _run(table, WARM_UP)
    family = [psutil.Process(worker.pid), *psutil.Process(worker.pid).children()]
    assert len(family) == 1 + 4
    files = {process.pid: (open_files(process.pid), process.num_threads()) for process in family}
    kilobytes = {process.pid: resident_kilobytes(process.pid) for process in family}
    _run(table, events)
    assert {pid: (open_files(pid), psutil.Process(pid).num_threads()) for pid in files} == files
    grown = {pid: resident_kilobytes(pid) - before for pid, before in kilobytes.items()}
    assert max(grown.values()) < NOISE_KILOBYTES, grown


def test_parent_keeps_no_file_of_a_child_that_died(sqlite_table: Table) -> None:
    table = sqlite_table
    worker = table.start_worker("--slots", "1", "--no-scheduler")
    table.ended(table.enqueue("killed"))
    table.ended(table.enqueue("noop"))
    files = open_files(worker.pid)
    for _ in range(5):
        table.ended(table.enqueue("killed"))  # three processes each
    table.ended(table.enqueue("noop"))
    assert open_files(worker.pid) == files


def _run(table: Table, events: int) -> None:
    before = table.value("SELECT count(*) FROM {event}")
    # Several accounts, so that every slot may be used.
    table.hub.enqueue_many(
        NewEvent(kind="noop", account=f"filial-{n % 4}", entity_id=str(before + n), payload={})
        for n in range(events)
    )
    wait_until(
        lambda: table.value("SELECT count(*) FROM {event} WHERE status = 'done'") == before + events,
        events / 20,
        f"{events} events to end",
    )
