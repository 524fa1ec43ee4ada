"""Correcting a payload on the page: two steps without script, nothing hidden is shown or lost, nothing typed is lost."""

from __future__ import annotations

import json
from html import unescape
from typing import Any
from urllib.parse import unquote

import pytest
from flask import Flask

from dlq_console.errors import OutcomeUnknown, PayloadRefused
from dlq_console.hub import schemas
from dlq_console.hub.policy import Policy
from dlq_console.redact import MASK, Misplaced
from dlq_console.store import canonical_scalars, queries
from dlq_console.web import edit_words
from dlq_console.web.edit import MOST_OFFERED, MOST_SENT
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, path_of, read

PAYLOAD = {"number": "8841", "total": 12.5, "password": "hunter2", "note": "olá \u202e\x1b[31m"}
SCHEMA = {"type": "object", "required": ["number"]}


@pytest.fixture
def edna(app: Flask, desk: Desk) -> Visitor:
    """An editor, logged in, who reads English."""
    return Visitor(app).enter(desk, "edna", "editor")


def _dead(desk: Desk, **more: Any) -> int:
    return desk.dead("8841", **({"payload": PAYLOAD} | more))


def _text(page: str) -> str:
    """What stands in the field."""
    return unescape(page.partition('<textarea id="payload"')[2].partition(">")[2].partition("</textarea>")[0])


def _hidden(page: str) -> dict[str, str]:
    return {tag["name"]: tag["value"] for tag in Tags(page).named("input") if tag.get("type") == "hidden"}


def test_a_payload_is_corrected_in_two_steps_without_script(desk: Desk, edna: Visitor) -> None:
    event_id = _dead(desk)
    assert f'href="/events/{event_id}/edit"' in edna.get(f"/events/{event_id}").text
    page = edna.get(f"/events/{event_id}/edit").text
    typed = _text(page).replace('"8841"', '"9000"').replace("12.5", "12.50")
    checked = edna.post(f"/events/{event_id}/edit", payload=typed, note="wrong number", **_seen(page))
    assert checked.status_code == 200
    text = read(checked.text)
    assert "Number changed 8841 9000" in text
    assert "Total" not in text
    assert desk.hub.get(event_id).status == "dead", "the first step only looks"
    saved = edna.post(f"/events/{event_id}/edit", step="save", **_hidden(checked.text))
    assert saved.status_code == 303
    new = desk.hub.get(event_id + 1)
    assert path_of(saved) == f"/events/{new.id}"
    assert new.payload == PAYLOAD | {"number": "9000"}
    assert '"total":12.50' in new.payload_json
    (entry, *_) = queries.audit(desk.hub.store, new.id)
    assert (entry.actor, entry.action, entry.note) == ("edna", "edit", "wrong number")
    assert "edna corrected the payload." in read(edna.get(f"/events/{event_id}").text)


def _corrected(desk: Desk, event_id: int, **changes: Any) -> int:
    payload = desk.hub.get(event_id).payload | changes
    return desk.hub.edit(event_id, payload, actor="edna", note="wrong number").id


def _section(page: str, other: int) -> str:
    return page.partition(f'id="correction-{other}"')[2].partition("</section>")[0]


def test_what_an_edit_changed_is_told_on_both_events_afterwards(desk: Desk, edna: Visitor) -> None:
    old = _dead(desk)
    new = _corrected(desk, old, number="9000", password="hunter3hunter3")
    for here, other, said in (
        (old, new, "Its corrected payload is in:"),
        (new, old, "This event took the place of:"),
    ):
        page = edna.get(f"/events/{here}").text
        told = _section(page, other)
        assert f"{said} Event {other}" in read(told)
        assert f'href="/events/{other}"' in told
        assert "2 fields became different" in read(told)
        assert "Number changed 8841 9000" in read(told)
        assert told.count(MASK) == 2
        assert "hunter" not in page
        assert "open" not in Tags(told).named("details")[0], "folded up"
        link = f"/events/{here}?correction={other}#correction-{other}"
        assert link in [one.get("href") for one in Tags(page).named("a")], "from the history"
        assert "open" in Tags(_section(edna.get(link.partition("#")[0]).text, other)).named("details")[0]


