"""Every page opens, in both languages, with the markup that readers of every kind need."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from flask import Flask

from dlq_console.store import groups
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, read

TITLES = {
    "/": ("Overview", "Visão geral"),
    "/dead-letters": ("Dead letters", "Cartas mortas"),
    "/events": ("All events", "Todos os eventos"),
    "/groups": ("Groups", "Grupos"),
    "/settings/preferences": ("Preferences", "Preferências"),
    "/nothing-here": ("There is nothing here", "Não há nada aqui"),
}


def test_every_page_opens_in_both_languages(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    titles = TITLES | {
        f"/events/{event_id}": ("Order 8841", "Pedido 8841"),
        f"/groups/{desk.hub.get(event_id).fingerprint}": ("Group", "Grupo"),
    }
    for language, column in (("en", 0), ("pt-BR", 1)):
        maria.language = language
        for path, names in titles.items():
            answer = maria.get(path)
            assert answer.status_code == (404 if path == "/nothing-here" else 200)
            assert f"<title>{names[column]} · DLQ Console</title>" in answer.text
            assert f'<html lang="{language}">' in answer.text


def test_every_page_has_one_heading_one_main_and_a_way_past_the_menu(desk: Desk, maria: Visitor) -> None:
    for path in (
        "/",
        "/dead-letters",
        "/events",
        "/groups",
        f"/events/{(event_id := desk.dead())}",
        f"/groups/{desk.hub.get(event_id).fingerprint}",
        "/settings/preferences",
        "/nothing-here",
    ):
        tags = Tags(maria.get(path).text)
        assert (len(tags.named("h1")), len(tags.named("main"))) == (1, 1), path
        assert tags.named("a")[0]["href"] == "#main"
        for field in [*tags.named("input"), *tags.named("textarea"), *tags.named("select")]:
            labelled = {label.get("for") for label in tags.named("label")}
            unseen = field.get("type") == "hidden" or field.get("type") == "checkbox"
            assert unseen or "aria-label" in field or field.get("id") in labelled, field


def test_tables_are_described_for_those_who_cannot_see_them(desk: Desk, maria: Visitor) -> None:
    fingerprint = desk.hub.get(desk.dead()).fingerprint
    groups.sample(desk.hub.store)
    for path in ("/", "/dead-letters", "/events", "/groups", f"/groups/{fingerprint}"):
        tags = Tags(maria.get(path).text)
        assert len(tags.named("caption")) == len(tags.named("table")) > 0
        heads = tags.named("th")
        assert {head["scope"] for head in heads} == {"col", "row"}
        assert "descending" in {head.get("aria-sort") for head in heads}


def test_the_browser_decides_on_the_language_until_the_person_does(
    app: Flask, desk: Desk, maria: Visitor
) -> None:
    for asked, spoken in (
        ("pt", "pt-BR"),
        ("en-GB,pt;q=0.5", "en"),
        ("fr, pt-PT;q=0.4", "pt-BR"),
        ("fr", "pt-BR"),
    ):
        maria.language = asked
        assert f'<html lang="{spoken}">' in maria.get("/").text
    maria.language = "pt-BR"
    answer = maria.post("/settings/preferences", locale="en", theme="dark", timezone="America/Manaus")
    assert answer.status_code == 303
    page = maria.get("/settings/preferences").text
    assert '<html lang="en" data-theme="dark">' in page
    assert "<option selected>America/Manaus</option>" in page


def test_a_choice_can_be_taken_back(maria: Visitor) -> None:
    maria.post("/settings/preferences", locale="pt_BR", theme="dark", timezone="UTC")
    maria.post("/settings/preferences", locale="", theme="", timezone="")
    assert '<html lang="en">' in maria.get("/").text


@pytest.mark.parametrize("field", ["locale", "theme", "timezone"])
def test_a_choice_that_was_not_offered_is_refused(maria: Visitor, field: str) -> None:
    answer = maria.post("/settings/preferences", **{field: "../../etc/passwd"})
    assert answer.status_code == 400
    assert f"{field}:" in answer.text


def test_times_follow_the_zone_of_the_person(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead()
    assert " -03</time>" not in maria.get(f"/events/{event_id}").text
    assert ' -03"' in maria.get(f"/events/{event_id}").text
    maria.post("/settings/preferences", timezone="Asia/Tokyo")
    assert ' JST"' in maria.get(f"/events/{event_id}").text
    assert "JST" in read(maria.get("/dead-letters").text)


def test_the_overview_says_whether_a_hand_is_needed(desk: Desk, maria: Visitor) -> None:
    assert "No event has come in yet." in read(maria.get("/").text)
    desk.done("1")
    assert "No dead letter. Everything is up to date." in read(maria.get("/").text)
    desk.dead("2")
    assert "1 dead letter needs a person." in read(maria.get("/").text)
    desk.dead("3")
    desk.dead("4", account="filial-rj")
    text = read(maria.get("/").text)
    assert "3 dead letters need a person. Most of them belong to filial-sp (2)." in text
    assert 'href="/dead-letters?account=filial-rj"' in maria.get("/").text


def test_the_overview_says_which_account_is_closed_and_that_nobody_works(desk: Desk, maria: Visitor) -> None:
    from dlq_console.errors import RateLimited

    desk.answers["9"] = RateLimited(900)
    desk.hub.run(desk.add("9", account="filial-rj"))
    text = read(maria.get("/").text)
    assert "filial-rj is closed until" in text
    assert "no worker is running" in text


def test_people_see_their_accounts_only(app: Flask, desk: Desk) -> None:
    mine, other = desk.dead("1", account="filial-sp"), desk.dead("2", account="filial-rj")
    limited = Visitor(app).enter(desk, "rita", "operator", ["filial-sp"])
    for path in (
        "/",
        "/dead-letters",
        "/events",
        "/_f/dead-letters",
        "/_f/events",
        "/dead-letters?account=filial-rj",
    ):
        assert "Order 2" not in limited.get(path).text
    assert "filial-rj" not in read(limited.get("/").text)
    assert "1 dead letter." in read(limited.get("/dead-letters").text)
    assert limited.get(f"/events/{mine}").status_code == 200
    for path in (f"/events/{other}", f"/_f/events/{other}/row", f"/_f/events/{other}/state"):
        assert limited.get(path).status_code == 404
    limited.get("/")
    assert limited.post(f"/events/{other}/reprocess").status_code == 404
    assert limited.post(f"/events/{other}/discard", note="no").status_code == 404
    assert desk.hub.get(other).status == "dead"


def test_the_count_in_the_menu_is_that_of_the_page(desk: Desk, maria: Visitor) -> None:
    for number in range(3):
        desk.dead(str(number))
    for path in ("/", "/dead-letters", "/events", "/settings/preferences"):
        assert '<span class="number">3</span>' in maria.get(path).text


def test_the_list_of_all_events_shows_when_each_came_in_also_the_dead_ones(
    desk: Desk, maria: Visitor
) -> None:
    event_id = desk.dead("8841")
    desk.change(event_id, created_at=datetime(2026, 3, 1, 12, tzinfo=UTC))
    assert 'title="1 Mar 2026 09:00:00 -03"' in maria.get("/events").text
    assert 'title="1 Mar 2026 09:00:00 -03"' not in maria.get("/dead-letters").text


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "1970-06-01T00:00Z"])
@pytest.mark.parametrize("page", ["/dead-letters", "/events"])
def test_a_time_that_no_zone_could_show_is_refused_in_words(maria: Visitor, page: str, moment: str) -> None:
    answer = maria.get(f"{page}?to={moment}")
    assert answer.status_code == 400
    assert "between the years 1970 and 9998" in read(answer.text)


def test_the_number_that_will_retry_has_its_plural(desk: Desk, maria: Visitor) -> None:
    maria.language = "pt-BR"
    desk.failed("1")
    assert "vai tentar de novo sozinho 1" in read(maria.get("/").text)
    desk.failed("2")
    assert "vão tentar de novo sozinhos 2" in read(maria.get("/").text)
