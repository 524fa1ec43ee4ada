"""Filters that are kept under a name: one's own, and those of the team."""

from __future__ import annotations

import re

import pytest
from flask import Flask

from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, path_of, read

NAME = re.compile(r'action="(/views/\d+)"')


def _save(visitor: Visitor, name: str, *, page: str = "dead-letters", **fields: str) -> str:
    answer = visitor.post("/views", page=page, view_name=name, **fields)
    assert answer.status_code == 303, answer.text
    return path_of(answer)


def test_a_kept_filter_leads_back_to_its_list_and_stands_above_it(desk: Desk, maria: Visitor) -> None:
    desk.dead("1", account="filial-sp")
    desk.dead("2", account="filial-rj")
    address = _save(maria, "São Paulo", account="filial-sp", since="4h")
    assert address == "/dead-letters?account=filial-sp&since=4h"
    page = maria.get(address).text
    (tab,) = [link for link in Tags(page).named("a") if link.get("aria-current") == "true"]
    assert tab["href"] == address
    assert "São Paulo" in read(page)
    assert 'aria-current="true"' not in maria.get("/dead-letters").text
    assert "São Paulo" not in read(maria.get("/events").text)
    fragment = maria.glance("/_f/dead-letters?account=filial-rj").text
    assert 'id="views"' in fragment
    assert 'aria-current="true"' not in fragment


def test_the_page_of_views_counts_each_of_them_now(desk: Desk, maria: Visitor) -> None:
    assert "No view yet." in read(maria.get("/views").text)
    _save(maria, "of São Paulo", account="filial-sp")
    _save(maria, "all done", page="events", status="done")
    desk.dead("1", account="filial-sp")
    desk.done("2")
    desk.done("3")
    text = read(maria.get("/views").text)
    assert "2 views; the numbers are those of this moment." in text
    assert "1 of São Paulo Dead letters · Account: filial-sp yours" in text
    assert "2 all done All events · State: done yours" in text


def test_a_shared_view_is_used_by_all_and_changed_by_its_owner_and_administrators(
    app: Flask, desk: Desk, maria: Visitor
) -> None:
    _save(maria, "own", account="a")
    _save(maria, "team", account="b", shared="1")
    joana = Visitor(app).enter(desk, "joana", "operator")
    page = joana.get("/views").text
    assert "team" in read(page)
    assert "own" not in read(page).split("What it shows")[1].split("Keys")[0]
    assert not NAME.findall(page)
    team = _address_of(maria, "team")
    assert joana.post(f"{team}/delete").status_code == 404
    assert joana.post(team, view_name="theirs").status_code == 404
    local = Visitor(app).enter(desk, "local", "admin", ["b"])
    assert not NAME.findall(local.get("/views").text)
    assert local.post(f"{team}/delete").status_code == 404
    chief = Visitor(app).enter(desk, "chief", "admin")
    assert chief.post(f"{team}/delete").status_code == 303
    assert "team" not in read(maria.get("/views").text)


def test_a_view_gets_another_name_and_is_kept_for_oneself_again(desk: Desk, maria: Visitor) -> None:
    _save(maria, "team", account="b", shared="1")
    answer = maria.post(_address_of(maria, "team"), view_name="mine")
    assert path_of(answer) == "/views"
    text = read(maria.get("/views").text)
    assert "mine Dead letters · Account: b yours" in text
    assert "for everybody" not in text.split("mine Dead letters")[1].split("Change")[0]


def test_a_name_that_is_taken_is_refused_and_not_lost(desk: Desk, maria: Visitor) -> None:
    _save(maria, "own", account="a")
    answer = maria.post("/views", page="dead-letters", view_name="own", account="b")
    assert answer.status_code == 409
    assert "You have a view of this name already; choose another name." in read(answer.text)
    assert maria.post("/views", page="users", view_name="x").status_code == 400
    assert maria.post("/views", page="events", view_name="x", status="nonsense").status_code == 400