def test_an_event_that_was_corrected_twice_tells_both(desk: Desk, edna: Visitor) -> None:
    first = _dead(desk)
    second = _corrected(desk, first, number="9000")
    desk.hub.run(second)
    third = _corrected(desk, second, number="9001")
    page = edna.get(f"/events/{second}").text
    assert "Number changed 8841 9000" in read(_section(page, first))
    assert "Number changed 9000 9001" in read(_section(page, third))
    assert page.count('<section class="section" id="correction-') == 2
    page = edna.get(f"/events/{third}").text
    assert "Number changed 9000 9001" in read(_section(page, second))
    assert not _section(page, first)


def test_what_cannot_be_compared_says_so(desk: Desk, edna: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    old = _dead(desk)
    new = _corrected(desk, old, number="9000")
    monkeypatch.setattr(queries, "LONGEST_PAYLOAD", 10)
    assert "too large to be compared here" in read(_section(edna.get(f"/events/{new}").text, old))


def test_an_event_that_nobody_corrected_has_nothing_of_it(desk: Desk, edna: Visitor) -> None:
    assert 'id="correction-' not in edna.get(f"/events/{_dead(desk)}").text


def _seen(page: str) -> dict[str, str]:
    return {"seen": _hidden(page)["seen"]}


def test_hidden_values_are_shown_in_no_step(desk: Desk, edna: Visitor) -> None:
    event_id = _dead(desk)
    page = edna.get(f"/events/{event_id}/edit").text
    assert json.loads(_text(page))["password"] == MASK
    changed = json.dumps(json.loads(_text(page)) | {"number": "1"}, ensure_ascii=False)
    checked = edna.post(f"/events/{event_id}/edit", payload=changed)
    refused = edna.post(f"/events/{event_id}/edit", payload=changed.replace('"1"', f'"{MASK}"'))
    newly = edna.post(f"/events/{event_id}/edit", payload=changed.replace(MASK, "opensesame"))
    for answer in (page, checked.text, refused.text, newly.text):
        assert "hunter2" not in answer
    assert "Password changed" in read(newly.text)
    assert "opensesame" not in read(newly.text)


def test_characters_that_nobody_sees_come_through_unchanged(desk: Desk, edna: Visitor) -> None:
    event_id = _dead(desk)
    page = edna.get(f"/events/{event_id}/edit").text
    assert "\u202e" not in page
    typed = _text(page).replace('"8841"', '"9000"')
    checked = edna.post(f"/events/{event_id}/edit", payload=typed).text
    edna.post(f"/events/{event_id}/edit", step="save", **_hidden(checked))
    assert desk.hub.get(event_id + 1).payload["note"] == PAYLOAD["note"]


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ('{"number": 1,\n  "total": }', "This is not JSON: something is wrong at line 2, column 12."),
        ('{"number": 1, "number": 2}', 'An object has the key "number" twice; keep one of them.'),
        ('{"number": 1, "other": "•••"}', "payload.other: ••• stands for no hidden value here"),
        ('{"total": 1}', "payload: number is missing, as its kind declares."),
        ("", "This is not JSON"),
        ("[" * 200 + "]" * 200, "levels deep"),
        ('{"number": NaN}', "NaN and infinity are no numbers of JSON;"),
    ],
)
def test_what_cannot_be_saved_is_told_in_one_sentence_and_typed_only_once(
    desk: Desk, edna: Visitor, typed: str, sentence: str
) -> None:
    event_id = _dead(desk, policy=Policy(schema=SCHEMA))
    edna.get(f"/events/{event_id}/edit")
    for step in ("check", "save"):
        answer = edna.post(f"/events/{event_id}/edit", payload=typed, note="kept too", step=step)
        assert answer.status_code == 400
        assert sentence in read(answer.text)
        assert _text(answer.text) == typed
        assert "kept too</textarea>" in answer.text
    assert desk.hub.get(event_id).status == "dead"


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ('{"number": "8841", "password": "•••"}', "Nada foi alterado."),
        ('{"number": }', "Isto não é JSON: há algo errado na linha 1, coluna 12."),
        (
            '{"number": "1", "other": "•••"}',
            "payload.other: aqui ••• não está no lugar de nenhum valor oculto",
        ),
        ('{"number": 1}', "payload.number: precisa ser do tipo string, conforme o tipo declara."),
        ('{"number": "%s"}' % ("x" * 300_000), "O conteúdo passa do limite de 256,0 kB de JSON."),
        ('{"number": NaN}', "NaN e infinito não são números do JSON;"),
        ('{"number": -Infinity}', "NaN e infinito não são números do JSON;"),
        ('{"number": "1", "number": "2"}', 'Um objeto tem a chave "number" duas vezes;'),
        (
            '{"a": {"\u00e9": 1, "e\u0301": 2}}',
            'payload.a: A chave "\\u00e9" está ali duas vezes, em duas formas Unicode;',
        ),
        ('{"items": [{"name": "a\\u0000"}]}', "payload.items[0].name: Um caractere NUL (\\u0000) não pode"),
        ('{"number": "\\ud800"}', "payload.number: Meio caractere (um surrogate sozinho) não pode"),
        ('{"number": 1e999}', "payload.number: Um número tem mais de 400 dígitos"),
        ('{"number": %s}' % ("9" * 5_000), "Um número tem mais de 400 dígitos"),
        ('{"number": 1e9999999999999999999}', "Um número tem mais de 400 dígitos"),
        ("[" * 200 + "]" * 200, "Listas e objetos têm mais de 100 níveis,"),
        ("[" * 90_000, "Listas e objetos têm mais de 100 níveis,"),
    ],
)
def test_what_cannot_be_saved_is_told_in_the_language_of_the_page(
    desk: Desk, edna: Visitor, typed: str, sentence: str
) -> None:
    schema = {"type": "object", "properties": {"number": {"type": "string"}}}
    event_id = desk.dead(
        "8841",
        payload={"number": "8841", "password": "hunter2"},
        policy=Policy(max_attempts=1, schema=schema),
    )
    edna.language = "pt-BR"
    edna.get(f"/events/{event_id}/edit")
    answer = edna.post(f"/events/{event_id}/edit", payload=typed)
    assert answer.status_code == 400
    assert sentence in read(answer.text)
    assert 'lang="en"' not in answer.text


