"""Slots and limits of providers, workers and steps: what is in use, by whom, and what is said aloud."""

from __future__ import annotations

from datetime import timedelta
from importlib.metadata import version
from unittest.mock import patch

import pytest
from flask import Flask
from sqlalchemy import update

from dlq_console.clock import utc_now
from dlq_console.errors import StoreUnavailable
from dlq_console.health import spelling
from dlq_console.health.values import AccountHealth, Counts, Health, Why, Word
from dlq_console.hub import services
from dlq_console.hub.policy import Policy
from dlq_console.resilience import BulkheadConfig
from dlq_console.store import claims, leases, people, presence, scopes, snapshots
from dlq_console.web import health_seen, looks
from dlq_console.workers import steps
from tests.store.filling import put
from tests.web.desk import Desk
from tests.web.health_written import nobody_looked_for, stand
from tests.web.visitor import Tags, Visitor, read

WORKER = "host-a:11:aaaa"
ODD = 'filial <i>"São"</i>'


@pytest.fixture
def busy(desk: Desk) -> Desk:
    """A worker with four slots that runs four events, three of them of an account that may run three."""
    presence.announce(desk.hub.store, WORKER, mode="table", slots=4)
    scopes.limit_account(desk.hub.store, ODD, 3)
    for number in range(3):
        desk.add(f"{number}", account=ODD)
    desk.add("9", account="filial-sp")
    taken = [claims.claim_any(desk.hub.store, worker=WORKER, limit=4) for _ in range(2)]
    assert sum(map(len, taken)) == 4
    account = AccountHealth(
        account=ODD, word=Word.OK, since=utc_now(), why=Why.FINE, counts=Counts(due=7, running=3)
    )
    health = Health(accounts=(account,))
    snapshots.keep(desk.hub.store, spelling.ACCOUNTS, spelling.account_values(health))
    snapshots.keep(desk.hub.store, spelling.WORKERS, {})
    return desk


def rows(visitor: Visitor, path: str) -> str:
    """The text of a page."""
    answer = visitor.get(path)
    assert answer.status_code == 200
    return read(answer.text)


def test_what_is_nearly_full_comes_first_and_says_so_in_words_with_its_oldest_event(
    busy: Desk, maria: Visitor
) -> None:
    html = maria.get("/health/bulkheads").text
    assert "<i>" not in html
    text = read(html)
    assert f"{ODD} has 3 of 3 slots in use." in text
    assert "3 of 3 slots in use ▲ 3/3 more than 80% in use 0 7 order.create 0 for 0 s" in text
    assert text.index(f"{ODD} account, limit set") < text.index("filial-sp account")
    assert "1 of 3 slots in use 1/3 2 – order.create 9" in text
    event = next(tag["href"] for tag in Tags(html).named("a") if tag.get("href", "").startswith("/events/"))
    assert maria.get(event).status_code == 200


def test_where_nobody_looks_any_more_the_page_says_so_and_what_of_it_is_known(
    busy: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health_seen, "FRESH_FOR", 0.0)
    nobody_looked_for(busy.hub.store, 12)
    for path, told in (
        ("/health/bulkheads", "Nobody has looked since "),
        ("/health/breakers", "Nobody has looked since "),
        ("/health/lag", "Not known since "),
    ):
        html = maria.get(path).text
        assert told in read(html)
        assert ("was so then" in read(html)) == (path == "/health/lag"), "what is read now is no memory"
        assert "standing doubtful" in html
        (line,) = [tag for tag in Tags(html).named("p") if tag.get("id") == "fresh"]
        assert float(line["data-age"]) > 10
        assert "Slots are free everywhere" not in html
        assert "every call goes through" not in html
    assert "more than 80% in use 0 – not known order.create 0" in rows(maria, "/health/bulkheads")
    poll = maria.glance("/_f/health/bulkheads", page="/health/bulkheads")
    assert float(poll.headers["Seen-Age"]) > 10


def test_without_a_worker_that_serves_an_account_it_has_no_slots(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health_seen, "FRESH_FOR", 0.0)
    presence.announce(desk.hub.store, WORKER, mode="table", slots=4, accounts=["filial-sp"])
    scopes.limit_account(desk.hub.store, "filial-rj", 3)
    waits = AccountHealth(
        account="filial-sp", word=Word.OK, since=utc_now(), why=Why.FINE, counts=Counts(due=2, paused=5)
    )
    stand(desk.hub.store, waits)
    text = rows(maria, "/health/bulkheads")
    assert "filial-rj account, limit set 0 in use, no worker 0/– no worker – –" in text
    assert "0 of 3 slots in use 0/3 3 7 –" in text, "paused events wait as well"


