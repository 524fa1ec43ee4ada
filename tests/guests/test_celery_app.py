"""Do events run inside Celery workers that are there already, and does everything else in them stay as it was?"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from celery import Celery

from dlq_console import ConfigurationError, Event, Hub, Policy
from dlq_console.hub.dispatch import Message
from dlq_console.settings import read_settings
from dlq_console.workers.celery_signals import EXIT_AT_LIMIT
from tests.guests.pages import ROOT, samples
from tests.services.process import Child, StartChild, wait_until
from tests.workers.table import SOON

PROJECT = Path(__file__).parent / "celery_app"

#: What a program of the shop does: its own tasks, and events.
PROGRAM = """
import json
from celery import Celery, current_app
from background import app
from celery.exceptions import SoftTimeLimitExceeded
from events import hub
from tasks import count_stock, send_mail

ids = [
    hub.enqueue("order.create", account="filial-sp", entity_id="8841", payload={}).id,
    hub.enqueue("order.create", account="filial-sp", entity_id="8842", payload={}, serial=True).id,
    hub.enqueue("catalogue.print", account="filial-sp", entity_id="1", payload={"seconds": 1.5}).id,
    hub.enqueue("catalogue.print", account="filial-sp", entity_id="2", payload={"seconds": 600}).id,
]
try:
    count_stock.delay(600).get(timeout=60)
except SoftTimeLimitExceeded:
    stopped = True
untouched = Celery("untouched", set_as_current=False)
untouched.config_from_object("celeryconfig")
print(json.dumps({
    "ids": ids,
    "own": [send_mail.delay("maria@example.com").get(timeout=60), stopped],
    "current": current_app.main,
    "changed": [name for name in untouched.conf if untouched.conf[name] != app.conf[name]],
}))
"""

#: A task of the shop that is still at work when an event beside it has to be ended, 6 seconds after it began.
COUNT_BESIDE_LATE = """
import json
from background import app
from events import hub
from tasks import count_stock

counting = count_stock.delay(8)
late = hub.enqueue("catalogue.print", account="a", entity_id="2", payload={"seconds": 600})
counting.get(timeout=60)
print(json.dumps(late.id))
"""


def test_every_sample_of_the_page_is_in_the_project_that_is_run() -> None:
    for path, of_file in samples("celery.md").items():
        text = (PROJECT / path).read_text(encoding="utf-8")
        for sample in of_file:
            assert sample in text, f"{path} of the guest project does not hold:\n{sample}"


class Shop:
    """The project on a database and a broker of its own."""

    def __init__(self, database_url: str, broker_url: str, start_child: StartChild) -> None:
        self.hub = Hub(read_settings(database_url=database_url, broker_url=broker_url))
        self._start_child = start_child
        self._env = {
            "DLQ_DATABASE_URL": database_url,
            "DLQ_BROKER_URL": broker_url,
            "DLQ_LEASE_SECONDS": "2",
            "SHOP_BROKER": broker_url,
            "PYTHONPATH": f"{ROOT}:{PROJECT}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def start_worker(self, *options: str) -> Child:
        """A worker of the shop's own application, ready for work."""
        command = [sys.executable, "-m", "celery", "-A", "background", "worker", "--loglevel", "INFO"]
        worker = self._start_child([*command, "--concurrency", "2", *options], env=self._env)
        worker.wait_for_line(r"celery@\S+ ready", timeout=2 * SOON)
        return worker

    def run(self, program: str) -> Any:
        """What a program of the shop prints."""
        child = self._start_child([sys.executable, "-c", program], env=self._env)
        assert child.wait_for_exit(120) == 0, child.output()
        return json.loads(child.output().splitlines()[-1])

    def ended(self, event_id: int) -> Event:
        """The event once it is done or dead."""

        def look() -> Event | None:
            event = self.hub.get(event_id)
            return event if event.status in ("done", "dead") else None

        event = wait_until(look, SOON, f"event {event_id} to end")
        assert event is not None
        return event


@pytest.fixture
def shop(postgres_url: str, redis_url: str, start_child: StartChild) -> Iterator[Shop]:
    """The project; the test starts its workers."""
    made = Shop(postgres_url, redis_url, start_child)
    yield made
    made.hub.close()


def test_own_tasks_and_events_run_on_one_worker_each_by_its_own_rules(shop: Shop) -> None:
    worker = shop.start_worker()
    told = shop.run(PROGRAM)
    assert told["own"] == ["sent to maria@example.com", True]
    assert told["current"] == "shop"
    assert told["changed"] == []
    order, serial, catalogue, late = map(shop.ended, told["ids"])
    assert order.result is not None
    assert (order.status, order.result["sent"]) == ("done", "8841")
    assert (serial.status, serial.queue) == ("done", "erp.filial-sp.serial")
    # The soft limit of the shop, one second, is for its own tasks.
    assert catalogue.status == "done"
    assert (late.reason, late.last_error) == (
        "exhausted",
        "The run was stopped at its time limit of 3 seconds.",
    )
    assert worker.stop(timeout=SOON) == 0
    with shop.hub.store.read() as connection:
        left = connection.execute(shop.hub.store.statement("SELECT count(*) FROM {worker}")).scalar()
    assert left == 0