_PEOPLE = [{"cpf": "111", "seats": 1}, {"cpf": "222", "seats": 2}]


@pytest.mark.parametrize(
    ("change", "english", "portuguese"),
    [
        (
            {"people": [{"cpf": MASK, "seats": 2}, {"cpf": MASK, "seats": 2}]},
            "payload.people[0].cpf: it is not certain which hidden value of the list ••• stands for;",
            "payload.people[0].cpf: não é certo qual valor oculto da lista ••• representa;",
        ),
        (
            {"header": {"name": "plain", "value": MASK}},
            "payload.header.value: the value behind ••• would not be hidden here any more;",
            "payload.header.value: o valor por trás de ••• deixaria de ficar oculto aqui;",
        ),
    ],
)
def test_a_hidden_value_that_cannot_be_put_back_is_told_with_its_place(
    desk: Desk, edna: Visitor, change: dict[str, Any], english: str, portuguese: str
) -> None:
    payload = {"people": _PEOPLE, "header": {"name": "app_secret", "value": "hunter2"}}
    event_id = desk.dead("8841", payload=payload)
    page = edna.get(f"/events/{event_id}/edit").text
    typed = json.dumps(json.loads(_text(page)) | change, ensure_ascii=False)
    for language, sentence in (("en", english), ("pt-BR", portuguese)):
        edna.language = language
        for step in ("check", "save"):
            answer = edna.post(f"/events/{event_id}/edit", payload=typed, step=step)
            assert answer.status_code == 400
            assert sentence in read(answer.text)
            assert _text(answer.text) == typed
            assert "hunter2" not in answer.text
    assert desk.hub.get(event_id).status == "dead"


