"""Stylesheets and scripts: compressed once, told apart from what is not, and kept for ever under their hash."""

from __future__ import annotations

import gzip

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from dlq_console.app import create_app
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor


@pytest.fixture
def script(maria: Visitor) -> str:
    """The address of the largest file."""
    return next(tag["src"] for tag in Tags(maria.get("/").text).named("script") if "htmx" in tag["src"])


def _get(app: Flask, address: str, **headers: str) -> TestResponse:
    return app.test_client().get(
        address, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )


@pytest.mark.parametrize("accepted", ["gzip", "gzip, deflate, br, zstd", "br;q=1, gzip;q=0.2", "*"])
def test_who_takes_it_gets_the_compressed_file(app: Flask, script: str, accepted: str) -> None:
    answer = _get(app, script, Accept_Encoding=accepted)
    assert answer.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in answer.headers["Vary"]
    assert answer.content_length == len(answer.data)
    plain = _get(app, script)
    assert gzip.decompress(answer.data) == plain.data
    assert len(answer.data) < len(plain.data) / 2
    assert answer.headers["ETag"] != plain.headers["ETag"]


@pytest.mark.parametrize("accepted", ["", "identity", "br", "gzip;q=0", "*;q=0"])
def test_who_does_not_gets_it_as_it_is(app: Flask, script: str, accepted: str) -> None:
    answer = _get(app, script, Accept_Encoding=accepted)
    assert "Content-Encoding" not in answer.headers
    # Whoever keeps it for others has to know that there are two.
    assert "Accept-Encoding" in answer.headers["Vary"]


def test_a_compressed_file_that_is_known_already_is_not_sent_again(app: Flask, script: str) -> None:
    tag = _get(app, script, Accept_Encoding="gzip").headers["ETag"]
    again = _get(app, script, Accept_Encoding="gzip", If_None_Match=tag)
    assert (again.status_code, again.data) == (304, b"")
    assert _get(app, script, If_None_Match=tag).status_code == 200


def test_every_process_makes_the_same_of_a_file(app: Flask, script: str, sqlite_url: str) -> None:
    other = create_app(Desk(sqlite_url).hub)
    one, same = (_get(each, script, Accept_Encoding="gzip") for each in (app, other))
    assert (one.data, one.headers["ETag"]) == (same.data, same.headers["ETag"])