def test_services_stand_beside_accounts_with_what_they_refused_and_say_when_redis_is_away(
    busy: Desk, app: Flask, maria: Visitor
) -> None:
    busy.hub.bulkhead("search", BulkheadConfig(max_concurrent=4)).run(lambda: None)
    steps.take_snapshot(busy.hub)
    assert "0 of 4 slots in use 0/4 4 0 – full: 0 · waited in vain: 0 · overran: 0" in rows(
        maria, "/health/bulkheads?q=SEARCH"
    )
    with patch.object(services, "read_figures", side_effect=StoreUnavailable("Redis is away.")):
        steps.take_snapshot(busy.hub)
    with app.app_context():
        looks.forget()
    text = rows(maria, "/health/bulkheads?q=search")
    assert "cannot be reached since" in text
    assert "as it was last" in text


def test_a_person_with_some_accounts_sees_only_their_slots_limits_and_events(app: Flask, busy: Desk) -> None:
    busy.hub.bulkhead("search", BulkheadConfig(max_concurrent=4)).run(lambda: None)
    steps.take_snapshot(busy.hub)
    rita = Visitor(app).enter(busy, "rita", "operator", ["filial-sp"])
    text = rows(rita, "/health/bulkheads")
    assert "filial-sp" in text
    assert "São" not in text
    assert "search service" not in text
    text = rows(rita, "/health/workers")
    assert "order.create 9" in text
    assert "São" not in text
    assert "1 worker is alive and uses 1 of 4 slots." in text
    token = people.add_token(busy.hub.store, "reader", role="viewer", accounts=["filial-sp"])
    told = app.test_client().get("/api/v1/workers", headers={"Authorization": f"Bearer {token}"}).get_json()
    assert [one["account"] for one in told["items"][0]["running"]] == ["filial-sp"]


def test_limits_of_providers_tell_how_much_of_rate_and_error_budget_is_used(
    desk: Desk, maria: Visitor
) -> None:
    policy = Policy(provider="omie", max_attempts=9)
    for number in range(2):
        desk.failed(str(number), kind="order.omie", policy=policy)
        desk.hub.publish_kinds("worker-1")
    minute = utc_now().replace(second=0, microsecond=0) - timedelta(minutes=1)
    put(desk.hub.store, "rollup", grain=1, account="filial-sp", kind="order.omie", bucket=minute, tried=190)
    text = rows(maria, "/health/bulkheads")
    assert "What providers allow" in text
    assert "order.omie · omie 190 of 240 calls a minute 190/240" in text
    assert "0 of 9 failing answers 0/9 in 30 min; 2 kept for new events" in text


def test_workers_say_what_they_run_which_are_silent_and_which_are_of_another_version(
    busy: Desk, maria: Visitor
) -> None:
    store = busy.hub.store
    presence.announce(store, "host-b:22:bbbb", mode="celery", slots=8, accounts=["filial-rj"])
    presence.announce(store, "host-c:33:cccc", mode="table", slots=2)
    worker = store.tables.worker
    with store.write() as connection:
        old = utc_now() - timedelta(minutes=9)
        connection.execute(update(worker).where(worker.c.id == "host-c:33:cccc").values(heartbeat_at=old))
        connection.execute(update(worker).where(worker.c.id == "host-b:22:bbbb").values(version="9.9.9"))
    busy.change(1, lease_until=utc_now() - timedelta(seconds=9))
    html = maria.get("/health/workers").text
    assert "<i>" not in html
    text = read(html)
    assert "2 workers are alive and use 4 of 12 slots. 1 has not been heard of for a while." in text
    assert "Workers of different versions are alive: " in text
    assert f"version {version('dlq-console')}, others differ" in text, "the older of two is marked"
    assert "past its lease" in text
    assert "silent heard 9 min ago" in text
    assert f"order.create 0 {ODD}" in text


def test_it_is_said_aloud_when_nobody_runs_the_periodic_steps(desk: Desk, app: Flask, maria: Visitor) -> None:
    assert "Nobody has ever run the periodic steps" in rows(maria, "/health/workers")
    leases.take(desk.hub.store, "relay", "host-a:1:x", 5)
    leases.report(desk.hub.store, "relay", "host-a:1:x", "KeyError: <b>x</b>")
    with app.app_context():
        looks.forget()
        text = rows(maria, "/health/workers")
        assert "The periodic steps run; 1 failed when it ran last." in text
        assert "failed KeyError: <b>x</b>" in text
        step = desk.hub.store.tables.step
        with desk.hub.store.write() as connection:
            connection.execute(update(step).values(last_run_at=utc_now() - timedelta(minutes=4)))
        looks.forget()
        assert "Nobody has run the periodic steps for 4 min" in rows(maria, "/health/workers")
