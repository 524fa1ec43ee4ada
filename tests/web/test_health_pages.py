"""Are we behind, why, until when? The pages that answer this, what they cost, and what they say when nobody knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from time import process_time

import pytest
from flask import Flask
from sqlalchemy import Engine, event
from werkzeug.test import TestResponse

from dlq_console.clock import utc_now
from dlq_console.errors import StoreUnavailable
from dlq_console.health import spelling
from dlq_console.health.values import AccountHealth, Closing, Counts, Drain, Flow, Why, Word
from dlq_console.store import people, snapshots
from dlq_console.watch import looking
from dlq_console.web import health_seen, looks, watchers
from tests.store.filling import put
from tests.web.desk import Desk
from tests.web.health_written import account, blocked, nobody_looked_for, stand
from tests.web.test_api import Program, ci, client
from tests.web.visitor import Tags, Visitor, read

__all__ = ["ci", "client"]

HOSTILE = '<b onclick="x">São João & Filhos</b>'


@pytest.fixture(autouse=True)
def always_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written down is seen at once; a test that is about waiting sets it back."""
    monkeypatch.setattr(health_seen, "FRESH_FOR", 0.0)


@contextmanager
def statements() -> Iterator[list[str]]:
    """Every statement that is sent to any database meanwhile."""
    sent: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if not statement.startswith(("BEGIN", "PRAGMA")):
            sent.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    yield sent
    event.remove(Engine, "before_cursor_execute", note)


def test_one_sentence_says_whether_we_are_behind_why_and_until_when(desk: Desk, maria: Visitor) -> None:
    stand(desk.hub.store, account("filial-sp"), blocked("filial-rj"))
    text = read(maria.get("/health").text)
    assert "Behind: 212 events wait in filial-rj, the oldest for 18 min; all will be through by about" in text
    assert "Worst is filial-rj, blocked: The ERP blocks it until" in text
    assert "“Consumo indevido”. 1 of 2 accounts needs a person." in text
    stand(desk.hub.store, account("filial-sp"))
    assert "On time: nothing waits longer than it should." in read(maria.get("/health").text)
    stand(desk.hub.store)
    assert "No account has work, a closed door or a dead letter." in read(maria.get("/health").text)


def test_the_worst_comes_first_with_word_and_shape(desk: Desk, maria: Visitor) -> None:
    stand(
        desk.hub.store,
        account("a-fine"),
        blocked("b-blocked"),
        account("z-dead", Word.DEGRADED, Why.DEAD_LETTERS, counts=Counts(dead=7)),
    )
    page = maria.get("/health").text
    assert page.index(">b-blocked<") < page.index(">z-dead<") < page.index(">a-fine<")
    assert 'href="/dead-letters?account=z-dead">7</a>' in page
    assert 'aria-hidden="true"><path d="M6 .5 12 11.5H0z"/></svg>degraded' in page
    side = page[: page.index("<main")]
    assert '<span class="unseen">blocked</span>' in side


@pytest.mark.parametrize("language", ["en", "pt-BR"])
def test_every_reason_is_a_sentence_of_its_own_in_both_languages(
    desk: Desk, maria: Visitor, language: str
) -> None:
    closings = [
        Closing(cause="pause", by="joana", reason="inventário"),
        Closing(cause="pause", by="joana", until=utc_now() + timedelta(minutes=9)),
        None,
    ]
    found = [
        account(
            f"{why}-{number}",
            Word.DEGRADED,
            why,
            figure=figure,
            closing=closing,
            counts=Counts(due=2, dead=3, stopped_lanes=1),
            flow=Flow(minutes=5, died=4),
            circuit_forced=number == 0,
        )
        for why in Why
        for number, (closing, figure) in enumerate(zip(closings, (84.0, 84.0, None), strict=True))
    ]
    stand(desk.hub.store, *found)
    maria.language = language
    told = {read(maria.get(f"/health?q={why}-0").text) for why in Why}
    assert len(told) == len(Why)
    sentence = (
        "joana paused it, until a person resumes it. “inventário”." if language == "en" else "joana a pausou"
    )
    assert sentence in read(maria.get("/health?q=pause-0").text)
    for why in Why:
        assert maria.get(f"/health/accounts/{why}-2").status_code == 200


