"""The audit: who did what, when, from where, before and after; filtered, in pages, as a file, and only what one may see."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta
from urllib.parse import quote

from flask import Flask

from dlq_console.app import create_app
from dlq_console.clock import utc_now
from dlq_console.hub.origins import Via, acting
from dlq_console.store import people, queries
from dlq_console.store.acts import record_many
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, path_of, read


def _rows(html: str) -> list[str]:
    return [read(row) for row in re.findall(r"<tr><td class=\"w-when\">.*?</tr>", html, re.DOTALL)]


def _fill(desk: Desk, number: int) -> None:
    with desk.hub.store.write() as connection:
        each = [{"subject": f"thing {place}"} for place in range(number)]
        record_many(desk.hub.store, connection, actor="ines", action="export", each=each)


def test_an_act_from_a_page_says_who_what_from_where_and_how_it_was(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    maria.get(f"/events/{event_id}")
    maria.post(f"/events/{event_id}/discard", note="by hand", seen=str(desk.hub.get(event_id).lease_epoch))
    (entry,) = queries.audit(desk.hub.store, event_id)
    assert (entry.via, entry.address, entry.account) == ("console", "127.0.0.1", "filial-sp")
    row = _rows(maria.get("/audit").text)[0]
    for words in (
        "maria",
        "discard",
        f"event {event_id}",
        "filial-sp",
        "dead letter",
        "discarded",
        "by hand",
    ):
        assert words in row
    assert "console · 127.0.0.1" in row


def test_every_door_is_told_apart_and_the_hub_itself_came_through_none(desk: Desk) -> None:
    hub, store = desk.hub, desk.hub.store
    first = desk.dead("1")
    hub.add_note(first, "from a program", actor="maria")
    with acting(Via.CLI):
        hub.add_note(first, "from a shell", actor="cli:maria")
    with acting(Via.API, "10.0.0.7"), store.write() as connection:
        record_many(store, connection, actor="hub", action="refresh", each=[{"event_id": first}])
    doors = [(entry.via, entry.address) for entry in queries.audit(store, first)]
    assert doors == [(None, None), ("cli", None), ("python", None)]


def test_the_address_of_a_client_is_believed_from_trusted_proxies_only(sqlite_url: str) -> None:
    for proxies, address in ((0, "127.0.0.1"), (1, "203.0.113.9")):
        desk = Desk(sqlite_url, trusted_proxies=proxies)
        visitor = Visitor(create_app(desk.hub)).enter(desk, f"maria{proxies}", "operator")
        event_id = desk.dead(str(proxies))
        visitor.get(f"/events/{event_id}")
        visitor.client.post(
            f"/events/{event_id}/tag",
            data={"csrf_token": visitor.token, "tags": "a", "seen": ""},
            headers={"X-Forwarded-For": "198.51.100.7, 203.0.113.9"},
        )
        (entry,) = queries.audit(desk.hub.store, event_id)
        assert entry.address == address
        desk.hub.close()


def test_the_filter_is_by_person_act_event_account_and_time(desk: Desk, maria: Visitor) -> None:
    first, second = desk.dead("1"), desk.dead("2", account="filial-rj")
    desk.hub.tag(first, ["a"], actor="joana")
    desk.hub.tag(second, ["b"], actor="ines")
    desk.hub.add_note(second, "called", actor="ines")
    with desk.hub.store.write() as connection:
        record_many(desk.hub.store, connection, actor="hub", action="refresh", each=[{"event_id": first}])
    soon = quote((utc_now() + timedelta(minutes=1)).isoformat())
    for asked, found in (
        ("actor=ines", 2),
        ("action=tag", 2),
        ("actor=ines&action=tag", 1),
        (f"event={first}", 2),
        ("account=filial-rj", 2),
        ("people=1&account=filial-sp", 1),
        (f"to={soon}&action=tag", 2),
        (f"from={soon}", 0),
        ("actor=nobody", 0),
    ):
        assert len(_rows(maria.get(f"/audit?{asked}").text)) == found, asked
    assert 'href="/audit"' in maria.get("/audit?event=x").text.split('id="main"')[1]
    for wrong in ("event=x", "event=99999999999999999999", "from=soon", "cursor=x", f"actor={'x' * 10_000}"):
        assert maria.get(f"/audit?{wrong}").status_code == 400, wrong


def test_pages_go_both_ways_and_keep_the_filter(desk: Desk, maria: Visitor) -> None:
    _fill(desk, 125)
    pages = [maria.get("/audit?actor=ines").text]
    for _ in range(2):
        (older,) = [a["href"] for a in Tags(pages[-1]).named("a") if a.get("rel") == "next"]
        pages.append(maria.get(older).text)
    assert [len(_rows(page)) for page in pages] == [50, 50, 25]
    assert not [a for a in Tags(pages[-1]).named("a") if a.get("rel") == "next"]
    (newer,) = [a["href"] for a in Tags(pages[-1]).named("a") if a.get("rel") == "prev"]
    # Without how long ago it was: that goes on between two looks.
    back, before = (
        [re.sub(r" (now|\d+ s ago) ", " ", row) for row in _rows(page)]
        for page in (maria.get(newer).text, pages[1])
    )
    assert back == before


def test_the_search_stops_after_many_acts_and_goes_on_when_asked(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("1")
    desk.hub.add_note(event_id, "the needle", actor="joana")
    _fill(desk, 5_050)
    page = maria.get("/audit?account=filial-sp").text
    assert not _rows(page)
    assert "The search stopped after many acts" in read(page)
    (older,) = [a["href"] for a in Tags(page).named("a") if a.get("rel") == "next"]
    assert "the needle" in _rows(maria.get(older).text)[0]


def test_people_with_accounts_see_the_acts_of_these_and_their_own(desk: Desk, app: Flask) -> None:
    rui = Visitor(app).enter(desk, "rui", "operator", ["filial-rj"])
    here, elsewhere = desk.dead("1", account="filial-rj"), desk.dead("2")
    desk.hub.add_note(here, "seen", actor="joana")
    desk.hub.add_note(elsewhere, "hidden", actor="joana")
    desk.hub.pause_account("filial-sp", actor="joana", note="hidden too")
    desk.hub.pause_account("filial-rj", actor="joana", note="seen too")
    text = " ".join(_rows(rui.get("/audit").text))
    assert "seen too" in text
    assert "hidden" not in text
    assert not [row for row in _rows(rui.get("/audit").text) if "user added" in row]
    rui.get("/audit.csv")
    assert "audit.csv" in read(rui.get("/audit").text), "what one did oneself is no secret"
    assert "hidden" not in rui.get(f"/audit.csv?event={elsewhere}").text


def test_who_may_not_see_the_audit_finds_neither_page_nor_link(vera: Visitor) -> None:
    assert vera.get("/audit").status_code == 403
    assert vera.get("/audit.csv").status_code == 403
    assert 'href="/audit"' not in vera.get("/").text


def test_the_file_holds_everything_and_no_formula(desk: Desk, app: Flask) -> None:
    bia = Visitor(app, language="pt-BR").enter(desk, "bia", "operator")
    event_id = desk.dead("1")
    desk.hub.add_note(event_id, '=HYPERLINK("http://x";"y")', actor="joana")
    _fill(desk, 1_100)
    answer = bia.get("/audit.csv")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.reader(io.StringIO(answer.text.removeprefix("\ufeff")), delimiter=";"))
    assert rows[0][0] == "Quando (America/Sao_Paulo)"
    # The export itself is an act, of after the moment the list was read.
    assert len(rows) == 1 + 1_100 + 1 + len(people.list_users(desk.hub.store))
    (formula,) = [row for row in rows if row[3] == str(event_id)]
    assert formula[8] == '\'=HYPERLINK("http://x";"y")'
    assert "audit.csv" in read(bia.get("/audit").text)


def test_why_a_bulk_run_stopped_and_states_are_told_in_the_language_of_the_person(
    desk: Desk, app: Flask
) -> None:
    bia = Visitor(app, language="pt-BR").enter(desk, "bia", "operator")
    event_id = desk.dead("1")
    stop = {"subject": "reprocess 7", "bulk_id": 7, "after": "died_again 2/3"}
    with desk.hub.store.write() as connection:
        record_many(desk.hub.store, connection, actor="hub", action="bulk_stop", each=[stop])
    desk.hub.discard(event_id, actor="joana", note="double")
    told = "2 de 3 morreram de novo."
    page = read(bia.get("/audit").text)
    assert told in page
    assert "died" not in page
    head, *rows = csv.reader(io.StringIO(bia.get("/audit.csv").text.removeprefix("\ufeff")), delimiter=";")
    acts = [dict(zip(head, row, strict=True)) for row in rows]
    assert "Filtro" in head
    assert [act["Depois"] for act in acts if act["Lote"] == "7"] == [told]
    (discarded,) = [act for act in acts if act["Id do evento"] == str(event_id)]
    assert (discarded["Antes"], discarded["Depois"]) == ("carta morta", "descartado")


def test_hostile_texts_of_acts_are_shown_as_text(desk: Desk, maria: Visitor) -> None:
    with desk.hub.store.write() as connection:
        about = {"subject": "<script>alert(1)</script>\u202e", "before": "\x1b[31mred", "note": "<b>x</b>"}
        record_many(desk.hub.store, connection, actor="joana", action="<i>", each=[about])
    page = maria.get("/audit").text
    assert "<script>alert" not in page
    assert "<i>" not in page
    assert "\u202e" not in page
    assert "\x1b" not in page


def test_an_act_upon_many_names_its_run_and_what_was_selected(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("1")
    with desk.hub.store.write() as connection:
        run = {"subject": "reprocess 7", "bulk_id": 7, "filter": "kind=order.create"}
        record_many(desk.hub.store, connection, actor="joana", action="bulk_start", each=[run])
        each = [{"event_id": event_id, "bulk_id": 7, "before": "dead", "after": "pending"}]
        record_many(desk.hub.store, connection, actor="joana", action="reprocess", each=each)
    item, start = _rows(maria.get("/audit").text)[:2]
    assert "bulk run started bulk run 7 reprocess" in start
    assert "Kind: order.create" in start
    assert f"reprocess event {event_id} bulk run 7" in item


def test_the_acts_to_choose_from_do_not_tell_what_was_done_in_other_accounts(desk: Desk, app: Flask) -> None:
    rui = Visitor(app).enter(desk, "rui", "operator", ["filial-rj"])
    before = Tags(rui.get("/audit").text).named("option")
    desk.hub.discard(desk.dead("2"), actor="joana")
    desk.hub.pause_account("filial-sp", actor="joana", note="x")
    assert Tags(rui.get("/audit").text).named("option") == before
    assert {"pause_account", "discard", "edit"} <= {option["value"] for option in before}


def test_a_request_without_a_session_leads_to_the_log_in(app: Flask) -> None:
    answer = Visitor(app).get("/audit")
    assert (answer.status_code, path_of(answer)) == (303, "/login?next=/audit")


def test_what_was_kept_for_programs_is_read_in_words(app: Flask, desk: Desk) -> None:
    edna = Visitor(app).enter(desk, "edna", "editor")
    event_id = desk.dead("1")
    new = desk.hub.edit(event_id, {"number": "2"}, actor="edna")
    edna.get("/dead-letters")
    view = {"view_name": "Filial", "page": "dead-letters", "account": "filial-sp"}
    assert edna.post("/views", **view).status_code == 303
    edna.get("/audit.csv?actor=edna&people=1")
    page = edna.get("/audit").text
    words = read(page)
    assert "view saved Filial" in words
    assert "for its owner alone Account: filial-sp" in words
    assert "Who: edna · without what the hub did by itself" in words
    assert "user added edna" in words
    # Of a corrected payload there are two hashes, which nobody reads; the other event is one click away.
    assert f"edit event {event_id} event {new.id}" in words
    assert "payload changed" in words
    assert not re.search(r"[0-9a-f]{64}", words)
    assert f'<small><a href="/events/{new.id}">' in page
