"""Whatever goes wrong is told in one clear sentence, in the console's own look and the person's language."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask import Flask, abort

from dlq_console.app import create_app
from tests.web.desk import Desk
from tests.web.visitor import Visitor, read

SENTENCES = {
    400: ("The address or the form holds something", "O endereço ou o formulário contém algo"),
    401: ("Nothing was changed; log in again", "Nada foi alterado; entre de novo"),
    403: ("Your role does not allow it", "Seu papel não permite"),
    404: ("The address is wrong", "O endereço está errado"),
    405: ("Open the page and use its buttons.", "Abra a página e use os botões dela."),
    409: ("The event has changed since you saw it", "O evento mudou desde que você o viu"),
    413: ("The console takes at most 1 MiB", "O console aceita no máximo 1 MiB"),
    429: ("Wait a few minutes, then try again.", "Espere alguns minutos e tente de novo."),
    500: ("This is a fault of the console", "É uma falha do console"),
    503: ("Nothing was changed; try again in a moment.", "Nada foi alterado; tente de novo em instantes."),
}


@pytest.fixture
def broken(sqlite_url: str) -> Visitor:
    """A visitor of a console with pages that fail in every way."""
    desk = Desk(sqlite_url)
    app = create_app(desk.hub)

    @app.get("/fail/<int:status>")
    def fail(status: int) -> str:
        abort(status)

    @app.get("/crash")
    def crash() -> str:
        raise RuntimeError("secret-canary")

    return Visitor(app).enter(desk, "maria", "operator")


def test_every_error_has_a_page_and_a_fragment_in_both_languages(broken: Visitor) -> None:
    for status, sentences in SENTENCES.items():
        for language, sentence in zip(("en", "pt-BR"), sentences, strict=True):
            broken.language = language
            page = broken.get(f"/fail/{status}")
            assert page.status_code == status
            assert sentence in read(page.text)
            assert 'class="brand"' in page.text
            fragment = broken.glance(f"/fail/{status}")
            assert (fragment.status_code, fragment.headers["HX-Retarget"]) == (status, "#problem")
            assert sentence in read(fragment.text)
            assert "<html" not in fragment.text


def test_a_crash_is_told_with_a_reference_that_the_log_has_too(
    broken: Visitor, caplog: pytest.LogCaptureFixture
) -> None:
    page = broken.get("/crash")
    assert page.status_code == 500
    assert "secret-canary" not in page.text
    assert "Traceback" not in page.text
    reference = page.text.partition("its log has it as ")[2][:8]
    assert f"reference {reference}: GET /crash failed (RuntimeError)" in caplog.text


def test_those_who_are_not_logged_in_get_an_error_page_too(app: Flask) -> None:
    page = Visitor(app).get("/nothing-here")
    assert page.status_code == 404
    assert "The address is wrong" in read(page.text)
    assert "Log out" not in page.text


def test_a_database_that_is_away_is_told_and_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    desk = Desk(f"sqlite:///{tmp_path}/no/such/folder/console.db")
    visitor = Visitor(create_app(desk.hub))
    visitor.get("/login")
    with visitor.client.session_transaction() as session:
        session["token"] = "anything"
    for path in ("/", "/dead-letters", "/events", "/events/1", "/nothing-here"):
        answer = visitor.get(path)
        assert answer.status_code == (404 if path == "/nothing-here" else 503), path
        assert "dead letter" not in read(answer.text).lower()
    answer = visitor.get("/dead-letters")
    assert "The database cannot be reached" in read(answer.text)
    assert answer.headers["Retry-After"] == "5"
    assert str(tmp_path) not in answer.text
    assert visitor.post("/login", name="maria", password="some password").status_code == 503
    assert visitor.htmx("/events/1/reprocess").status_code == 503


def test_a_database_that_goes_away_between_two_reads_is_told_too(
    desk: Desk, app: Flask, maria: Visitor
) -> None:
    desk.dead("1")
    away = Desk("postgresql+psycopg://nobody@127.0.0.1:1/nothing")
    app.before_request_funcs["triage"].append(lambda: _swap(app, away))
    answer = maria.get("/dead-letters")
    assert answer.status_code == 503
    assert "The database cannot be reached" in read(answer.text)
    assert "maria" in read(answer.text)


def _swap(app: Flask, away: Desk) -> None:
    app.extensions["dlq_console"] = away.hub