def test_what_does_not_drain_says_so(desk: Desk, maria: Visitor) -> None:
    stuck = account(
        "filial-sp", Word.DEGRADED, Why.BEHIND, figure=900.0, counts=Counts(due=50), drain=Drain(bound="pace")
    )
    stand(desk.hub.store, stuck)
    text = read(maria.get("/health").text)
    assert "Behind: 50 events wait in filial-sp; not draining." in text
    for path in ("/health", "/health/accounts/filial-sp"):
        assert read(maria.get(path).text).count("not draining") == 2, "in the sentence and as a figure"


def test_while_nobody_can_know_the_pace_after_an_opening_the_end_is_not_known_yet(
    desk: Desk, maria: Visitor
) -> None:
    opened = account(
        "filial-sp", Word.DEGRADED, Why.BEHIND, figure=900.0, counts=Counts(due=50), drain=Drain(bound="opening")
    )  # fmt: skip
    stand(desk.hub.store, opened)
    assert "Behind: 50 events wait in filial-sp; end not known yet." in read(maria.get("/health").text)
    for path in ("/health", "/health/accounts/filial-sp"):
        text = read(maria.get(path).text)
        assert (text.count("end not known yet"), text.count("not draining")) == (2, 0), path


def test_the_cause_that_is_told_is_that_of_the_account_that_is_late(desk: Desk, maria: Visitor) -> None:
    stand(
        desk.hub.store,
        account(
            "filial-rs", Word.DEGRADED, Why.BEHIND, figure=660.0, drain=Drain(seconds=60.0, bound="pace"),
            counts=Counts(due=151, oldest_due_at=utc_now() - 11 * MINUTE),
        ),
        account("filial-sp", Word.DEGRADED, Why.DEAD_LETTERS, figure=40.0, counts=Counts(dead=40)),
    )  # fmt: skip
    page = maria.get("/health").text
    assert re.search(
        r"Behind: 151 events wait in filial-rs, the oldest for 11 min; all will be through by about \S+\. "
        r"Worst is filial-rs, degraded: What is due waits longer than it should: 11 min\. "
        r"1 of 2 accounts needs a person\.",
        read(page),
    ), read(page)
    assert page.index(">filial-sp<") < page.index(">filial-rs<"), "rows are by who needs a person"


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (1, "Nothing waits longer than it should yet, but what comes for filial-0 will wait. Worst is filial-0, down"),
        (2, "Nothing waits longer than it should yet, but what comes for 2 accounts will wait. Worst is filial-0, down"),
    ],
)  # fmt: skip
def test_where_an_account_does_no_work_nobody_says_on_time(
    desk: Desk, maria: Visitor, number: int, told: str
) -> None:
    down = [
        account(f"filial-{one}", Word.DOWN, Why.CIRCUIT, closing=Closing(cause="circuit"), circuit="open")
        for one in range(number)
    ]
    stand(desk.hub.store, *down)
    text = read(maria.get("/health").text)
    assert told in text
    assert "On time" not in text
    stand(desk.hub.store, *down, account("a", Word.DEGRADED, Why.DEAD_LETTERS, counts=Counts(dead=2)))
    assert "will wait. 2 dead letters wait for a person. Worst is" in read(maria.get("/health").text)


def test_words_of_an_erp_that_end_like_a_sentence_get_no_second_end(desk: Desk, maria: Visitor) -> None:
    closing = Closing(cause="provider", reason="Tente novamente em 60 segundos.")
    stand(desk.hub.store, blocked("filial-rj", closing=closing))
    assert "“Tente novamente em 60 segundos.” 1 of 1" in read(maria.get("/health").text)


MINUTE = timedelta(minutes=1)


def _as_in_the_demo() -> list[AccountHealth]:
    """One circuit open, one block, dead letters in others."""
    now = utc_now()
    waits = Counts(paused=26, dead=6, oldest_due_at=now - 3 * MINUTE)
    down = account(
        "filial-ba", Word.DOWN, Why.CIRCUIT, closing=Closing(cause="circuit", until=now + 2 * MINUTE),
        counts=waits, drain=Drain(bound="door"), circuit="open",
    )  # fmt: skip
    dead = [
        account(
            name, Word.DEGRADED, Why.DEAD_LETTERS, figure=1.0, drain=Drain(bound="pace"),
            counts=Counts(due=1, dead=1, oldest_due_at=now),
        )
        for name in ("filial-go", "filial-df")
    ]  # fmt: skip
    return [down, *dead, account("filial-sp")]