def test_worker_of_threads_for_chosen_queues_runs_their_events_and_says_that_it_cannot_end_them(
    shop: Shop,
) -> None:
    worker = shop.start_worker("--pool", "threads", "-Q", "shop,erp.a,other.a")
    worker.wait_for_line("The thread pool cannot end a run")
    elsewhere = shop.hub.enqueue("order.create", account="b", entity_id="1", payload={}).id
    soon = shop.hub.enqueue("order.create", account="a", entity_id="1", payload={}).id
    assert shop.ended(soon).status == "done"
    # What another installation sends is none of its business, even if the number is that of an event of ours.
    assert shop.hub.publisher.publish([Message(elsewhere, 0, "other.a", 60)]) == [elsewhere]
    worker.wait_for_line(f"a message for event {elsewhere} came through other.a")
    assert shop.hub.get(elsewhere).status == "pending"
    # A task of the shop is let end when the worker has to leave for the sake of a run that cannot be ended.
    late = shop.run(COUNT_BESIDE_LATE)
    assert worker.wait_for_exit(2 * SOON) == EXIT_AT_LIMIT
    assert shop.hub.get(late).last_error == "The run was stopped at its time limit of 3 seconds."


# What does not fit together


@pytest.fixture
def hub(sqlite_url: str) -> Iterator[Hub]:
    """A hub with a broker that is not asked for anything."""
    made = Hub(read_settings(database_url=sqlite_url, broker_url="redis://localhost/1"))
    yield made
    made.close()


@pytest.mark.parametrize(
    ("pool", "settings", "word"),
    [
        ("gevent", {}, "another pool than gevent"),
        ("prefork", {"accept_content": ["pickle"]}, "json"),
        ("prefork", {"broker_transport_options": {"global_keyprefix": "shop"}}, "global_keyprefix"),
        ("prefork", {"broker_url": "redis://localhost/2"}, "one broker"),
        ("prefork", {"broker_url": "amqp://localhost//"}, "one broker"),
    ],
)
def test_worker_in_which_events_cannot_run_does_not_start(
    hub: Hub, pool: str, settings: dict[str, Any], word: str
) -> None:
    app = Celery("shop", broker="redis://localhost/1", set_as_current=False)
    app.conf.update(settings)
    hub.attach(app)
    (step,) = app.steps["worker"]
    worker = SimpleNamespace(app=app, pool_cls=SimpleNamespace(__module__=f"celery.concurrency.{pool}"))
    with pytest.raises(ConfigurationError, match=word):
        step(worker)


@pytest.mark.parametrize(("keeps_on", "warnings"), [(False, 1), (True, 0)])
def test_worker_that_rabbitmq_could_end_in_a_long_run_says_so(
    postgres_url: str, caplog: pytest.LogCaptureFixture, keeps_on: bool, warnings: int
) -> None:
    hub = Hub(read_settings(database_url=postgres_url, broker_url="amqp://localhost//"))
    hub.handler("report.build", policy=Policy(timeout=3600))(lambda _event: None)
    app = Celery("shop", broker="amqp://localhost//", set_as_current=False)
    app.conf.broker_channel_error_retry = keeps_on
    hub.attach(app)
    (step,) = app.steps["worker"]
    step(SimpleNamespace(app=app, pool_cls=SimpleNamespace(__module__="celery.concurrency.prefork")))
    assert len([each for each in caplog.messages if "broker_channel_error_retry" in each]) == warnings
    hub.close()


def test_application_runs_the_events_of_one_hub(hub: Hub, sqlite_url: str) -> None:
    app = Celery("shop", set_as_current=False)
    hub.attach(app)
    hub.attach(app)
    assert len(app.steps["worker"]) == 1
    other = Hub(read_settings(database_url=sqlite_url, broker_url="redis://localhost/1"))
    with pytest.raises(ConfigurationError, match="Attach one hub only"):
        other.attach(app)
    assert "dlq_console.run_event" in app.tasks


def test_hub_without_a_broker_cannot_be_attached(sqlite_url: str) -> None:
    hub = Hub(read_settings(database_url=sqlite_url, broker_url=""))
    with pytest.raises(ConfigurationError, match="DLQ_BROKER_URL is missing"):
        hub.attach(Celery("shop", set_as_current=False))
