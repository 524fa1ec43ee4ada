"""Who gets in, how long they stay in, and where they end up."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest
from flask import Flask

from dlq_console.app import create_app
from dlq_console.errors import ConfigurationError
from dlq_console.runtime import Hub
from dlq_console.settings import read_settings
from dlq_console.store import people
from tests.web.desk import PASSWORD, Desk
from tests.web.visitor import Tags, Visitor, path_of

PAGES = (
    "/",
    "/dead-letters",
    "/events",
    "/events/1",
    "/settings/preferences",
)
#: Whoever asks for one of these without a session is led to the overview.
NO_PAGES = (
    "/_f/dead-letters", "/_f/events/1/row", "/_f/health", "/health/doctor/found", "/audit.csv", "/bulk/1/items.csv",
    "/events/1/payload.json", "/export/dead-letters.csv", "/health/series.csv",
)  # fmt: skip
#: Nor does the log-in lead to an act, to itself, to what is made for programs or other sites, or to nothing.
NOWHERE = (
    "/logout", "/login", "/login?next=/logout", "/accounts/pause", "/events/1/reprocess", "/bulk/desk", "/views/1/delete",
    "/api/v1/events", "/api/v1/openapi.json", "/embed/token", "/badge/token.svg", "/static/1/css/base.css", "/metrics",
    "/healthz", "/readyz", "/no/such/page", "/%6cogout", "/logout/", "/logout?a=b", "/logout#main", "/events/../logout",
)  # fmt: skip


def test_every_page_asks_for_a_log_in_and_leads_back(app: Flask) -> None:
    visitor = Visitor(app)
    for path in PAGES:
        answer = visitor.get(path)
        assert (answer.status_code, path_of(answer)) == (303, f"/login?next={path}")


def test_the_filter_survives_the_log_in(app: Flask) -> None:
    visitor = Visitor(app)
    sent_to = path_of(visitor.get("/dead-letters?kind=order.create&q=a%20b"))
    assert sent_to == "/login?next=/dead-letters%3Fkind%3Dorder.create%26q%3Da%2520b"
    page = visitor.get(sent_to)
    assert 'name="next" value="/dead-letters?kind=order.create&amp;q=a%20b"' in page.text


def test_who_asks_for_what_is_no_page_is_led_to_the_overview(app: Flask) -> None:
    visitor = Visitor(app)
    for path in NO_PAGES:
        answer = visitor.get(path)
        assert (path, answer.status_code, answer.headers.get("Location")) == (path, 303, "/login?next=/")


@pytest.fixture(autouse=True)
def _known(request: pytest.FixtureRequest, desk: Desk) -> None:
    if "maria" not in request.fixturenames:
        desk.person("maria", "operator")


def test_the_right_password_opens_the_page_that_was_asked_for(app: Flask) -> None:
    answer = Visitor(app).log_in("maria", next="/events?status=dead")
    assert (answer.status_code, path_of(answer)) == (303, "/events?status=dead")


def test_a_wrong_password_is_told_without_saying_which_part_was_wrong(app: Flask) -> None:
    visitor = Visitor(app)
    wrong, unknown = visitor.log_in("maria", "wrong password"), visitor.log_in("nobody", "wrong password")
    for answer in (wrong, unknown):
        assert answer.status_code == 401
        assert "This name and password do not go together." in answer.text
    assert 'value="maria"' in wrong.text
    assert "wrong password" not in wrong.text
    assert visitor.get("/").status_code == 303


ELSEWHERE = (
    "//evil.example/", "https://evil.example/", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)",
    "/\t/evil.example", "http:evil.example", "", "evil", "/ok\nSet-Cookie: a=b", "/\\/evil.example", "///evil", "http://[",
)  # fmt: skip


def test_the_log_in_sends_nobody_to_another_site(app: Flask, maria: Visitor) -> None:
    assert path_of(Visitor(app).log_in("maria", next="//evil.example/")) == "/"
    for target in ELSEWHERE:
        answer = maria.get(f"/login?{urlencode({'next': target})}")
        assert (target, path_of(answer)) == (target, "/")


@pytest.mark.parametrize("target", [*NOWHERE, *NO_PAGES])
def test_the_log_in_leads_to_no_act_file_or_part_of_a_page(maria: Visitor, target: str) -> None:
    assert path_of(maria.get(f"/login?{urlencode({'next': target})}")) == "/"


def test_wherever_the_log_in_leads_is_a_page_for_people(app: Flask, maria: Visitor) -> None:
    led = []
    for rule in app.url_map.iter_rules():
        target = re.sub(r"<[^>]*>", "1", rule.rule)
        if path_of(maria.get(f"/login?{urlencode({'next': target})}")) != target:
            continue
        led.append(target)
        page = maria.client.get(target, follow_redirects=True)
        assert (target, page.mimetype) == (target, "text/html")
        assert "<!doctype html>" in page.text, target
    assert {"/dead-letters", "/events/1/edit", "/groups/1", "/bulk/1", "/health/accounts/1"} <= {*led}
    assert len(led) > 20


def test_logging_in_changes_every_token(app: Flask) -> None:
    visitor = Visitor(app)
    visitor.get("/login")
    with visitor.client.session_transaction() as before:
        seed = before["csrf_token"]
        before["planted"] = "by somebody else"
    visitor.log_in("maria")
    visitor.get("/")
    with visitor.client.session_transaction() as after:
        assert set(after) == {"token", "csrf_token"}
        assert after["csrf_token"] != seed
        first = after["token"]
    visitor.post("/logout")
    visitor.log_in("maria")
    with visitor.client.session_transaction() as again:
        assert again["token"] != first


def test_logging_out_ends_the_session_on_the_server_too(app: Flask, maria: Visitor) -> None:
    with maria.client.session_transaction() as session:
        stolen = session["token"]
    maria.get("/")
    answer = maria.post("/logout")
    assert (answer.status_code, path_of(answer)) == (303, "/login")
    assert answer.headers["Clear-Site-Data"] == '"cache", "storage"'
    thief = Visitor(app)
    with thief.client.session_transaction() as session:
        session["token"] = stolen
    assert thief.get("/").status_code == 303


def test_a_logged_in_person_is_not_asked_again(maria: Visitor) -> None:
    answer = maria.get("/login?next=/events")
    assert (answer.status_code, path_of(answer)) == (303, "/events")


def test_a_disabled_person_is_out_at_once(desk: Desk, maria: Visitor) -> None:
    people.disable_user(desk.hub.store, "maria")
    assert maria.get("/").status_code == 303


def test_an_ended_session_leads_the_whole_page_to_the_log_in_under_htmx(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead()
    people.disable_user(desk.hub.store, "maria")
    answer = maria.glance(f"/_f/events/{event_id}/row", page="/dead-letters?kind=order.create")
    assert answer.status_code == 401
    assert answer.headers["HX-Redirect"] == "/login?next=/dead-letters%3Fkind%3Dorder.create"
    assert answer.text == ""


def test_a_forged_current_page_leads_nowhere_else(app: Flask) -> None:
    for current in ("http://evil.example//evil.example/", "", "javascript:alert(1)", "%%%", "http://["):
        answer = Visitor(app).get("/_f/dead-letters", HX_Request="true", HX_Current_URL=current)
        assert answer.headers["HX-Redirect"] == "/login?next=/"


def test_a_form_sent_after_the_session_ended_keeps_what_was_typed(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead()
    maria.get(f"/events/{event_id}")
    people.disable_user(desk.hub.store, "maria")
    answer = maria.post(f"/events/{event_id}/reprocess", note="customer 5521 registered")
    assert answer.status_code == 401
    assert "Your session has ended" in answer.text
    assert "customer 5521 registered</textarea>" in answer.text
    assert f"/login?next=/events/{event_id}" in answer.text
    assert desk.hub.get(event_id).status == "dead"


def _sent_too_late(visitor: Visitor, path: str, referer: str, **form: str) -> str:
    """What is answered to a form of a page, once the session has ended."""
    answer = visitor.client.post(
        path, data={"csrf_token": visitor.token, **form}, headers={"Referer": referer}
    )
    assert answer.status_code == 401
    return answer.text


def test_what_was_typed_names_its_form_and_the_page_to_come_back_to(desk: Desk, maria: Visitor) -> None:
    people.disable_user(desk.hub.store, "maria")
    here = "http://localhost/dead-letters?kind=order.create"
    page = _sent_too_late(maria, "/views", here, page="dead-letters", view_name="my own", kind="order.create")
    assert "/login?next=/dead-letters?kind%3Dorder.create" in page
    (typed,) = Tags(page).named("textarea")
    assert (typed["data-form"], typed["data-name"]) == ("/views", "view_name")
    assert typed["data-page"] == "/dead-letters?kind=order.create"
    page = _sent_too_late(maria, "/bulk", here, action="discard", list="dead-letters", account="a", note="x")
    assert "/login?next=/dead-letters?account%3Da" in page
    assert Tags(page).named("textarea")[0]["data-page"] == "/bulk/preview"


@pytest.mark.parametrize(
    "referer",
    [
        "",
        "http://evil.example/events",
        "http://localhost/logout",
        "http://[",
        "http://localhost//evil.example",
    ],
)
def test_a_forged_page_before_leads_nowhere_else(desk: Desk, maria: Visitor, referer: str) -> None:
    people.disable_user(desk.hub.store, "maria")
    page = _sent_too_late(maria, "/views", referer, view_name="my own")
    assert Tags(page).named("textarea")[0]["data-page"] == "/"


def test_the_eleventh_wrong_password_within_a_minute_has_to_wait(app: Flask) -> None:
    visitor = Visitor(app)
    statuses = [visitor.log_in(f"somebody-{number}", "wrong password").status_code for number in range(11)]
    assert statuses == [401] * 10 + [429]
    answer = visitor.log_in("maria")
    assert answer.status_code == 429
    assert "Too many attempts" in answer.text
    assert answer.headers["Retry-After"] == "300"


def test_one_name_is_guarded_against_guessing_from_many_addresses(app: Flask) -> None:
    visitor = Visitor(app)
    visitor.get("/login")
    fields = {"csrf_token": visitor.token, "name": "MARIA", "password": "wrong password"}
    statuses = [
        visitor.client.post(
            "/login", data=fields, environ_overrides={"REMOTE_ADDR": f"10.0.0.{number}"}
        ).status_code
        for number in range(11)
    ]
    assert statuses == [401] * 10 + [429]


def test_right_passwords_are_never_counted(app: Flask) -> None:
    for _ in range(12):
        assert Visitor(app).log_in("maria").status_code == 303


def test_the_form_suits_password_managers(app: Flask) -> None:
    page = Visitor(app).get("/login").text
    assert 'autocomplete="username"' in page
    assert 'autocomplete="current-password"' in page
    assert "onpaste" not in page


def test_without_a_secret_key_there_is_no_console(sqlite_url: str) -> None:
    hub = Hub(read_settings(database_url=sqlite_url, secret_key=""))
    with pytest.raises(ConfigurationError, match="DLQ_SECRET_KEY is missing"):
        create_app(hub)


def test_a_secret_key_that_can_be_guessed_is_refused(sqlite_url: str) -> None:
    hub = Hub(read_settings(database_url=sqlite_url, secret_key="x" * 15))
    with pytest.raises(ConfigurationError, match="DLQ_SECRET_KEY is shorter than 16 characters"):
        create_app(hub)


def test_the_password_is_accepted_as_pasted(app: Flask) -> None:
    assert Visitor(app).log_in("  Maria ", PASSWORD).status_code == 303