def test_the_worst_account_is_the_one_that_is_down_and_end_and_cause_are_its_own(
    desk: Desk, maria: Visitor
) -> None:
    down, *others = _as_in_the_demo()
    stand(desk.hub.store, down, *others)
    page = maria.get("/health")
    text = read(page.text)
    assert re.search(
        r"Behind: 26 events wait in filial-ba, the oldest for 3 min; after the try at (\S+)\. "
        r"Worst is filial-ba, down: Its circuit is open \(blocking calls\); next try at \1\. "
        r"3 of 4 accounts need a person\.",
        text,
    ), text
    assert page.text.index(">filial-ba<") < page.text.index(">filial-df<") < page.text.index(">filial-go<")
    (told,) = set(re.findall(r"after the try at [^<;.]*", page.text))
    assert told in maria.get("/health/accounts/filial-ba").text


def test_with_several_that_are_late_the_sentence_tells_place_end_and_cause_of_the_worst(
    desk: Desk, maria: Visitor
) -> None:
    down, *_ = _as_in_the_demo()
    stand(desk.hub.store, down, blocked("filial-rj"))
    text = read(maria.get("/health").text)
    told = r"Behind: 238 events wait, 26 of them in filial-ba, .*?; filial-ba: after the try at \S+\. Worst is filial-ba"
    assert re.search(told, text), text
    slow = blocked("filial-rj", drain=Drain(seconds=7_200.0, bound="door"))
    worst = blocked("filial-sc", counts=Counts(paused=300, dead=1))
    stand(desk.hub.store, slow, worst)
    text = read(maria.get("/health").text)
    ends = re.search(
        r"all will be through by about (\S+)\. Worst is filial-sc.* by about (\S+)\. 2 of 2", text
    )
    assert ends, text
    assert ends[1] != ends[2], "the latest of all, and that of the worst"
    stand(desk.hub.store, worst, replace(slow, drain=worst.drain))
    assert read(maria.get("/health").text).count("through by about") == 1, "it is the same"


def test_dead_letters_are_no_delay(desk: Desk, maria: Visitor) -> None:
    _, *others = _as_in_the_demo()
    stand(desk.hub.store, *others)
    text = read(maria.get("/health").text)
    assert "On time: nothing waits longer than it should; 2 dead letters wait for a person. Worst is" in text
    assert "not draining" not in text
    assert "Behind" not in text
    text = read(maria.get("/health/accounts/filial-go").text)
    assert re.search(r"1 dead letter waits for a person\. 1 event waits, the oldest for \d+ s\. ", text), text


@pytest.mark.parametrize(
    ("word", "why", "oldest", "lag", "late"),
    [
        (Word.DEGRADED, Why.DEAD_LETTERS, 10 * MINUTE - timedelta(seconds=5), 300.0, False),
        (Word.DEGRADED, Why.DEAD_LETTERS, 10 * MINUTE + timedelta(seconds=1), None, True),
        (Word.DEGRADED, Why.LANE_STOPPED, MINUTE, 301.0, True),
        (Word.DOWN, Why.NO_WORKER, MINUTE, None, True),
        (Word.BLOCKED, Why.PAUSE, MINUTE, None, True),
    ],
)
def test_behind_is_what_waits_longer_than_is_allowed_or_for_a_door_or_a_worker(
    desk: Desk, maria: Visitor, word: Word, why: Why, oldest: timedelta, lag: float | None, late: bool
) -> None:
    counts = Counts(due=4, oldest_due_at=utc_now() - oldest)
    stand(desk.hub.store, account("a", word, why, counts=counts, flow=Flow(lag_p95=lag)))
    text = read(maria.get("/health").text)
    assert ("Behind: 4 events wait in a," in text, "On time" in text) == (late, not late)


def test_without_a_count_nobody_says_on_time(desk: Desk, maria: Visitor) -> None:
    stand(desk.hub.store, account("filial-sp", Word.UNKNOWN, Why.NOT_SEEN, counts=Counts(due=4)))
    text = read(maria.get("/health").text)
    assert "Whether anything waits longer than it should is not known. Worst is filial-sp, unknown" in text


