"""What DLQ Console promises to a Django project. Run by `manage.py test orders.promises`."""

from __future__ import annotations

import sqlite3
import unittest
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from io import StringIO
from typing import Any
from unittest import mock

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.test import TestCase, TransactionTestCase
from django.test.utils import CaptureQueriesContext

from dlq_console import (
    ConfigurationError,
    Enqueued,
    Hub,
    IdempotencyConflict,
    NewEvent,
    StoreUnavailable,
    once,
)
from dlq_console.contrib.django import database_url
from dlq_console.contrib.django.testing import on_test_database
from dlq_console.hub import callers
from dlq_console.settings import read_settings
from dlq_console.workers.steps import relay
from orders.handlers import hub
from orders.models import Order
from tests.hub.recording import Recorder

on_sqlite = unittest.skipUnless(connection.vendor == "sqlite", "only SQLite has one writer")
on_postgresql = unittest.skipUnless(connection.vendor == "postgresql", "only a server can end a connection")


def setUpModule() -> None:
    """Let the hub work on the test database."""
    unittest.enterModuleContext(on_test_database(hub))


def enqueue(hub: Hub, session: Any, number: object = 1, **values: Any) -> Enqueued:
    """Put an event in."""
    fields: dict[str, Any] = {
        "kind": "order.create",
        "account": "filial-sp",
        "entity_id": str(number),
        "payload": {"number": number, "share": "5 %"},
    }
    return hub.enqueue(session=session, **(fields | values))


@contextmanager
def undone_block() -> Iterator[None]:
    """A block of `atomic` that fails at its end."""
    with suppress(ZeroDivisionError), transaction.atomic():
        yield
        raise ZeroDivisionError


