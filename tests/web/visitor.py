"""How does a test use the console? As a browser without script does, or as htmx does."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Self
from urllib.parse import urlsplit

from flask import Flask
from werkzeug.test import TestResponse

from dlq_console.store import people
from tests.web.desk import PASSWORD, Desk

_TOKEN = re.compile(r'name="csrf_token" value="([^"]+)"')


class Visitor:
    """Somebody with a browser of their own."""

    def __init__(self, app: Flask, *, language: str = "en") -> None:
        self.client = app.test_client()
        self.language = language
        self.token = ""

    def enter(self, desk: Desk, name: str, role: str, accounts: list[str] | None = None) -> Self:
        """Become a new person, with a session as the log-in form opens it."""
        token = people.open_session(desk.hub.store, desk.person(name, role, accounts))
        with self.client.session_transaction() as session:
            session["token"] = token
        self.get("/settings/preferences")
        return self

    def log_in(self, name: str, password: str = PASSWORD, **fields: str) -> TestResponse:
        """Fill in the log-in form."""
        self.get("/login")
        return self.post("/login", name=name, password=password, **fields)

    def get(self, path: str, **headers: str) -> TestResponse:
        """Open a page and remember the token of its forms."""
        answer = self.client.get(path, headers={"Accept-Language": self.language} | _dashed(headers))
        found = _TOKEN.search(answer.text)
        self.token = found[1] if found else self.token
        return answer

    def post(self, path: str, **form: str) -> TestResponse:
        """Send a form with the token of the page that was opened last."""
        fields = {"csrf_token": self.token} | form
        return self.client.post(path, data=fields, headers={"Accept-Language": self.language})

    def htmx(self, path: str, *, page: str = "/dead-letters", **form: str) -> TestResponse:
        """Send what htmx sends: the token as a header, and where the browser is."""
        headers = {
            "HX-Request": "true",
            "HX-Current-URL": f"http://localhost{page}",
            "X-CSRFToken": self.token,
        }
        return self.client.post(path, data=form, headers={"Accept-Language": self.language} | headers)

    def glance(self, path: str, *, page: str = "/dead-letters") -> TestResponse:
        """Ask for a fragment as htmx does."""
        return self.get(path, HX_Request="true", HX_Current_URL=f"http://localhost{page}")


class Tags(HTMLParser):
    """Every tag of a page with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def named(self, tag: str) -> list[dict[str, str]]:
        """The attributes of every `tag`."""
        return [attributes for name, attributes in self.found if name == tag]


class Words(HTMLParser):
    """What a person reads on a page: text and the attributes that are read aloud or shown."""

    SPOKEN = (
        "aria-label",
        "title",
        "placeholder",
        "alt",
        "data-dismiss",
        "data-unreachable",
        "data-slow",
        "data-failed",
    )

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.texts += [value for name, value in attrs if name in self.SPOKEN and value]

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if text:
            self.texts.append(text)


def read(html: str) -> str:
    """The text of a page in one line."""
    return " ".join(Words(html).texts)


def path_of(answer: TestResponse) -> str:
    """Where an answer sends the browser."""
    parts = urlsplit(answer.headers["Location"])
    return parts._replace(scheme="", netloc="").geturl()


def _dashed(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