@pytest.mark.parametrize(
    ("why", "until", "forced", "told"),
    [
        (Why.PROVIDER, MINUTE, False, r"after it opens at \d"),
        (Why.CIRCUIT, MINUTE, True, r"after it opens at \d"),
        (Why.CIRCUIT, MINUTE, False, r"after the try at \d"),
        (Why.PAUSE, None, False, r"not draining"),
    ],
)
def test_behind_a_door_the_end_is_called_alike_in_row_sentence_and_account(
    desk: Desk, maria: Visitor, why: Why, until: timedelta | None, forced: bool, told: str
) -> None:
    word = Word.DOWN if why is Why.CIRCUIT else Word.BLOCKED
    closing = Closing(cause=why.value, until=None if until is None else utc_now() + until)
    behind = account(
        "filial-rj", word, why, closing=closing, counts=Counts(paused=13), drain=Drain(bound="door"),
        circuit_forced=forced,
    )  # fmt: skip
    stand(desk.hub.store, behind)
    for path in ("/health", "/health/accounts/filial-rj"):
        assert len(re.findall(told, read(maria.get(path).text))) == 2, path


def test_nobody_looks_any_more_and_the_page_says_since_when(desk: Desk, maria: Visitor) -> None:
    assert "Nobody has looked yet" in read(maria.get("/health").text)
    stand(desk.hub.store, account("filial-sp"))
    nobody_looked_for(desk.hub.store, 10.5)
    page = maria.get("/health").text
    assert "Not known since" in read(page)
    assert "Nothing waits longer than it should." in read(page), "it is told as it was"
    assert "tone-ok" not in page
    assert 'class="standing doubtful"' in page
    assert '<span class="unseen">unknown</span>' in page