def test_every_reason_why_a_hidden_value_is_not_put_back_has_words_in_both_languages() -> None:
    assert edit_words.MISPLACED.keys() == set(Misplaced)


def test_everything_that_json_may_hold_and_no_payload_has_words_in_both_languages() -> None:
    named = {"too_deep", "key_twice", "key_in_two_forms"}
    assert edit_words.UNREADABLE.keys() == named | set(canonical_scalars.CAUSES.values())


def test_every_rule_of_a_schema_that_has_words_has_them_in_both_languages() -> None:
    assert edit_words.RULES.keys() == schemas.RULES.keys()


def test_hidden_values_are_explained_only_where_there_are_some(desk: Desk, edna: Visitor) -> None:
    plain, secret = desk.dead("1", payload={"n": 1}), desk.dead("2", payload={"password": "hunter2"})
    assert "stands for a hidden value" not in read(edna.get(f"/events/{plain}/edit").text)
    assert "stands for a hidden value" in read(edna.get(f"/events/{secret}/edit").text)


def test_whoever_changes_their_mind_after_the_check_goes_on_writing(desk: Desk, edna: Visitor) -> None:
    event_id = _dead(desk)
    edna.get(f"/events/{event_id}/edit")
    checked = edna.post(f"/events/{event_id}/edit", payload='{"number": "9"}', note="n").text
    again = edna.post(f"/events/{event_id}/edit", step="change", **_hidden(checked)).text
    assert _text(again) == '{"number": "9"}'
    assert ">n</textarea>" in again


def test_somebody_who_was_faster_costs_nobody_their_text(desk: Desk, edna: Visitor) -> None:
    event_id = _dead(desk)
    page = edna.get(f"/events/{event_id}/edit").text
    desk.hub.discard(event_id, actor="joana", note="cancelled")
    answer = edna.post(f"/events/{event_id}/edit", payload='{"number": "9"}', step="save", **_seen(page))
    assert answer.status_code == 409
    assert "joana discarded it." in read(answer.text)
    assert _text(answer.text) == '{"number": "9"}'
    assert edna.get(f"/events/{event_id}/edit").status_code == 409


def test_a_form_that_is_sent_twice_saves_once(desk: Desk, edna: Visitor) -> None:
    event_id = _dead(desk)
    page = edna.get(f"/events/{event_id}/edit").text
    form = {"payload": '{"number": "9"}', "step": "save", **_seen(page)}
    answers = [edna.post(f"/events/{event_id}/edit", **form) for _ in range(2)]
    assert [(one.status_code, path_of(one)) for one in answers] == [(303, f"/events/{event_id + 1}")] * 2
    assert desk.hub.get(event_id).superseded_by == event_id + 1
    assert [one.action for one in queries.audit(desk.hub.store, event_id)] == ["edit"]


def test_hidden_values_that_were_kept_do_not_make_a_second_sending_another_one(
    desk: Desk, edna: Visitor
) -> None:
    event_id = _dead(desk)
    page = edna.get(f"/events/{event_id}/edit").text
    form = {
        "payload": _text(page).replace('"8841"', '"9"'),
        "note": " typo\r\n",
        "step": "save",
        **_seen(page),
    }
    assert MASK in form["payload"]
    answers = [edna.post(f"/events/{event_id}/edit", **form) for _ in range(2)]
    assert [(one.status_code, path_of(one)) for one in answers] == [(303, f"/events/{event_id + 1}")] * 2


