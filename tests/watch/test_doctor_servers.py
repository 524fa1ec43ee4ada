"""Does the doctor see what is wrong with Redis, RabbitMQ, PostgreSQL and SQLite? Each fault is brought about for real."""

from __future__ import annotations

import shutil
import socket
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from kombu import Connection, Queue
from redis import Redis
from sqlalchemy import text

from dlq_console import Event, Hub, Policy
from dlq_console.health.findings import Finding, Level
from dlq_console.store import presence, snapshots
from dlq_console.store.migrate import version_table
from dlq_console.store.store import Store
from dlq_console.watch import broker_figures
from dlq_console.watch.doctor import broker_checks, database_checks, examine
from dlq_console.watch.doctor.patient import Patient
from tests.services.postgres import PostgresServer
from tests.services.redis import RedisServer
from tests.watch.examined import configured, found, hub_on

ROOM = "100mb"


@pytest.fixture
def redis(redis_server: RedisServer, redis_url: str) -> Iterator[Redis]:
    with redis_server.client() as client:
        yield client


@pytest.fixture
def brokered(sqlite_url: str, redis_url: str) -> Iterator[Hub]:
    """A hub with Redis as its broker, to which nobody listens."""
    made = hub_on(sqlite_url, broker_url=redis_url)
    yield made
    made.close()


def test_redis_with_a_limit_that_drops_nothing_is_well(brokered: Hub, redis: Redis) -> None:
    with configured(redis, maxmemory=ROOM, maxmemory_policy="noeviction"):
        assert found(brokered) == {}


def test_redis_that_may_drop_messages_is_a_fault(brokered: Hub, redis: Redis) -> None:
    with configured(redis, maxmemory=ROOM, maxmemory_policy="allkeys-lru"):
        (finding,) = found(brokered).values()
    assert (finding.id, finding.level, finding.figures["policy"]) == (
        "redis_eviction",
        Level.FAULT,
        "allkeys-lru",
    )
    port = brokered.settings.broker_url.rpartition(":")[2].removesuffix("/0")
    assert finding.command == f"redis-cli -h 127.0.0.1 -p {port} CONFIG SET maxmemory-policy noeviction"


def test_redis_without_a_limit_is_told(brokered: Hub) -> None:
    assert list(found(brokered)) == ["redis_no_limit"]


def test_redis_that_is_nearly_full_is_a_fault(brokered: Hub, redis: Redis) -> None:
    redis.set("erp.filling", "x" * 8_000_000)
    used = int(redis.info("memory")["used_memory"])
    with configured(redis, maxmemory=str(int(used / 0.9)), maxmemory_policy="noeviction"):
        (finding,) = found(brokered).values()
    assert finding.id == "redis_full"
    assert 80 < int(finding.figures["percent"]) <= 100


def test_redis_that_cannot_write_itself_to_disk_is_a_fault(
    brokered: Hub, redis: Redis, redis_server: RedisServer
) -> None:
    # Nothing can be put where a folder with something in it stands.
    blocked = redis_server.folder / "dump.rdb" / "in the way"
    blocked.mkdir(parents=True)
    with configured(redis, maxmemory=ROOM):
        assert found(brokered) == {}
        _save(redis)
        (finding,) = found(brokered).values()
        assert (finding.id, finding.level) == ("redis_cannot_save", Level.FAULT)
        assert finding.command.endswith("INFO persistence")
        shutil.rmtree(blocked.parent)
        _save(redis)
        assert found(brokered) == {}


def _save(redis: Redis) -> None:
    redis.bgsave()
    ends = time.monotonic() + 10
    while redis.info("persistence")["rdb_bgsave_in_progress"]:
        assert time.monotonic() < ends


def test_cache_in_the_redis_of_the_broker_is_told_without_its_keys(brokered: Hub, redis: Redis) -> None:
    redis.rpush("erp.filial-sp", "a message")
    redis.hset("unacked", "tag", "message")
    with configured(redis, maxmemory=ROOM):
        assert found(brokered) == {}
        redis.set("session:of-maria-silva", "secret", ex=60)
        with Redis(port=redis.get_connection_kwargs()["port"], db=3) as other:
            other.set("page", "cached")
        (finding,) = found(brokered).values()
    assert finding.id == "redis_shared"
    assert finding.figures["keys"] == 2
    assert "maria" not in str(finding)


