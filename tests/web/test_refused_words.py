"""What was written and is not taken: told in one sentence of the reader's language, and given back to be put right."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from flask import Flask

from dlq_console.clock import utc_now
from dlq_console.store import desk as marked
from dlq_console.store import groups
from dlq_console.web.visible import visible
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, read

LONG, TURNED = "x" * 4_001, "turned \u202e around"
BLANKS = "Say why: it is kept with the act. Blanks alone are no reason."
UNSEEN = "The note holds a character that is not shown and cannot be kept; remove it."

#: Which form, which field of it, what is written there, and what is said about it in both languages.
REFUSED = [
    ("discard", "note", " \r\n ", BLANKS, "Diga por quê: fica guardado junto da ação. Só espaços não são um motivo."),
    (
        "discard",
        "note",
        LONG,
        "The note is longer than 2,000 characters; shorten it.",
        "A observação tem mais de 2.000 caracteres; encurte.",
    ),
    (
        "reprocess",
        "note",
        TURNED,
        UNSEEN,
        "A observação tem um caractere que não aparece e não pode ser guardado; retire-o.",
    ),
    (
        "notes",
        "note",
        "   ",
        "Write the note: blanks alone are none.",
        "Escreva a observação: só espaços não são uma.",
    ),
    (
        "notes",
        "note",
        LONG,
        "The note is longer than 4,000 characters; shorten it.",
        "A observação tem mais de 4.000 caracteres; encurte.",
    ),
    (
        "tag",
        "tags",
        "urgent, " + "y" * 41,
        "A tag is longer than 40 characters; shorten it.",
        "Uma etiqueta tem mais de 40 caracteres; encurte.",
    ),
    (
        "tag",
        "tags",
        ",".join(map(str, range(21))),
        "An event has at most 20 tags; take some off first.",
        "Um evento tem no máximo 20 etiquetas; tire algumas antes.",
    ),
    (
        "assign",
        "due",
        "2020-01-01T08:00",
        "The time by which it is to be done must lie ahead.",
        "O prazo precisa estar no futuro.",
    ),
    (
        "reprocess",
        "at",
        "2020-01-01T08:00",
        "Choose a time in the next 30 days.",
        "Escolha um horário dentro dos próximos 30 dias.",
    ),
]  # fmt: skip


def _again(page: str) -> tuple[str, str]:
    """Name and content of the field that is given back."""
    field = re.search(r'<(textarea) id="again".*?</textarea>|<(input) id="again".*?>', page, re.DOTALL)
    assert field is not None, read(page)
    (tag,) = Tags(field[0]).named(field[1] or field[2])
    written = field[0].partition(">")[2].removeprefix("\n").removesuffix("</textarea>")
    return tag["name"], unescape(written) if field[1] else tag["value"]


@pytest.mark.parametrize(("verb", "field", "written", "english", "portuguese"), REFUSED)
def test_what_is_not_taken_is_told_in_a_sentence_and_can_be_put_right(
    desk: Desk, maria: Visitor, verb: str, field: str, written: str, english: str, portuguese: str
) -> None:
    event_id = desk.dead("8841")
    form = {"to": "maria", "seen": ""} if verb == "assign" else {}
    for language, sentence in (("en", english), ("pt-BR", portuguese)):
        maria.language = language
        maria.get(f"/events/{event_id}")
        answer = maria.post(f"/events/{event_id}/{verb}", **form, **{field: written})
        assert answer.status_code == 400
        assert sentence in read(answer.text)
        assert _again(answer.text) == (field, visible(written))
        assert 'lang="en"' not in answer.text.partition("<main")[2], "no sentence of the store"
    fragment = maria.htmx(f"/events/{event_id}/{verb}", **form, **{field: written})
    assert (fragment.status_code, fragment.headers["HX-Retarget"]) == (400, "#problem")
    assert portuguese in read(fragment.text)
    assert desk.hub.get(event_id).status == "dead"


def test_the_form_that_is_given_back_does_what_the_first_was_to_do(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    page = maria.get(f"/events/{event_id}").text
    (seen,) = set(re.findall(r'name="seen" value="(\d+)"', page))
    refused = maria.post(f"/events/{event_id}/discard", note=" ", seen=seen)
    form = refused.text.partition('<form class="kept field"')[2].partition("</form>")[0]
    assert f'action="/events/{event_id}/discard"' in form
    rest = {tag["name"]: tag["value"] for tag in Tags(f"<form{form}").named("input")}
    assert rest.pop("csrf_token")
    assert rest == {"seen": seen}
    assert maria.post(f"/events/{event_id}/discard", note="cancelled", **rest).status_code == 303
    assert desk.hub.get(event_id).status == "discarded"


def test_a_playbook_that_is_not_taken_is_given_back(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    groups.sample(desk.hub.store)
    fingerprint = desk.hub.get(event_id).fingerprint
    maria.get(f"/groups/{fingerprint}")
    answer = maria.post(f"/groups/{fingerprint}/note", note=LONG, seen="")
    assert "The note is longer than 4,000 characters; shorten it." in read(answer.text)
    assert _again(answer.text) == ("note", LONG)
    assert f'href="/groups/{fingerprint}#group-desk"' in answer.text


def test_a_snooze_until_a_moment_that_has_passed_is_told_in_a_sentence(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    maria.get(f"/events/{event_id}")
    answer = maria.post(
        f"/events/{event_id}/snooze", until=(utc_now() - timedelta(hours=1)).isoformat(timespec="seconds")
    )
    assert answer.status_code == 400
    assert "must lie ahead, by a year at most" in read(answer.text)


def test_nobody_is_told_in_english_that_somebody_cannot_be_assigned(desk: Desk, maria: Visitor) -> None:
    desk.person("rui", "operator", ["filial-rj"])
    event_id = desk.dead("8841")
    maria.language = "pt-BR"
    maria.get(f"/events/{event_id}")
    for name, sentence in (
        ("rui", "rui não pode ver a conta filial-sp; escolha outra pessoa."),
        ("nobody-known", "Não há nobody-known que possa entrar e agir; escolha outra pessoa."),
    ):
        answer = maria.post(f"/events/{event_id}/assign", to=name, seen="")
        assert (answer.status_code, sentence in read(answer.text)) == (400, True), read(answer.text)


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("   ", "Say why; the note stays with each of them in the audit."),
        ("x" * 2_001, "The note is longer than 2,000 characters."),
        (TURNED, UNSEEN),
    ],
)
def test_the_note_of_a_run_that_is_not_taken_stands_in_its_field_with_what_is_wrong(
    desk: Desk, maria: Visitor, written: str, sentence: str
) -> None:
    desk.dead("8841")
    maria.get("/dead-letters")
    page = maria.post("/bulk/preview", action="discard", list="dead-letters", all="1").text
    form = page.partition('<form class="bulk-form"')[2].partition("</form>")[0]
    fields = {tag["name"]: tag["value"] for tag in Tags(form).named("input") if tag.get("type") != "checkbox"}
    answer = maria.post("/bulk", **fields, note=written)
    assert answer.status_code == 422
    assert sentence in read(answer.text)
    assert f'aria-invalid="true">{visible(written)}</textarea>' in unescape(answer.text)
    assert desk.hub.bulk.listed() == []


def test_tags_for_a_selection_that_are_not_taken_stand_in_their_field(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    maria.language = "pt-BR"
    maria.get("/dead-letters")
    answer = maria.post("/bulk/desk", action="tag", list="dead-letters", event=str(event_id), add="y" * 41)
    assert answer.status_code == 422
    assert "Uma etiqueta tem mais de 40 caracteres; encurte." in read(answer.text)
    assert "y" * 41 in [tag.get("value") for tag in Tags(answer.text).named("input")]
    assert marked.marks(desk.hub.store, [event_id])[event_id].tags == ()


def test_a_reason_of_blanks_reveals_nothing_and_says_so(app: Flask, desk: Desk) -> None:
    edith = Visitor(app).enter(desk, "edith", "editor")
    event_id = desk.dead("8841", payload={"password": "canary"})
    edith.get(f"/events/{event_id}")
    answer = edith.post(f"/events/{event_id}/reveal", place="/password", note="  ")
    assert (answer.status_code, BLANKS in read(answer.text)) == (400, True)
    assert _again(answer.text) == ("note", "  ")