@pytest.mark.parametrize("changed", [{"payload": '{"number": "10"}'}, {"note": "another"}])
def test_something_else_from_a_form_that_was_sent_is_kept_and_led_to_the_new_event(
    desk: Desk, edna: Visitor, changed: dict[str, str]
) -> None:
    event_id = _dead(desk)
    page = edna.get(f"/events/{event_id}/edit").text
    form = {"payload": '{"number": "9"}', "step": "save", **_seen(page)}
    edna.post(f"/events/{event_id}/edit", **form)
    answer = edna.post(f"/events/{event_id}/edit", **(form | changed))
    assert answer.status_code == 409
    assert "edna corrected the payload." in read(answer.text)
    assert f'<a href="/events/{event_id + 1}">Open the event that took its place</a>' in answer.text
    assert _text(answer.text) == changed.get("payload", form["payload"])
    assert desk.hub.get(event_id).superseded_by == event_id + 1


def test_the_same_content_of_somebody_else_is_told_apart(app: Flask, desk: Desk, edna: Visitor) -> None:
    other = Visitor(app).enter(desk, "joana", "editor")
    event_id = _dead(desk)
    page = edna.get(f"/events/{event_id}/edit").text
    form = {"payload": '{"number": "9"}', "step": "save", **_seen(page)}
    edna.post(f"/events/{event_id}/edit", **form)
    other.get(f"/events/{event_id}")
    answer = other.post(f"/events/{event_id}/edit", **form)
    assert answer.status_code == 409
    assert "edna corrected the payload." in read(answer.text)
    assert f'href="/events/{event_id + 1}"' in answer.text
    closed = other.get(f"/events/{event_id}/edit")
    assert closed.status_code == 409
    assert f'<a href="/events/{event_id + 1}">Open the event that took its place</a>' in closed.text


def test_a_lost_session_costs_nobody_their_text(app: Flask, desk: Desk, edna: Visitor) -> None:
    event_id = _dead(desk)
    edna.get(f"/events/{event_id}/edit")
    edna.client.delete_cookie("dlq_console")
    answer = edna.post(f"/events/{event_id}/edit", payload='{"number": "typed"}', note="of the accountant")
    assert answer.status_code == 401
    assert '{"number": "typed"}' in unescape(answer.text)
    assert "of the accountant" in answer.text
    back = {unquote(link["href"]) for link in Tags(answer.text).named("a")}
    assert f"/login?next=/events/{event_id}/edit" in back


def test_what_is_in_doubt_says_why_it_is_not_edited(desk: Desk, edna: Visitor) -> None:
    event_id = desk.dead("1", error=OutcomeUnknown("no answer"), policy=Policy(on_unknown="hold"))
    assert f'href="/events/{event_id}/edit"' not in edna.get(f"/events/{event_id}").text
    answer = edna.get(f"/events/{event_id}/edit")
    assert answer.status_code == 409
    assert "It is in doubt whether the ERP has it already." in read(answer.text)


def test_a_newer_event_must_be_known_of(desk: Desk, edna: Visitor) -> None:
    event_id = _dead(desk, policy=Policy(replay_policy="ask"))
    desk.add("8841", payload={"number": "newer"})
    edna.get(f"/events/{event_id}/edit")
    checked = edna.post(f"/events/{event_id}/edit", payload='{"number": "9"}').text
    assert "even_if_newer" in {tag.get("name") for tag in Tags(checked).named("input")}
    refused = edna.post(f"/events/{event_id}/edit", step="save", **_hidden(checked))
    assert refused.status_code == 409
    assert "A newer event of the same number" in read(refused.text)
    saved = edna.post(f"/events/{event_id}/edit", step="save", even_if_newer="1", **_hidden(checked))
    assert saved.status_code == 303


def test_the_same_payload_in_another_event_is_pointed_at(desk: Desk, edna: Visitor) -> None:
    event_id = _dead(desk)
    same = desk.add("8841", payload={"number": "9"})
    edna.get(f"/events/{event_id}/edit")
    answer = edna.post(f"/events/{event_id}/edit", payload='{"number": "9"}', step="save")
    assert answer.status_code == 409
    assert "holds exactly this payload already" in read(answer.text)
    assert f'href="/events/{same}"' in answer.text