def test_redis_of_guards_must_keep_what_it_knows(sqlite_url: str, redis: Redis, redis_url: str) -> None:
    hub = hub_on(sqlite_url, redis_url=redis_url)
    with configured(redis, maxmemory=ROOM):
        assert list(found(hub)) == ["redis_forgets"]
        with configured(redis, save="3600 1"):
            assert found(hub) == {}
    hub.close()


def test_redis_that_is_away_is_told_once_and_the_rest_is_looked_at(sqlite_url: str) -> None:
    hub = hub_on(sqlite_url, broker_url="redis://:hidden@127.0.0.1:1/0")
    hub.enqueue("order.create", account="filial-sp", entity_id="1", payload={"card": {"password": "x"}})
    findings = found(hub)
    assert list(findings) == ["redis_away", "payload_secrets"]
    assert findings["payload_secrets"].figures["fields"] == "card.password"
    assert "hidden" not in str(findings)
    hub.close()


def test_redis_that_never_answers_holds_nobody_up(sqlite_url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hub = hub_on(sqlite_url, broker_url=f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
        began = time.monotonic()
        assert list(found(hub)) == ["redis_away"]
        assert time.monotonic() - began < 5
        hub.close()


def test_handler_that_outlasts_the_visibility_timeout_is_told(brokered: Hub, redis: Redis) -> None:
    brokered.handler("report.build", policy=Policy(timeout=20, writes=False))(_nothing)
    brokered.publish_kinds("test")
    with configured(redis, maxmemory=ROOM):
        assert found(brokered, visibility_timeout=30) == {}
        assert found(brokered, visibility_timeout=10)["visibility"].figures["kind"] == "report.build"


def test_messages_that_nobody_takes_are_a_fault(brokered: Hub, redis: Redis) -> None:
    brokered.enqueue("order.create", account="filial-sp", entity_id="1", payload={})
    broker_figures.take_snapshot(brokered)
    with configured(redis, maxmemory=ROOM):
        assert found(brokered)["queue_unserved"].figures == {"queue": "erp.filial-sp", "number": 1}
        presence.announce(brokered.store, "w", mode="celery", slots=4)
        assert found(brokered) == {}


def test_emptied_broker_is_told_by_the_difference(
    brokered: Hub, redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_checks, "FEW_MESSAGES", 2)
    for number in range(5):
        brokered.enqueue("order.create", account="filial-sp", entity_id=str(number), payload={})
    with configured(redis, maxmemory=ROOM):
        broker_figures.take_snapshot(brokered)
        assert "broker_less" not in found(brokered)
        redis.flushdb()
        broker_figures.take_snapshot(brokered)
        assert found(brokered)["broker_less"].figures == {"broker": 0, "table": 5}


def test_rabbitmq_without_the_queue_or_its_consumer_is_a_fault(sqlite_url: str, rabbit_url: str) -> None:
    prefix = f"t{uuid4().hex[:12]}"
    hub = hub_on(sqlite_url, broker_url=rabbit_url, queue_prefix=prefix)
    queue = f"{prefix}.filial-sp"
    hub.enqueue("order.create", account="filial-sp", entity_id="1", payload={})
    findings = found(hub)
    assert findings["queue_unserved"].figures == {"queue": queue, "number": 1}
    with Connection(rabbit_url) as connection:
        Queue(queue, channel=connection.channel()).delete()
    assert found(hub)["queue_missing"].figures == {"queue": queue, "number": 1}
    hub.close()


def test_rabbitmq_that_is_away_is_told(sqlite_url: str) -> None:
    hub = hub_on(sqlite_url, broker_url="amqp://tests:hidden@127.0.0.1:1//")
    findings = found(hub)
    assert list(findings) == ["broker_away"]
    assert "hidden" not in str(findings)
    hub.close()


def test_postgresql_that_cannot_tidy_up_is_told(
    postgres_url: str, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = hub_on(postgres_url)
    assert found(hub) == {}
    monkeypatch.setattr(database_checks, "LONGEST_TRANSACTION", 0.05)
    with hub.store.write() as connection:
        connection.execute(text("ALTER TABLE dlq_attempt SET (autovacuum_enabled = false)"))
    with hub.store.write() as idle:
        process = idle.execute(text("SELECT pg_backend_pid()")).scalar_one()
        time.sleep(0.1)
        findings = found(hub)
    assert findings["autovacuum_off_table"].figures == {"table": "dlq_attempt"}
    assert findings["long_transaction"].figures["process"] == process
    assert findings["long_transaction"].figures["state"] == "idle in transaction"
    hub.close()


def test_postgresql_that_does_not_keep_up_is_told(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hub = hub_on(postgres_url)
    monkeypatch.setattr(database_checks, "FEW_DEAD", 50)
    snapshots.keep(hub.store, "test", {str(number): number for number in range(100)})
    with hub.store.write() as connection:
        connection.execute(text("ALTER TABLE dlq_snapshot SET (autovacuum_vacuum_threshold = 1000000)"))
        connection.execute(text("DELETE FROM dlq_snapshot WHERE reading = 'test'"))
    # Each session hands in what it has counted a while after it has changed something.
    finding = _awaited(hub, "autovacuum_behind")
    assert finding.figures["table"] == "dlq_snapshot"
    assert int(finding.figures["dead"]) > 50
    assert finding.command == "VACUUM (VERBOSE, ANALYZE) dlq_snapshot;"
    hub.close()


def test_postgresql_that_never_tidies_up_is_a_fault(postgres_url: str) -> None:
    hub = hub_on(postgres_url)
    with hub.store.engines.each_statement().connect() as connection:
        connection.execute(text("ALTER SYSTEM SET autovacuum = off"))
        connection.execute(text("SELECT pg_reload_conf()"))
        try:
            finding = _awaited(hub, "autovacuum_off")
        finally:
            connection.execute(text("ALTER SYSTEM RESET autovacuum"))
            connection.execute(text("SELECT pg_reload_conf()"))
    assert finding.level is Level.FAULT
    assert finding.command == "ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf();"
    hub.close()


def _awaited(hub: Hub, rule: str) -> Finding:
    """What PostgreSQL tells a moment later."""
    ends = time.monotonic() + 30
    while time.monotonic() < ends:
        finding = found(hub).get(rule)
        if finding is not None:
            return finding
    raise AssertionError(f"{rule} was not found.")


def test_postgresql_that_is_frozen_is_one_finding(
    postgres_url: str, postgres_server: PostgresServer, redis: Redis, redis_url: str
) -> None:
    hub = hub_on(postgres_url, broker_url=redis_url)
    assert examine(hub, environ={})
    with postgres_server.paused():
        began = time.monotonic()
        findings = {finding.id for finding in examine(hub, environ={})}
        assert time.monotonic() - began < 8
    assert findings == {"database_away", "redis_no_limit"}
    hub.close()


def test_sqlite_that_cannot_write_ahead_is_a_fault(
    sqlite_url: str, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = sqlite_url.removeprefix("sqlite:///")
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()
    monkeypatch.setattr("dlq_console.store.session.BUSY_TIMEOUT_MS", 100)
    # This way of locking knows no shared memory, as on a network folder.
    store = Store(f"sqlite:///file:{file}?vfs=unix-dotfile&uri=true")
    findings = {one.id: one for one in database_checks.sqlite(Patient(hub, 3600, store, {}))}
    assert findings["sqlite_journal"].figures == {"mode": "delete"}
    assert findings["sqlite_busy"].figures == {"milliseconds": 100}
    store.engines.dispose()


def test_enqueue_inside_a_deferred_transaction_of_sqlite_is_told(hub: Hub, sqlite_url: str) -> None:
    file = sqlite_url.removeprefix("sqlite:///")

    @hub.handler("order.create", policy=Policy(writes=False))
    def create(event: Event) -> None:
        own = sqlite3.connect(file, timeout=30)
        try:
            own.execute("BEGIN")
            own.execute("SELECT count(*) FROM dlq_event").fetchone()
            hub.enqueue("order.read", account="filial-sp", entity_id="between", payload={})
            hub.enqueue("order.read", account="filial-sp", entity_id="in it", payload={}, session=own)
        finally:
            own.close()

    hub.handler("order.read", policy=Policy(writes=False))(_nothing)
    hub.publish_kinds("test")
    assert (
        hub.run(hub.enqueue("order.create", account="filial-sp", entity_id="1", payload={}).id).attempts == 1
    )
    assert found(hub)["sqlite_deferred"].figures == {"kind": "order.create", "number": 1}


def test_missing_and_older_tables_are_told_and_nothing_more_is_asked(tmp_path: Path, hub: Hub) -> None:
    empty = hub_on(f"sqlite:///{tmp_path}/none.db")
    assert list(found(empty)) == ["tables_missing"]
    assert not (tmp_path / "none.db").exists()
    with hub.store.write() as connection:
        connection.execute(text(f"UPDATE {version_table('dlq_')} SET version_num = '0001'"))
    assert list(found(hub)) == ["tables_old"]


def _nothing(_event: Event) -> None:
    return