def test_the_database_goes_away_and_the_last_figures_stay_with_their_age(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand(desk.hub.store, blocked("filial-rj"))
    nobody_looked_for(desk.hub.store, 3)
    first = maria.glance("/_f/health")
    assert "212 events wait" in read(first.text)

    def away(*_: object) -> None:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(snapshots, "both", away)
    monkeypatch.setattr(people, "session_people", away)
    monkeypatch.setattr(people, "session_person", away)
    answer = maria.glance("/_f/health")
    assert answer.status_code == 200
    assert answer.headers["ETag"] != first.headers["ETag"]
    assert float(answer.headers["Seen-Age"]) >= 3
    assert "The database cannot be reached. What is shown was so at" in read(answer.text)
    assert "tone-fail" not in answer.text, "nothing is shown as current"
    page = maria.get("/health")
    assert (page.status_code, "The database cannot be reached." in read(page.text)) == (200, True)


def test_without_anything_known_a_database_that_is_away_is_no_healthy_page(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(snapshots, "both", away)
    assert maria.get("/health").status_code == 503
    assert maria.glance("/_f/health").headers["Retry-After"] == "5"


def test_who_has_it_already_gets_304_and_who_may_see_something_else_does_not(
    app: Flask, desk: Desk, maria: Visitor
) -> None:
    stand(desk.hub.store, blocked("filial-rj"), account("filial-sp"))
    answer = maria.glance("/_f/health")
    tag = answer.headers["ETag"]
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert answer.headers["Vary"] == "Cookie, HX-Request, Accept-Language"

    def status(visitor: Visitor, path: str = "/_f/health") -> int:
        return visitor.get(path, HX_Request="true", If_None_Match=tag).status_code

    assert status(maria) == 304
    assert status(maria, "/_f/health?word=ok") == 200
    rita = Visitor(app).enter(desk, "rita", "operator", ["filial-sp"])
    assert status(rita) == 200
    maria.language = "pt-BR"
    assert status(maria) == 200
    maria.language = "en"
    stand(desk.hub.store, blocked("filial-rj"))
    assert status(maria) == 200
    assert maria.get("/_f/health").status_code == 404, "a part is no page"


def test_the_database_is_asked_no_more_for_many_viewers_than_for_one(
    app: Flask, desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand(desk.hub.store, *(account(f"filial-{number}") for number in range(100)))
    viewers = [Visitor(app).enter(desk, f"viewer-{number}", "viewer") for number in range(8)]
    for viewer in viewers:
        viewer.glance("/_f/health")
    monkeypatch.setattr(health_seen, "FRESH_FOR", 3600.0)
    with statements() as sent:
        answers = [viewer.glance("/_f/health") for _ in range(40) for viewer in viewers]
    assert {answer.status_code for answer in answers} == {200}
    assert sent == []
    # And once every few seconds, all of them together.
    monkeypatch.setattr(health_seen, "FRESH_FOR", 0.0)
    monkeypatch.setattr(watchers, "ASKED_EVERY", 0.0)
    with statements() as sent:
        viewers[0].glance("/_f/health")
    assert len(sent) == 2, sent


def test_a_session_that_has_ended_stops_polling(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand(desk.hub.store, account("filial-sp"))
    assert maria.glance("/_f/health").status_code == 200
    people.disable_user(desk.hub.store, "maria")
    monkeypatch.setattr(watchers, "ASKED_EVERY", 0.0)
    assert maria.glance("/_f/health").status_code == 401
    maria.client.delete_cookie("dlq_console")
    assert maria.glance("/_f/health").status_code == 401


def test_five_thousand_accounts_are_pages_of_fifty_with_a_search(desk: Desk, maria: Visitor) -> None:
    many = [account(f"loja-{number:04}") for number in range(4_999)]
    stand(desk.hub.store, *many, blocked("filial-rj"))
    page = maria.get("/health")
    assert len(page.data) < 60_000
    assert page.text.count('<th scope="row"') == 50
    assert "1 to 50 of 5,000" in read(page.text)
    assert ">filial-rj<" in page.text
    assert "4,951 to 5,000 of 5,000" in read(maria.get("/health?page=100").text)
    assert read(maria.get("/health?q=LOJA-0123").text).count("loja-0123") >= 1
    assert maria.get("/health?word=blocked").text.count('<th scope="row"') == 1
    assert "No account matches." in read(maria.get("/health?q=nirgends").text)
    began = process_time()
    for _ in range(5):
        maria.get("/health?page=3")
    assert (process_time() - began) / 5 < 0.5, "nothing of 5,000 accounts is done anew for each page"


def test_rows_show_the_longest_wait_of_each_hour_read_once_a_minute_for_the_rows_of_the_page(
    desk: Desk, maria: Visitor
) -> None:
    hour = utc_now().replace(minute=0, second=0, microsecond=0)
    names = [f"loja-{number:03}" for number in range(60)]
    stand(desk.hub.store, *(account(name) for name in names))
    for place, name in enumerate(names):
        for ago in range(1, 24):
            # No two hours alike: a page of the longest paths there are.
            seconds = 60 * ((ago * 37 + place) % 97) if place != 1 else 59
            put(
                desk.hub.store, "sample", grain=60, account=name, bucket=hour - timedelta(hours=ago),
                oldest_due_ms=seconds * 1000,
            )  # fmt: skip
    page = maria.get("/health")
    lines = page.text.count('class="sparkline"')
    assert lines == 49, "less than a minute is nothing to draw"
    assert "Longest wait in the last 24 hours: 1 h 36 min" in page.text
    assert len(page.data) < 60_000
    with statements() as sent:
        maria.get("/health")
        assert not any("sample" in statement for statement in sent)
        assert maria.get("/health?page=2").text.count('class="sparkline"') == 10
        assert sum("sample" in statement for statement in sent) == 1


@pytest.mark.parametrize("query", ["word=well", "page=0", "page=x", "q=" + 121 * "a"])
def test_an_address_that_means_nothing_is_refused(maria: Visitor, query: str) -> None:
    assert maria.get(f"/health?{query}").status_code == 400


@pytest.mark.parametrize("name", [HOSTILE, "Ação/São José", "/x//y", "100%", "東京 店", "..", "a?b#c"])
def test_a_name_may_be_anything(desk: Desk, maria: Visitor, name: str) -> None:
    stand(desk.hub.store, blocked(name))
    page = maria.get("/health").text
    assert "<b onclick" not in page
    addresses = [
        tag["href"]
        for tag in Tags(page).named("a")
        if tag["href"].startswith(("/health/accounts/", "/health/accounts?"))
    ]
    answer = maria.get(addresses[0])
    assert answer.status_code == 200
    assert "212 events wait" in read(answer.text)
    assert "<b onclick" not in answer.text
    region = next(attributes for _, attributes in Tags(answer.text).found if "data-pulse" in attributes)
    assert maria.glance(region["hx-get"]).status_code == 200


def test_people_see_and_name_their_accounts_only(app: Flask, desk: Desk) -> None:
    stand(desk.hub.store, blocked("filial-rj"), account("filial-sp"))
    rita = Visitor(app).enter(desk, "rita", "operator", ["filial-sp"])
    for path in ("/health", "/_f/health"):
        text = rita.glance(path).text
        assert "filial-rj" not in text
        assert "On time" in read(text)
    assert '<span class="unseen">ok</span>' in rita.get("/health").text
    for path in ("/health/accounts/filial-rj", "/_f/health/account?account=filial-rj"):
        assert rita.glance(path).status_code == 404
    assert rita.get("/health/accounts/filial-sp").status_code == 200
    assert rita.get("/health/accounts/nobody").status_code == 404


def test_the_page_of_an_account_shows_doors_acts_and_its_circuit_and_acts_come_back_to_it(
    desk: Desk, maria: Visitor
) -> None:
    desk.add("1", account="filial-rj")
    desk.hub.force_breaker("filial-rj", "open", actor="joana", note="ERP em manutenção")
    stand(desk.hub.store, account("filial-rj", Word.DOWN, Why.CIRCUIT, circuit="open", circuit_forced=True))
    page = maria.get("/health/accounts/filial-rj").text
    text = read(page)
    assert "circuit held open" in text
    assert "ERP em manutenção" in text
    assert 'href="/dead-letters?account=filial-rj"' in page
    answer = maria.post("/breakers/reset", name="filial-rj", page="health")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/health/accounts/filial-rj")
    answer = maria.post("/accounts/pause", account="filial-rj", minutes="15", page="health", note="contagem")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/health/accounts/filial-rj")
    text = read(maria.get("/health/accounts/filial-rj").text)
    assert "contagem" in text
    assert "Resume" in text


def test_the_poll_of_an_account_brings_its_doors_along_only_to_a_page_that_shows_others(
    desk: Desk, maria: Visitor, vera: Visitor, app: Flask
) -> None:
    desk.add("1", account="filial-rj")
    stand(desk.hub.store, account("filial-rj"))

    def shown(html: str) -> str:
        (field,) = [tag for tag in Tags(html).named("input") if tag.get("id") == "doors-shown"]
        return field["value"]

    def poll(visitor: Visitor, known: str) -> TestResponse:
        return visitor.glance(f"/_f/health/account?account=filial-rj&shown={known}")

    before = shown(maria.get("/health/accounts/filial-rj").text)
    with app.app_context():
        looks.forget()
    answer = poll(maria, before)
    assert "account-doors" not in answer.text
    assert poll(vera, before).headers["ETag"]
    desk.hub.pause_account("filial-rj", actor="joana", note="inventário")
    with app.app_context():
        looks.forget()
    answer = poll(maria, before)
    assert "Closed for now" in read(answer.text)
    assert "inventário" in answer.text
    tags = Tags(answer.text)
    along = {tag["id"] for _, tag in tags.found if "hx-swap-oob" in tag}
    assert along == {"account-acts", "account-doors", "account-past"}
    assert 'action="/accounts/resume"' in answer.text
    assert 'action="/accounts/pause"' not in answer.text
    assert poll(maria, before).headers["ETag"] != answer.headers["ETag"], "it is sent until it is taken"
    assert shown(answer.text) == shown(maria.get("/health/accounts/filial-rj").text) != before
    assert "account-doors" not in poll(maria, shown(answer.text)).text
    # Who may not act gets the words alone.
    assert "inventário" in poll(vera, before).text
    assert "<form" not in poll(vera, before).text


def test_however_many_watch_an_account_its_doors_are_read_once_a_second(
    desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.add("1", account="filial-rj")
    stand(desk.hub.store, account("filial-rj"))
    page = maria.get("/health/accounts/filial-rj").text
    (field,) = [tag for tag in Tags(page).named("input") if tag.get("id") == "doors-shown"]
    path = f"/_f/health/account?account=filial-rj&shown={field['value']}"
    maria.glance(path)
    monkeypatch.setattr(health_seen, "FRESH_FOR", 3600.0)
    with statements() as sent:
        answers = [maria.glance(path) for _ in range(20)]
    assert {answer.status_code for answer in answers} == {200}
    assert len(sent) <= 2, sent


def test_an_account_without_work_is_well_and_unknown_before_anybody_has_looked(
    desk: Desk, maria: Visitor
) -> None:
    desk.done("1", account="filial-sp")
    assert "Nobody has looked yet" in read(maria.get("/health/accounts/filial-sp").text)
    stand(desk.hub.store)
    assert "Nothing waits longer than it should." in read(maria.get("/health/accounts/filial-sp").text)


def test_why_a_circuit_changed_is_told_in_the_language_of_the_reader(desk: Desk, maria: Visitor) -> None:
    for number in range(5):
        desk.failed(str(number), account="filial-rj")
    stand(desk.hub.store, account("filial-rj"))
    maria.language = "pt-BR"
    text = read(maria.get("/health/accounts/filial-rj").text)
    assert "5 falhas seguidas, a última: TimeoutError" in text
    assert "failures in a row" not in text


def test_a_viewer_sees_neither_acts_of_people_nor_buttons(desk: Desk, vera: Visitor) -> None:
    desk.hub.pause_account("filial-rj", actor="joana", note="geheim")
    stand(desk.hub.store, blocked("filial-rj"))
    page = vera.get("/health/accounts/filial-rj").text
    assert "What people did" not in page
    assert 'action="/accounts/' not in page


def test_the_overview_takes_its_accounts_from_what_was_read_and_counts_where_nobody_looks(
    desk: Desk, maria: Visitor
) -> None:
    desk.dead("1", account="filial-sp")
    assert "filial-sp" in read(maria.get("/").text)
    stand(desk.hub.store, blocked("filial-rj", counts=Counts(dead=3, paused=212, scheduled=2)))
    text = read(maria.get("/").text)
    assert "are due later 2" in text
    assert "filial-rj open 3 2 212 –" in text
    nobody_looked_for(desk.hub.store, 60)
    text = read(maria.get("/").text)
    assert "filial-sp" in text
    assert "filial-rj" not in text
    assert "will retry" in text


def test_programs_read_the_same_figures(desk: Desk, ci: Program) -> None:
    stand(desk.hub.store, account("filial-sp"), blocked("filial-rj"))
    answer = ci.get("/health").get_json()
    assert [one["account"] for one in answer["items"]] == ["filial-rj", "filial-sp"]
    first = answer["items"][0]
    assert (first["word"], first["why"], first["counts"]["paused"]) == ("blocked", "provider", 212)
    assert first["drain"] == {"seconds": 1620.0, "bound": "door"}
    assert (answer["stale"], answer["age_seconds"] < 5) == (False, True)
    nobody_looked_for(desk.hub.store, 60)
    answer = ci.get("/health").get_json()
    assert (answer["stale"], answer["items"][0]["word"], answer["items"][0]["last_word"]) == (
        True,
        "unknown",
        "blocked",
    )


def test_what_another_version_has_written_is_unknown_and_breaks_nothing(desk: Desk, maria: Visitor) -> None:
    stand(desk.hub.store, account("filial-sp"))
    snapshots.keep(desk.hub.store, spelling.ACCOUNTS, {"filial-sp": {"word": "splendid"}})
    page = maria.get("/health")
    assert (page.status_code, "unknown" in read(page.text)) == (200, True)


def test_lists_poll_at_a_pace_of_their_own(desk: Desk, maria: Visitor) -> None:
    paces = set()
    for _ in range(12):
        tags = Tags(maria.get("/dead-letters").text)
        (trigger,) = [attributes["hx-trigger"] for _, attributes in tags.found if "data-live" in attributes]
        every, _, look = trigger.partition(", ")
        pace = int(every.removeprefix("every ").removesuffix("ms"))
        assert (8_500 <= pace <= 11_500, look) == (True, "look")
        paces.add(pace)
    assert len(paces) > 1


def test_what_the_step_of_the_workers_finds_out_is_what_the_page_shows(desk: Desk, maria: Visitor) -> None:
    desk.dead("1", account="filial-sp")
    desk.add("2", account="filial-rj")
    desk.hub.force_breaker("filial-rj", "open", actor="joana", note="manutenção")
    looking.count(desk.hub)
    looking.look(desk.hub)
    text = read(maria.get("/health").text)
    assert "joana holds its circuit open." in text
    assert "1 dead letter waits for a person." in text
    assert "1 of 2 accounts needs a person." in text
    assert "Behind: 1 event waits in filial-rj" in text, (
        "counted before or after, it waits behind the circuit"
    )
