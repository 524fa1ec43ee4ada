"""Whatever stands in payloads, errors, names, tags, notes and playbooks: every page shows it as text, and nothing of it works."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from werkzeug.test import TestResponse

from dlq_console.app import create_app
from dlq_console.errors import PayloadRefused, PermanentError
from dlq_console.store import groups, views
from dlq_console.store.filters import EventFilter
from dlq_console.store.people import Person
from dlq_console.web.visible import visible
from tests.web import alerted
from tests.web.desk import Desk
from tests.web.refusals import refusal
from tests.web.visitor import Tags, Visitor, read

CORPUS = {
    "script": "<script>alert(1)</script>",
    "attribute": '" onmouseover="alert(1)" autofocus x="',
    "picture": "'><img src=x onerror=alert(1)>",
    "drawing": "<svg/onload=alert(1)>",
    "end of text area": "</textarea></pre></option></title><script>alert(1)</script>",
    "htmx": '<b hx-get="/logout" hx-trigger="load">x</b>',
    "template": "{{ 7 * 7 }}{% raw %}",
    "format": "%(thing)s %s {0}",
    "direction": "order\u202egpj.exe\u2066",
    "terminal": "\x1b[31mred\x1b[0m\x07",
    "formula": '=HYPERLINK("http://evil.example","x")',
    "formula of a sign": "@SUM(1+1)*cmd|' /C calc'!A0",
    "header": "x\r\nSet-Cookie: a=b",
    "control": "a\x85b\x7fc\u200bd\ufeff",
}
#: Tags that pages write, and attributes of them that may lead somewhere.
FORBIDDEN = ("iframe", "object", "embed", "style", "base", "hx-partial")
WRITTEN_AGAIN = (("textarea", "payload"), ("textarea", "note"))
LEADING = ("href", "src", "action", "formaction", "hx-get", "hx-post")


def _assert_inert(answer: TestResponse) -> None:
    for tag, attributes in Tags(answer.text).found:
        assert tag not in FORBIDDEN, tag
        assert tag not in ("img", "script") or attributes["src"].startswith("/static/"), attributes
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name != "style", tag
            # Of our own: what somebody has to write once more.
            assert name != "autofocus" or (tag, attributes.get("name")) in WRITTEN_AGAIN, attributes
            # A button of a form elsewhere posts where its formaction says.
            assert name not in LEADING or not value or re.match(r"(/(?!/)|#)", value), (tag, name, value)
            assert name != "hx-trigger" or "load" not in value
    assert answer.text == visible(answer.text)
    assert not any("\n" in value or not value.isascii() for value in answer.headers.values())


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Desk]:
    """One console for all of it, on SQLite: pages are the same on both engines."""
    path = tmp_path_factory.mktemp("hostile") / "hub.db"
    path.write_bytes(request.getfixturevalue("_sqlite_template").read_bytes())
    desk = Desk(f"sqlite:///{path}")
    yield desk
    desk.hub.close()


@pytest.fixture(scope="module")
def edith(desk: Desk) -> Visitor:
    """An editor, who sees every form there is."""
    return Visitor(create_app(desk.hub)).enter(desk, "edith", "editor")


@pytest.fixture(scope="module")
def joana(desk: Desk) -> Person:
    """Somebody who shares views with everybody."""
    return desk.person("joana", "admin")


def _or_plain(text: str, name: str) -> str:
    """The text where names take such characters, else a plain one; as long as a tag may be."""
    return text[:40] if text.isprintable() else f"plain {name}"


@pytest.mark.parametrize("name", CORPUS)
def test_hostile_text_stays_text_on_every_page(desk: Desk, edith: Visitor, name: str) -> None:
    text = CORPUS[name]
    plain = _or_plain(text, name)
    payload: dict[str, Any] = {text: [text, {text: text, "token": text}], "lines": [{text: text}]}
    desk.done(plain, kind=plain, account=plain, payload={text: 1, "lines": [{text: 2}]}, version="0")
    event_id = desk.dead(
        plain,
        kind=plain,
        account=plain,
        error=PermanentError(text),
        payload=payload,
        origin=plain,
        version="1",
    )
    hub, fingerprint = desk.hub, str(desk.hub.get(event_id).fingerprint)
    for act in (
        lambda: hub.add_note(event_id, text, actor="joana"),
        lambda: hub.tag(event_id, [plain], actor="joana"),
        lambda: hub.set_playbook(fingerprint, text, actor="joana"),
        lambda: hub.assign(event_id, None, actor="joana"),
    ):
        try:
            act()
        except PayloadRefused:
            continue  # refused at the door is as good
    groups.sample(hub.store)
    alerted.look(desk)
    alerted.find(hub.store, "dead_letters", plain, to=(plain,), figures={"kind": text, "reason": text})
    alerted.close(hub.store, *alerted.find(hub.store, plain, plain, to=(plain,)))
    alerted.snooze(desk, "dead_letters", note=plain)
    desk.answers[f"ruled by {name}"] = refusal(422, {"faultcode": text, "faultstring": text})
    ruled = hub.run(desk.add(f"ruled by {name}", kind=plain, account=plain)).id
    pages = [
        "/",
        "/dead-letters",
        "/events",
        "/groups",
        f"/groups/{fingerprint}",
        "/work",
        "/audit",
        "/rules",
        "/alerts",
    ]
    pages += [
        f"/events/{event_id}",
        f"/events/{event_id}?history=all",
        f"/events/{ruled}",
        f"/rules?event={ruled}",
    ]
    for path in pages:
        answer = edith.get(path)
        assert answer.status_code == 200, path
        _assert_inert(answer)
    told = read(edith.get(f"/events/{event_id}").text)
    assert " ".join(visible(text).split()) in told
    _assert_inert(edith.post(f"/events/{event_id}/reveal", place="/lines/0", note=plain))
    _assert_inert(edith.glance(f"/_f/events/{event_id}/state"))
    _assert_inert(edith.glance(f"/_f/events/{event_id}/row"))


@pytest.mark.parametrize("name", CORPUS)
def test_hostile_text_stays_text_where_people_search_keep_views_correct_and_act_upon_many(
    desk: Desk, edith: Visitor, joana: Person, name: str
) -> None:
    text, plain = CORPUS[name], _or_plain(CORPUS[name], name)
    payload = {text: [text, {text: text}]}
    event_id = desk.dead(
        f"many {plain}", kind=plain, account=plain, error=PermanentError(text), payload=payload
    )
    hub = desk.hub
    asked = f"q={quote(plain)}"
    run_id = hub.bulk.start("reprocess", EventFilter(account=(plain,), q=plain), actor=plain, note=plain)
    view = views.save(hub.store, joana, name=plain, page="dead-letters", filter_=asked, shared=True)
    edith.get("/views")
    everything = {"action": "reprocess", "list": "dead-letters", "all": "1", "account": plain, "q": plain}
    written = {"note": text, "typed": text, "rate": text, "window": text, "stop_share": text}
    answers = {
        path: edith.get(path)
        for path in (
            "/views",
            f"/dead-letters?view={view.id}",
            f"/search?q={quote(text)}",
            f"/search?q={quote(plain)}",
            "/bulk",
            f"/bulk/{run_id}",
            f"/_f/bulk/{run_id}?seen={quote(text)}",
            f"/events/{event_id}/edit",
        )
    }
    # A search that finds one goes to its page.
    assert {answer.status_code for answer in answers.values()} <= {200, 303}
    # Refused ones as well, with what was written in their fields.
    for path, form in (
        ("/bulk/preview", everything),
        ("/bulk/preview", everything | {"q": text}),
        ("/bulk/preview", everything | {"action": "tag"}),
        ("/bulk", everything | written),
        ("/bulk/desk", everything | {"action": "tag", "add": 500 * text}),
        ("/views", {"page": "dead-letters", "filter": asked, "view_name": 90 * text}),
        (f"/views/{view.id}", {"view_name": text}),
        (f"/bulk/{run_id}/pause", {"note": text}),
        (f"/bulk/{run_id}/pause", {"note": text}),
        (f"/events/{event_id}/edit", {"payload": json.dumps({"new": text}), "note": text}),
        (f"/events/{event_id}/edit", {"payload": text, "note": text}),
    ):
        answers[f"POST {path} {sorted(form)}"] = edith.post(path, **form)
    assert {path for path, answer in answers.items() if answer.status_code >= 500} == set()
    for answer in answers.values():
        _assert_inert(answer)
    assert "<textarea" in answers[f"/events/{event_id}/edit"].text


@pytest.mark.parametrize("name", [name for name in CORPUS if name.startswith("formula")])
def test_no_cell_of_an_export_is_a_formula(desk: Desk, edith: Visitor, name: str) -> None:
    desk.dead("1", account=CORPUS[name], error=PermanentError(CORPUS[name]), origin=CORPUS[name])
    answer = edith.get("/export/dead-letters.csv")
    assert answer.status_code == 200
    cells = [
        cell for row in csv.reader(answer.get_data(as_text=True).splitlines(), delimiter=",") for cell in row
    ]
    assert any("SUM" in cell or "HYPERLINK" in cell for cell in cells)
    assert not [cell for cell in cells if cell.lstrip("\ufeff").startswith(("=", "+", "-", "@", "\t", "\r"))]
