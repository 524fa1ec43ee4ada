"""Do frames and badges tell what they may, where they may, and nothing to anybody else?"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from xml.etree import ElementTree

import pytest
from flask import Flask
from sqlalchemy import select
from werkzeug.test import TestResponse

from dlq_console.clock import utc_now
from dlq_console.errors import StoreUnavailable
from dlq_console.health.values import Closing, Counts, Drain, Why, Word
from dlq_console.hub import embed_tokens
from dlq_console.logs import RedactingFormatter
from dlq_console.store import embeds, snapshots
from dlq_console.store.embeds import Embed
from dlq_console.web import embed, embed_state, health_seen, keeping
from dlq_console.web.embed_content import content
from dlq_console.web.security import CONTENT_SECURITY_POLICY
from tests.web.desk import SECRET_KEY, Desk
from tests.web.standing import CANARY, VOLUME, account, blocked, look
from tests.web.visitor import Tags, Visitor, read

PAGE, OTHER = "https://intranet.example", "https://portal.example"
Later = Callable[[float], None]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Later:
    """Lets the clock of the process go on by so many seconds."""
    passed = [0.0]
    for module in (keeping, embed_state, health_seen):
        monkeypatch.setattr(module, "monotonic", lambda: time.monotonic() + passed[0])

    def go_on(seconds: float) -> None:
        passed[0] += seconds

    return go_on


def add(desk: Desk, name: str = "Portal", **more: Any) -> Embed:
    return embeds.add(desk.hub.store, name, **({"origins": [PAGE, OTHER], "actor": "joana"} | more))


def token(known: Embed) -> str:
    return embed_tokens.sign(SECRET_KEY, known.id, known.version)


def get(app: Flask, path: str, **headers: str) -> TestResponse:
    return app.test_client().get(
        path, headers={name.replace("_", "-"): text for name, text in headers.items()}
    )


def frame(app: Flask, known: Embed, query: str = "lang=en", **headers: str) -> TestResponse:
    return get(app, f"/embed/{token(known)}?{query}", **headers)


# What it tells


def test_a_frame_of_several_stands_so_since_the_last_one_ceased_to_stand_worse(desk: Desk) -> None:
    now = utc_now()
    began, ended = now - timedelta(minutes=9), now - timedelta(minutes=4)
    degraded = account("filial-sp", Word.DEGRADED, since=began, left=((Word.OK, began),))
    well = account(
        "filial-rj", since=ended, left=((Word.DOWN, ended), (Word.DEGRADED, now - timedelta(hours=1)))
    )
    look(desk, degraded, well)
    both = add(desk, accounts=["filial-sp", "filial-rj"])
    for known in (both, add(desk, "All")):
        head = content(known, health_seen.look(desk.hub.store), ()).head
        assert (head.word, head.since) == (Word.DEGRADED, ended)
    only = content(both, health_seen.look(desk.hub.store), (), wanted=["filial-sp"]).head
    assert only.since == began
    never = content(
        add(desk, "New", accounts=["filial-sp", "filial-xx"]), health_seen.look(desk.hub.store), ["filial-xx"]
    )
    assert never.head.since == began


def test_since_when_a_frame_stands_so_is_left_out_where_some_accounts_are_not_remembered_so_long(
    desk: Desk,
) -> None:
    look(desk, account("filial-sp", Word.DEGRADED, since=utc_now() - timedelta(hours=25)))
    seen = health_seen.look(desk.hub.store)
    alone = content(add(desk, "One", accounts=["filial-sp"]), seen, ()).head
    assert alone.since is not None
    idle = content(add(desk, "Two", accounts=["filial-sp", "filial-rj"]), seen, ["filial-rj"]).head
    assert (idle.word, idle.since) == (Word.DEGRADED, None)
    assert content(add(desk, "All"), seen, ()).head.since is None


def test_a_frame_tells_name_word_since_lag_drain_and_as_of(app: Flask, desk: Desk) -> None:
    look(desk, blocked())
    answer = frame(app, add(desk, accounts=["filial-rj"], detail="figures"))
    text = read(answer.text)
    assert answer.status_code == 200
    for part in ("Portal", "filial-rj", "blocked", "lag 15 min to 1 h", "through in about 20 min"):
        assert part in text, part
    assert re.search(r"since \d\d:\d\d:\d\d", text) or re.search(r"since \d+ \w{3}", text)
    assert re.search(r"as of \d+ \w{3} \d{4} \d\d:\d\d:\d\d -03", text)
    status_alone = read(frame(app, add(desk, "Short", accounts=["filial-rj"])).text)
    assert "lag" not in status_alone
    assert "blocked" in status_alone


def test_a_frame_says_of_the_end_what_every_page_says(app: Flask, desk: Desk) -> None:
    now = utc_now()
    door = Closing(cause="circuit", until=now + timedelta(minutes=2))
    waits = Counts(paused=VOLUME, oldest_due_at=now - timedelta(minutes=3))
    down = account(
        "filial-ba", Word.DOWN, why=Why.CIRCUIT, closing=door, counts=waits, drain=Drain(bound="door")
    )
    moving = account(
        "filial-go", Word.DEGRADED, why=Why.DEAD_LETTERS, counts=Counts(due=1), drain=Drain(bound="pace")
    )
    look(desk, down, moving)
    text = read(frame(app, add(desk, detail="figures")).text)
    told = re.search(r"after the try at \d\d:\d\d", text)
    assert told, text
    assert "not draining" not in text
    one = read(frame(app, add(desk, "Go", accounts=["filial-go"], detail="figures")).text)
    assert "lag under 1 min" in one
    assert not re.search("not draining|nothing waits|through", one), "work that is not late is no news"


def test_nothing_else_of_an_account_gets_out_whatever_is_asked_for(app: Flask, desk: Desk) -> None:
    event = desk.dead("8841", account="filial-rj", error=f"error {CANARY}", payload={"customer": CANARY})
    look(desk, blocked(), account(f"hidden-{CANARY}"))
    for number, accounts in enumerate((["filial-rj"], ["filial-rj", "filial-sp"], None)):
        known = add(desk, f"Portal {number}", accounts=accounts, detail="figures", actor=CANARY)
        for query in (
            "",
            "size=compact",
            "lang=pt-BR&theme=dark",
            f"components=hidden-{CANARY}",
            "components=filial-rj",
        ):
            for path in (f"/embed/{token(known)}", f"/badge/{token(known)}.svg"):
                answer = get(app, f"{path}?{query}")
                everything = f"{answer.headers}{answer.text}"
                assert CANARY not in everything, path
                assert str(VOLUME) not in everything.replace(".", "").replace(",", "")
                assert f"/events/{event}" not in everything
                assert accounts is not None or "filial" not in everything


def test_all_accounts_together_stand_as_the_worst_without_their_names(app: Flask, desk: Desk) -> None:
    known = add(desk, detail="figures")
    look(desk, account("filial-sp"), blocked())
    text = read(frame(app, known).text)
    assert "blocked" in text
    assert "filial" not in text


def test_several_accounts_are_listed_and_components_chooses_among_them(app: Flask, desk: Desk) -> None:
    look(desk, account("filial-sp"), blocked(), account("filial-mg", Word.DOWN))
    known = add(desk, accounts=["filial-sp", "filial-rj"])
    assert [name for name in ("filial-sp", "filial-rj", "filial-mg") if name in frame(app, known).text] == [
        "filial-sp",
        "filial-rj",
    ]
    one = read(frame(app, known, "components=filial-sp,filial-mg,x&lang=en").text)
    assert "filial-sp" in one
    assert "filial-rj" not in one
    assert "blocked" not in one
    compact = read(frame(app, known, "size=compact&lang=en").text)
    assert "blocked" in compact
    assert "filial" not in compact


def test_an_account_without_work_is_well_and_one_that_nobody_knows_is_not(app: Flask, desk: Desk) -> None:
    desk.done("1", account="filial-sp")
    look(desk)
    assert "tone-ok" in frame(app, add(desk, "Quiet", accounts=["filial-sp"])).text
    misspelt = frame(app, add(desk, "Misspelt", accounts=["filail-sp"])).text
    assert "tone-ok" not in misspelt
    assert "unknown" in misspelt


def test_what_is_unknown_or_stale_is_never_shown_as_well(app: Flask, desk: Desk, later: Later) -> None:
    known = add(desk, accounts=["filial-sp"])
    never = frame(app, known)
    assert "tone-ok" not in never.text
    assert "Nothing is known yet." in read(never.text)
    look(desk, account("filial-sp"))
    later(16)
    assert "tone-ok" in frame(app, known).text
    desk.hub.store.clock.advance(60)
    later(16)
    stale = frame(app, known)
    assert "tone-ok" not in stale.text
    assert "It was last seen as: ok." in read(stale.text)
    assert "as of" in read(stale.text)
    badge = get(app, f"/badge/{token(known)}.svg?lang=en").text
    assert "unknown" in badge


def test_while_the_database_is_away_the_last_state_is_told_as_what_it_was(
    app: Flask, desk: Desk, later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    look(desk, account("filial-sp"))
    known = add(desk, accounts=["filial-sp"])
    assert "tone-ok" in frame(app, known).text

    def away(*_: object, **__: object) -> Any:
        raise StoreUnavailable("The database at db.internal cannot be reached.")

    for module, name in ((snapshots, "both"), (embeds, "find"), (embeds, "note_use")):
        monkeypatch.setattr(module, name, away if name != "note_use" else lambda *_, **__: False)
    later(3_600)
    answer = frame(app, known)
    assert answer.status_code == 200
    assert answer.headers["Content-Security-Policy"].endswith(f"frame-ancestors {PAGE} {OTHER}")
    assert "tone-ok" not in answer.text
    assert "It was last seen as: ok." in read(answer.text)
    assert "db.internal" not in answer.text
    # Its end is kept all the same.
    later(91 * 86_400)
    assert frame(app, known).status_code == 404


def test_a_first_look_without_a_database_is_the_neutral_page_and_an_unknown_badge(
    app: Flask, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = add(desk)

    def away(*_: object) -> Any:
        raise StoreUnavailable

    monkeypatch.setattr(embeds, "find", away)
    assert frame(app, known).status_code == 404
    badge = get(app, f"/badge/{token(known)}.svg?lang=en")
    assert badge.status_code == 200
    assert "unknown" in badge.text


# Who may see it


def _dead_tokens(desk: Desk) -> dict[str, str]:
    """Addresses that hold not, or not any more, by the reason."""
    store = desk.hub.store
    known = {name: add(desk, name) for name in ("replayed", "paused", "revoked", "expired")}
    old = {name: token(one) for name, one in known.items()}
    embeds.rotate(store, known["replayed"])
    embeds.pause(store, known["paused"])
    embeds.revoke(store, known["revoked"])
    with store.write() as connection:
        table = store.tables.embed
        connection.execute(table.update().where(table.c.name == "expired").values(expires_at=utc_now()))
    forged = old["expired"][:-3] + ("AAA" if not old["expired"].endswith("AAA") else "BBB")
    elsewhere = embed_tokens.sign("another-key-0123456789abcdef", 1, 1)
    never = embed_tokens.sign(SECRET_KEY, 999_999, 1)
    huge = embed_tokens.sign(SECRET_KEY, 10**30, 1)
    strange = {
        "nothing": "x",
        "long": "x" * 4_000,
        "escape": "%00%ff",
        "markup": "<script>",
        "signed elsewhere": elsewhere,
    }
    return old | strange | {"forged": forged, "never there": never, "no id": huge}


def test_forged_expired_paused_revoked_and_replayed_addresses_are_answered_alike(
    app: Flask, desk: Desk
) -> None:
    look(desk, blocked())
    for query in ("", "?lang=en&theme=dark"):
        answers = {why: get(app, f"/embed/{one}{query}") for why, one in _tokens_once(desk).items()}
        assert (
            len({(answer.status_code, answer.data, str(answer.headers)) for answer in answers.values()}) == 1
        )
        (one, *_) = answers.values()
        assert one.status_code == 404
        assert one.headers["X-Frame-Options"] == "DENY"
        assert one.headers["Content-Security-Policy"].endswith("frame-ancestors 'none'")
        badges = {get(app, f"/badge/{one}.svg{query}").data for one in _tokens_once(desk).values()}
        assert len(badges) == 1


def _tokens_once(desk: Desk) -> dict[str, str]:
    if "dead tokens" not in desk.answers:
        desk.answers["dead tokens"] = _dead_tokens(desk)  # type: ignore[assignment]
    return desk.answers["dead tokens"]  # type: ignore[return-value]


def test_an_address_that_is_taken_back_holds_half_a_minute_longer_at_most(
    app: Flask, desk: Desk, later: Later
) -> None:
    known = add(desk)
    assert frame(app, known).status_code == 200
    embeds.revoke(desk.hub.store, known)
    later(31)
    assert frame(app, known).status_code == 404


def test_a_frame_is_framed_by_its_own_pages_only_and_needs_no_session(app: Flask, desk: Desk) -> None:
    answer = frame(app, add(desk), Cookie="dlq_console=x")
    headers = answer.headers
    policy = headers["Content-Security-Policy"]
    assert policy.split("; ")[-1] == f"frame-ancestors {PAGE} {OTHER}"
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "form-action 'none'" in policy
    assert "X-Frame-Options" not in headers
    assert "Set-Cookie" not in headers
    assert "Cookie" not in headers.get("Vary", "")
    assert headers["Cache-Control"] == "public, max-age=15, stale-while-revalidate=30"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Robots-Tag"] == "noindex"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "hx-" not in answer.text
    assert not Tags(answer.text).named("form") + Tags(answer.text).named("a")


def test_without_pages_nobody_frames_it_and_everything_else_is_never_framed(
    app: Flask, desk: Desk, maria: Visitor
) -> None:
    alone = frame(app, add(desk, origins=[]))
    assert alone.status_code == 200
    assert alone.headers["X-Frame-Options"] == "DENY"
    assert alone.headers["Content-Security-Policy"].endswith("frame-ancestors 'none'")
    event = desk.dead("1")
    frame(app, add(desk, "Other"))
    for path in (f"/events/{event}", "/dead-letters", "/settings/preferences", "/login"):
        answer = maria.get(path)
        assert answer.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
        assert answer.headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_a_frame_is_only_read(app: Flask, desk: Desk, method: str) -> None:
    path = f"/embed/{token(add(desk))}"
    assert app.test_client().open(path, method=method).status_code in (400, 405)
    head = app.test_client().head(path)
    assert (head.status_code, head.data) == (200, b"")


# How it is asked for


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("theme=dark", 'data-theme="dark"'),
        ("theme=auto", "<html lang"),
        ("theme=%22><script>", "<html lang"),
        ("lang=pt-BR", 'lang="pt-BR"'),
        ("lang=en", 'lang="en"'),
        ("lang=xx", 'lang="pt-BR"'),
        ("refresh=15", 'content="15"'),
        ("refresh=14", 'content="60"'),
        ("refresh=301", 'content="60"'),
        ("refresh=9e9&size=huge&colour=red&components=", 'content="60"'),
        ("refresh=-1&refresh=20&%00=%ff", 'content="60"'),
    ],
)
def test_what_an_address_asks_for_comes_from_closed_lists_and_the_rest_is_passed_over(
    app: Flask, desk: Desk, query: str, expected: str
) -> None:
    answer = frame(app, add(desk), query, Accept_Language="fr")
    assert answer.status_code == 200
    assert expected in answer.text
    assert "<script>" not in answer.text
    assert ("data-theme" in answer.text) == ("theme=dark" in query)


def test_a_frame_is_made_once_in_a_quarter_of_a_minute_and_known_by_its_tag(
    app: Flask, desk: Desk, later: Later, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []

    def counted(*args: Any) -> Any:
        made.append(args)
        return content(*args)

    monkeypatch.setattr(embed, "content", counted)
    look(desk, account("filial-sp"))
    known = add(desk, accounts=["filial-sp"])
    first = frame(app, known)
    for _ in range(5):
        assert frame(app, known).data == first.data
    assert len(made) == 1
    unchanged = frame(app, known, If_None_Match=first.headers["ETag"])
    assert (unchanged.status_code, unchanged.data) == (304, b"")
    assert PAGE in unchanged.headers["Content-Security-Policy"]
    later(16)
    frame(app, known)
    assert len(made) == 2


def test_use_is_noted_every_half_minute_at_most_with_the_page_that_asked(
    app: Flask, desk: Desk, later: Later
) -> None:
    known = add(desk)

    def noted() -> tuple[int, str | None]:
        row = embeds.find(desk.hub.store, known.id)
        assert row is not None
        return row.hits, row.last_origin

    frame(app, known, Referer=f"{PAGE}/start?secret={CANARY}")
    assert noted() == (1, PAGE)
    for _ in range(4):
        frame(app, known, Referer="javascript:alert(1)")
    assert noted() == (1, PAGE)
    later(31)
    frame(app, known, Referer="https://elsewhere.example/")
    assert noted() == (6, "https://elsewhere.example")


def test_the_token_stands_in_no_log(
    app: Flask, desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    known = add(desk)

    def broken(*_: object) -> None:
        raise KeyError("canary")

    monkeypatch.setattr(embed, "content", broken)
    with caplog.at_level(logging.DEBUG):
        assert frame(app, known).status_code == 500
    assert "/embed/•••" in caplog.text
    assert token(known) not in caplog.text
    record = logging.makeLogRecord(
        {"msg": "GET %s HTTP/1.1", "args": (f"/dlq/badge/{token(known)}.svg?lang=en",)}
    )
    assert RedactingFormatter("%(message)s").format(record) == "GET /dlq/badge/•••?lang=en HTTP/1.1"


# Badges


@pytest.mark.parametrize("theme", ["light", "dark", "auto"])
def test_a_badge_is_a_picture_with_text_shape_and_title_that_runs_nothing(
    app: Flask, desk: Desk, theme: str
) -> None:
    name = "<b>\"Lua\" & 'Sol'</b> 東京"
    look(desk, blocked())
    answer = get(app, f"/badge/{token(add(desk, name, accounts=['filial-rj']))}.svg?lang=en&theme={theme}")
    assert answer.mimetype == "image/svg+xml"
    assert answer.headers["Content-Security-Policy"].startswith(
        "default-src 'none'; style-src 'unsafe-inline'"
    )
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert answer.headers["X-Frame-Options"] == "DENY"
    picture = ElementTree.fromstring(answer.text)
    space = "{http://www.w3.org/2000/svg}"
    texts = [one.text for one in picture.iter(f"{space}text")]
    assert texts == [name, "blocked"]
    assert (picture.findtext(f"{space}title") or "").startswith(f"{name}: blocked (as of ")
    assert picture.find(f".//{space}path") is not None
    assert not list(picture.iter(f"{space}script"))


def test_a_badge_without_a_frame_is_a_picture_that_says_so(app: Flask) -> None:
    answer = get(app, "/badge/forged.svg?lang=en")
    assert answer.status_code == 200
    assert [
        one.text for one in ElementTree.fromstring(answer.text).iter("{http://www.w3.org/2000/svg}text")
    ] == [
        "integrations",
        "unknown",
    ]


# The page that keeps them


@pytest.fixture
def root(app: Flask, desk: Desk) -> Visitor:
    """An administrator."""
    return Visitor(app).enter(desk, "root", "admin")


FORM = {
    "name": "Portal",
    "accounts": "filial-sp\nfilial-rj",
    "origins": f"{PAGE}\r\n{OTHER}/",
    "detail": "figures",
    "days": "30",
}


def test_an_administrator_adds_a_frame_and_copies_what_shows_it(
    root: Visitor, app: Flask, desk: Desk, later: Later
) -> None:
    look(desk, account("filial-sp"), blocked())
    # What the process knows is read again.
    later(2)
    root.get("/settings/embeds")
    assert root.post("/settings/embeds", **FORM).status_code == 303
    (known,) = embeds.list_embeds(desk.hub.store)
    assert (known.accounts, known.origins, known.created_by) == (
        ("filial-sp", "filial-rj"),
        (PAGE, OTHER),
        "root",
    )
    page = root.get("/settings/embeds").text
    assert "blocked" in read(page)
    for part in (
        token(known),
        'loading="lazy"',
        'sandbox="allow-scripts allow-popups"',
        "referrerpolicy=",
        "embed-height.js",
    ):
        assert part in page.replace("&#34;", '"'), part
    script = re.search(r"http://localhost(/static/\S+?/js/embed-height\.js)", page)
    assert script is not None
    assert get(app, script[1]).headers["Cross-Origin-Resource-Policy"] == "cross-origin"


@pytest.mark.parametrize(
    ("form", "english", "portuguese"),
    [
        ({"origins": "https://a.example; script-src *"}, "Pages: 'https://a.example; ", "não é uma origem."),
        ({"origins": "https://a.example/\nhttps://*"}, "Pages: 'https://*' is no", "não é uma origem."),
        (
            {"origins": "https://a.example\r\n\tX-Frame-Options: allow"},
            "Pages: 'X-Frame",
            "não é uma origem.",
        ),
        ({"origins": "http://a.example"}, "Pages: http://a.example is not https.", "não é https."),
        (
            {"origins": "\n".join(f"https://{n}.example" for n in range(21))},
            "Pages: name at most 20.",
            "no máximo 20.",
        ),
        ({"origins": ""}, "Pages: name those that may show it", "Páginas: indique as que"),
        ({"no_page": "1"}, "tick that none may; not both.", "não as duas coisas."),
        ({"name": " "}, "Name: use 1 to 60", "Nome: use de 1 a 60"),
        ({"name": "taken"}, "There is a frame taken already", "Já existe um quadro taken"),
        ({"days": "9999999"}, "Days until it expires: use 1 to 3650.", "Dias até expirar: use de 1 a 3650."),
        ({"days": "²"}, "Days until it expires: use 1 to 3650.", "Dias até expirar: use de 1 a 3650."),
        ({"detail": "x"}, "What it tells: choose one", "O que ele informa: escolha"),
        ({"accounts": "filial-rj\n" + "a" * 121}, "Accounts: use 1 to 120", "Contas: use de 1 a 120"),
        (
            {"accounts": "\n".join(f"filial-rj{n}" for n in range(201))},
            "Accounts: name at most 200",
            "Contas: indique no máximo 200",
        ),
    ],
)
def test_what_the_form_cannot_be_used_for_is_told_in_the_language_of_the_reader_and_what_was_typed_stays(
    root: Visitor, desk: Desk, form: dict[str, str], english: str, portuguese: str
) -> None:
    add(desk, "taken")
    for language, sentence in (("en", english), ("pt-BR", portuguese)):
        root.language = language
        root.get("/settings/embeds")
        answer = root.post("/settings/embeds", **(FORM | form))
        assert answer.status_code == 400
        assert sentence in read(answer.text)
        assert FORM["name"] in answer.text or "name" in form
        assert "filial-rj" in answer.text.partition('id="accounts"')[2]
        assert 'role="alert" lang' not in answer.text
    assert len(embeds.list_embeds(desk.hub.store)) == 1


def test_what_is_done_on_the_page_is_seen_at_once_and_an_old_page_does_nothing(
    root: Visitor, app: Flask, desk: Desk
) -> None:
    known = add(desk)

    def act(name: str, version: int = 1) -> int:
        return root.post(f"/settings/embeds/{known.id}/{name}", version=str(version)).status_code

    assert frame(app, known).status_code == 200
    assert act("pause") == 303
    assert frame(app, known).status_code == 404
    assert act("pause") == 409
    assert act("resume") == 303
    assert frame(app, known).status_code == 200
    assert act("renew") == 303
    assert act("rotate") == 303
    assert frame(app, known).status_code == 404
    assert act("revoke", 1) == 409
    assert act("revoke", 2) == 303
    assert act("fly") == 404
    assert "revoked" in read(root.get("/settings/embeds").text)
    with desk.hub.store.read() as connection:
        audit = desk.hub.store.tables.audit.c
        acts = connection.execute(select(audit.action).order_by(audit.id)).scalars().all()
    assert acts[-5:] == ["pause_embed", "resume_embed", "renew_embed", "rotate_embed", "revoke_embed"]
    assert "status frame revoked" in read(root.get("/audit").text)


def test_an_end_that_is_near_a_page_that_may_not_and_no_page_at_all_are_marked(
    root: Visitor, desk: Desk
) -> None:
    near = add(desk, days=3, origins=[])
    embeds.note_use(desk.hub.store, near.id, hits=1, origin="https://elsewhere.example")
    text = root.get("/settings/embeds").text
    assert text.count('class="late"') == 3
    assert "no page: nobody may frame it" in read(text)
    assert "may not frame it" in read(text)


@pytest.mark.parametrize("role", ["viewer", "operator", "editor"])
def test_nobody_else_keeps_frames(app: Flask, desk: Desk, role: str) -> None:
    known = add(desk)
    somebody = Visitor(app).enter(desk, "ana", role)
    assert "/settings/embeds" not in somebody.get("/settings/preferences").text
    assert somebody.get("/settings/embeds").status_code == 403
    assert somebody.post("/settings/embeds", **FORM).status_code == 403
    assert somebody.post(f"/settings/embeds/{known.id}/revoke", version="1").status_code == 403
    assert app.test_client().get("/settings/embeds").status_code == 303


def test_an_administrator_of_some_accounts_keeps_their_frames_only(app: Flask, desk: Desk) -> None:
    all_, other = add(desk, "Everything"), add(desk, "Rio", accounts=["filial-rj"])
    some = Visitor(app).enter(desk, "ana", "admin", ["filial-sp"])
    page = some.get("/settings/embeds").text
    assert "Everything" not in page
    assert "filial-rj" not in page
    for known in (all_, other):
        assert some.post(f"/settings/embeds/{known.id}/pause", version="1").status_code == 404
    for accounts in ("", "filial-sp\nfilial-rj"):
        assert some.post("/settings/embeds", **(FORM | {"accounts": accounts})).status_code == 400
    assert some.post("/settings/embeds", **(FORM | {"accounts": "filial-sp"})).status_code == 303
