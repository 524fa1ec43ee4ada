"""What do the pages of health say on bad days? Clocks that differ, places that are away one by one, odd names, crowds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from flask import Flask

from dlq_console.app import create_app
from dlq_console.clock import utc_now
from dlq_console.health.values import Closing, Counts, Why, Word
from dlq_console.resilience import CircuitBreakerConfig
from dlq_console.store import embeds, presence
from dlq_console.store.store import Store
from dlq_console.web import display, health_seen
from dlq_console.workers import steps
from tests.store.filling import fill, put
from tests.web.desk import Desk
from tests.web.health_written import account, blocked, stand
from tests.web.test_embeds import frame
from tests.web.visitor import Visitor, read

#: Pages of health that say how things stand now, and all that people open.
LIVE = (
    "/health",
    "/health/accounts/filial-rj",
    "/health/breakers",
    "/health/breakers/one?name=filial-rj",
    "/health/bulkheads",
    "/health/workers",
)
PAGES = (*LIVE, "/health/lag?account=filial-rj&range=1h", "/health/doctor")
#: Where nobody listens.
NOWHERE = "redis://127.0.0.1:1/0"
#: As odd as the name of an account may be.
ODD = '<img src=x onerror="alert(1)">' + "São 東京 " * 12
ONE_FAILURE = CircuitBreakerConfig(failure_threshold=1, recovery_timeout=60)


@pytest.fixture(autouse=True)
def always_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written down is seen at once."""
    monkeypatch.setattr(health_seen, "FRESH_FOR", 0.0)


def _at_work(desk: Desk) -> None:
    """An account whose circuit has just opened, with a worker that was heard of just now."""
    for number in range(5):
        desk.failed(f"w{number}", account="filial-rj")
    presence.announce(desk.hub.store, "host-1:7:aaaa", mode="table", slots=4)
    now = utc_now()
    closing = Closing(cause="circuit", since=now, until=now + timedelta(minutes=2))
    counts = Counts(paused=5, oldest_due_at=now - timedelta(seconds=3))
    stand(
        desk.hub.store,
        account(
            "filial-rj", Word.DOWN, Why.CIRCUIT, closing=closing, counts=counts, circuit="open", since=now
        ),
    )


# Clocks


@pytest.mark.parametrize("minutes", [-10, 10])
def test_on_a_host_whose_clock_is_ten_minutes_wrong_pages_tell_times_as_of_the_database(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch, minutes: int
) -> None:
    _at_work(desk)
    monkeypatch.setattr(display, "utc_now", lambda: utc_now() + timedelta(minutes=minutes))
    for path in LIVE:
        text = read(maria.get(path).text)
        assert re.findall(r"in \d+ min|\d+ min ago|-\d+ (?:s|min)\b", text) in (
            [],
            ["in 1 min"],
        ), path
    assert re.search(r"heard (?:now|\d+ s ago)", read(maria.get("/health/workers").text))
    assert re.search(r"probe at .*?, in (?:\d+ s|1 min)", read(maria.get("/health/breakers").text))
    said = read(maria.get("/health/accounts/filial-rj").text)
    assert re.search(r"5 events wait, the oldest for \d+ s", said)