@pytest.mark.parametrize(
    ("name", "status", "sentence"),
    [
        ("own", 409, "Você já tem uma visão com este nome; escolha outro."),
        ("y" * 81, 400, "O nome de uma visão tem de 1 a 80 caracteres, todos visíveis."),
        ("  ", 400, "O nome de uma visão tem de 1 a 80 caracteres, todos visíveis."),
    ],
)
@pytest.mark.parametrize("page", ["dead-letters", "events"])
def test_a_view_that_is_not_kept_leads_back_to_its_list_with_what_was_written(
    desk: Desk, maria: Visitor, page: str, name: str, status: int, sentence: str
) -> None:
    shown, hidden = desk.dead("1", account="b"), desk.dead("2", account="a")
    _save(maria, "own", account="a")
    maria.language = "pt-BR"
    answer = maria.post("/views", page=page, view_name=name, account="b", shared="1")
    assert answer.status_code == status
    assert f'<tr id="row-{shown}"' in answer.text
    assert f'<tr id="row-{hidden}"' not in answer.text
    sheet = answer.text.partition('<details class="menu to-right" open>')[2].partition("</details>")[0]
    assert sentence in read(sheet)
    (field,) = [tag for tag in Tags(sheet).named("input") if tag.get("id") == "view-name"]
    assert (field["value"], field["aria-invalid"], field["aria-describedby"]) == (
        name,
        "true",
        "view-refused",
    )
    assert '<p class="late small-text" id="view-refused"' in sheet
    kept = {
        tag["name"]: tag.get("value", "") for tag in Tags(sheet).named("input") if tag["name"] != "csrf_token"
    }
    assert kept == {"page": page, "account": "b", "view_name": name, "shared": "1"}
    assert 'name="shared" value="1" checked' in sheet
    assert maria.post("/views", **(kept | {"view_name": "another"})).status_code == 303


def test_another_name_that_is_taken_is_told_beside_the_view_that_was_to_have_it(
    desk: Desk, maria: Visitor
) -> None:
    _save(maria, "first", account="a")
    _save(maria, "second", account="b")
    answer = maria.post(_address_of(maria, "second"), view_name="first")
    assert answer.status_code == 409
    (sheet,) = answer.text.split('<details class="menu to-right" open>')[1:]
    (field,) = [
        tag for tag in Tags(sheet.partition("</details>")[0]).named("input") if tag.get("required") == ""
    ]
    assert (field["name"], field["value"], field["aria-invalid"]) == ("view_name", "first", "true")
    assert "You have a view of this name already; choose another name." in read(sheet)
    assert "second Dead letters" in read(maria.get("/views").text)


def test_who_only_looks_keeps_views_but_shares_none(desk: Desk, vera: Visitor) -> None:
    _save(vera, "own", account="a")
    assert "Everybody may use it" not in vera.get("/dead-letters").text
    answer = vera.post("/views", page="dead-letters", view_name="team", shared="1")
    assert answer.status_code == 400


def test_a_list_takes_a_view_by_its_number_and_what_is_asked_for_beside_it(
    app: Flask, desk: Desk, maria: Visitor
) -> None:
    wanted = desk.dead("1", account="filial-sp")
    desk.dead("2", account="filial-sp")
    desk.dead("3", account="filial-rj")
    _save(maria, "own", account="filial-sp")
    number = _address_of(maria, "own").rpartition("/")[2]
    page = maria.get(f"/dead-letters?view={number}&entity=1")
    assert re.findall(r'<tr id="row-(\d+)"', page.text) == [str(wanted)]
    assert "Account: filial-sp" in read(page.text)
    joana = Visitor(app).enter(desk, "joana", "operator")
    for nonsense in (number, "x", "9" * 30):
        answer = joana.get(f"/dead-letters?view={nonsense}")
        assert (answer.status_code, "There is no such view any more" in answer.text) == (400, True)


def _address_of(visitor: Visitor, name: str) -> str:
    page = visitor.get("/views").text
    found = NAME.search(page, page.index(f">{name}<"))
    assert found
    return found[1]