class Committed(TransactionTestCase):
    """What happens with the commit, seen by a hub that would tell a broker."""

    def setUp(self) -> None:
        self.hub = Hub(read_settings(database_url=database_url(), broker_url="redis://127.0.0.1:1/0"))
        self.recorder = Recorder(self.hub)
        self.hub._publisher = self.recorder
        self.addCleanup(self.recorder.dispose)
        self.addCleanup(self.hub.close)

    def tearDown(self) -> None:
        assert self.recorder.not_yet_committed == []

    @property
    def numbers(self) -> list[str]:
        """The events that are in."""
        with self.hub.store.read() as reading:
            statement = self.hub.store.statement("SELECT entity_id FROM {event} ORDER BY id")
            return list(reading.execute(statement).scalars())

    def test_the_event_is_committed_with_the_order_and_told_at_once(self) -> None:
        with transaction.atomic():
            Order.objects.create(number="1")
            made = enqueue(self.hub, connection)
            assert (self.numbers, self.recorder.sent) == ([], [])
        assert (self.numbers, self.recorder.ids) == (["1"], [made.id])

    def test_a_rollback_takes_the_event_with_it(self) -> None:
        with undone_block():
            enqueue(self.hub, connection)
        assert (self.numbers, self.recorder.sent) == ([], [])

    def test_an_inner_block_that_is_rolled_back_drops_its_row_and_its_message(self) -> None:
        with transaction.atomic():
            first = enqueue(self.hub, connection, 1)
            with undone_block():
                enqueue(self.hub, connection, 2)
            with transaction.atomic():
                third = enqueue(self.hub, connection, 3)
        assert (self.numbers, self.recorder.ids) == (["1", "3"], [first.id, third.id])

    def test_without_a_block_the_enqueue_is_a_transaction_of_its_own(self) -> None:
        first = enqueue(self.hub, connection)
        assert self.recorder.ids == [first.id]
        fields: dict[str, Any] = {"kind": "k", "account": "a", "entity_id": "2", "idempotency_key": "mine"}
        conflicting = [NewEvent(**fields, payload=number) for number in (1, 2)]
        with pytest.raises(IdempotencyConflict):
            self.hub.enqueue_many(conflicting, session=connection)
        assert (self.numbers, self.recorder.ids) == (["1"], [first.id])

    def test_a_conflict_leaves_the_block_as_it_was(self) -> None:
        with transaction.atomic():
            enqueue(self.hub, connection, idempotency_key="mine")
            with pytest.raises(IdempotencyConflict):
                enqueue(self.hub, connection, idempotency_key="mine", payload="another")
            Order.objects.create(number="1")
        assert (self.numbers, Order.objects.count()) == (["1"], 1)

    def test_once_marks_in_the_block_of_the_order_and_is_refused_without_a_block(self) -> None:
        with pytest.raises(ValueError, match="needs a transaction"):
            once(connection, "order-1")
        with undone_block():
            assert once(connection, "order-1")
        for wanted in (True, False):
            with transaction.atomic():
                assert once(connection, "order-1") is wanted
                if wanted:
                    Order.objects.create(number="1")
        assert Order.objects.count() == 1

    def test_a_repeat_is_counted_after_the_commit(self) -> None:
        made = enqueue(self.hub, connection)
        with transaction.atomic():
            assert not enqueue(self.hub, connections["default"]).created
        assert self.hub.get(made.id).duplicates == 1

    def test_a_dead_event_is_run_again_with_the_commit(self) -> None:
        made = enqueue(self.hub, connection, kind="unknown")
        with self.hub.store.write() as writing:
            writing.execute(self.hub.store.statement("UPDATE {event} SET status = 'dead'"))
        with transaction.atomic():
            enqueue(self.hub, connection, kind="unknown", on_duplicate="reprocess_dead")
            assert self.hub.get(made.id).status == "dead"
        assert self.hub.get(made.id).status == "pending"
        assert self.recorder.ids == [made.id, made.id]

    def test_where_the_project_begins_transactions_by_hand_the_relay_tells(self) -> None:
        self.addCleanup(transaction.set_autocommit, True)
        transaction.set_autocommit(False)
        Order.objects.create(number="1")
        enqueue(self.hub, connection)
        transaction.commit()
        self.only_the_relay_tells()

    def test_without_the_app_the_relay_tells(self) -> None:
        ways = [way for way in callers._ways if "contrib" not in type(way).__module__]
        assert len(ways) == len(callers._ways) - 1
        with mock.patch.object(callers, "_ways", ways):
            with transaction.atomic():
                Order.objects.create(number="1")
                enqueue(self.hub, connection)
            self.only_the_relay_tells()
            # A transaction of its own is told at once all the same.
            made = enqueue(self.hub, connection, 2)
            assert self.recorder.ids[1:] == [made.id]

    def test_the_connection_that_django_has_from_its_driver_will_do(self) -> None:
        with transaction.atomic():
            Order.objects.create(number="1")
            enqueue(self.hub, connection.connection)
            assert self.numbers == []
        self.only_the_relay_tells()

    def only_the_relay_tells(self) -> None:
        """Nobody has told of the one event yet; the relay does."""
        assert (self.numbers, self.recorder.sent) == (["1"], [])
        assert relay(self.hub) == 1
        assert len(self.recorder.ids) == 1

    def test_django_sees_the_statements(self) -> None:
        with CaptureQueriesContext(connection) as captured, transaction.atomic():
            enqueue(self.hub, connection)
        assert [query for query in captured.captured_queries if "INSERT INTO dlq_event" in query["sql"]]

    @on_sqlite
    def test_a_block_that_read_before_somebody_else_wrote_is_told_how_to_begin(self) -> None:
        with transaction.atomic():
            assert not Order.objects.exists()
            enqueue(self.hub, None, "somebody else's")
            with pytest.raises(StoreUnavailable, match="it has read before"):
                enqueue(self.hub, connection)
            transaction.set_rollback(True)
        with transaction.atomic():
            assert enqueue(self.hub, connection).created

    @on_sqlite
    def test_a_block_that_begins_with_the_write_lock_is_never_refused(self) -> None:
        options = {"OPTIONS": {"transaction_mode": "IMMEDIATE"}}
        with mock.patch.dict(connection.settings_dict, options):
            connection.close()
            with transaction.atomic():
                assert not Order.objects.exists()
                file = connection.settings_dict["NAME"]
                with (
                    closing(sqlite3.connect(file, timeout=0)) as other,
                    pytest.raises(sqlite3.OperationalError, match="locked"),
                ):
                    other.execute("BEGIN IMMEDIATE")
                assert enqueue(self.hub, connection).created
            connection.close()


