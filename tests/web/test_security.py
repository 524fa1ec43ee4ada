"""Nothing from elsewhere runs, nothing is sent by somebody else's page, and what came from outside stays text."""

from __future__ import annotations

import re

import pytest
from flask import Flask

from dlq_console.web.security import BODY_LIMIT, CONTENT_SECURITY_POLICY
from dlq_console.web.visible import visible
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, read

#: What people, programs and ERPs send, and browsers must never run.
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "</textarea></pre></title><script>alert(1)</script>",
    '<a hx-get="/logout" hx-trigger="load">x</a>',
    '" hx-post="/events/1/reprocess" hx-trigger="load',
    "<hx-partial hx-target='body'>x</hx-partial>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "<!--<body data-hx-get=/x>",
    "%(thing)s %s %",
    "\u202e\u2066<b>",
)
OUR_HTMX = {
    f"hx-{name}"
    for name in (
        "headers",
        "history",
        "get",
        "post",
        "target",
        "swap",
        "trigger",
        "sync",
        "disable",
        "disabled-elt",
    )
} | {"hx-swap-oob"}


def _pages(event_id: int) -> tuple[str, ...]:
    fragments = (
        "/_f/dead-letters",
        "/_f/events",
        f"/_f/events/{event_id}/row",
        f"/_f/events/{event_id}/state",
    )
    return ("/", "/dead-letters", "/events", "/rules", f"/events/{event_id}", *fragments)


def _assert_inert(html: str) -> None:
    """Only such tags and attributes as our own templates write."""
    for tag, attributes in Tags(html).found:
        assert tag not in ("iframe", "object", "embed", "style", "base", "hx-partial")
        assert tag not in ("img", "script") or attributes["src"].startswith("/static/"), attributes
        for name, value in attributes.items():
            assert not name.startswith("on"), name
            assert name != "style"
            assert name not in ("href", "src", "action") or value.startswith(("/", "#")), value
            assert not name.startswith(("hx-", "data-hx-")) or name in OUR_HTMX, name
            # A button in a row names its address once, for htmx and for the browser alike.
            address = value or attributes.get("formaction", "")
            assert name not in ("hx-get", "hx-post", "formaction") or re.match(
                r"/((_f/)?(events|dead-letters)|rules|accounts/(pause|resume)|breakers/reset)", address
            ), address
            assert name != "hx-trigger" or "load" not in value


def test_what_came_from_outside_stays_text(desk: Desk, maria: Visitor) -> None:
    for number, hostile in enumerate(HOSTILE):
        # Names and notes take no invisible characters; errors and payloads take everything.
        name = f"{hostile if hostile.isprintable() else 'plain'}-{number}"
        payload = {hostile: [hostile, {hostile: hostile}]}
        error = f"error {hostile}"
        event_id = desk.dead(name, kind=name, account=name, error=error, payload=payload, origin=name)
        desk.hub.reprocess(event_id, actor="maria", note=f"note {name}")
        desk.hub.run(event_id)
        for path in _pages(event_id):
            _assert_inert(maria.get(path).text)
        text = read(maria.get(f"/events/{event_id}").text)
        assert visible(error) in text
        assert f"note {name}" in text


def test_what_is_typed_into_the_address_stays_text(desk: Desk, maria: Visitor) -> None:
    desk.dead("1")
    for hostile in HOSTILE:
        for name in ("q", "kind", "account", "entity"):
            for path in ("/dead-letters", "/events", "/_f/dead-letters"):
                answer = maria.client.get(path, query_string={name: hostile})
                assert answer.status_code in (200, 400)
                _assert_inert(answer.text)
        for path in ("/login", "/nothing-here", "/settings/preferences"):
            _assert_inert(maria.client.get(path, query_string={"next": hostile}).text)


