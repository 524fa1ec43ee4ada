"""The groups: how many dead letters each cause has, its page, and the same figures for programs."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import count
from typing import Any

from flask import Flask

from dlq_console.clock import utc_now
from dlq_console.store import groups, people
from dlq_console.store.queries.dead_letters import CAUSE_SAMPLE
from dlq_console.web.api import group_schemas
from dlq_console.web.counting import STALE_AFTER
from dlq_console.web.groups import PAGE_SIZE
from tests.store.filling import dead
from tests.web.desk import REFUSAL, Desk
from tests.web.visitor import Tags, Visitor, path_of, read

_numbers = count(1)
CAUSE = "Cliente não cadastrado para o código […]."


def _some(desk: Desk) -> list[int]:
    """Three refusals of one cause in two accounts, one of another cause; counted."""
    ids = [
        desk.dead("1"),
        desk.dead("2", error=REFUSAL.replace("5521", "5522")),
        desk.dead("3", account="filial-rj"),
        desk.dead("4", error="Sem estoque."),
    ]
    groups.sample(desk.hub.store)
    return ids


def _groups(page: str) -> list[str]:
    return [link["href"] for link in Tags(page).named("a") if link["href"].startswith("/groups/")]


def _fingerprint(desk: Desk, event_id: int) -> str:
    return str(desk.hub.get(event_id).fingerprint)


def _api(app: Flask, desk: Desk, path: str, accounts: list[str] | None = None) -> Any:
    name = f"program-{next(_numbers)}"
    token = people.add_token(desk.hub.store, name, role="viewer", accounts=accounts)
    return app.test_client().get(path, headers={"Authorization": f"Bearer {token}"})


def test_the_page_names_every_cause_biggest_first(desk: Desk, maria: Visitor) -> None:
    ids = _some(desk)
    html = maria.get("/groups").text
    page = read(html)
    assert "2 causes, 4 dead letters. Biggest cause: “ Cliente não cadastrado" in page
    assert f"3 75% {CAUSE} order.create 2 accounts" in page
    assert "1 25% Sem estoque. order.create filial-sp refused" in page
    assert "counted" in page
    first, other = _fingerprint(desk, ids[0]), _fingerprint(desk, ids[3])
    assert list(dict.fromkeys(_groups(html))) == [f"/groups/{first}", f"/groups/{other}"]
    assert f'href="/dead-letters?group={first}"' in html
    maria.language = "pt-BR"
    assert "2 causas, 4 cartas mortas. Maior causa:" in read(maria.get("/groups").text)


def test_the_page_of_a_cause_tells_what_was_said_since_when_and_which_events_died(
    desk: Desk, maria: Visitor
) -> None:
    ids = _some(desk)
    fingerprint = _fingerprint(desk, ids[0])
    html = maria.get(f"/groups/{fingerprint}").text
    page = read(html)
    assert f"{CAUSE} 3 dead letters have this cause: since " in page
    assert f"What was said last {REFUSAL}" in page
    assert "filial-sp 2 dead letters filial-rj 1 dead letter" in page
    assert re.findall(r'<tr id="row-(\d+)"', html) == [str(number) for number in (ids[2], ids[1], ids[0])]
    assert f'href="/dead-letters?group={fingerprint}"' in html
    assert f'href="/dead-letters?account=filial-rj&amp;group={fingerprint}"' in html
    listed = maria.get(f"/dead-letters?group={fingerprint}").text
    assert re.findall(r'<tr id="row-(\d+)"', listed) == [str(number) for number in (ids[2], ids[1], ids[0])]
    assert f"Group: {CAUSE}" in read(listed)


def test_the_page_of_a_cause_is_there_before_anybody_counted(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("1")
    page = read(maria.get(f"/groups/{_fingerprint(desk, event_id)}").text)
    assert "1 dead letter has this cause: since " in page
    empty = read(maria.get("/groups").text)
    assert "The dead letters have not been counted by cause yet." in empty


def test_a_cause_that_has_no_dead_letter_any_more_says_so(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("1")
    fingerprint = _fingerprint(desk, event_id)
    groups.sample(desk.hub.store)
    desk.hub.discard(event_id, actor="maria", note="not needed")
    groups.sample(desk.hub.store)
    page = read(maria.get(f"/groups/{fingerprint}").text)
    assert "No dead letter has this cause any more; the last one died on " in page
    assert "No dead letter. Everything is up to date." in read(maria.get("/groups").text)


def test_a_cause_nobody_knows_is_not_found(desk: Desk, maria: Visitor) -> None:
    _some(desk)
    for path in ("/groups/f1-0", "/groups/%00", "/groups/" + "x" * 300):
        assert maria.get(path).status_code == 404, path


def test_a_filter_narrows_the_causes_and_is_counted_at_once(desk: Desk, maria: Visitor) -> None:
    _some(desk)
    desk.dead("5", error="Sem estoque.")
    assert "1 cause, 2 dead letters." in read(maria.get("/groups?q=estoque").text)
    assert "2 causes, 3 dead letters." in read(maria.get("/groups?account=filial-sp").text)
    assert "No cause has a dead letter that matches." in read(maria.get("/groups?q=nothing").text)
    assert maria.get("/groups?since=x").status_code == 400
    html = maria.get("/groups?q=estoque&since=4h").text
    kept = {(field["name"], field["value"]) for field in Tags(html).named("input") if field.get("value")}
    assert {("q", "estoque"), ("since", "4h")} <= kept


def test_old_counts_are_shown_as_old(desk: Desk, maria: Visitor) -> None:
    _some(desk)
    table = desk.hub.store.tables.error_cause
    long_ago = utc_now() - timedelta(seconds=STALE_AFTER + 60)
    with desk.hub.store.write() as connection:
        connection.execute(table.update().values(sampled_at=long_ago))
    assert "Old counts: no worker has counted since " in read(maria.get("/groups").text)
    assert "Biggest cause" not in read(maria.get("/").text)


def test_a_person_sees_the_counts_and_words_of_their_accounts_alone(app: Flask, desk: Desk) -> None:
    ids = _some(desk)
    desk.dead("9", account="filial-rj", error="Only of Rio.")
    groups.sample(desk.hub.store)
    rui = Visitor(app).enter(desk, "rui", "viewer", ["filial-sp"])
    page = read(rui.get("/groups").text)
    assert "2 causes, 3 dead letters." in page
    assert "Rio" not in page
    shared = _fingerprint(desk, ids[0])
    one = rui.get(f"/groups/{shared}").text
    assert "2 dead letters have this cause" in read(one)
    assert "filial-rj" not in one
    theirs = _fingerprint(desk, desk.dead("10", account="filial-rj", error="Only of Rio."))
    assert rui.get(f"/groups/{theirs}").status_code == 404
    assert "Rio" not in rui.get("/").text
    answer = _api(app, desk, "/api/v1/groups", ["filial-sp"]).get_json()
    assert [item["count"] for item in answer["items"]] == [2, 1]
    assert "Rio" not in str(answer)


def test_all_of_a_cause_are_those_that_are_not_snoozed(desk: Desk, maria: Visitor) -> None:
    ids = _some(desk)
    address = f"/groups/{_fingerprint(desk, ids[0])}"
    desk.hub.snooze(ids[0], utc_now() + timedelta(days=1), actor="maria")
    words = read(maria.get(address).text)
    assert "3 dead letters have this cause" in words
    assert "1 of them is snoozed." in words
    assert "Reprocess all 2…" in words
    assert "Show all 2 among the dead letters" in words
    fields = {"action": "reprocess", "list": "dead-letters", "all": "1", "group": _fingerprint(desk, ids[0])}
    assert "You are about to reprocess 2 dead letters" in read(
        maria.post("/bulk/preview", snoozed="hide", **fields).text
    )
    for event_id in ids[1:3]:
        desk.hub.snooze(event_id, utc_now() + timedelta(days=1), actor="maria")
    words = read(maria.get(address).text)
    assert "3 of them are snoozed." in words
    assert "Reprocess" not in words.partition("Newest dead letters")[0]


def test_programs_read_when_a_cause_died_and_what_the_team_has_put_on_it(app: Flask, desk: Desk) -> None:
    ids = _some(desk)
    people.add_user(desk.hub.store, "joana", "only-for-tests-0123", role="operator")
    fingerprint = _fingerprint(desk, ids[0])
    desk.hub.set_playbook(fingerprint, "Register the customer.", actor="joana")
    desk.hub.assign_group(fingerprint, "joana", actor="joana")
    first, second = _api(app, desk, "/api/v1/groups").get_json()["items"]
    assert (first["playbook"], first["assignee"]) == ("Register the customer.", "joana")
    assert (second["playbook"], second["assignee"], second["assignment_due"]) == (None, None, None)
    assert (len(first["trend"]), sum(first["trend"]), sum(second["trend"])) == (24, 3, 1)
    of_one = _api(app, desk, "/api/v1/groups?account=filial-rj").get_json()["items"]
    assert [sum(item["trend"]) for item in of_one] == [1]
    theirs = _api(app, desk, "/api/v1/groups", ["filial-rj"]).get_json()["items"]
    assert [sum(item["trend"]) for item in theirs] == [1]


def test_who_is_not_logged_in_is_sent_to_the_log_in(app: Flask) -> None:
    for path in ("/groups", "/groups/f1-0"):
        assert path_of(app.test_client().get(path)).startswith("/login")
    assert app.test_client().get("/api/v1/groups").status_code == 401


def test_the_overview_names_the_biggest_cause_and_leads_to_it(desk: Desk, maria: Visitor) -> None:
    ids = _some(desk)
    html = maria.get("/").text
    assert f"Biggest cause: “ {CAUSE} ” (3, several accounts), since " in read(html)
    assert f'href="/groups/{_fingerprint(desk, ids[0])}"' in html


def test_the_biggest_cause_of_a_long_list_is_the_one_that_was_counted(desk: Desk, maria: Visitor) -> None:
    dead(desk.hub.store, CAUSE_SAMPLE + 30, fingerprint="f1-a", last_error="Customer [1] is unknown.")
    newer = {"at": utc_now(), "account": "filial-rj"}
    dead(desk.hub.store, CAUSE_SAMPLE, fingerprint="f1-b", last_error="No stock.", **newer)
    assert "Biggest cause among the newest: “ No stock. ”" in read(maria.get("/dead-letters").text)
    groups.sample(desk.hub.store)
    assert "Biggest cause: “ Customer […] is unknown. ” (230, filial-sp)" in read(
        maria.get("/dead-letters").text
    )
    assert "Biggest cause: “ No stock. ” (200, filial-rj)" in read(
        maria.get("/dead-letters?account=filial-rj").text
    )
    assert "Biggest cause among the newest: “ No stock. ”" in read(maria.get("/dead-letters?since=4h").text)


def test_what_the_erp_said_is_text_wherever_a_cause_stands(desk: Desk, maria: Visitor) -> None:
    said = "<script>alert()</script> & <b>no</b>"
    event_id = desk.dead("1", error=said)
    desk.dead("2", error=said)
    groups.sample(desk.hub.store)
    for path in ("/", "/groups", f"/groups/{_fingerprint(desk, event_id)}", "/dead-letters"):
        html = maria.get(path).text
        assert "<script>alert" not in html, path
        assert "<b>no" not in html, path
        assert "&lt;script&gt;alert()&lt;/script&gt; &amp; &lt;b&gt;no&lt;/b&gt;" in html, path


def test_programs_get_the_same_figures(app: Flask, desk: Desk) -> None:
    ids = _some(desk)
    answer = _api(app, desk, "/api/v1/groups").get_json()
    first, second = answer["items"]
    assert (answer["count"], answer["total"], answer["total_capped"], answer["complete"]) == (
        2,
        4,
        False,
        True,
    )
    assert answer["sampled_at"].endswith(("Z", "+00:00"))
    assert sum(first["trend"]) == 3
    assert first | {"first_seen_at": "", "last_seen_at": "", "trend": []} == {
        "fingerprint": _fingerprint(desk, ids[0]),
        "kind": "order.create",
        "class": "permanent",
        "error_type": "PermanentError",
        "cause": CAUSE,
        "sample": REFUSAL,
        "sample_event_id": ids[2],
        "count": 3,
        "count_capped": False,
        "share": 0.75,
        "accounts": 2,
        "account": None,
        "first_seen_at": "",
        "last_seen_at": "",
        "trend": [],
        "playbook": None,
        "assignee": None,
        "assignment_due": None,
    }
    assert second["account"] == "filial-sp"
    for schema, document in ((group_schemas.GroupsSchema, answer), (group_schemas.GroupSchema, first)):
        described = {field.data_key or name for name, field in schema().fields.items()}
        assert described == set(document)
    filtered = _api(app, desk, "/api/v1/groups?q=estoque&limit=1").get_json()
    assert (filtered["total"], filtered["sampled_at"]) == (1, None)
    events = _api(app, desk, f"/api/v1/events?group={first['fingerprint']}").get_json()
    assert {item["id"] for item in events["items"]} == set(ids[:3])


def test_a_program_that_asks_for_what_does_not_exist_is_told(app: Flask, desk: Desk) -> None:
    for query, words in (
        ("grp=1", "there is no such filter"),
        ("cursor=x", "no such filter"),
        ("limit=0", "1 to 200"),
    ):
        answer = _api(app, desk, f"/api/v1/groups?{query}")
        assert answer.status_code == 400
        assert words in answer.get_json()["detail"]


def test_a_cause_shows_its_trend_how_it_is_fixed_and_who_sees_to_it(desk: Desk, maria: Visitor) -> None:
    fingerprint = _fingerprint(desk, _some(desk)[0])
    assert "none today" not in read(maria.get("/groups").text)
    desk.hub.set_playbook(fingerprint, "Register the customer.\nThen reprocess.", actor="maria")
    desk.hub.assign_group(fingerprint, "maria", actor="maria")
    page = maria.get("/groups").text
    assert "order.create · maria Register the customer. 2 accounts refused 3; at most 3 in an hour" in read(
        page
    )
    assert "Then reprocess" not in page
    assert page.count('class="sparkline"') == 2
    group = read(maria.get(f"/groups/{fingerprint}").text)
    assert "Last 24 hours 3; at most 3 in an hour" in group
    assert "How we fix this Register the customer. Then reprocess." in group


def test_the_trend_is_that_of_the_accounts_that_are_asked_for(desk: Desk, maria: Visitor, app: Flask) -> None:
    _some(desk)
    assert "1; at most 1 in an hour" in read(maria.get("/groups?account=filial-rj").text)
    rita = Visitor(app).enter(desk, "rita", "operator", ["filial-sp"])
    assert "2; at most 2 in an hour" in read(rita.get("/groups").text)


def test_all_of_a_cause_can_be_reprocessed_or_discarded_by_who_may(
    desk: Desk, maria: Visitor, vera: Visitor
) -> None:
    fingerprint = _fingerprint(desk, _some(desk)[0])
    page = maria.get(f"/groups/{fingerprint}").text
    form = page[page.index('action="/bulk/preview"') :].partition("</form>")[0]
    fields = {(field["name"], field["value"]) for field in Tags(form).named("input")}
    assert {("all", "1"), ("group", fingerprint), ("list", "dead-letters")} <= fields
    assert [button["value"] for button in Tags(form).named("button")] == [
        "reprocess",
        "discard",
        "assign",
        "tag",
        "snooze",
    ]
    assert "Reprocess all 3…" in read(form)
    assert "Discard all 3…" in read(form)
    assert "/bulk/preview" not in vera.get(f"/groups/{fingerprint}").text


def test_many_causes_stand_on_several_pages(desk: Desk, maria: Visitor) -> None:
    for number in range(PAGE_SIZE + 2):
        dead(desk.hub.store, 1 + (number < 3), fingerprint=f"f1-{number:032x}")
    groups.sample(desk.hub.store)
    first = maria.get("/groups").text
    assert len(dict.fromkeys(_groups(first))) == PAGE_SIZE
    assert "Bigger ones" not in first
    (onwards,) = [link["href"] for link in Tags(first).named("a") if link.get("rel") == "next"]
    second = maria.get(onwards).text
    shown = set(_groups(second)) - {next(iter(_groups(first)))}
    assert len(shown) == 2
    assert not shown & set(_groups(first))
    (back,) = [link["href"] for link in Tags(second).named("a") if link.get("rel") == "prev"]
    assert (onwards, back) == (f"/groups?cursor={PAGE_SIZE}", "/groups")
    assert path_of(maria.get("/groups?cursor=9999")) == "/groups"
    assert maria.get("/groups?cursor=-1").status_code == 400
    assert maria.get("/groups?q=customer&cursor=50").status_code == 200


def test_a_cause_is_called_the_same_everywhere(desk: Desk, maria: Visitor) -> None:
    for number in range(2):
        desk.dead(str(number), error=f"Cliente não cadastrado para o código [{7100 + number}].")
    groups.sample(desk.hub.store)
    fingerprint = str(desk.hub.get(1).fingerprint)
    desk.hub.assign_group(fingerprint, "maria", actor="maria")
    said = "Cliente não cadastrado para o código […]."
    assert f">{said}</a>" in maria.get("/work").text
    assert f"Group: <b>{said}</b>" in maria.get(f"/dead-letters?group={fingerprint}").text
    preview = maria.post("/bulk/preview", action="reprocess", list="dead-letters", all="1")
    assert f"{said} 2" in read(preview.text)


def test_a_cause_that_is_not_counted_yet_is_called_by_its_fingerprint(desk: Desk, maria: Visitor) -> None:
    fingerprint = str(desk.hub.get(desk.dead("1")).fingerprint)
    assert f"Group: <b>{fingerprint[:11]}…</b>" in maria.get(f"/dead-letters?group={fingerprint}").text