def test_a_payload_that_is_too_large_for_a_form_is_sent_to_the_command_line(
    desk: Desk, edna: Visitor
) -> None:
    event_id = _dead(desk, payload={"text": "x" * MOST_OFFERED})
    page = edna.get(f"/events/{event_id}/edit").text
    assert f"dlq-console events edit {event_id} --payload @payload.json" in read(page)
    assert "<textarea" not in page
    assert len(page) < 60_000


@pytest.mark.parametrize("size", [300_000, 1_200_000])
def test_a_correction_that_is_too_large_is_given_back_with_the_one_limit_there_is(
    desk: Desk, edna: Visitor, size: int
) -> None:
    # A long payload of before makes no larger one fit.
    for event_id in (_dead(desk), desk.dead("9", payload={"text": "x" * 10_000})):
        edna.get(f"/events/{event_id}/edit")
        typed = json.dumps({"number": "x" * size})
        answer = edna.post(f"/events/{event_id}/edit", payload=typed, note="of the accountant")
        assert answer.status_code == 400
        assert "The payload is larger than 256.0 kB of JSON, which is the limit." in read(answer.text)
        assert _text(answer.text) == typed
        assert "of the accountant</textarea>" in answer.text
        assert "dlq-console events edit" not in answer.text
        with pytest.raises(PayloadRefused, match="larger than the limit of 256,000 bytes"):
            desk.hub.edit(event_id, json.loads(typed), actor="edna")


def test_what_is_too_long_to_be_offered_but_not_to_be_kept_is_saved_from_the_form(
    desk: Desk, edna: Visitor
) -> None:
    event_id = _dead(desk)
    edna.get(f"/events/{event_id}/edit")
    typed = json.dumps({"number": "é" * (MOST_OFFERED + 1)}, ensure_ascii=False)
    checked = edna.post(f"/events/{event_id}/edit", payload=typed)
    assert checked.status_code == 200
    again = edna.post(f"/events/{event_id}/edit", step="change", **_hidden(checked.text))
    assert _text(again.text) == typed
    saved = edna.post(f"/events/{event_id}/edit", step="save", **_hidden(checked.text))
    assert saved.status_code == 303
    assert desk.hub.get(event_id + 1).payload == json.loads(typed)


def test_what_no_form_takes_is_told_with_the_limit_of_this_one_and_the_way_back(
    desk: Desk, edna: Visitor
) -> None:
    event_id = _dead(desk)
    edna.get(f"/events/{event_id}/edit")
    answer = edna.post(f"/events/{event_id}/edit", payload="x" * MOST_SENT)
    assert answer.status_code == 413
    assert "This form takes at most 4 MiB; nothing was changed." in read(answer.text)
    assert f'<a href="/events/{event_id}/edit">Open the page again</a>' in answer.text


def test_hostile_text_is_only_text(desk: Desk, edna: Visitor) -> None:
    event_id = _dead(desk, payload={"number": "</textarea><script>alert(1)</script>"})
    page = edna.get(f"/events/{event_id}/edit").text
    assert "<script>alert" not in page
    typed = '{"number": "</textarea><script>alert(2)</script>", "<b>": 1}'
    checked = edna.post(f"/events/{event_id}/edit", payload=typed).text
    assert "<script>alert" not in checked
    assert "<b>" not in checked.partition("<tbody>")[2].partition("</tbody>")[0]


def test_an_operator_may_not_correct_and_is_not_offered_it(desk: Desk, maria: Visitor) -> None:
    event_id = _dead(desk)
    assert f'href="/events/{event_id}/edit"' not in maria.get(f"/events/{event_id}").text
    assert maria.post(f"/events/{event_id}/edit", payload="{}", step="save").status_code == 403