def test_a_hostile_sentence_cannot_break_out_of_a_header(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("1\r\nSet-Cookie: a=b".replace("\r\n", " "), account="ção ✂")
    answer = maria.glance(f"/_f/events/{event_id}/row")
    assert answer.headers["HX-Trigger"].isascii()
    assert "Set-Cookie" not in answer.headers


def test_every_answer_carries_the_headers(desk: Desk, app: Flask, maria: Visitor) -> None:
    event_id = desk.dead("1")
    paths = [*_pages(event_id), "/login", "/nothing-here", "/events/999", "/healthz", maria_asset(maria)]
    for path in paths:
        headers = maria.get(path).headers
        assert headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY, path
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert "camera=()" in headers["Permissions-Policy"]
        expected = "public, max-age=31536000, immutable" if path.startswith("/static/") else "no-store"
        assert headers["Cache-Control"] == expected, path
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert "http" not in CONTENT_SECURITY_POLICY


def maria_asset(visitor: Visitor) -> str:
    """The address of some stylesheet."""
    return Tags(visitor.get("/").text).named("link")[-1]["href"]


def test_an_asset_is_kept_under_its_hash_and_not_under_an_old_one(maria: Visitor) -> None:
    address = maria_asset(maria)
    answer = maria.get(address)
    assert answer.mimetype == "text/css"
    assert maria.client.get(address, headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
    _, _, version, *rest = address.split("/")
    old = maria.get("/".join(["/static", "0" * len(version), *rest]))
    assert (old.status_code, old.headers["Cache-Control"]) == (200, "no-cache")
    for wrong in ("nothing.css", "../pyproject.toml", "%2e%2e/pyproject.toml", "css/", ".keep"):
        assert maria.get(f"/static/{version}/{wrong}").status_code == 404


def test_the_cookie_is_out_of_reach_and_goes_over_https_only_where_there_is_https(
    app: Flask, desk: Desk
) -> None:
    desk.person("maria", "operator")
    plain = Visitor(app).log_in("maria").headers["Set-Cookie"]
    assert "HttpOnly" in plain
    assert "SameSite=Lax" in plain
    assert "Secure" not in plain
    client = app.test_client()
    page = client.get("/login", base_url="https://console.example")
    assert "Secure" in page.headers["Set-Cookie"]


def test_forwarded_headers_are_believed_only_behind_a_proxy(app: Flask) -> None:
    page = app.test_client().get(
        "/login", headers={"X-Forwarded-Proto": "https", "X-Forwarded-For": "10.9.9.9"}
    )
    assert "Secure" not in page.headers["Set-Cookie"]


FORMS = ("/events/{id}/reprocess", "/events/{id}/discard", "/settings/preferences", "/logout", "/login")


@pytest.mark.parametrize("token", ["", "forged", None])
def test_every_form_needs_its_token(desk: Desk, maria: Visitor, token: str | None) -> None:
    event_id = desk.dead("1")
    fields = {"note": "typed text", "locale": "en"} | ({} if token is None else {"csrf_token": token})
    for address in FORMS:
        answer = maria.client.post(
            address.format(id=event_id), data=fields, headers={"Accept-Language": "en"}
        )
        assert answer.status_code == 400, address
        assert "This page is too old to be sent" in answer.text
        assert "typed text</textarea>" in answer.text
    assert desk.hub.get(event_id).status == "dead"
    assert maria.get("/").status_code == 200  # still logged in


def test_a_missing_token_under_htmx_is_a_readable_fragment(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("1")
    maria.token = "forged"
    answer = maria.htmx(f"/events/{event_id}/reprocess", view="row", note="typed text")
    assert (answer.status_code, answer.headers["HX-Retarget"], answer.headers["HX-Reswap"]) == (
        400,
        "#problem",
        "innerHTML",
    )
    assert "This page is too old to be sent" in answer.text
    assert "<html" not in answer.text
    assert desk.hub.get(event_id).status == "dead"


def test_the_token_of_another_session_is_worth_nothing(app: Flask, desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("1")
    other = Visitor(app).enter(desk, "joana", "operator")
    maria.token = other.token
    assert maria.post(f"/events/{event_id}/reprocess").status_code == 400
    assert desk.hub.get(event_id).status == "dead"


def test_a_form_token_outlives_the_working_day(app: Flask) -> None:
    assert app.config["WTF_CSRF_TIME_LIMIT"] is None


def test_a_request_that_is_too_large_is_refused(desk: Desk, maria: Visitor) -> None:
    answer = maria.post(f"/events/{desk.dead('1')}/reprocess", note="x" * (BODY_LIMIT + 1))
    assert answer.status_code == 413
    assert "The console takes at most 1 MiB in one request." in read(answer.text)


def test_the_cookie_holds_two_tokens_and_nothing_else(maria: Visitor) -> None:
    with maria.client.session_transaction() as session:
        assert set(session) == {"token", "csrf_token"}
