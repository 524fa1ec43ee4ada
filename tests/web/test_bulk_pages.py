"""The pages of bulk runs: nothing happens unseen, nothing happens twice, and everybody reads how far it has come."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from dlq_console.app import create_app
from dlq_console.hub import bulk_progress, desk_many, selection_tokens
from dlq_console.hub.bulk import BulkRun
from dlq_console.store import desk as marked
from dlq_console.store import groups, presence
from dlq_console.store.bulk import previews
from dlq_console.store.filters import EventFilter
from dlq_console.store.queries.routes import SCAN_LIMIT
from dlq_console.web import bulk, bulk_items
from dlq_console.web.bulk_progress import LEAST, WIDTH, _speed, _widths, stages
from tests.store.filling import fill
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, path_of, read

#: The pages are the same on both engines; what reads and writes much is looked at on each.
both_engines = pytest.mark.parametrize("database_url", ["sqlite_url", "postgres_url"], indirect=True)

ALL = {"action": "reprocess", "list": "dead-letters", "all": "1"}
LARGEST_PAGE = 60_000


def _dead(desk: Desk, number: int, **values: Any) -> list[int]:
    return [desk.dead(str(one), **values) for one in range(number)]


def _fields(answer: TestResponse) -> dict[str, str]:
    """The fields of the form that begins a run, as a browser would send them."""
    form = re.search(r'<form class="bulk-form".*?</form>', answer.text, re.DOTALL)
    assert form is not None, read(answer.text)
    found = {
        tag["name"]: tag["value"]
        for tag in Tags(form[0]).named("input")
        if "name" in tag and (tag.get("type") != "checkbox" or "checked" in tag)
    }
    return found | {"note": "registered"}


def _begin(visitor: Visitor, **form: str) -> str:
    """Begin a run through its preview; returns the address of its page."""
    visitor.get("/dead-letters")
    preview = visitor.post("/bulk/preview", **(ALL | form))
    begun = visitor.post("/bulk", **_fields(preview))
    assert begun.status_code == 303, read(begun.text)
    return path_of(begun)


def _run(desk: Desk, address: str) -> BulkRun:
    return desk.hub.bulk.get(int(address.rpartition("/")[2]))


def _turn(desk: Desk, turns: int = 1) -> None:
    for _ in range(turns):
        bulk_progress.advance(desk.hub)
        desk.hub.run_due(limit=1_000)


# The preview


@both_engines
def test_a_preview_tells_what_would_be_done_and_does_nothing(desk: Desk, maria: Visitor) -> None:
    _dead(desk, 3)
    desk.dead("9", kind="invoice.create", account="filial-rj", error="O total difere.")
    desk.done("10")
    maria.get("/dead-letters")
    answer = maria.post("/bulk/preview", **ALL)
    assert answer.status_code == 200
    words = read(answer.text)
    assert "You are about to reprocess 4 dead letters" in words
    assert "order.create 3" in words
    assert "filial-rj 1" in words
    assert "O total difere. 1" in words
    assert "Reprocess 4 dead letters" in [
        button.strip() for button in re.findall(r"<button[^>]*>([^<]*)<", answer.text)
    ]
    assert "/dead-letters?kind=invoice.create" in answer.text
    assert desk.hub.bulk.listed() == []


def test_events_chosen_one_by_one_are_meant_and_no_others(desk: Desk, maria: Visitor) -> None:
    first, second, _ = _dead(desk, 3)
    done = desk.done("done")
    maria.get("/events")
    data = {"csrf_token": maria.token, "action": "discard", "list": "events"}
    events = {"event": [first, second, done, 999_999]}
    answer = maria.client.post("/bulk/preview", data=data | events, headers={"Accept-Language": "en"})
    words = read(answer.text)
    assert "You are about to discard 2 dead letters" in words
    assert "1: it is no dead letter any more" in words
    assert "1: it is gone" in words
    begun = maria.post("/bulk", **_fields(answer))
    assert (begun.status_code, _run(desk, path_of(begun)).total) == (303, 3)


@pytest.mark.parametrize(
    ("language", "action", "said", "why"),
    [
        (
            "en",
            "reprocess",
            "None of the events that you chose can be reprocessed",
            "it is no dead letter any more",
        ),
        (
            "pt-BR",
            "discard",
            "Nenhum dos eventos que você escolheu pode ser descartado",
            "não é mais carta morta",
        ),
    ],
)
def test_where_nothing_can_be_done_this_is_said_and_no_button_is_offered(
    desk: Desk, maria: Visitor, language: str, action: str, said: str, why: str
) -> None:
    maria.language = language
    events = {"list": "events", "events": f"{desk.done('1')},{desk.done('2')}"}
    maria.get("/events")
    page = maria.post("/bulk/preview", action=action, **events).text
    words = read(page)
    assert said in words
    assert why in words
    assert 'id="begin"' not in page
    part = maria.htmx("/_f/bulk/preview", action=action, **events).text
    assert said in read(part)
    assert "<button" not in part
    assert re.search(r'<span id="begin" hidden hx-swap-oob', part)


def test_the_form_of_a_group_means_its_dead_letters(desk: Desk, maria: Visitor) -> None:
    _dead(desk, 2)
    other = desk.dead("other", error="O total difere.")
    groups.sample(desk.hub.store)
    page = maria.get(f"/groups/{desk.hub.get(other).fingerprint}")
    form = re.search(
        r'<form class="acts" method="post" action="/bulk/preview">.*?</form>', page.text, re.DOTALL
    )
    assert form is not None
    fields = {tag["name"]: tag["value"] for tag in Tags(form[0]).named("input")}
    words = read(maria.post("/bulk/preview", **fields, action="reprocess").text)
    assert "You are about to reprocess 1 dead letter" in words


def test_what_stands_in_the_way_is_told_in_words(desk: Desk, maria: Visitor) -> None:
    doubtful, *_ = _dead(desk, 3)
    desk.change(doubtful, reason="in_doubt", doubts=1)
    desk.dead("closed", account="filial-ce")
    desk.hub.pause_account("filial-ce", actor="joana")
    words = read(maria.post("/bulk/preview", **ALL).text)
    assert "You are about to reprocess 3 dead letters" in words
    assert "1: it is in doubt whether the ERP has it already" in words
    assert "1 will wait, because its account, kind of call or provider is closed." in words


def test_cancel_leads_back_to_the_list_with_its_filter(desk: Desk, maria: Visitor) -> None:
    _dead(desk, 2)
    answer = maria.post("/bulk/preview", **ALL, kind="order.create", q="cliente")
    assert answer.text.count('href="/dead-letters?kind=order.create&amp;q=cliente"') == 2


NOT_TO_BE_ACTED_UPON = [
    ({"list": "dead-letters"}, "Select events in the list, or all that match."),
    ({"list": "events", "all": "1", "status": "done"}, "the filter shows none"),
    ({"list": "events", "events": ",".join(map(str, range(1, 1002)))}, "At most 1,000 can be selected"),
]


def test_a_selection_that_cannot_be_acted_upon_is_refused_with_the_way_back(maria: Visitor) -> None:
    for form, sentence in NOT_TO_BE_ACTED_UPON:
        answer = maria.post("/bulk/preview", action="reprocess", **form)
        assert answer.status_code == 422
        assert sentence in read(answer.text)
        assert "Back to the list" in read(answer.text)


MEANINGLESS = [
    {"action": "edit", "all": "1"},
    {"action": "", "all": "1"},
    {"action": "reprocess", "event": "1; DROP"},
    {"action": "reprocess", "event": "9" * 40},
    {"action": "reprocess", "all": "1", "status": "x"},
    {"action": "reprocess", "all": "1", "q": "x" * 900_000},
]


def test_what_means_nothing_is_refused(maria: Visitor) -> None:
    for form in MEANINGLESS:
        assert maria.post("/bulk/preview", **form).status_code in (400, 413)


def test_an_empty_selection_offers_nothing_to_press(desk: Desk, maria: Visitor) -> None:
    desk.done("1")
    answer = maria.post("/bulk/preview", **ALL)
    assert "Nothing has been done. No dead letter matches any more." in read(answer.text)
    assert 'id="begin"' not in answer.text


def test_a_preview_that_is_opened_as_an_address_leads_to_the_list(maria: Visitor) -> None:
    assert path_of(maria.get("/bulk/preview")) == "/dead-letters"


def test_a_thousand_chosen_events_fit_into_a_small_page(desk: Desk, maria: Visitor) -> None:
    ids = fill(desk.hub.store, [{"status": "dead", "entity_id": str(one)} for one in range(1_000)])
    answer = maria.post("/bulk/preview", action="reprocess", list="events", events=",".join(map(str, ids)))
    assert "1,000 dead letters" in read(answer.text)
    assert len(answer.data) < LARGEST_PAGE


# The start


def test_the_button_begins_a_run_over_what_was_shown(desk: Desk, maria: Visitor) -> None:
    _dead(desk, 3)
    address = _begin(maria)
    run = _run(desk, address)
    assert (run.actor, run.action, run.note, run.expected, run.stages) == (
        "maria",
        "reprocess",
        "registered",
        3,
        (),
    )


def test_a_form_that_is_sent_twice_begins_one_run(desk: Desk, maria: Visitor) -> None:
    _dead(desk, 2)
    fields = _fields(maria.post("/bulk/preview", **ALL))
    places = {path_of(maria.post("/bulk", **fields)) for _ in range(2)}
    assert len(places) == len(desk.hub.bulk.listed()) == 1


@pytest.mark.parametrize(("action", "number"), [("reprocess", 11), ("discard", 1)])
def test_a_note_is_asked_for_where_it_is_many_or_final(
    desk: Desk, maria: Visitor, action: str, number: int
) -> None:
    _dead(desk, number)
    fields = _fields(maria.post("/bulk/preview", **(ALL | {"action": action}))) | {"note": "  "}
    answer = maria.post("/bulk", **(fields | {"rate": "5"}))
    assert answer.status_code == 422
    assert "Say why; the note stays with each of them in the audit." in read(answer.text)
    assert _fields(answer)["rate"] == "5"
    assert desk.hub.bulk.listed() == []
    _dead(desk, 1)
    assert maria.post("/bulk", **(_fields(answer))).status_code == 303


def test_above_a_hundred_the_number_is_typed_and_a_canary_is_suggested(desk: Desk, maria: Visitor) -> None:
    fill(desk.hub.store, [{"status": "dead", "entity_id": str(one)} for one in range(1_001)])
    fields = _fields(maria.post("/bulk/preview", **ALL))
    assert fields["canary"] == "1"
    for typed in ("", "101", "1.001.0"):
        answer = maria.post("/bulk", **(fields | {"typed": typed, "note": "<b>why</b>"}))
        assert answer.status_code == 422
        assert "This is not the number that stands above." in read(answer.text)
        assert "&lt;b&gt;why&lt;/b&gt;</textarea>" in answer.text
    begun = maria.post("/bulk", **(fields | {"typed": "1.001"}))
    assert _run(desk, path_of(begun)).stages == (1, 10, 100)


def test_who_logs_in_again_comes_back_to_the_list_with_its_filter(desk: Desk, maria: Visitor) -> None:
    desk.dead("1")
    fields = _fields(maria.post("/bulk/preview", **ALL, kind="order.create"))
    maria.client.delete_cookie("dlq_console")
    answer = maria.post("/bulk", **(fields | {"note": "a careful reason"}))
    assert answer.status_code == 401
    assert "a careful reason" in answer.text
    back = {unquote(link["href"]) for link in Tags(answer.text).named("a")}
    assert "/login?next=/dead-letters?kind=order.create" in back


@pytest.mark.parametrize(
    "made_up", [{"number": "5", "typed": "5"}, {"number": ""}, {"seal": ""}, {"seal": "é"}]
)
def test_the_number_to_type_is_the_one_of_the_preview_and_not_one_that_a_form_makes_up(
    desk: Desk, maria: Visitor, made_up: dict[str, str]
) -> None:
    fill(desk.hub.store, [{"status": "dead", "entity_id": str(one)} for one in range(115)])
    fields = _fields(maria.post("/bulk/preview", **ALL)) | {"typed": "115"}
    answer = maria.post("/bulk", **(fields | made_up))
    assert answer.status_code == 422
    assert "Nothing was begun." in read(answer.text)
    assert desk.hub.bulk.listed() == []
    assert maria.post("/bulk", **fields).status_code == 303


WRONG_TERMS = [
    *[("rate", value) for value in ("fast", "0", "-1", "10001", "nan", "1e999")],
    *[("window", value) for value in ("1.5", "0", "x", "100001")],
    *[("stop_share", value) for value in ("-1", "101", "x")],
]


def test_terms_that_mean_nothing_are_marked_and_kept(desk: Desk, maria: Visitor) -> None:
    _dead(desk, 1)
    fields = _fields(maria.post("/bulk/preview", **ALL))
    for name, value in WRONG_TERMS:
        answer = maria.post("/bulk", **(fields | {name: value}))
        assert answer.status_code == 422
        (field,) = [tag for tag in Tags(answer.text).named("input") if tag.get("name") == name]
        assert (field["value"], field["aria-invalid"]) == (value, "true")
        assert '<details class="fold" open>' in answer.text
        assert desk.hub.bulk.listed() == []


def test_terms_are_read_as_people_write_them_here_and_there(desk: Desk, maria: Visitor) -> None:
    _dead(desk, 1)
    fields = _fields(maria.post("/bulk/preview", **ALL))
    begun = maria.post(
        "/bulk", **(fields | {"rate": "0,5", "stop_share": "50 %", "window": "", "canary": "1"})
    )
    run = _run(desk, path_of(begun))
    assert (run.rate, run.stop_share, run.window, run.stages) == (0.5, 0.5, 100, (1, 10, 100))


def test_a_preview_of_somebody_else_or_of_yesterday_begins_nothing(
    app: Flask, desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    _dead(desk, 1)
    fields = _fields(maria.post("/bulk/preview", **ALL))
    olga = Visitor(app).enter(desk, "olga", "operator")
    answer = olga.post("/bulk", **(fields | {"csrf_token": olga.token}))
    assert (answer.status_code, desk.hub.bulk.listed()) == (422, [])
    monkeypatch.setattr(selection_tokens, "VALID", -1)
    answer = maria.post("/bulk", **fields)
    assert (answer.status_code, desk.hub.bulk.listed()) == (422, [])
    assert "Look at the figures again and confirm." in read(answer.text)
    monkeypatch.undo()
    assert maria.post("/bulk", **_fields(answer)).status_code == 303


def test_whoever_may_not_act_begins_and_changes_nothing(desk: Desk, maria: Visitor, vera: Visitor) -> None:
    _dead(desk, 2)
    address = _begin(maria)
    vera.get("/dead-letters")
    for path in ("/bulk/preview", "/bulk", f"{address}/pause", f"{address}/cancel"):
        assert vera.post(path, **ALL).status_code == 403
    assert vera.post("/bulk/desk", action="assign", all="1").status_code == 403
    page = vera.get(address)
    assert (page.status_code, "Cancel the run" in read(page.text)) == (200, False)
    assert _run(desk, address).state == "freezing"


def test_a_run_over_accounts_that_somebody_may_not_see_is_not_there_for_them(
    app: Flask, desk: Desk, maria: Visitor
) -> None:
    _dead(desk, 2)
    address = _begin(maria)
    rita = Visitor(app).enter(desk, "rita", "operator", accounts=["filial-rj"])
    for path in (address, f"/_f{address}", f"{address}/items.csv"):
        assert rita.get(path).status_code == 404
    assert rita.post(f"{address}/pause").status_code == 404
    words = read(rita.get("/bulk").text)
    assert "Runs over accounts that you do not see are not listed." in words
    assert "Nobody has done anything" not in words


def test_a_list_of_runs_says_that_others_may_have_runs_that_it_does_not_show(
    app: Flask, desk: Desk, maria: Visitor
) -> None:
    rita = Visitor(app).enter(desk, "rita", "operator", accounts=["filial-rj"])
    desk.dead("1", account="filial-rj")
    _begin(rita)
    hint = "Runs over accounts that you do not see are not listed."
    assert hint in read(rita.get("/bulk").text)
    assert hint not in read(maria.get("/bulk").text)


def test_a_later_run_over_what_was_dealt_with_meanwhile_says_so(desk: Desk, maria: Visitor) -> None:
    _dead(desk, 2)
    maria.get("/dead-letters")
    late = _fields(maria.post("/bulk/preview", **ALL))
    desk.answers.clear()
    _begin(maria)
    _turn(desk, 3)
    address = path_of(maria.post("/bulk", **late))
    _turn(desk)
    for end in (False, True):
        words = read(maria.get(address).text)
        assert "All of them had been dealt with meanwhile" in words
        assert "differently than hoped" not in words
        if not end:
            assert maria.post(f"{address}/resume").status_code < 400
            _turn(desk, 2)
    assert _run(desk, address).state == "done"


# A run


@both_engines
def test_a_run_is_told_from_its_start_to_its_end(desk: Desk, maria: Visitor) -> None:
    _dead(desk, 4)
    address = _begin(maria)
    words = read(maria.get(address).text)
    assert "Its dead letters are being written down, 0 so far. Nothing has been let go." in words
    assert "No worker is running, so nothing moves." in words
    for entity in "012":
        del desk.answers[entity]
    _turn(desk, 3)
    words = read(maria.get(address).text)
    assert "4 dead letters have come to an end; 3 succeeded." in words
    assert "3 succeeded" in words or "succeeded 3" in words
    assert "died again, same error 1" in words
    page = maria.get(address)
    assert "Order 3" in read(page.text)
    assert "data-follows" not in page.text
    assert "registered" in read(page.text)


def test_a_run_is_paused_resumed_and_cancelled_with_plain_forms(desk: Desk, maria: Visitor) -> None:
    _dead(desk, 3)
    address = _begin(maria)
    for verb, state in (("pause", "paused"), ("resume", "freezing"), ("cancel", "cancelled")):
        answer = maria.post(f"{address}/{verb}", note="why")
        assert (answer.status_code, path_of(answer), _run(desk, address).state) == (303, address, state)
    assert "maria has cancelled it" in read(maria.get(address).text)
    answer = maria.post(f"{address}/pause")
    assert answer.status_code == 409
    assert "It cannot be paused: it is cancelled." in read(answer.text)


def test_with_script_the_buttons_answer_in_place(desk: Desk, maria: Visitor) -> None:
    _dead(desk, 3)
    address = _begin(maria)
    answer = maria.htmx(f"{address}/pause", page=address)
    assert answer.status_code == 200
    assert "maria has paused it; nothing more is let go." in read(answer.text)
    assert "<html" not in answer.text
    assert 'id="resume-run"' in answer.text
    desk.hub.bulk.cancel(_run(desk, address).id, actor="joana")
    late = maria.htmx(f"{address}/resume", page=address)
    assert (late.status_code, late.headers["HX-Retarget"]) == (409, "#problem")
    assert "It cannot be resumed: it is cancelled." in read(late.text)
    assert 'id="resume-run"' not in late.text


def test_following_sends_what_is_new_and_the_buttons_only_where_they_are_others(
    desk: Desk, maria: Visitor
) -> None:
    _dead(desk, 2)
    address = _begin(maria)

    def where(html: str) -> str:
        (follower,) = [tag for _, tag in Tags(html).found if "data-follows" in tag]
        return follower["hx-get"]

    first = where(maria.get(address).text)
    assert maria.glance(first).status_code == 204
    bulk_progress.advance(desk.hub)
    changed = maria.glance(first)
    assert (changed.status_code, 'id="bulk-go"' in changed.text) == (200, True)
    bulk_progress.advance(desk.hub)
    more = maria.glance(where(changed.text))
    assert (more.status_code, 'id="bulk-go"' in more.text) == (200, False)
    desk.answers.clear()
    _turn(desk, 2)
    end = maria.glance(where(more.text))
    assert "data-follows" not in end.text
    assert 'id="bulk-go"' in end.text
    assert "pause-run" not in end.text


def test_all_figures_of_a_run_are_sent_along_with_its_bar(desk: Desk, maria: Visitor) -> None:
    _dead(desk, 3)
    address = _begin(maria)
    page = maria.get(address).text
    (follower,) = [tag for _, tag in Tags(page).found if "data-follows" in tag]
    desk.answers.pop("0")
    _turn(desk, 3)
    part = maria.glance(follower["hx-get"]).text
    words = read(part)
    assert "3 dead letters have come to an end; 1 succeeded." in words
    assert "2 went differently than hoped." in words
    replaced = [tag["id"] for _, tag in Tags(part).found if "hx-swap-oob" in tag]
    assert "items-waiting" in replaced
    assert all(f'id="{one}"' in page for one in replaced)
    assert re.search(r'id="items-waiting"[^>]*>0<', part)


def test_a_stage_that_takes_all_that_is_left_is_the_rest(desk: Desk, maria: Visitor) -> None:
    fill(desk.hub.store, [{"status": "dead", "entity_id": str(one)} for one in range(12)])
    words = read(maria.post("/bulk/preview", **ALL).text)
    assert "First 1, 10, then the rest" in words
    address = _begin(maria, canary="1")
    desk.hub.bulk.cancel(_run(desk, address).id, actor="maria")
    run_id = desk.hub.bulk.start("reprocess", EventFilter(), actor="maria", note="x", canary=True)
    _turn(desk)
    assert "Stages 1 under way 10 to come the rest to come" in read(maria.get(f"/bulk/{run_id}").text)


def test_a_stop_by_itself_says_how_many_died_again(desk: Desk, maria: Visitor) -> None:
    _dead(desk, 3)
    address = _begin(maria, canary="1")
    desk.hub.bulk.cancel(_run(desk, address).id, actor="maria")
    run_id = desk.hub.bulk.start("reprocess", EventFilter(), actor="maria", note="x", canary=[1])
    _turn(desk, 3)
    words = read(maria.get(f"/bulk/{run_id}").text)
    assert "stopped by itself 1 of 3 dead letters has come to an end." in words.replace("have", "has")
    assert "1 of 1 died again: look at them, then resume or cancel it." in words
    assert "Stages 1 stopped by itself the rest to come" in words
    assert "per second" not in words


def test_a_stage_of_a_run_that_stands_still_is_not_under_way(desk: Desk, maria: Visitor) -> None:
    _dead(desk, 3)
    run_id = desk.hub.bulk.start("reprocess", EventFilter(), actor="maria", note="x", canary=[1])
    bulk_progress.advance(desk.hub)
    desk.hub.bulk.pause(run_id, actor="maria")
    page = maria.get(f"/bulk/{run_id}").text
    assert "Stages 1 on pause the rest to come" in read(page)
    assert page.count('aria-current="step"') == 1
    desk.hub.bulk.cancel(run_id, actor="maria")
    page = maria.get(f"/bulk/{run_id}").text
    assert "Stages 1 cancelled the rest not let go" in read(page)
    assert 'aria-current="step"' not in page


def test_what_a_stopped_run_has_let_go_is_under_way_until_it_ends(desk: Desk) -> None:
    _dead(desk, 3)
    run_id = desk.hub.bulk.start("reprocess", EventFilter(), actor="maria", note="x", canary=[1])
    bulk_progress.advance(desk.hub)
    stopped = replace(desk.hub.bulk.get(run_id), state="stopped", released=1)
    with create_app(desk.hub).test_request_context(headers={"Accept-Language": "en"}):
        assert [stage.look.word for stage in stages(stopped)] == ["under way", "to come"]


SPEEDS: list[tuple[dict[str, Any], str, str]] = [
    ({"pace": 0.3, "pace_of": "all"}, "0.3 per second so far", "0,3 por segundo até agora"),
    ({"pace": 0.005, "pace_of": "all"}, "0.3 per minute so far", "0,3 por minuto até agora"),
    ({"pace": 0.00008, "pace_of": "recent"}, "0.3 per hour now", "0,3 por hora agora"),
    (
        {"pace": 5.0, "pace_of": "recent", "eta_seconds": 60.0},
        "5.0 per second now; over in about 1 min",
        "5,0 por segundo agora; termina em cerca de 1 min",
    ),
    (
        {"pace": 5.0, "pace_of": "set", "eta_seconds": 60.0},
        "Over in about 1 min at the pace that is set",
        "Termina em cerca de 1 min no ritmo definido",
    ),
    (
        {"pace": 0.01, "pace_of": "all", "eta_seconds": 300.0},
        "0.6 per minute so far; over in about 5 min",
        "0,6 por minuto até agora; termina em cerca de 5 min",
    ),
    ({"pace": None}, "", ""),
]


def test_a_pace_is_told_with_what_it_is_taken_from_in_a_unit_in_which_it_is_a_number(desk: Desk) -> None:
    _dead(desk, 3)
    run = desk.hub.bulk.get(desk.hub.bulk.start("reprocess", EventFilter(), actor="maria", note="x"))
    for language, place in (("en", 1), ("pt-BR", 2)):
        with create_app(desk.hub).test_request_context(headers={"Accept-Language": language}):
            for told in SPEEDS:
                assert _speed(replace(run, state="running", **told[0])) == told[place]


def test_an_end_is_told_only_where_somebody_works_on_it(desk: Desk, maria: Visitor) -> None:
    _dead(desk, 30)
    run_id = desk.hub.bulk.start("discard", EventFilter(), actor="maria", note="x", rate=0.5)
    _turn(desk)
    end = "Over in about 1 min at the pace that is set"
    assert end not in read(maria.get(f"/bulk/{run_id}").text)
    presence.announce(desk.hub.store, presence.new_worker_id(), mode="table", slots=1, accounts=None)
    assert end in read(maria.get(f"/bulk/{run_id}").text)


def test_a_run_that_was_on_pause_tells_how_long_it_moved(desk: Desk, maria: Visitor) -> None:
    _dead(desk, 3)
    address = _begin(maria)
    _turn(desk)
    desk.hub.clock.advance(10)
    maria.post(f"{address}/pause")
    desk.hub.clock.advance(180)
    maria.post(f"{address}/resume")
    desk.answers.clear()
    _turn(desk, 2)
    assert re.search(r"\d per second, \d\d s in all without its pauses", read(maria.get(address).text))


def test_what_differs_from_the_preview_is_told_before_anything_is_let_go(desk: Desk, maria: Visitor) -> None:
    ids = _dead(desk, 12)
    address = _begin(maria)
    for event_id in ids[1:]:
        desk.change(event_id, status="done")
    _turn(desk)
    words = read(maria.get(address).text)
    assert "on pause 0 of 1 dead letter has come to an end." in words
    assert "There are not as many as the preview counted, so a person decides" in words
    assert "The preview counted 12; they are 11 fewer." in words


def test_those_that_die_later_are_told_apart_and_listed(desk: Desk, maria: Visitor) -> None:
    _dead(desk, 2)
    address = _begin(maria)
    late = desk.dead("late")
    page = maria.get(address)
    assert "1 dead letter that matches has died since it was begun" in read(page.text)
    (link,) = [tag["href"] for tag in Tags(page.text).named("a") if "from=" in tag.get("href", "")]
    rows = [tag["id"] for tag in Tags(maria.get(link).text).named("tr") if "id" in tag]
    assert rows == [f"row-{late}"]


@both_engines
def test_a_refused_one_says_why_and_each_outcome_has_its_list(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_items, "PAGE", 2)
    ids = _dead(desk, 5)
    address = _begin(maria)
    bulk_progress.advance(desk.hub)
    desk.hub.discard(ids[0], actor="joana", note="by hand")
    desk.answers.clear()
    _turn(desk, 3)
    assert "somebody has dealt with it" in read(maria.get(address).text)
    first = maria.get(f"{address}?items=succeeded")
    (onward,) = [tag["href"] for tag in Tags(first.text).named("a") if tag.get("rel") == "next"]
    second = maria.get(onward)
    seen = re.findall(r'href="/events/(\d+)"', first.text + second.text)
    assert list(map(int, seen)) == ids[1:]
    for wrong in ("items=x", "items=succeeded&cursor=x"):
        assert maria.get(f"{address}?{wrong}").status_code == 400


def test_the_file_of_a_run_has_every_item_and_nothing_that_runs(desk: Desk, maria: Visitor) -> None:
    for one in range(3):
        desk.dead(str(one), error="=cmd|' /C calc'!A0")
    address = _begin(maria)
    del desk.answers["0"]
    _turn(desk, 3)
    maria.language = "pt-BR"
    answer = maria.get(f"{address}/items.csv")
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="bulk-')
    text = answer.data.decode().removeprefix("\ufeff")
    head, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=";")
    assert sorted(row[1] for row in rows) == ["deu certo", *["morreu de novo, mesmo erro"] * 2]
    assert {row[head.index("Erro agora")] for row in rows} == {"", "'=cmd|' /C calc'!A0"}


def test_a_file_that_is_read_while_items_move_misses_none_and_doubles_none(
    desk: Desk, maria: Visitor
) -> None:
    ids = _dead(desk, 4)
    address = _begin(maria)
    bulk_progress.advance(desk.hub)
    with maria.client.application.test_request_context():
        told = bulk_items._all(_run(desk, address), desk.person("anna", "viewer"))
        first = next(told)
        desk.answers.clear()
        with maria.client.application.app_context():
            _turn(desk, 3)
        assert [first.event_id, *(item.event_id for item in told)] == ids


def test_text_from_outside_is_shown_as_text(desk: Desk, maria: Visitor) -> None:
    _dead(desk, 1, error="<script>alert(1)</script>\u202e")
    address = _begin(maria)
    desk.hub.bulk.pause(_run(desk, address).id, actor="<i>eve</i>")
    _turn(desk, 2)
    for text in (maria.post("/bulk/preview", **ALL).text, maria.get(f"{address}?items=waiting").text):
        assert "<script>alert" not in text
        assert "<i>eve" not in text
        assert "\u202e" not in text


def test_a_run_with_a_page_full_of_items_is_small(desk: Desk, maria: Visitor) -> None:
    error = 'Cliente "Padaria & Filhos" não cadastrado: ' + "verifique o cadastro. " * 80
    rows = [{"status": "dead", "entity_id": f"2026-{one:06d}", "last_error": error} for one in range(60)]
    fill(desk.hub.store, rows)
    address = _begin(maria)
    bulk_progress.advance(desk.hub)
    page = maria.get(f"{address}?items=waiting")
    assert page.text.count('<th scope="row"') == 50
    assert len(page.data) < LARGEST_PAGE


def test_an_event_and_the_audit_lead_to_the_run(desk: Desk, maria: Visitor) -> None:
    (event_id,) = _dead(desk, 1)
    address = _begin(maria)
    _turn(desk, 2)
    for path in (f"/events/{event_id}", "/audit"):
        assert f'href="{address}"' in maria.get(path).text


def test_a_run_that_somebody_may_not_open_is_named_to_them_without_a_link(
    app: Flask, desk: Desk, maria: Visitor
) -> None:
    """Of a run over all accounts one sees the own event, not how many others it had."""
    (event_id,) = _dead(desk, 1)
    address = _begin(maria)
    _turn(desk, 2)
    rita = Visitor(app).enter(desk, "rita", "admin", accounts=["filial-sp"])
    assert rita.get(address).status_code == 404
    for path, named in ((f"/events/{event_id}", "Bulk run 1"), ("/audit", "bulk run 1")):
        page = rita.get(path).text
        assert named in read(page)
        assert f'href="{address}"' not in page
    desk.dead("own")
    own = _begin(rita)
    _turn(desk, 2)
    page = rita.get("/audit").text
    assert f'href="{own}"' in page
    assert f'href="{address}"' not in page


def test_all_runs_are_listed_those_that_are_not_over_first(desk: Desk, maria: Visitor) -> None:
    assert "No bulk run yet." in read(maria.get("/bulk").text)
    _dead(desk, 2)
    live = _begin(maria)
    over = _begin(maria)
    maria.post(f"{over}/cancel")
    page = maria.get("/bulk")
    assert "1 bulk run is not over." in read(page.text)
    assert re.findall(r'class="to" href="([^"]*)"', page.text) == [live, over]


def test_long_lists_of_runs_have_pages(desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "PAGE", 2)
    (event_id,) = _dead(desk, 1)
    runs = [desk.hub.bulk.start("reprocess", ids=[event_id], actor="maria") for _ in range(4)]
    for run_id in runs[1:]:
        desk.hub.bulk.cancel(run_id, actor="maria")
    first = maria.get("/bulk").text
    (older,) = [tag["href"] for tag in Tags(first).named("a") if tag.get("rel") == "next"]
    seen = re.findall(r'class="to" href="/bulk/(\d+)"', first + maria.get(older).text)
    assert list(map(int, seen)) == [runs[0], runs[3], runs[2], runs[1]]


def test_a_full_list_of_runs_is_small(desk: Desk, maria: Visitor) -> None:
    (event_id,) = _dead(desk, 1)
    for _ in range(bulk.PAGE + 1):
        run_id = desk.hub.bulk.start("reprocess", ids=[event_id], actor="maria", note='"<&>" ' * 300)
        desk.hub.bulk.cancel(run_id, actor="maria")
    page = maria.get("/bulk")
    assert page.text.count('class="to"') == bulk.PAGE
    assert len(page.data) < LARGEST_PAGE


NO_RUNS = ["/bulk/1", "/bulk/99999999999999999999", "/_f/bulk/1", "/bulk/1/items.csv"]


def test_a_run_that_does_not_exist_is_a_page_that_says_so(maria: Visitor) -> None:
    for path in NO_RUNS:
        assert maria.get(path).status_code == 404


def test_the_bar_is_always_whole_and_shows_whatever_there_is() -> None:
    for numbers in (
        [0, 0, 0, 0, 0],
        [1, 1, 1, 1, 99_996],
        [3, 0, 0, 0, 0],
        [99_999, 0, 1, 0, 0],
        [7, 7, 7, 7, 7],
    ):
        widths = _widths(numbers)
        assert sum(widths) == WIDTH
        assert all(width >= LEAST for width, number in zip(widths, numbers, strict=True) if number)


# The desk


@both_engines
def test_a_selection_is_assigned_tagged_and_snoozed_at_once(desk: Desk, maria: Visitor) -> None:
    ids = _dead(desk, 3)
    for action, form in (
        ("assign", {"person": "maria", "until": ""}),
        ("tag", {"add": "fiscal, urgent", "remove": ""}),
    ):
        page = maria.post("/bulk/preview", **(ALL | {"action": action}))
        assert page.status_code == 200
        done = maria.post("/bulk/desk", **(_fields(page) | {"action": action} | form))
        assert (done.status_code, path_of(done)) == (303, "/dead-letters")
        assert "Done: 3 events are changed." in read(maria.get("/dead-letters").text)
        assert "Done:" not in read(maria.get("/events").text)
    known = marked.marks(desk.hub.store, ids)
    assert {(one.assignee, one.tags) for one in known.values()} == {("maria", ("fiscal", "urgent"))}

    page = maria.post("/bulk/preview", **(ALL | {"action": "snooze"}))
    (until, *_) = [tag["value"] for tag in Tags(page.text).named("option")]
    maria.post("/bulk/desk", **(_fields(page) | {"until": until}))
    assert "Every dead letter is snoozed." in read(maria.get("/dead-letters").text)


def test_the_desk_of_accounts_that_are_not_ones_own_stays_as_it_is(app: Flask, desk: Desk) -> None:
    mine, other = desk.dead("1", account="filial-rj"), desk.dead("2", account="filial-sp")
    rita = Visitor(app).enter(desk, "rita", "operator", accounts=["filial-rj"])
    form = {"action": "tag", "list": "events", "events": f"{mine},{other}", "add": "x"}
    assert rita.post("/bulk/desk", **form).status_code == 303
    known = marked.marks(desk.hub.store, [mine, other])
    assert (known[mine].tags, known[other].tags) == (("x",), ())


NOT_FOR_THE_DESK = [
    {"action": "assign", "person": "nobody-here"},
    {"action": "assign", "person": "rita"},
    {"action": "assign", "person": "maria", "until": "soon"},
    {"action": "tag", "add": "x" * 500},
    {"action": "snooze", "until": "2001-01-01T00:00"},
]


def test_what_cannot_be_put_on_the_desk_changes_nothing(desk: Desk, maria: Visitor) -> None:
    desk.person("rita", "operator", accounts=["filial-rj"])
    (event_id,) = _dead(desk, 1)
    for form in NOT_FOR_THE_DESK:
        answer = maria.post("/bulk/desk", **(ALL | form))
        assert answer.status_code == 422
        assert "Nothing was changed." in read(answer.text)
        known = marked.marks(desk.hub.store, [event_id])[event_id]
        assert (known.assignee, known.tags, known.snoozed_until) == (None, (), None)


def test_the_desk_takes_no_more_at_once_than_it_says(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_many, "MOST", 2)
    _dead(desk, 3)
    answer = maria.post("/bulk/preview", **(ALL | {"action": "tag", "list": "events"}))
    assert answer.status_code == 422
    assert "Narrow the filter" in read(answer.text)


MANY_ON_THE_DESK = [
    ("assign", {"person": "maria", "until": "2030-03-01T12:00", "reassign": "1"}, "maria, until"),
    ("tag", {"add": "fiscal, urgent"}, "fiscal, urgent"),
    ("snooze", {"until": ""}, "back in sight"),
]


@both_engines
def test_more_dead_letters_than_that_are_put_on_the_desk_by_a_run(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_many, "MOST", 2)
    ids = _dead(desk, 3)
    for action, form, told in MANY_ON_THE_DESK:
        page = maria.post("/bulk/preview", **(ALL | {"action": action}))
        assert "a bulk run does it" in read(page.text)
        sent = _fields(page) | {"action": action} | form
        address = path_of(maria.post("/bulk/desk", **sent))
        # Sent twice, it is one run.
        assert path_of(maria.post("/bulk/desk", **sent)) == address
        _turn(desk, 3)
        run = _run(desk, address)
        assert (run.action, run.state, run.succeeded) == (action, "done", 3)
        assert told in read(maria.get(address).text)
        assert maria.get("/bulk").status_code == 200
    known = marked.marks(desk.hub.store, ids)
    assert {(one.assignee, one.tags) for one in known.values()} == {("maria", ("fiscal", "urgent"))}


def test_a_run_for_the_desk_that_cannot_begin_says_why(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_many, "MOST", 2)
    _dead(desk, 3)
    for form in NOT_FOR_THE_DESK:
        # Somebody else's accounts are looked at event by event.
        if form.get("person") != "rita":
            answer = maria.post("/bulk/desk", **(ALL | form))
            assert (answer.status_code, "Nothing was changed." in read(answer.text)) == (422, True)
    assert desk.hub.bulk.listed() == []


def test_what_somebody_else_sees_to_stays_with_them_unless_it_is_meant(desk: Desk, maria: Visitor) -> None:
    theirs, free = _dead(desk, 2)
    desk.person("joana", "operator")
    desk.hub.assign(theirs, "joana", actor="joana")
    form = ALL | {"action": "assign", "person": "maria"}
    for more, expected in (({}, ["joana", "maria"]), ({"reassign": "1"}, ["maria", "maria"])):
        maria.post("/bulk/desk", **(form | more))
        known = marked.marks(desk.hub.store, [theirs, free])
        assert [known[event_id].assignee for event_id in (theirs, free)] == expected


#: New ones, those that somebody else sees to, and what the list says in both languages.
STAYED = [
    (
        2,
        0,
        "Done: 2 events are changed.",
        "Feito: 2 eventos alterados.",
    ),
    (
        0,
        1,
        "Done: 0 events are changed. 1 stayed with somebody else; to assign it too, tick “Also those that somebody else sees to”.",
        "Feito: 0 evento alterado. 1 ficou com outra pessoa; para passá-lo também, marque “Também as que já estão com outra pessoa”.",
    ),
    (
        1,
        1,
        "Done: 1 event is changed. 1 stayed with somebody else; to assign it too, tick “Also those that somebody else sees to”.",
        "Feito: 1 evento alterado. 1 ficou com outra pessoa; para passá-lo também, marque “Também as que já estão com outra pessoa”.",
    ),
    (
        2,
        3,
        "Done: 2 events are changed. 3 stayed with somebody else; to assign them too, tick “Also those that somebody else sees to”.",
        "Feito: 2 eventos alterados. 3 ficaram com outra pessoa; para passá-los também, marque “Também as que já estão com outra pessoa”.",
    ),
]


@pytest.mark.parametrize("language", ["en", "pt-BR"])
@pytest.mark.parametrize(("new", "kept", "english", "portuguese"), STAYED)
def test_an_assignment_of_a_selection_tells_how_many_stayed_with_somebody_else(
    desk: Desk, maria: Visitor, language: str, new: int, kept: int, english: str, portuguese: str
) -> None:
    ids = _dead(desk, new + kept)
    desk.person("joana", "operator")
    for event_id in ids[:kept]:
        desk.hub.assign(event_id, "joana", actor="joana")
    maria.language = language
    maria.get("/dead-letters")
    answer = maria.post("/bulk/desk", **(ALL | {"action": "assign", "person": "maria"}))
    assert answer.status_code == 303
    words = read(maria.get(path_of(answer)).text)
    assert (english if language == "en" else portuguese) in words
    assert ("tick" in words or "marque" in words) == (kept > 0)


def test_a_preview_of_many_says_that_its_figures_are_about_the_newest(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "LOOK", 2)
    _dead(desk, 3)
    page = read(maria.post("/bulk/preview", **ALL).text)
    assert "You are about to reprocess 3 dead letters" in page
    assert "The figures are about the newest 2 of them." in page
    assert "They are being counted to the end… Count exactly" in page


# Counting to the end


def _parts(fragment: str) -> dict[str, str]:
    """The parts of the answer that go to another place of the page, by their id."""
    parts = re.split(r'(?=<(?:h1|div|span|button)[^>]* id="[a-z-]+"[^>]*hx-swap-oob)', fragment)
    found = {re.search(r'id="([a-z-]+)"', part)[1]: part for part in parts[1:]}  # type: ignore[index]
    return {"": parts[0]} | found


@both_engines
def test_a_large_preview_counts_to_the_end_and_that_number_is_typed_and_expected(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "LOOK", 5)
    monkeypatch.setattr(previews, "CAP", 120)
    fill(desk.hub.store, [{"status": "dead", "account": f"filial-{n % 2}"} for n in range(130)])
    maria.get("/dead-letters")
    page = maria.post("/bulk/preview", **ALL)
    assert "You are about to reprocess 120+ dead letters" in read(page.text)
    (asks,) = [tag for tag in Tags(page.text).named("div") if tag.get("hx-trigger") == "load"]
    assert asks["hx-post"] == "/_f/bulk/preview"
    first = _fields(page)
    answer = maria.htmx(asks["hx-post"], **first)
    assert answer.status_code == 200
    parts = _parts(answer.text)
    assert set(parts) == {"", "preview-heading", "preview-figures", "preview-sealed", "typed-words", "begin"}
    assert "Counted to the end: 130, as of " in read(parts[""])
    assert "You are about to reprocess 130 dead letters" in read(parts["preview-heading"])
    assert "Reprocess 130 dead letters" in read(parts["begin"])
    assert "Type the number 130 to confirm" in read(parts["typed-words"])
    assert re.findall(r"<dd>(\d+)</dd>", parts["preview-figures"]) == ["130", "65", "65", "130"]
    sealed = {tag["name"]: tag["value"] for tag in Tags(parts["preview-sealed"]).named("input")}
    begun = maria.post("/bulk", **(first | sealed | {"typed": "130"}))
    assert begun.status_code == 303, read(begun.text)
    run = _run(desk, path_of(begun))
    assert run.expected == 130
    desk.hub.discard(1, actor="joana", note="double")
    bulk_progress.advance(desk.hub)
    run = _run(desk, path_of(begun))
    assert (run.state, run.cause, run.drift) == ("paused", "drift", -1)


def test_without_script_all_are_counted_by_a_button_that_keeps_what_was_written(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "LOOK", 5)
    monkeypatch.setattr(previews, "CAP", 120)
    fill(desk.hub.store, [{"status": "dead"}] * 130)
    maria.get("/dead-letters")
    page = maria.post("/bulk/preview", **ALL)
    (button,) = [tag for tag in Tags(page.text).named("button") if tag.get("name") == "exact"]
    assert (button["formaction"], "formnovalidate" in button) == ("/bulk/preview", True)
    exact = maria.post("/bulk/preview", **_fields(page), exact="1")
    assert "You are about to reprocess 130 dead letters" in read(exact.text)
    assert ">registered</textarea>" in exact.text
    assert "hx-trigger" not in exact.text.partition('<form class="bulk-form"')[2].partition("</form>")[0]
    wrong = maria.post("/bulk", **(_fields(exact) | {"typed": "120"}))
    assert wrong.status_code == 422
    assert "You are about to reprocess 130 dead letters" in read(wrong.text), "as the person saw it"
    begun = maria.post("/bulk", **(_fields(wrong) | {"typed": "130"}))
    assert begun.status_code == 303, read(begun.text)


def test_what_is_counted_to_the_end_is_what_was_there_at_the_first_look(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "LOOK", 2)
    _dead(desk, 3)
    maria.get("/dead-letters")
    page = maria.post("/bulk/preview", **ALL)
    desk.dead("late")
    answer = maria.htmx("/_f/bulk/preview", **_fields(page))
    assert "You are about to reprocess 3 dead letters" in read(answer.text)


@both_engines
def test_counting_that_takes_too_long_is_given_up_and_the_page_stays_as_it_is(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "LOOK", 5)
    monkeypatch.setattr(previews, "CAP", 120)
    monkeypatch.setattr(previews, "PATIENCE", 0.001)
    fill(desk.hub.store, [{"status": "dead"}] * 3_000)
    maria.get("/dead-letters")
    page = maria.post("/bulk/preview", **ALL)
    answer = maria.htmx("/_f/bulk/preview", **_fields(page))
    assert answer.status_code == 200
    assert "Counting them all takes too long here." in read(answer.text)
    assert "hx-swap-oob" not in answer.text
    again = maria.post("/bulk/preview", **_fields(page), exact="1")
    assert "You are about to reprocess 120+ dead letters" in read(again.text)
    assert 'hx-trigger="load"' not in again.text, "it is not tried again and again"
    begun = maria.post("/bulk", **(_fields(again) | {"typed": "120"}))
    assert begun.status_code == 303


def test_a_first_look_that_gave_up_early_is_followed_by_one_to_the_end(desk: Desk, maria: Visitor) -> None:
    """Else nobody could begin a run over what lies far behind others that do not match."""
    tried = [3] * 4 + [1] * SCAN_LIMIT
    fill(desk.hub.store, [{"status": "dead", "attempts": attempts} for attempts in tried])
    maria.get("/dead-letters")
    page = maria.post("/bulk/preview", **ALL, attempts="3")
    assert "You are about to reprocess 4 dead letters" in read(page.text)
    assert maria.post("/bulk", **_fields(page)).status_code == 303


def test_counting_to_the_end_is_for_those_who_may_act_and_tells_of_their_accounts(
    app: Flask, desk: Desk, maria: Visitor, vera: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "LOOK", 2)
    _dead(desk, 3)
    for number in range(4):
        desk.dead(f"rj-{number}", account="filial-rj")
    maria.get("/dead-letters")
    fields = _fields(maria.post("/bulk/preview", **ALL))
    del fields["csrf_token"]
    vera.get("/dead-letters")
    assert vera.htmx("/_f/bulk/preview", **fields).status_code == 403
    rita = Visitor(app).enter(desk, "rita", "operator", accounts=["filial-rj"])
    rita.get("/dead-letters")
    assert rita.htmx("/_f/bulk/preview", **fields).status_code == 400, "the token is of somebody else"
    answer = rita.htmx("/_f/bulk/preview", **(fields | {"selection_token": ""}))
    assert "You are about to reprocess 4 dead letters" in read(answer.text)