class Rolledback(TestCase):
    """In Django's ordinary test case, which is rolled back, with what it would do at the commit."""

    def test_what_follows_the_commit_can_be_watched(self) -> None:
        with self.captureOnCommitCallbacks(execute=True) as callbacks:
            made = enqueue(hub, connection)
        assert (made.created, len(callbacks)) == (True, 1)

    def test_the_next_test_begins_without_events(self) -> None:
        assert enqueue(hub, connection).created


class Handlers(TransactionTestCase):
    """What a handler finds."""

    def setUp(self) -> None:
        # Another one for this test's kind, so that the project's own stays as it is.
        self.hub = Hub(read_settings(database_url=database_url(), broker_url=""))
        self.addCleanup(self.hub.close)

    def run_as(self, handler: Callable[[Any], Any]) -> None:
        """Enqueue and run two events, and end every connection of the server between them."""
        self.hub.handler("order.create")(handler)
        for number in (1, 2):
            id_ = enqueue(self.hub, None, number).id
            event = self.hub.run(id_)
            assert event.status == "done", event.last_error
            if connection.vendor == "postgresql":
                end_connections_of_others(self.hub)

    def test_a_connection_that_has_died_is_replaced(self) -> None:
        with kept_open():
            self.run_as(lambda event: Order.objects.count())

    def test_so_it_is_for_an_async_handler(self) -> None:
        async def handle(event: object) -> None:
            await Order.objects.acount()

        with kept_open():
            self.run_as(handle)

    def test_a_connection_is_closed_after_a_run_where_the_project_keeps_none(self) -> None:
        self.run_as(lambda event: Order.objects.count())
        assert connection.connection is None


@contextmanager
def kept_open() -> Iterator[None]:
    """Connections live on between runs, and are looked at before each, as CONN_HEALTH_CHECKS has it."""
    settings = {"CONN_MAX_AGE": None, "CONN_HEALTH_CHECKS": True}
    with mock.patch.dict(connection.settings_dict, settings):
        connection.close()
        yield
    connection.close()


def end_connections_of_others(hub: Hub) -> None:
    """As the administrator of a server does."""
    with hub.store.write() as writing:
        writing.execute(
            hub.store.statement(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )


class Guest(TestCase):
    """What the project keeps for itself."""

    def test_no_model_comes_with_the_app(self) -> None:
        assert list(apps.get_app_config("dlq_console").get_models()) == []
        call_command("makemigrations", check=True, dry_run=True, stdout=StringIO())

    def test_the_tables_stand_beside_the_projects_own_with_a_version_of_their_own(self) -> None:
        tables = connection.introspection.table_names()
        assert {"orders_order", "django_migrations", "dlq_event", "dlq_version"} <= set(tables)
        assert hub.store.tables.event.name == "dlq_event"

    @on_postgresql
    def test_an_address_says_all_that_the_settings_say(self) -> None:
        server = {"NAME": "shöp", "USER": "a b", "PASSWORD": "p/@:%", "HOST": "db.example", "PORT": "6000"}
        more = {"OPTIONS": {"sslmode": "require", "pool": True}}
        with mock.patch.dict(connection.settings_dict, server | more):
            url = database_url()
        assert url == "postgresql+psycopg://a%20b:p%2F%40%3A%25@db.example:6000/sh%C3%B6p?sslmode=require"
        folder = {"NAME": "shop", "USER": "", "PASSWORD": "", "HOST": "/run/postgresql", "PORT": ""}
        with mock.patch.dict(connection.settings_dict, folder | {"OPTIONS": {}}):
            assert database_url() == "postgresql+psycopg:///shop?host=%2Frun%2Fpostgresql"

    def test_events_of_a_database_that_is_not_for_tests_are_never_deleted(self) -> None:
        with (
            mock.patch.dict(connection.settings_dict, {"NAME": "/srv/shop"}),
            pytest.raises(ConfigurationError, match="not that of a test runner yet"),
            on_test_database(hub),
        ):
            raise AssertionError

    @on_sqlite
    def test_a_database_in_memory_is_refused_with_what_to_write(self) -> None:
        with (
            mock.patch.dict(connection.settings_dict, {"NAME": "file:memorydb_default?mode=memory"}),
            pytest.raises(ConfigurationError, match=r'"TEST": \{"NAME"'),
        ):
            database_url()
