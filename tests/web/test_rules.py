"""The page of rules: what is in force, and what one more rule would have done to the failures on record."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from flask import Flask

from dlq_console.app import create_app
from tests.web.desk import Desk
from tests.web.refusals import OMIE, refusal
from tests.web.visitor import Tags, Visitor, read

ODD = {"error": {"code": "E-778", "message": "Parceiro sem perfil fiscal"}}
TRY = """
[[rule]]
id = "fiscal-profile"
when = { kind = "customer.upsert", status = 422 }
then = { class = "transient", effect = "not_applied", wait = 600 }
"""
CODELESS = {"mensagem": "Parceiro 5521 sem perfil (fiscal)"}


def drafted(page: str) -> str:
    """What stands in the field."""
    found = re.search(r'<textarea id="draft"[^>]*>([^<]*)</textarea>', page)
    assert found is not None
    return unescape(found[1])


def test_the_page_shows_the_rules_in_force_with_their_marks(sqlite_url: str, tmp_path: Path) -> None:
    own = tmp_path / "ours.toml"
    own.write_text(
        '[[rule]]\nid = "stock"\nwhen = { message = "^.*estoque.*$" }\nthen = { class = "transient" }\n'
        '[[rule]]\nid = "guess"\nevidence = "P"\nwhen = { status = 299 }\nthen = { class = "permanent" }\n'
    )
    desk = Desk(sqlite_url, rules=str(own))
    visitor = Visitor(create_app(desk.hub)).enter(desk, "vera", "viewer")
    text = read(visitor.get("/rules").text)
    assert f"rule set {desk.hub.registry.rules.version}" in text
    assert "1 of them your own" in text
    assert "ours · 2 rules · your own" in text
    assert "ours.stock" not in text, "the rules of a pack are shown when they are asked for"
    text = read(visitor.get("/rules?pack=ours").text)
    assert (
        "ours.stock message ^.*estoque.*$ may pass by itself transient · event · unknown in force your own"
        in text
    )
    assert "switched off only plausible" in text
    assert "omie.blocked provider omie status 425" in read(visitor.get("/rules?pack=omie").text)
    page = visitor.get("/rules?rule=omie.blocked").text
    assert page.count(" open><summary>") == 1
    assert 'id="rule-omie.blocked"' in page
    desk.hub.close()


def test_a_wrong_rule_file_is_named_and_the_page_still_opens(sqlite_url: str, tmp_path: Path) -> None:
    own = tmp_path / "ours.toml"
    own.write_text('[[rule]]\nid = "stock"\nwhen = { statu = 500 }\nthen = { class = "transient" }\n')
    desk = Desk(sqlite_url, rules=str(own))
    visitor = Visitor(create_app(desk.hub)).enter(desk, "vera", "viewer")
    for answer in (visitor.get("/rules"), visitor.post("/rules", draft=TRY)):
        assert answer.status_code == 200
        assert f"{own}, line 3:" in read(answer.text)
    desk.hub.close()


def test_a_draft_tells_what_it_would_have_matched_and_changes_nothing(desk: Desk, maria: Visitor) -> None:
    matched = desk.dead("1", error=refusal(422, ODD), kind="customer.upsert")
    other = desk.dead("2", error=refusal(422, ODD), kind="invoice.create")
    before = desk.hub.registry.rules.version
    maria.get("/rules")
    answer = maria.post("/rules", draft=TRY)
    assert answer.status_code == 200
    text = read(answer.text)
    assert "It was tried against 2 failures on record (of the last 30 days)." in text
    assert "It matches 1 of them and decides 1; 1 would have had another class." in text
    rows = answer.text[answer.text.index('class="list matches"') :].partition("</table>")[0]
    assert f"/events/{matched}" in rows
    assert f"/events/{other}" not in rows
    assert "HTTP 422" in read(rows)
    assert "refused http.refused may pass by itself draft.fiscal-profile" in read(rows)
    assert drafted(answer.text) == TRY.lstrip("\n") or drafted(answer.text) == TRY
    assert desk.hub.registry.rules.version == before
    assert (desk.hub.get(matched).status, desk.hub.get(matched).verdict) == ("dead", "permanent")


def test_a_draft_that_matches_behind_another_rule_names_the_one_that_decides(
    desk: Desk, maria: Visitor
) -> None:
    fault = {"faultcode": "SOAP-ENV:Client-101", "faultstring": "ERROR: API bloqueada por consumo indevido"}
    desk.answers["1"] = refusal(500, fault)
    desk.hub.run(desk.add("1", policy=OMIE))
    maria.get("/rules")
    broad = '[[rule]]\nid = "all-500"\nwhen = { status = 500 }\nthen = { class = "permanent" }\n'
    text = read(maria.post("/rules", draft=broad).text)
    assert "It matches 1 of them and decides 0; 0 would have had another class." in text
    assert "omie.blocked-text comes first" in text


@pytest.mark.parametrize(
    ("draft", "sentence"),
    [
        ("", "There is no rule in the field: paste one."),
        ("# nothing yet", "It is understood, but there is no [[rule]] in it."),
        ("[[rule]\n", "draft, line 1: this is no TOML"),
        (
            '[[rule]]\nid = "x"\nwhen = { statu = 5 }\nthen = { class = "permanent" }',
            'draft, line 3: "statu" is unknown',
        ),
        (
            '[[rule]]\nid = "x"\nwhen = { message = "^(a+)+$" }\nthen = { class = "permanent" }',
            'draft, line 3: The expression of "message"',
        ),
        ('name = "omie"\n' + TRY.replace("fiscal-profile", "blocked"), "is used already in packs/omie.toml"),
        ("x" * 20_001, "The text is longer than 20,000 characters."),
    ],
)
def test_a_wrong_draft_is_answered_with_its_line_and_one_sentence(
    desk: Desk, maria: Visitor, draft: str, sentence: str
) -> None:
    maria.get("/rules")
    answer = maria.htmx("/rules", page="/rules", draft=draft)
    assert answer.status_code == 200
    assert "<html" not in answer.text
    assert sentence in read(answer.text)


def test_a_dead_letter_that_no_rule_knows_leads_to_a_rule_made_from_its_error(
    desk: Desk, maria: Visitor
) -> None:
    event_id = desk.dead("1", error=refusal(200, CODELESS), kind="customer.upsert", policy=OMIE)
    assert desk.hub.get(event_id).reason == "unclassified"
    page = maria.get(f"/events/{event_id}").text
    assert f'href="/rules?event={event_id}"' in page
    assert "The ERP answered something that no rule knows." in read(page)
    assert "HTTPStatusError: " not in read(page).partition("Technical details")[0]
    page = maria.get(f"/rules?event={event_id}").text
    draft = drafted(page)
    assert (
        r"""provider = "omie", kind = "customer.upsert", status = 200, message_masked = '^\{"mensagem":"parceiro # sem"""
        in draft
    )
    answer = maria.post("/rules", draft=draft)
    assert "It matches 1 of them and decides 1; 1 would have had another class." in read(answer.text)


