"""The hub of a process: opens nothing before first use, can be closed and used again, survives a fork."""

from __future__ import annotations

import gc
import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dlq_console import Event, Hub, NewEvent, Policy, Settings, StoreUnavailable
from dlq_console.hub.dispatch import NoPublisher
from dlq_console.settings import read_settings
from dlq_console.store.kinds import published
from tests.hub.recording import Recorder
from tests.services.postgres import PostgresServer
from tests.services.process import StartChild, wait_until
from tests.store.making import add, row, rows

SECRET = "s3cret-of-the-database"


def _enqueue(hub: Hub, number: int = 1, kind: str = "order.create", account: str = "a") -> int:
    return hub.enqueue(kind, account=account, entity_id=str(number), payload={"n": number}).id


# In memory


@pytest.fixture
def memory() -> Iterator[Hub]:
    hub = Hub.in_memory()
    yield hub
    hub.close()


def test_a_hub_in_memory_is_empty_and_ready(memory: Hub) -> None:
    memory.handler("order.create")(lambda event: event.payload)
    assert memory.run(_enqueue(memory)).result == {"n": 1}


def test_two_hubs_in_memory_know_nothing_of_each_other(memory: Hub) -> None:
    other = Hub.in_memory()
    _enqueue(memory)
    assert rows(other.store) == []
    other.close()


def test_a_hub_in_memory_serves_threads(memory: Hub) -> None:
    memory.handler("order.create")(lambda event: None)
    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(lambda number: _enqueue(memory, number), range(40)))
        statuses = {event.status for event in pool.map(memory.run, sorted(ids))}
    assert (len(ids), statuses) == (40, {"done"})


def test_a_hub_in_memory_takes_nothing_from_the_environment_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DLQ_BROKER_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("DLQ_DATABASE_URL", f"sqlite:///{tmp_path / 'mine.db'}")
    hub = Hub.in_memory()
    _enqueue(hub)
    folder = Path(hub.settings.database_url.removeprefix("sqlite:///")).parent
    assert folder.is_dir()
    hub.close()
    assert not folder.exists()
    assert list(tmp_path.iterdir()) == []


def test_the_time_of_a_hub_in_memory_can_be_moved(memory: Hub) -> None:
    answers: list[str] = ["busy", "done"]

    @memory.handler("order.create", policy=Policy(jitter=0))
    def handle(event: Event) -> None:
        if answers.pop(0) == "busy":
            raise ConnectionError("busy")

    id_ = _enqueue(memory)
    assert memory.run(id_).status == "failed"
    memory.clock.advance(29)
    assert memory.run(id_).status == "failed"
    memory.clock.advance(2)
    assert memory.run(id_).status == "done"


# Made, closed, used again


def test_a_hub_opens_nothing_before_first_use(tmp_path: Path) -> None:
    hub = Hub(read_settings(database_url=f"sqlite:///{tmp_path / 'events.db'}"))
    hub.handler("order.create")(lambda event: None)
    assert list(tmp_path.iterdir()) == []
    hub.migrate()
    assert (tmp_path / "events.db").exists()
    hub.close()


def test_a_hub_reads_the_environment_unless_it_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DLQ_DATABASE_URL", f"sqlite:///{tmp_path / 'environment.db'}")
    for hub in (Hub(), Hub.from_env()):
        assert hub.settings.database_url == f"sqlite:///{tmp_path / 'environment.db'}"
    told = Hub(Settings(database_url=f"sqlite:///{tmp_path / 'told.db'}"))
    assert told.settings.database_url == f"sqlite:///{tmp_path / 'told.db'}"


def test_a_closed_hub_may_be_used_again(hub: Hub) -> None:
    id_ = _enqueue(hub)
    for _ in range(2):
        hub.close()
        hub.close()
        assert hub.get(id_).id == id_
        assert hub.enqueue_many([NewEvent(kind="k", account="a", entity_id="2", payload=2)])


def test_closing_lets_go_of_the_publisher(hub: Hub, recorder: Recorder) -> None:
    _enqueue(hub)
    hub.close()
    assert recorder.closed == 1


def test_in_table_mode_nothing_is_sent(hub: Hub) -> None:
    assert isinstance(hub.publisher, NoPublisher)
    assert hub.publisher is hub.publisher
    assert hub.publisher.publish([hub.message(1, 0, "k", "a")]) == []


def test_a_hub_that_nobody_holds_is_forgotten(tmp_path: Path) -> None:
    """Else every hub of a test suite would live, and be visited at every fork, until its end."""
    hub = Hub(read_settings(database_url=f"sqlite:///{tmp_path / 'events.db'}"))
    hub.migrate()
    seen = weakref.ref(hub), weakref.ref(hub.store.engines)
    hub.close()
    del hub
    gc.collect()
    assert [each() for each in seen] == [None, None]


# Running


def test_due_events_are_run_up_to_the_limit(hub: Hub) -> None:
    hub.handler("order.create")(lambda event: None)
    for number in range(5):
        _enqueue(hub, number, account=f"account-{number % 2}")
    assert [hub.run_due(limit=3), hub.run_due(limit=3), hub.run_due(), hub.run_due(limit=0)] == [3, 2, 0, 0]
    assert {kept["status"] for kept in rows(hub.store)} == {"done"}


def test_an_event_that_another_worker_has_is_returned_as_it_is(hub: Hub, database_url: str) -> None:
    id_ = _enqueue(hub)
    seen: list[Event] = []
    other = Hub(read_settings(database_url=database_url))
    hub.handler("order.create")(lambda event: seen.append(other.run(event.id)))
    assert hub.run(id_).status == "done"
    assert [(event.status, event.lease_owner) for event in seen] == [("running", hub.worker)]
    other.close()


