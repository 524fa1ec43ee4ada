"""The page of all circuits and that of one: how each stands, by itself and by a person, and what may be done about it."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from unittest.mock import patch

import pytest
from flask import Flask

from dlq_console.clock import utc_now
from dlq_console.errors import StoreUnavailable
from dlq_console.health import spelling
from dlq_console.health.values import Counts, Why, Word
from dlq_console.hub import services
from dlq_console.hub.door_figures import breaker_figures
from dlq_console.hub.doors import circuit
from dlq_console.hub.policy import Policy
from dlq_console.resilience import BulkheadConfig, CircuitBreakerConfig
from dlq_console.resilience.breaker import BREAKERS, BreakerRecord, CircuitState
from dlq_console.resilience.state import Change
from dlq_console.store import snapshots
from dlq_console.store.health_tables import BINS
from dlq_console.web import health_seen, looks
from dlq_console.workers import steps
from tests.store.filling import put
from tests.web.desk import Desk
from tests.web.health_written import account, nobody_looked_for, stand
from tests.web.test_doors import acts
from tests.web.visitor import Tags, Visitor, path_of, read

ONE_FAILURE = CircuitBreakerConfig(failure_threshold=1, recovery_timeout=60)
#: As nasty as a name gets.
ODD = 'filial <b>"são"</b>/%2F & co'


class ServiceError(Exception):
    """What a service answers that is out of order."""


def fail() -> None:
    raise ServiceError


@pytest.fixture
def served(desk: Desk) -> Desk:
    """The circuit of an account that opened by itself, one that is held, one with a failure, and one of a service."""
    for number in range(5):
        desk.failed(str(number), account="filial-rj")
    desk.failed("9", account="filial-sp")
    desk.hub.force_breaker("filial-ce", "closed", actor="joana", note="Inventário")
    with pytest.raises(ServiceError):
        desk.hub.breaker("search", ONE_FAILURE).call(fail)
    desk.hub.bulkhead("search", BulkheadConfig(max_concurrent=4)).run(lambda: None)
    steps.take_snapshot(desk.hub)
    return desk


def names(visitor: Visitor, path: str = "/health/breakers") -> list[str]:
    """The circuits of the list, in its order."""
    answer = visitor.get(path)
    assert answer.status_code == 200
    return [tag["title"] for tag in Tags(answer.text).named("a") if tag.get("class") == "to"]


def test_what_is_open_comes_first_then_what_a_person_holds_then_what_counts_failures(
    served: Desk, maria: Visitor
) -> None:
    assert names(maria) == ["filial-rj", "search", "filial-ce", "filial-sp"]
    text = read(maria.get("/health/breakers").text)
    assert "2 of 4 circuits are open (blocking calls)." in text
    assert "circuit open (blocking calls) since" in text
    assert "5 failures in a row, the last one: TimeoutError" in text
    assert "probe at " in text
    assert "held closed by joana; by itself: circuit closed Inventário until a person resets it" in text
    assert "1/5" in text


def test_the_list_is_narrowed_by_name_and_by_state(served: Desk, maria: Visitor) -> None:
    assert names(maria, "/health/breakers?q=FILIAL&state=open") == ["filial-rj"]
    assert names(maria, "/health/breakers?state=forced") == ["filial-ce"]
    assert names(maria, "/health/breakers?state=half_open") == []
    for wrong in ("state=x", "start=x", "q=" + "x" * 200):
        assert maria.get(f"/health/breakers?{wrong}").status_code == 400


def test_one_circuit_tells_what_it_measures_how_it_is_set_and_what_it_went_through(
    served: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health_seen, "FRESH_FOR", 0.0)
    runs = {f"run{place}": 10 * (place == 3) for place in range(BINS)}
    bucket = utc_now().replace(second=0, microsecond=0) - timedelta(minutes=3)
    put(
        served.hub.store,
        "rollup",
        grain=1,
        account="filial-rj",
        kind="",
        bucket=bucket,
        tried=10,
        failed=4,
        died=1,
        run_max_ms=250,
        **runs,
    )
    put(
        served.hub.store, "rollup", grain=1, account="filial-rj", kind="", bucket=bucket - timedelta(hours=2),
        lost_closed_ms=90_000,
    )  # fmt: skip
    stand(served.hub.store, account("filial-rj", counts=Counts(paused=212)))
    snapshots.keep(served.hub.store, spelling.COUNTS, {})
    nobody_looked_for(served.hub.store, 9)
    text = read(maria.get("/health/breakers/one?name=filial-rj").text)
    for part in (
        "Failures in a row not counted while it is not closed",
        "Last failure TimeoutError",
        "Probes under way 0 of 1",
        "Run time p50 / p95 / p99, last hour 200 ms / 250 ms / 250 ms",
        "Failed or died, last hour 50% of 10 runs",
        "By the circuit none: events wait and spend no attempt",
        "Waited behind its door, last 24 h, all events together 1 min 30 s",
        "last 24 h opened 1 time, open for ",
        "Opens after 5 failures in a row",
        "Open for 2 min",
        "circuit closed → circuit open: 5 failures in a row, the last one: TimeoutError",
    ):
        assert part in text, part
    assert re.search(r"Events that waited behind its door at \d\d:\d\d:\d\d 212", text), text


def test_where_nobody_looks_circuits_stand_as_the_database_has_them_and_only_services_are_unknown(
    served: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health_seen, "FRESH_FOR", 0.0)
    stand(served.hub.store, account("filial-rj", Word.DOWN, Why.CIRCUIT))
    nobody_looked_for(served.hub.store, 75)
    served.hub.clock.advance(150)
    sentence = r"Nobody has looked since \S+, because no worker or scheduler runs\. Circuits of accounts and kinds are read"
    text = read(maria.get("/health/breakers").text)
    assert re.search(sentence, text)
    assert "was so then" not in text
    assert "1 of 4" not in text
    assert names(maria, "/health/breakers?state=half_open") == ["filial-rj"]
    assert names(maria, "/health/breakers?state=unknown") == ["search"]
    one = read(maria.get("/health/breakers/one?name=filial-rj").text)
    assert re.search(sentence, one)
    assert "0 probes under way" in one
    assert not re.search(sentence, read(maria.get("/health/breakers/one?name=search").text))
    found = breaker_figures(*circuit(served.hub.store, "filial-rj"))
    opened_at = found["history"][0]["at"]
    assert (found["state"], found["since"] - opened_at) == ("half_open", timedelta(minutes=2)), (
        "it was open until its time was over"
    )


def test_a_kind_with_a_circuit_of_its_own_shows_how_its_worker_has_set_it(desk: Desk, maria: Visitor) -> None:
    config = CircuitBreakerConfig(failure_threshold=2, recovery_timeout=30)
    desk.failed("1", policy=Policy(max_attempts=9, breaker=config))
    desk.hub.publish_kinds("worker-1")
    (name,) = names(maria)
    assert name == "filial-sp/order.create"
    text = read(maria.get(f"/health/breakers/one?name={name}").text)
    assert "kind order.create of account filial-sp" in text
    assert "Failures in a row 1 of 2" in text
    assert "Open for 30 s" in text


def test_a_service_shows_its_window_and_what_it_refused(served: Desk, maria: Visitor) -> None:
    record = BreakerRecord(state=CircuitState.CLOSED, outcomes="..ffs...")
    served.hub.state.change(BREAKERS, "pay", lambda _known, _now: Change(None, record))
    steps.take_snapshot(served.hub)
    text = read(maria.get("/health/breakers/one?name=pay").text)
    assert "Failed 25% (2; last 1000 calls)" in text
    assert "Slow 12% (1; last 1000 calls)" in text
    assert "Set in the code of its program" in text
    text = read(maria.get("/health/breakers/one?name=search").text)
    assert "No slot was free 0" in text
    assert "Run time not measured: guards keep no times" in text


def test_a_person_holds_and_resets_a_circuit_from_its_page(served: Desk, maria: Visitor) -> None:
    page = "/health/breakers/one?name=filial-sp"
    maria.get(page)
    answer = maria.post(
        "/breakers/force",
        name="filial-sp",
        page="breaker",
        position="open",
        minutes="15",
        note="<b>Migração</b>",
    )
    assert (answer.status_code, path_of(answer)) == (303, page)
    html = maria.get(page).text
    assert "<b>Migração" not in html
    text = read(html)
    assert "Held by maria, since" in text
    assert "By itself circuit closed (normal)" in text
    assert "held open: <b>Migração</b>" in text
    assert ("maria", "forced_open", "filial-sp", "<b>Migração</b>") in acts(served)
    assert maria.post("/breakers/reset", name="filial-sp", page="breaker", note="ok").status_code == 303
    assert "Held by" not in read(maria.get(page).text)
    assert served.hub.breaker("search").stats()["state"] == "open"
    assert maria.post("/breakers/force", name="search", page="breaker", position="closed").status_code == 303
    assert "held closed" in read(maria.get("/health/breakers/one?name=search").text)
    assert maria.post("/breakers/force", name="search", position="ajar").status_code == 400
    assert maria.post("/breakers/force", name="search", position="open", minutes="7").status_code == 400


def test_a_viewer_sees_circuits_and_may_do_nothing_about_them(served: Desk, vera: Visitor) -> None:
    page = vera.get("/health/breakers/one?name=filial-rj").text
    assert not [form for form in Tags(page).named("form") if "/breakers/" in form.get("action", "")]
    assert vera.post("/breakers/force", name="filial-rj", position="open").status_code == 403


def test_a_person_with_some_accounts_sees_only_theirs_and_no_services(app: Flask, served: Desk) -> None:
    rita = Visitor(app).enter(served, "rita", "operator", ["filial-sp", "search"])
    assert names(rita) == ["filial-sp"]
    text = read(rita.get("/health/breakers").text)
    assert "filial-rj" not in text
    assert set(rita.get("/health/breakers", Accept="application/json").get_json()) == {"filial-sp"}
    for name in ("filial-rj", "service:search", "nobody"):
        assert rita.get(f"/health/breakers/one?name={name}").status_code == 404
        assert rita.post("/breakers/force", name=name, position="open").status_code == 404
    assert rita.post("/breakers/force", name="search", position="closed").status_code == 404
    assert rita.post("/breakers/reset", name="search").status_code == 404


def test_names_with_markup_and_unicode_are_text_and_lead_to_their_page(desk: Desk, maria: Visitor) -> None:
    desk.failed("1", account=ODD)
    html = maria.get("/health/breakers").text
    assert "<b>" not in html
    (address,) = [tag["href"] for tag in Tags(html).named("a") if tag.get("class") == "to"]
    page = maria.get(address)
    assert page.status_code == 200
    assert "<b>" not in page.text


def test_a_state_that_is_away_is_said_with_since_when_and_never_shown_as_closed(
    served: Desk, app: Flask, maria: Visitor
) -> None:
    with patch.object(services, "read_figures", side_effect=StoreUnavailable("Redis is away.")):
        steps.take_snapshot(served.hub)
    text = read(maria.get("/health/breakers").text)
    assert "The state that guards share cannot be reached since " in text
    assert "How 1 circuit stands is not known." in text
    assert "not known last known: circuit open" in text
    assert names(maria, "/health/breakers?state=unknown") == ["search"]
    assert names(maria, "/health/breakers?state=closed") == ["filial-ce", "filial-sp"]
    assert "cannot be reached since" in read(maria.get("/health/breakers/one?name=search").text)


def test_a_poll_sends_nothing_that_has_not_changed(served: Desk, maria: Visitor) -> None:
    answer = maria.glance("/_f/health/breakers?state=forced", page="/health/breakers")
    assert answer.status_code == 200
    assert "<html" not in answer.text
    again = maria.get(
        "/_f/health/breakers?state=forced", HX_Request="true", If_None_Match=answer.headers["ETag"]
    )
    assert again.status_code == 304
    assert maria.get("/_f/health/breakers").status_code == 404


def test_a_thousand_circuits_are_read_once_for_all_who_look_and_fit_a_page(
    desk: Desk, app: Flask, maria: Visitor
) -> None:
    for number in range(1_000):
        put(
            desk.hub.store,
            "scope",
            type="account",
            name=f"filial-{number:04d}",
            account=f"filial-{number:04d}",
            circuit=json.dumps({"failures": 1 + number % 4}),
            created_at=utc_now(),
            updated_at=utc_now(),
        )
    answer = maria.get("/health/breakers?start=950")
    assert len(answer.data) < 60_000
    assert len(names(maria, "/health/breakers?start=950")) == 50
    with patch("dlq_console.web.breakers.circuits", side_effect=AssertionError("asked again")):
        assert maria.get("/health/breakers").status_code == 200
    with app.app_context():
        looks.forget()


def test_a_browser_without_a_session_is_sent_to_the_log_in_and_a_program_gets_a_problem(app: Flask) -> None:
    client = app.test_client()
    browser = client.get("/health/breakers", headers={"Accept": "text/html,*/*;q=0.8"})
    assert browser.status_code == 303
    assert client.get("/health/breakers", headers={"Accept": "application/json"}).status_code == 401