def test_an_error_without_an_answer_is_drafted_by_its_class(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("1", error=KeyError("cfop"))
    draft = drafted(maria.get(f"/rules?event={event_id}").text)
    assert 'when = { kind = "order.create", exception = "KeyError" }' in draft
    assert "It matches 1 of them and decides 1" in read(maria.post("/rules", draft=draft).text)


def test_a_code_that_breaks_out_of_quotes_stays_a_value_of_the_draft(desk: Desk, maria: Visitor) -> None:
    code = 'E"\n]] \\ \x7f</textarea><script>alert(1)</script>'
    event_id = desk.dead("1", error=refusal(422, {"error": {"code": code}}), kind="customer.upsert")
    page = maria.get(f"/rules?event={event_id}").text
    assert all(script.get("src", "").startswith("/static/") for script in Tags(page).named("script"))
    answer = maria.post("/rules", draft=drafted(page))
    assert "It matches 1 of them" in read(answer.text)
    assert all(script.get("src", "").startswith("/static/") for script in Tags(answer.text).named("script"))


def test_people_see_the_failures_of_their_accounts_only(app: Flask, desk: Desk) -> None:
    hidden = desk.dead("1", error=refusal(422, ODD), kind="customer.upsert", account="filial-rj")
    desk.dead("2", error=refusal(422, ODD), kind="customer.upsert", account="filial-sp")
    rita = Visitor(app).enter(desk, "rita", "viewer", ["filial-sp"])
    rita.get("/rules")
    answer = rita.post("/rules", draft=TRY)
    assert "It was tried against 1 failure on record" in read(answer.text)
    assert "filial-rj" not in answer.text
    assert rita.get(f"/rules?event={hidden}").status_code == 404


def test_whoever_is_not_logged_in_sees_no_rules(app: Flask, desk: Desk) -> None:
    stranger = Visitor(app)
    assert stranger.get("/rules").status_code == 303
    assert stranger.post("/rules", draft=TRY).status_code in (400, 401)