def test_a_run_that_takes_longer_than_a_lease_keeps_its_event(database_url: str) -> None:
    hub = Hub(read_settings(database_url=database_url, lease_seconds=2))
    leases: list[Any] = []

    @hub.handler("order.create")
    def handle(event: Event) -> None:
        leases.append(row(hub.store, event.id)["lease_until"])
        wait_until(lambda: row(hub.store, event.id)["lease_until"] > leases[0], 10, "a heartbeat")

    assert hub.run(_enqueue(hub)).status == "done"
    # With the run the heartbeat ends.
    assert [one.name for one in threading.enumerate() if one.name == "dlq-console-heartbeat"] == []
    hub.close()


def test_running_in_this_process_publishes_what_it_can_run(hub: Hub) -> None:
    """Else attempts, time limits and providers of its policies would be unknown to the claim."""
    hub.handler("order.create", policy=Policy(max_attempts=2, provider="erp"))(lambda event: None)
    assert published(hub.store) == {}
    hub.run_due()
    assert published(hub.store)["order.create"].provider == "erp"
    hub.handler("stock.move")(lambda event: None)
    hub.run(_enqueue(hub))
    assert set(published(hub.store)) == {"order.create", "stock.move"}


def test_a_producer_learns_the_policy_that_workers_have_published(hub: Hub, database_url: str) -> None:
    worker = Hub(read_settings(database_url=database_url))
    policy = Policy(max_attempts=3, base_delay=5, max_delay=50, jitter="full", timeout=7, max_wait=90)
    worker.handler("order.create", policy=policy)(lambda event: None)
    worker.publish_kinds("w")
    assert hub.policy("order.create") == policy
    assert hub.message(5, 2, "order.create", "a").time_limit == 7
    assert hub.policy("unknown") == Policy()
    worker.close()


# Away

URL_OF_NOBODY = f"postgresql+psycopg://erp:{SECRET}@127.0.0.1:1/events"


def _away(hub: Hub) -> Iterator[None]:
    calls: tuple[Callable[[], object], ...] = (
        lambda: _enqueue(hub),
        lambda: hub.enqueue_many([NewEvent(kind="k", account="a", entity_id="1", payload=1)]),
        lambda: hub.get(1),
        lambda: hub.run(1),
        hub.run_due,
        lambda: hub.reprocess(1),
        lambda: hub.discard(1, actor="maria"),
        hub.migrate,
    )
    for call in calls:
        with pytest.raises(StoreUnavailable) as caught:
            call()
        sentence = str(caught.value)
        assert sentence.startswith("The database ")
        assert SECRET not in sentence
        assert "\n" not in sentence
        yield


@pytest.mark.parametrize(
    "url", [URL_OF_NOBODY, "sqlite:////proc/no/such/folder/events.db"], ids=["server", "file"]
)
def test_a_database_that_is_away_is_told_by_every_call_in_one_sentence(url: str) -> None:
    hub = Hub(read_settings(database_url=url))
    hub.handler("k")(lambda event: None)
    assert len(list(_away(hub))) == 8
    hub.close()


def test_a_hub_works_again_as_soon_as_its_server_is_back() -> None:
    with PostgresServer() as server:
        hub = Hub(read_settings(database_url=server.url()))
        hub.migrate()
        id_ = _enqueue(hub)
        server.stop()
        for _ in _away(hub):
            pass
        server.start()
        assert hub.get(id_).status == "pending"
        assert _enqueue(hub, 2) != id_
        # A restart between two calls is not even noticed.
        server.stop()
        server.start()
        assert _enqueue(hub, 3) > id_
        hub.close()


# Forked

FORKING = """
import os, sys
from dlq_console import Hub
from dlq_console.settings import read_settings

hub = Hub(read_settings(database_url=sys.argv[1]))
hub.handler("order.create")(lambda event: os.getpid())

def work(name):
    for number in range(15):
        made = hub.enqueue("order.create", account=name, entity_id=number, payload=name)
        event = hub.run(made.id)
        assert (event.status, event.result) == ("done", os.getpid()), event
    return hub.worker

names = {work("parent")}
children = []
for place in range(4):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            worker = work(f"child-{place}")
            assert worker not in names and str(os.getpid()) in worker
            status = 0
        finally:
            sys.stdout.flush()
            os._exit(status)
    children.append(pid)
work("parent while its children work")
statuses = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
work("parent afterwards")
hub.close()
sys.exit(max(statuses))
"""


def test_a_hub_used_before_a_fork_works_in_four_children_and_in_the_parent(
    database_url: str, start_child: StartChild
) -> None:
    child = start_child([sys.executable, "-W", "error", "-c", FORKING, database_url])
    assert child.wait_for_exit(60) == 0, child.output()
    assert child.output() == ""
    hub = Hub(read_settings(database_url=database_url))
    assert len(rows(hub.store)) == 15 * 7
    hub.close()


def test_a_forked_hub_forgets_the_publisher_of_its_parent(hub: Hub, recorder: Recorder) -> None:
    worker = hub.worker
    hub.after_fork()
    assert hub._publisher is None
    assert hub.worker != worker
    assert str(os.getpid()) in hub.worker


def test_an_event_of_the_store_is_seen_by_the_hub(hub: Hub) -> None:
    assert hub.get(add(hub.store).id).queue == "erp.filial-sp"
