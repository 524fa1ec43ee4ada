"""How do the tests of a Django project enqueue and run events? On the database that Django's test runner has made.

    def setUpModule():
        unittest.enterModuleContext(on_test_database(hub))

Rows of a `TestCase` are rolled back with it. What a `TransactionTestCase` commits is deleted when Django flushes its own
tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.creation import TEST_DATABASE_PREFIX
from django.db.models.signals import post_migrate

from dlq_console.contrib.django.databases import database_url
from dlq_console.errors import ConfigurationError
from dlq_console.hub.core import HubCore


@contextmanager
def on_test_database(hub: HubCore, using: str = DEFAULT_DB_ALIAS) -> Iterator[None]:
    """Inside the block the hub works on the test database, in tables that begin empty, and tells no broker.

    Raises:
        ConfigurationError: the project's database is not exchanged for the test database yet, or that is in memory,
            where the hub cannot read it.
    """
    url = database_url(using)
    if not _is_test_database(connections[using].settings_dict):
        raise ConfigurationError(
            f'The database "{using}" is not that of a test runner yet, and its events would be deleted: enter '
            "on_test_database in setUpModule or in a fixture that comes after the test database."
        )

    def empty(using: str, **_: Any) -> None:
        if database_url(using) == url:
            _delete_everything(hub)

    with hub.on_database(url):
        hub.migrate()
        _delete_everything(hub)
        # Django says this after a flush too, for each app that has models; one of them will do.
        app = next(app for app in apps.get_app_configs() if app.models_module)
        post_migrate.connect(empty, sender=app, weak=False)
        try:
            yield
        finally:
            post_migrate.disconnect(empty, sender=app)


def _is_test_database(settings: Mapping[str, Any]) -> bool:
    name, own_name = Path(str(settings["NAME"])).name, settings["TEST"]["NAME"]
    beginnings = (TEST_DATABASE_PREFIX, Path(str(own_name)).stem) if own_name else (TEST_DATABASE_PREFIX,)
    return name.startswith(beginnings)


def _delete_everything(hub: HubCore) -> None:
    with hub.store.write() as connection:
        for table in hub.store.tables.metadata.sorted_tables:
            connection.execute(table.delete())
