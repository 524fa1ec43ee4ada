"""Does an old database, restored by the commands of the how-to, run what is due in it and nothing else?"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import make_url

from dlq_console import Hub
from dlq_console.hub.dispatch import Message
from dlq_console.settings import read_settings
from dlq_console.store import claims
from dlq_console.store.store import Store
from dlq_console.workers import steps
from tests.deploy import ledger
from tests.services.postgres import PostgresServer, find_postgres
from tests.services.process import PROJECT_ROOT, Child, StartChild, wait_until
from tests.services.redis import RedisServer
from tests.store.making import add

HOW_TO = (PROJECT_ROOT / "docs" / "how-to" / "backup.md").read_text()
ACCOUNT = "filial-sp"
#: Seconds in which anything must have happened on a busy machine.
SOON = 60


def _command(program: str) -> list[str]:
    """The one line of the how-to that begins with this program; variables stay as they are."""
    (line,) = re.findall(rf"^ *({program} .*)$", HOW_TO, re.MULTILINE)
    return shlex.split(line)


class Ledger:
    """What the outside system was told: a line for each call."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.touch()

    def enqueue(self, hub: Hub, kind: str, number: str) -> int:
        """Put an event in whose handler tells this ledger."""
        payload = {"ledger": str(self.path)}
        return hub.enqueue(kind, account=ACCOUNT, entity_id=number, payload=payload).id

    def calls(self) -> Counter[str]:
        """How often each number was sent."""
        return Counter(line.split()[0] for line in self.path.read_text().splitlines())

    def keys(self, number: str) -> set[str]:
        """The effect keys under which a number was sent."""
        lines = (line.split() for line in self.path.read_text().splitlines())
        return {key for sent, key in lines if sent == number}


def _hub(database_url: str, broker_url: str = "") -> Hub:
    """A hub with the handlers that send to the ledger."""
    hub = Hub(read_settings(database_url=database_url, broker_url=broker_url))
    hub.handler("send")(ledger.send)
    hub.handler("refused")(ledger.refused)
    return hub


def test_postgresql_restored_beside_a_broker_that_knows_more(
    postgres_url: str,
    postgres_server: PostgresServer,
    redis_server: RedisServer,
    redis_url: str,
    start_child: StartChild,
    tmp_path: Path,
) -> None:
    sent = Ledger(tmp_path / "ledger")
    hub = _hub(postgres_url, redis_url)
    done, dead = sent.enqueue(hub, "send", "done"), sent.enqueue(hub, "refused", "dead")
    hub.run_due()
    open_ = sent.enqueue(hub, "send", "open")
    _run_postgres_program("pg_dump", postgres_server, str(make_url(postgres_url).database))
    hub.run_due()
    assert [hub.get(id_).status for id_ in (done, dead, open_)] == ["done", "dead", "done"]

    # Those messages have all been delivered. Still in the broker: a reprocess, an event and a second attempt of which
    # the backup knows nothing.
    redis_server.flush()
    reprocessed = hub.reprocess(dead, actor="maria").lease_epoch
    assert steps.relay(hub) == 1
    lost = sent.enqueue(hub, "send", "lost")
    assert hub.publisher.publish([Message(open_, 1, hub.store.queue(ACCOUNT), 30)]) == [open_]
    hub.close()

    name = _command("createdb")[1]
    with postgres_server.connect() as connection:
        connection.execute(f"CREATE DATABASE {name}")
    _run_postgres_program("pg_restore", postgres_server, name)
    restored = _hub(postgres_server.url(name), redis_url)
    assert restored.get(dead).lease_epoch < reprocessed
    worker = _start_worker(restored, start_child)
    _wait_until_delivered(redis_server)
    # Nothing was run because of what the broker knew.
    assert [restored.get(id_).status for id_ in (done, dead, open_)] == ["done", "dead", "pending"]
    assert sent.calls() == {"done": 1, "open": 1}
    # What is due runs: again, where the backup does not know that it was done, and recognisable as a repeat.
    wait_until(lambda: steps.relay(restored) == 1, SOON, "the relay to send what is due")
    wait_until(lambda: restored.get(open_).status == "done", SOON, "the open event to be done again")
    assert sent.enqueue(restored, "send", "new") == lost
    wait_until(lambda: restored.get(lost).status == "done", SOON, "the new event to be done")
    assert sent.calls() == {"done": 1, "open": 2, "new": 1}
    assert len(sent.keys("open")) == 1
    assert restored.get(dead).status == "dead"
    assert worker.stop(timeout=SOON) == 0
    restored.close()
    postgres_server.drop_database(name)


def _start_worker(hub: Hub, start_child: StartChild) -> Child:
    """A Celery worker that is woken by messages alone."""
    worker = start_child(
        [sys.executable, "-m", "dlq_console", "worker", "--concurrency", "1", "--no-scheduler"],
        env={
            "DLQ_DATABASE_URL": hub.settings.database_url,
            "DLQ_BROKER_URL": hub.settings.broker_url,
            "DLQ_APP": "tests.deploy.ledger:hub",
        },
    )
    worker.wait_for_line(r"worker \S+ runs \d+ events at once", timeout=SOON)
    return worker


def _run_postgres_program(program: str, server: PostgresServer, database: str) -> None:
    """Run a command of the how-to in the test's own folder."""
    words = [word.replace("$DATABASE", database) for word in _command(program)]
    address = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "postgres"}
    subprocess.run([find_postgres() / program, *words[1:]], env=os.environ | address, check=True)


def _wait_until_delivered(redis_server: RedisServer) -> None:
    """Wait until every message has been taken and acknowledged."""
    with redis_server.client() as client:
        wait_until(
            lambda: client.llen(f"erp.{ACCOUNT}") == 0 and client.hlen("unacked") == 0,
            SOON,
            "the queue to be empty",
        )


def test_sqlite_backed_up_while_in_use_and_restored(sqlite_url: str, tmp_path: Path) -> None:
    sent = Ledger(tmp_path / "ledger")
    hub = _hub(sqlite_url)
    done = sent.enqueue(hub, "send", "done")
    hub.run_due()
    open_ = sent.enqueue(hub, "send", "open")
    # The how-to names the file as it is called by default; here it is still open, with a log beside it.
    Path("dlq-console.db").symlink_to(str(make_url(sqlite_url).database))
    _python, *arguments = _command("python")
    subprocess.run([sys.executable, *arguments], check=True)
    hub.run_due()
    assert hub.get(open_).status == "done"
    hub.close()

    _cp, source, target = _command("cp")
    shutil.copy(source, target)
    restored = _hub(f"sqlite:///{tmp_path / target}")
    assert [restored.get(id_).status for id_ in (done, open_)] == ["done", "pending"]
    restored.run_due()
    assert sent.calls() == {"done": 1, "open": 2}
    assert len(sent.keys("open")) == 1
    restored.close()


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    store = Store(database_url)
    yield store
    store.engines.dispose()


@pytest.mark.parametrize("another", [0, 2], ids=["older", "newer"])
def test_a_message_of_another_epoch_claims_nothing(store: Store, another: int) -> None:
    id_ = add(store).id
    with store.write() as connection:
        connection.execute(store.statement("UPDATE {event} SET lease_epoch = 1 WHERE id = :id"), {"id": id_})
    assert claims.claim_one(store, id_, worker="w", epoch=another) is None
    claimed = claims.claim_one(store, id_, worker="w", epoch=1)
    assert claimed is not None
    assert (claimed.lease_epoch, claimed.attempts) == (2, 1)
