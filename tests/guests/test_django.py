"""Does a Django project get what its how-to page says? The project is a real one, run by its own `manage.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dlq_console import Hub
from dlq_console.settings import read_settings
from tests.guests.pages import ROOT, samples
from tests.services.process import Child, StartChild

PROJECT = Path(__file__).parent / "django_project"


class Shop:
    """The project on a database of its own."""

    def __init__(self, database_url: str, start_child: StartChild) -> None:
        self._start_child = start_child
        self._env = {
            "SHOP_DATABASE": database_url.replace("sqlite:////", "sqlite:/"),
            "PYTHONPATH": f"{ROOT}:{PROJECT}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONWARNINGS": "error",
            "DLQ_POLL_SECONDS": "0.1",
        }

    def manage(self, *arguments: str, **env: str) -> Child:
        """`manage.py` with these arguments."""
        command = [sys.executable, str(PROJECT / "manage.py"), *arguments]
        return self._start_child(command, env={**self._env, **env})

    def managed(self, *arguments: str) -> str:
        """What it printed, once it has ended well."""
        child = self.manage(*arguments)
        assert child.wait_for_exit(60) == 0, child.output()
        return child.output()


@pytest.fixture
def shop(database_url: str, start_child: StartChild) -> Shop:
    return Shop(database_url, start_child)


@pytest.mark.parametrize("path", sorted(samples("django.md")))
def test_every_sample_of_the_page_is_in_the_project_that_is_run(path: str) -> None:
    text = (PROJECT / path).read_text(encoding="utf-8")
    for sample in samples("django.md")[path]:
        assert sample in text, f"{path} of the guest project does not hold:\n{sample}"


def test_the_projects_own_tests_and_the_promises_hold(shop: Shop) -> None:
    output = shop.managed("test", "orders.tests", "orders.promises")
    assert "\nOK" in output


def test_a_worker_runs_the_events_of_the_project(postgres_url: str, start_child: StartChild) -> None:
    """An empty database, the three commands of the page, one order."""
    shop = Shop(postgres_url, start_child)
    hub = Hub(read_settings(database_url=postgres_url))
    shop.managed("migrate", "--verbosity", "0")
    shop.managed("dlq_console", "db", "upgrade")
    shop.managed(
        "shell",
        "--no-imports",
        "--command",
        "from django.test import Client; print(Client().post('/orders/', {'number': '8841'}).status_code)",
    )
    worker = shop.manage("dlq_console", "worker", "--concurrency", "1", DLQ_APP="shop.worker:hub")
    worker.wait_until(lambda: hub.get(1).status == "done", 20, "the order to be at the ERP")
    with hub.store.read() as connection:
        at_erp = connection.exec_driver_sql("SELECT number FROM orders_order WHERE at_erp").scalars()
        assert list(at_erp) == ["8841"]
    hub.close()