def test_a_worker_tells_no_time_of_its_own(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("dlq_console.clock", "dlq_console.hub.execution"):
        monkeypatch.setattr(f"{module}.utc_now", lambda: utc_now() + timedelta(minutes=10), raising=False)
    _at_work(desk)
    with desk.hub.store.read() as connection:
        tables = desk.hub.store.tables
        (worker,) = connection.execute(tables.worker.select()).mappings().all()
        ends = [row["ended_at"] for row in connection.execute(tables.attempt.select()).mappings()]
    told = [worker["heartbeat_at"], worker["started_at"], *ends]
    assert len(told) == 7
    assert all(abs((moment - utc_now()).total_seconds()) < 60 for moment in told)


# Places that are away


def _everybody(database_url: str, **settings: str) -> tuple[Desk, Visitor]:
    """A console with other settings, and somebody who looks at it."""
    desk = Desk(database_url, **settings)
    desk.hub.migrate()
    return desk, Visitor(create_app(desk.hub)).enter(desk, "joana", "operator")


def test_without_redis_every_page_is_there_and_what_guards_keep_is_said_to_be_unknown(
    sqlite_url: str,
) -> None:
    desk, joana = _everybody(sqlite_url, redis_url=NOWHERE)
    _at_work(desk)
    steps.take_snapshot(desk.hub)
    for path in PAGES:
        assert joana.get(path).status_code == 200, path
    for path in ("/health/breakers", "/health/bulkheads"):
        text = read(joana.get(path).text)
        assert "The state that guards share cannot be reached since" in text, path
    assert "circuit open (blocking calls)" in read(joana.get("/health/breakers").text), (
        "the hub's own are known"
    )
    desk.hub.close()


def test_without_a_broker_every_page_is_there_the_doctor_says_so_and_a_click_is_taken(
    sqlite_url: str,
) -> None:
    desk, joana = _everybody(sqlite_url, broker_url=NOWHERE)
    dead = fill(desk.hub.store, [{"status": "dead", "account": "filial-rj"}])[0]
    stand(desk.hub.store, account("filial-rj", Word.DEGRADED, Why.DEAD_LETTERS, counts=Counts(dead=1)))
    steps.read_broker(desk.hub)
    for path in PAGES:
        assert joana.get(path).status_code == 200, path
    said = read(joana.get("/health/doctor").text)
    assert "The broker could not be asked yet." in said or "The broker does not answer since" in said
    joana.get(f"/events/{dead}")
    assert joana.post(f"/events/{dead}/reprocess").status_code == 303
    assert desk.hub.get(dead).status == "pending"
    desk.hub.close()


@contextmanager
def _taken_away(store: Store) -> Iterator[None]:
    """The file of the database is not where it was."""
    file = Path(str(store.engines.read().url.database))
    store.engines.dispose()
    file.rename(file.with_suffix(".away"))
    try:
        yield
    finally:
        store.engines.dispose()
        file.unlink(missing_ok=True)
        file.with_suffix(".away").rename(file)


def test_without_the_database_each_page_says_so_or_how_old_it_is_and_comes_back(
    desk: Desk, maria: Visitor
) -> None:
    _at_work(desk)
    for path in PAGES:
        assert maria.get(path).status_code == 200, path
    with _taken_away(desk.hub.store):
        for path in PAGES:
            answer = maria.get(path)
            text = read(answer.text)
            assert answer.status_code in (200, 503), (path, answer.status_code)
            assert "cannot be reached" in text or answer.status_code == 503, path
            if answer.status_code == 503:
                assert answer.headers["Retry-After"]
                assert "database" in text, path
            assert "Traceback" not in text
            assert str(desk.hub.store.engines.read().url.database) not in text
        assert maria.get("/healthz").status_code == 200
        assert maria.get("/readyz").status_code == 503
    for path in PAGES:
        assert maria.get(path).status_code == 200, path


# Names


def test_a_long_and_odd_name_is_text_on_every_page_and_in_every_figure(
    app: Flask, desk: Desk, maria: Visitor
) -> None:
    name = ODD[:120].strip()
    for number in range(5):
        desk.failed(f"w{number}", account=name)
    put(
        desk.hub.store,
        "rollup",
        grain=1,
        account=name,
        kind="",
        bucket=utc_now() - timedelta(minutes=2),
        done=1,
    )
    stand(desk.hub.store, blocked(name))
    known = embeds.add(desk.hub.store, "Portal", accounts=[name, "filial-rj"], origins=["https://a.example"])
    query = {"account": name, "name": name, "q": name[:60]}
    answers = [
        maria.client.get(path, query_string=query, headers={"Accept-Language": "en"})
        for path in ("/health", "/health/accounts", "/health/breakers", "/health/breakers/one", "/health/lag")
    ]
    answers += [maria.get("/health/bulkheads"), frame(app, known)]
    for answer in answers:
        assert answer.status_code == 200, answer.request.path
        assert "<img src=x" not in answer.text, answer.request.path
        assert "São" in answer.text, answer.request.path
    query |= {"range": "1h"}
    found = maria.client.get(
        "/health/series.json", query_string=query, headers={"Accept-Language": "en"}
    ).get_json()
    assert any("circuit open" in span["word"] for span in found["spans"])
    (line,) = [
        one
        for one in app.test_client().get("/metrics").text.splitlines()
        if one.startswith("dlq_console_dead_letters{") and "São" in one
    ]
    assert '\\"alert(1)\\"' in line
    assert maria.get(f"/health/accounts/{'x' * 200}").status_code == 404


# Crowds


def test_pages_over_five_thousand_accounts_are_bounded(desk: Desk, maria: Visitor) -> None:
    store = desk.hub.store
    names = [f"loja-{number:04}" for number in range(5_000)]
    fill(store, [{"status": "failed", "account": name} for name in names])
    stand(store, *(account(name, counts=Counts(due=1, oldest_due_at=utc_now())) for name in names))
    for number in range(120):
        presence.announce(store, f"host-{number}:1:x", mode="table", slots=4, accounts=names[:200])
    for path in (
        "/health",
        "/health/breakers",
        "/health/bulkheads",
        "/health/workers",
        "/health/lag",
        "/health/doctor",
    ):
        answer = maria.get(path)
        assert answer.status_code == 200
        assert len(answer.data) < 120_000, (path, len(answer.data))
        assert answer.text.count("<tr") <= 250, path
