"""Closed accounts and circuits: by what, until when, and what a person may do about it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from flask import Flask
from flask_babel import force_locale

from dlq_console.errors import RateLimited
from dlq_console.hub.policy import Policy
from dlq_console.store import queries, scopes
from dlq_console.watch import looking
from dlq_console.web.waiting import waiting
from tests.web.desk import Desk
from tests.web.refusals import refusal
from tests.web.visitor import Tags, Visitor, path_of, read

ONCE_MORE = Policy(max_attempts=3, base_delay=30, jitter=0)


def refused_log_in(desk: Desk, entity: str = "1", account: str = "filial-rj") -> int:
    """An event whose log-in was refused twice, which pauses its account."""
    desk.answers[entity] = refusal(401, {"error": "invalid_client"})
    event_id = desk.add(entity, account=account, policy=ONCE_MORE)
    for _ in range(3):
        if desk.hub.run(event_id).status == "dead":
            break
        desk.hub.clock.advance(5)
    assert desk.hub.get(event_id).reason == "auth"
    return event_id


def acts(desk: Desk) -> list[tuple[str, str, str | None, str | None]]:
    with desk.hub.store.read() as connection:
        rows = connection.execute(desk.hub.store.tables.audit.select()).mappings().all()
    return [(row["actor"], row["action"], row["subject"], row["note"]) for row in rows]


@pytest.fixture
def closed(desk: Desk) -> Desk:
    """A door closed by each cause."""
    refused_log_in(desk)
    desk.hub.pause_account("filial-ce", actor="joana", note="Inventory until three")
    desk.hub.force_breaker("filial-pe", "open", actor="joana", note="ERP under repair")
    desk.answers["2"] = RateLimited(900, message="Limite atingido")
    desk.hub.run(desk.add("2", account="filial-sp"))
    return desk


def test_the_overview_tells_closed_doors_by_cause_and_those_that_need_a_person_first(
    closed: Desk, maria: Visitor
) -> None:
    text = read(maria.get("/").text)
    assert "filial-rj is paused, because the ERP refused its log-in: resume it." in text
    assert "3 accounts or calls are closed for now." in text
    rows = text[text.index("Closed for now") : text.index("By account")]
    order = [
        "log-in refused filial-rj",
        "paused filial-ce Inventory until three until a person resumes it by joana",
        "circuit open (blocking calls) filial-pe ERP under repair until a person resets it by joana",
        "provider block filial-sp Limite atingido until ",
    ]
    places = [rows.index(part) for part in order]
    assert places == sorted(places)


def test_the_page_after_a_click_tells_what_came_of_it_whatever_process_answers(
    desk: Desk, maria: Visitor
) -> None:
    desk.add("1", account="filial-rj")
    looking.count(desk.hub)
    looking.look(desk.hub)
    page = "/health/accounts/filial-rj"
    steps = [
        ("/accounts/pause", {"account": "filial-rj"}, "maria paused it"),
        ("/accounts/resume", {"account": "filial-rj"}, "Nothing waits longer than it should."),
        ("/breakers/force", {"name": "filial-rj", "position": "open"}, "maria holds its circuit open."),
        ("/breakers/reset", {"name": "filial-rj"}, "Nothing waits longer than it should."),
    ]
    for address, form, told in steps:
        maria.get(page)
        assert maria.post(address, page="health", **form).status_code == 303
        own, every = (read(maria.get(path).text) for path in (page, "/health"))
        assert told in own, address
        assert told in every, address
        assert ("blocked" in every, "down" in every) == (address.endswith("pause"), address.endswith("force"))


def test_an_event_behind_a_refused_log_in_says_why_and_offers_to_resume_the_account(
    desk: Desk, maria: Visitor
) -> None:
    refused_log_in(desk)
    waiting = desk.add("2", account="filial-rj")
    event = desk.hub.get(waiting)
    assert (event.waiting_for, event.waiting_until) == ("account_closed", None)
    assert (event.waiting_cause, event.waiting_by) == ("auth", "hub")
    text = read(maria.get(f"/events/{waiting}").text)
    assert (
        "Waiting for: account paused until a person resumes it, because the ERP refused the log-in. No attempt is spent."
        in text
    )
    answer = maria.htmx(
        "/accounts/resume", page=f"/events/{waiting}", account="filial-rj", event=str(waiting)
    )
    assert answer.status_code == 200
    assert json.loads(answer.headers["HX-Trigger"]) == {"announce": {"text": "filial-rj goes on."}}
    assert "Resume account" not in answer.text
    assert desk.hub.get(waiting).waiting_for == "no_worker"
    assert ("maria", "resume_account", "filial-rj", None) in acts(desk)


def test_the_event_that_met_the_refused_log_in_offers_it_too_while_the_account_is_paused(
    desk: Desk, maria: Visitor
) -> None:
    event_id = refused_log_in(desk)
    assert "Resume account" in read(maria.get(f"/events/{event_id}").text)
    desk.hub.resume_account("filial-rj", actor="joana")
    assert "Resume account" not in read(maria.get(f"/events/{event_id}").text)


def test_a_pause_by_a_person_is_told_with_who_and_why(desk: Desk, maria: Visitor) -> None:
    until = datetime.now(UTC) + timedelta(hours=1)
    desk.hub.pause_account("filial-sp", actor="joana", note="Inventory", until=until)
    text = read(maria.get(f"/events/{desk.add('1')}").text)
    assert "Waiting for: account paused by joana until " in text
    assert "Note: Inventory" in text


def test_a_circuit_held_open_is_told_with_who_holds_it(desk: Desk, maria: Visitor) -> None:
    desk.hub.force_breaker("filial-sp", "open", actor="joana", note="Repair")
    text = read(maria.get(f"/events/{desk.add('1')}").text)
    assert "Waiting for: circuit held open by joana until a person resets it. No attempt is spent." in text
    assert "Note: Repair" in text


def test_without_script_pause_and_resume_lead_back_to_the_overview(desk: Desk, maria: Visitor) -> None:
    desk.dead("1")
    maria.get("/")
    answer = maria.post("/accounts/pause", account="filial-sp", minutes="60", note="Inventory")
    assert (answer.status_code, path_of(answer)) == (303, "/")
    (door,) = queries.closed_doors(desk.hub.store)
    assert (door.name, door.cause, door.by, door.reason) == ("filial-sp", "pause", "maria", "Inventory")
    assert door.until is not None
    answer = maria.post("/accounts/resume", account="filial-sp", note="Done")
    assert (answer.status_code, path_of(answer)) == (303, "/")
    assert queries.closed_doors(desk.hub.store) == ()
    assert [act for act in acts(desk) if act[0] == "maria"] == [
        ("maria", "pause_account", "filial-sp", "Inventory"),
        ("maria", "resume_account", "filial-sp", "Done"),
    ]


def test_htmx_gets_the_doors_and_the_sentence_as_they_are_now(desk: Desk, maria: Visitor) -> None:
    desk.dead("1")
    maria.get("/")
    answer = maria.htmx("/accounts/pause", page="/", account="filial-sp", minutes="0")
    assert answer.status_code == 200
    assert "<html" not in answer.text
    ids = {tag.get("id") for _, tag in Tags(answer.text).found}
    assert {"doors", "answer"} <= ids
    assert "filial-sp is closed until a person opens it." in read(answer.text)


def test_a_circuit_is_closed_from_the_overview(closed: Desk, maria: Visitor) -> None:
    maria.get("/")
    assert maria.post("/breakers/reset", name="filial-pe", note="Repaired").status_code == 303
    assert "filial-pe" not in {door.name for door in queries.closed_doors(closed.hub.store)}
    assert ("maria", "reset_breaker", "filial-pe", "Repaired") in acts(closed)
    assert maria.post("/breakers/reset", name="nobody").status_code == 404


def test_resuming_what_is_not_paused_is_refused_in_words(desk: Desk, maria: Visitor) -> None:
    desk.dead("1")
    maria.get("/")
    answer = maria.post("/accounts/resume", account="filial-sp")
    assert answer.status_code == 409
    assert "filial-sp is not paused any more." in read(answer.text)


@pytest.mark.parametrize("minutes", ["-1", "7", "x", "1e3"])
def test_a_pause_of_another_length_than_offered_is_refused(desk: Desk, maria: Visitor, minutes: str) -> None:
    maria.get("/")
    assert maria.post("/accounts/pause", account="filial-sp", minutes=minutes).status_code == 400
    assert queries.closed_doors(desk.hub.store) == ()


def test_a_viewer_sees_the_doors_and_may_do_nothing_about_them(closed: Desk, vera: Visitor) -> None:
    page = vera.get("/").text
    assert "paused filial-ce" in read(page)
    assert not [
        form for form in Tags(page).named("form") if form.get("action", "").startswith(("/acc", "/brea"))
    ]
    before = acts(closed)
    for path, form in (
        ("/accounts/pause", {"account": "filial-sp"}),
        ("/accounts/resume", {"account": "filial-ce"}),
        ("/breakers/reset", {"name": "filial-pe"}),
    ):
        assert vera.post(path, **form).status_code == 403
    assert acts(closed) == before
    waiting = closed.add("8", account="filial-ce")
    assert "Resume account" not in vera.get(f"/events/{waiting}").text


def test_without_the_token_of_a_form_nothing_is_done(closed: Desk, maria: Visitor) -> None:
    maria.token = "wrong"
    assert maria.post("/accounts/resume", account="filial-ce").status_code == 400
    assert "filial-ce" in {door.name for door in queries.closed_doors(closed.hub.store)}


def test_people_see_and_touch_the_doors_of_their_accounts_only(app: Flask, closed: Desk) -> None:
    rita = Visitor(app).enter(closed, "rita", "operator", ["filial-sp"])
    text = read(rita.get("/").text)
    assert "provider block filial-sp" in text
    assert not [name for name in ("filial-rj", "filial-ce", "filial-pe") if name in text]
    for path, form in (
        ("/accounts/pause", {"account": "filial-rj", "minutes": "0"}),
        ("/accounts/resume", {"account": "filial-ce"}),
        ("/breakers/reset", {"name": "filial-pe"}),
    ):
        assert rita.post(path, **form).status_code == 404


def test_what_a_provider_said_to_another_account_is_not_told(app: Flask, desk: Desk) -> None:
    policy = Policy(max_attempts=3, provider="omie")
    desk.answers["1"] = RateLimited(
        900, scope="provider", message="Customer Silva of filial-rj: too many calls"
    )
    desk.hub.run(desk.add("1", account="filial-rj", policy=policy))
    desk.hub.publish_kinds("worker-1")
    waiting = desk.add("2", account="filial-sp", policy=policy)
    rita = Visitor(app).enter(desk, "rita", "operator", ["filial-sp"])
    for path in ("/", f"/events/{waiting}"):
        text = read(rita.get(path).text)
        assert "provider block" in text
        assert "Silva" not in text


@pytest.mark.parametrize(
    ("waiting_for", "until", "english", "portuguese"),
    [
        (
            "limit",
            None,
            "Waiting for: a higher limit (the account may run 0 events at once).",
            "um limite maior (a conta pode executar 0 eventos ao mesmo tempo).",
        ),
        (
            "reserve",
            datetime(2026, 3, 1, 12, tzinfo=UTC),
            "room for a retry (the failing answers that the ERP still puts up with are kept for new events) until ",
            "espaço para uma nova tentativa (as respostas com falha que o ERP ainda tolera ficam para eventos novos)",
        ),
    ],
)
def test_an_event_that_no_door_holds_up_says_what_it_waits_for(
    desk: Desk, app: Flask, waiting_for: str, until: datetime | None, english: str, portuguese: str
) -> None:
    event = replace(desk.hub.get(desk.add("1")), waiting_for=waiting_for, waiting_until=until)
    with app.test_request_context("/"):
        with force_locale("en"):
            assert english in waiting(event)
        with force_locale("pt_BR"):
            assert portuguese in waiting(event)


def test_an_event_of_a_stopped_account_says_so_on_its_page(desk: Desk, maria: Visitor) -> None:
    scopes.limit_account(desk.hub.store, "filial-sp", 0)
    text = read(maria.get(f"/events/{desk.add('1')}").text)
    assert "Waiting for: a higher limit (the account may run 0 events at once)." in text
