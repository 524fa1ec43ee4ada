"""Charts over time: every number is also a sentence and a table, and shows nobody what is not theirs."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dlq_console.clock import utc_now
from dlq_console.health.series import RANGES, Range, Series
from dlq_console.health.spelling import ACCOUNTS, account_values
from dlq_console.health.values import AccountHealth, Counts, Drain, Flow, Health, Why, Word
from dlq_console.store import snapshots
from dlq_console.store.queries.spans import circuit_spans
from dlq_console.web import health_seen, series_seen
from dlq_console.web.api.lag import LagSchema
from dlq_console.web.axes import Span
from dlq_console.web.chart_subjects import SUBJECTS
from tests.store.filling import put
from tests.web.charted import Reading, reading, series_of
from tests.web.desk import Desk
from tests.web.health_written import account as standing
from tests.web.health_written import stand
from tests.web.test_api import Program, ci, client, program
from tests.web.visitor import Tags, Visitor, read

__all__ = ["ci", "client", "reading"]

END = datetime(2026, 3, 2, 15, 0, tzinfo=UTC)


def _numbers(visitor: Visitor, query: str = "") -> dict[str, Any]:
    answer = visitor.get(f"/health/series.json{query}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = json.loads(answer.text)
    return found


@pytest.mark.parametrize("name", RANGES)
def test_every_range_has_its_captions_and_tables_of_few_rows(
    reading: Reading, maria: Visitor, name: str
) -> None:
    page = maria.get(f"/health/lag?range={name}")
    assert page.status_code == 200
    assert page.text.count("<figure") == len(SUBJECTS)
    rows = page.text.count("<tr><th>") / len(SUBJECTS)
    assert 24 <= rows <= 30
    tags = Tags(page.text)
    assert [tag["href"] for tag in tags.named("a") if tag.get("aria-current") == "true"] == [
        f"/health/lag?range={name}"
    ]
    assert len(page.data) < 40_000


def test_a_caption_tells_now_smallest_largest_and_when(reading: Reading, maria: Visitor) -> None:
    def made(range_: Range, end: datetime) -> Series:
        times = tuple(end + timedelta(minutes=number) for number in range(6))
        return Series(
            range=range_,
            times=times,
            columns={
                "lag_p95": (4.0, 3700.0, None, None, 12.0, 12.0),
                "lag_p50": (1.0, 2.0, None, None, 0.0, 0.0),
                "arrived": (2, 0, None, None, 1, 5),
            },
        )

    reading.make, reading.end = made, END
    text = read(maria.get("/health/lag?range=1h").text)
    assert "95 of 100 (p95): now 12 s, smallest 4.0 s, largest 1 h 1 min (2 Mar 12:01)." in text
    assert "arrived: 8 in all; now 5, smallest 0, largest 5 (2 Mar 12:05)." in text
    assert "Arrivals and completions, per 1 min" in text
    assert (
        "At 2 Mar 12:05: of the first attempts, half started within 0 s of being due and 95 of 100 within 12 s"
        in text
    )
    # Where nothing is known, nothing is claimed.
    assert text.count("Nothing was measured in this time.") == len(SUBJECTS) - 2
    assert "2 Mar 12:02 – –" in text


def test_a_table_adds_events_up_and_tells_the_largest_of_what_cannot_be_added(
    reading: Reading, maria: Visitor
) -> None:
    def made(range_: Range, end: datetime) -> Series:
        times = tuple(end + timedelta(seconds=range_.step * number) for number in range(8))
        numbers = (1.0, 2.0, 30.0, None, 4.0, 5.0, 6.0, 7.0)
        return Series(range=range_, times=times, columns={"lag_p95": numbers, "arrived": numbers})

    reading.make, reading.end = made, END
    text = read(maria.get("/health/lag?range=7d").text)
    assert "Each row is the largest of 6 h." in text
    assert "Each row is the sum of 6 h." in text
    assert "2 Mar 18:00 7.0 s – 2 Mar 12:00 30 s –" in text
    assert "2 Mar 18:00 13 – – 2 Mar 12:00 42 – –" in text


def test_the_numbers_are_sent_compressed_and_not_again_while_they_are_the_same(
    reading: Reading, maria: Visitor
) -> None:
    reading.end = END
    found = _numbers(maria)
    drawn = {line.column for subject in SUBJECTS for line in subject.lines}
    assert found.keys() == {"range", "step", "times", "columns", "spans", "marks", "as_of", "stale", "said"}
    assert set(found["columns"]) == drawn
    assert (len(found["times"]), found["step"]) == (360, 60)
    assert found["times"][-1] == END.timestamp()
    assert all(len(column) == 360 for column in found["columns"].values())
    assert found["columns"]["lag_p95"][20] is None
    headers = {"Accept-Encoding": "gzip", "Accept-Language": "en"}
    answer = maria.client.get("/health/series.json", headers=headers)
    assert json.loads(gzip.decompress(answer.data)) == found
    assert answer.headers["Cache-Control"] == "private, max-age=5"
    assert {"Cookie", "Accept-Encoding", "Accept-Language"} <= set(answer.headers["Vary"].split(", "))
    tag = answer.headers["ETag"]
    again = maria.client.get("/health/series.json", headers=headers | {"If-None-Match": tag})
    assert (again.status_code, again.data) == (304, b"")
    assert len(reading.asked) == 1, "nobody who looks within seconds asks the database again"


def test_the_age_told_is_that_of_the_numbers_and_captions_come_with_them(
    reading: Reading, desk: Desk, maria: Visitor
) -> None:
    reading.end = END
    found = _numbers(maria, "?range=1h")
    assert (found["as_of"], found["stale"]) == (END.timestamp(), False)
    assert found["said"] == {"as_of": "2 Mar 12:00:00 -03", "captions": {}}, "the page has just brought them"
    captions = _numbers(maria, f"?range=1h&since={found['times'][-2]}")["said"]["captions"]
    page = maria.get("/health/lag?range=1h").text
    assert captions.keys() == {subject.name for subject in SUBJECTS}
    assert all(words in read(page) for words in captions.values())
    assert "as of 2 Mar 12:00:00 -03" in read(page)
    assert read(page).count("As of 2 Mar 12:00:00 -03; reload the page") == len(SUBJECTS), (
        "a table stays as it is"
    )
    assert 'class="charts"' in page
    # Nobody counts any more, however well this server answers.
    reading.age = 61
    series_seen._keepers.get(desk.hub.store).forget()
    assert _numbers(maria, "?range=1h")["stale"] is True
    page = maria.get("/health/lag?range=1h").text
    assert "not updated since 2 Mar 12:00:00 -03" in read(page)
    assert 'class="charts stale"' in page


def test_only_points_from_a_moment_on_are_sent_the_one_that_begins_there_too(
    reading: Reading, maria: Visitor
) -> None:
    reading.end = END
    times = _numbers(maria, "?range=1h")["times"]
    later = _numbers(maria, f"?range=1h&since={times[-2]}")
    assert later["times"] == times[-2:]
    assert {len(column) for column in later["columns"].values()} == {2}
    assert _numbers(maria, f"?range=1h&since={times[-1] + 60}")["times"] == []


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("range=2h", "range: write one of 1h, 6h, 24h, 7d, 30d."),
        ("range=", "range: write one of 1h, 6h, 24h, 7d, 30d."),
        ("kind=order.create", "kind: name the account as well"),
        ("since=yesterday", "since: write seconds since 1970"),
        ("since=-1", "since: write seconds since 1970"),
        ("since=" + "9" * 13, "since: write seconds since 1970"),
        ("since=²", "since: write seconds since 1970"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_a_sentence(
    reading: Reading, maria: Visitor, query: str, sentence: str
) -> None:
    answer = maria.get(f"/health/series.json?{query}")
    assert (answer.status_code, answer.mimetype) == (400, "application/problem+json")
    assert sentence in json.loads(answer.text)["detail"]
    if "since" not in query:
        page = maria.get(f"/health/lag?{query}")
        assert (page.status_code, page.mimetype) == (400, "text/html")
        assert sentence in read(page.text)
    assert reading.asked == []


@pytest.mark.parametrize("path", ["/health/lag", "/health/series.json", "/health/series.csv"])
def test_an_account_that_one_may_not_see_is_one_that_does_not_exist(
    reading: Reading, app: Flask, desk: Desk, path: str
) -> None:
    for account in ("filial-sp", "filial-rj", "filial-mg"):
        desk.add("1", account=account)
    ana = Visitor(app).enter(desk, "ana", "viewer", ["filial-sp", "filial-rj"])
    assert ana.get(f"{path}?account=filial-mg").status_code == 404
    assert ana.get(f"{path}?account=nobody").status_code == 404
    assert ana.get(f"{path}?account=filial-sp&kind=nothing").status_code == 404
    assert reading.asked == []
    page = ana.get(path)
    assert "filial-mg" not in page.text
    assert reading.asked[0]["accounts"] == ("filial-sp", "filial-rj"), "of all, only their own sums"
    assert ana.get(f"{path}?account=filial-sp").status_code == 200
    assert reading.asked[1] == {"range": "6h", "account": "filial-sp", "kind": "", "accounts": None}


def test_a_mistyped_account_is_said_beside_its_field(reading: Reading, maria: Visitor) -> None:
    answer = maria.get("/health/lag?account=filial-xx")
    assert answer.status_code == 404
    (field,) = [tag for tag in Tags(answer.text).named("input") if tag.get("name") == "account"]
    assert (field["value"], field["aria-invalid"]) == ("filial-xx", "true")
    assert "No account “filial-xx” is known." in read(answer.text)


def test_how_long_the_oldest_waits_is_told_from_the_state_with_its_age(
    reading: Reading, desk: Desk, maria: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health_seen, "FRESH_FOR", 0.0)
    late = Counts(due=1, oldest_due_at=utc_now() - timedelta(minutes=18, seconds=5))
    stand(desk.hub.store, standing("filial-rj", counts=late), standing("filial-sp"))
    desk.add("1", account="filial-sp")
    assert "The oldest due event has waited 18 min. At " in read(maria.get("/health/lag").text)
    assert "No event is due and waiting. At " in read(maria.get("/health/lag?account=filial-sp").text)
    part = maria.glance("/_f/health/lag", page="/health/lag")
    assert "The oldest due event has waited 18 min." in read(part.text)
    assert float(part.headers["Seen-Age"]) < 10


def test_a_time_within_one_minute_is_told_with_its_seconds(app: Flask) -> None:
    start = datetime(2026, 3, 2, 9, 38, 5, tzinfo=UTC)
    with app.test_request_context():
        assert Span(start, start + timedelta(seconds=9), "x", "fail").when.count("06:38:") == 2
        assert Span(start, start + timedelta(minutes=1), "x", "fail").when.endswith("06:39")


def test_two_people_with_other_rights_share_no_numbers(reading: Reading, app: Flask, desk: Desk) -> None:
    for name, accounts in (("ana", ["a"]), ("bia", ["b"]), ("eva", None)):
        Visitor(app).enter(desk, name, "viewer", accounts).get("/health/series.json")
    assert [asked["accounts"] for asked in reading.asked] == [("a",), ("b",), None]


def test_of_one_kind_nothing_is_drawn_that_is_known_of_whole_accounts_only(
    reading: Reading, desk: Desk, maria: Visitor
) -> None:
    desk.done("1")
    page = maria.get("/health/lag?account=filial-sp&kind=order.create")
    assert 'id="chart-lag"' in page.text
    assert 'id="chart-standing"' not in page.text
    assert "due" not in _numbers(maria, "?account=filial-sp&kind=order.create")["columns"]


def test_whoever_is_not_logged_in_gets_the_log_in_and_a_script_gets_a_problem(app: Flask) -> None:
    stranger = Visitor(app)
    assert stranger.get("/health/lag").status_code == 303
    assert stranger.get("/health/series.csv").status_code == 303
    for answer in (
        stranger.get("/health/series.json"),
        stranger.get("/health/lag", Accept="application/json"),
    ):
        assert (answer.status_code, answer.mimetype) == (401, "application/problem+json")


def test_any_chart_can_be_had_as_a_file_for_brazilian_excel_that_runs_no_formula(
    reading: Reading, desk: Desk, app: Flask
) -> None:
    reading.end = END
    name = "=cmd|' /C calc'!A0"
    desk.add("1", account=name)
    joao = Visitor(app, language="pt-BR").enter(desk, "joao", "viewer")
    address = next(
        tag["href"]
        for tag in Tags(joao.get(f"/health/lag?account={name.replace(' ', '%20')}&range=1h").text).named("a")
        if "chart=lag" in tag.get("href", "")
    )
    answer = joao.get(address)
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="lag-')
    lines = answer.get_data().decode("utf-8").splitlines()
    assert lines[0].startswith("\ufeffDe (America/Sao_Paulo);Conta;Tipo;")
    assert len(lines) == 61
    made = series_of(RANGES["1h"], END).columns["lag_p95"][0]
    assert lines[1].startswith(f"2026-03-02 11:01:00;'{name};;{made}".replace(".", ","))
    assert lines[21].endswith(";;;"), "what nobody counted is empty, not zero"
    assert joao.get("/health/series.csv?chart=nothing").status_code == 404


def test_what_happened_to_an_account_stands_beside_its_numbers(
    reading: Reading, desk: Desk, maria: Visitor, app: Flask
) -> None:
    dead = desk.dead("1")
    desk.hub.pause_account("filial-sp", actor="joana", note="inventory")
    desk.hub.resume_account("filial-sp", actor="joana")
    desk.hub.reprocess(dead, actor="joana", note="registered")
    for number in range(5):
        desk.failed(f"t{number}")
    found = _numbers(maria, "?account=filial-sp&range=1h")
    assert {span["word"].partition(" · ")[0] for span in found["spans"]} >= {
        "paused: inventory",
        "circuit open (blocking calls)",
    }
    assert {mark["word"] for mark in found["marks"]} >= {
        "joana: pause of an account", "joana: end of a pause", "joana: reprocess",
    }  # fmt: skip
    page = read(maria.get("/health/lag?account=filial-sp&range=1h").text)
    assert "What happened in this time" in page
    assert "joana: reprocess" in page
    # Of all accounts together nothing is told: it would be a wall of colour.
    assert _numbers(maria, "?range=1h")["spans"] == []
    ana = Visitor(app).enter(desk, "ana", "viewer", ["filial-rj"])
    assert "joana" not in ana.get("/health/lag").text


def test_a_block_that_is_over_stays_on_the_axis_and_those_that_no_point_keeps_apart_are_one(
    desk: Desk, maria: Visitor
) -> None:
    store, now = desk.hub.store, utc_now()
    desk.dead("1")
    put(store, "scope", type="account", name="filial-sp", account="filial-sp", created_at=now, updated_at=now)
    for seconds, lasted, reason in ((900, 60, "busy"), (600, 20, "busy"), (570, 20, "busy <b>again</b>")):
        began = now - timedelta(seconds=seconds)
        put(
            store, "scope_closing", type="account", name="filial-sp", cause="provider", began_at=began,
            until_at=began + timedelta(seconds=lasted), reason=reason,
        )  # fmt: skip
    put(
        store, "scope_closing", type="account", name="filial-sp", cause="auth", began_at=now - timedelta(seconds=90),
        until_at=None, reason="token=s3cr3t-value refused",
    )  # fmt: skip
    spans = _numbers(maria, "?account=filial-sp&range=1h")["spans"]
    told = [(span["word"], span["to"] and round(span["to"] - span["from"])) for span in spans]
    assert told[:2] == [
        ("provider block: busy", 60),
        ("provider block, 2 times: busy <b>again</b>", 50),
    ]
    word, end = told[2]
    assert word.startswith("log-in refused")
    assert "s3cr3t" not in word
    assert end is None
    page = maria.get("/health/accounts/filial-sp").text
    assert "provider block, 2 times: busy &lt;b&gt;again&lt;/b&gt;" in page


def test_a_circuit_that_was_open_before_is_open_from_the_beginning_and_a_decision_ends_nothing(
    desk: Desk,
) -> None:
    store, since = desk.hub.store, utc_now() - timedelta(hours=1)
    desk.hub.pause_account("filial-sp", actor="joana")
    moves = [
        ("open", "half_open", 5),
        ("half_open", "open", 10),
        ("open", "open", 12),
        ("open", "closed", 20),
    ]
    for generation, (before, after, minutes) in enumerate(moves):
        at = since + timedelta(minutes=minutes)
        put(
            store, "scope_change", type="account", name="filial-sp", generation=generation, at=at, before=before,
            after=after, why="", actor="",
        )  # fmt: skip
    found = [
        (
            span.state,
            round((span.start - since).total_seconds() / 60),
            span.end and round((span.end - since).total_seconds() / 60),
        )
        for span in circuit_spans(store, "filial-sp", since)
    ]
    assert found == [("open", 0, 5), ("half_open", 5, 10), ("open", 10, 20)]


def test_programs_read_how_far_each_account_is_behind_that_they_may_see(
    desk: Desk, ci: Program, client: FlaskClient, app: Flask
) -> None:
    now = utc_now()
    waits = Counts(due=3, paused=1, oldest_due_at=now - timedelta(minutes=2), capped=("due",))
    flow = Flow(minutes=5, arrivals=2.4, completions=1.2, lag_p50=0.5, lag_p95=75.0)
    accounts = tuple(
        AccountHealth(
            account=name, word=Word.DEGRADED, since=now, why=Why.BEHIND, counts=waits, flow=flow,
            drain=Drain(seconds=90.0, bound="pace"),
        )
        for name in ("filial-rj", "filial-sp")
    )  # fmt: skip
    snapshots.keep(desk.hub.store, ACCOUNTS, account_values(Health(accounts=accounts)))
    maria = Visitor(app).enter(desk, "maria", "viewer")
    for answer in (ci.get("/lag"), maria.get("/health/lag", Accept="application/json")):
        assert answer.mimetype == "application/json"
        found = json.loads(answer.text)
        assert set(found) == {"filial-rj", "filial-sp"}
        lag = found["filial-sp"]
        assert set(lag) == set(LagSchema().fields)
        assert (lag["lag_p95"], lag["due"], lag["paused"], lag["capped"]) == (75.0, 3, 1, ["due"])
        assert (lag["drain_seconds"], lag["drain_bound"], lag["stale"]) == (90.0, "pace", False)
        assert 119 < lag["oldest_due"] < 130
    described = client.get("/api/v1/openapi.json").get_json()
    assert "Lag" in described["components"]["schemas"]
    few = program(desk, client, "viewer", accounts=["filial-rj"])
    assert set(few.get("/lag").get_json()) == {"filial-rj"}


def test_what_the_rollups_hold_reaches_the_page(desk: Desk, maria: Visitor) -> None:
    minute = utc_now().replace(second=0, microsecond=0) - timedelta(minutes=3)
    for account in ("", "filial-sp"):
        bucket = {"grain": 1, "account": account, "bucket": minute}
        put(
            desk.hub.store,
            "rollup",
            kind="",
            arrived=7,
            done=5,
            first_tried=5,
            lag3=5,
            run5=5,
            run_max_ms=2_500,
            **bucket,
        )
        put(desk.hub.store, "sample", due=2, oldest_due_ms=90_000, **bucket)
    desk.add("1")
    for query in ("", "&account=filial-sp"):
        text = read(maria.get(f"/health/lag?range=1h{query}").text)
        assert "arrived: 7 in all" in text
        assert "oldest due event: now 1 min 30 s" in text
        assert "Nobody has looked yet" in text, "what was measured at a minute is not how it is now"
        assert "The oldest due event has waited" not in text
        assert 5 in _numbers(maria, f"?range=1h{query}")["columns"]["done"]
    page = read(maria.get("/health/accounts/filial-sp?range=1h").text)
    assert "Run time: how long one attempt takes" in page
    assert "95 of 100 (p95): now 2.5 s, smallest 2.5 s, largest 2.5 s" in page


@pytest.mark.parametrize("name", ["24h", "30d"])
def test_a_first_view_of_all_charts_takes_less_than_120_kb(
    reading: Reading, maria: Visitor, name: str
) -> None:
    chance = Random(7)

    def made(range_: Range, end: datetime) -> Series:
        """No two points alike, so that hardly anything can be compressed."""
        series = series_of(range_, end)
        noisy = {
            column: tuple(None if one is None else round(one * chance.uniform(0.2, 40), 1) for one in numbers)
            for column, numbers in series.columns.items()
        }
        return Series(range=range_, times=series.times, columns=noisy)

    reading.make, reading.end = made, END
    page = maria.get(f"/health/lag?range={name}")
    tags = Tags(page.text)
    addresses = {tag["href"] for tag in tags.named("link")} | {tag["src"] for tag in tags.named("script")}
    board = next(attributes for _, attributes in tags.found if "data-series" in attributes)
    sent = [
        len(maria.client.get(address, headers={"Accept-Encoding": "gzip"}).data)
        for address in (*addresses, board["data-series"])
    ]
    assert max(sent) > 15_000, "the library and the numbers are among them"
    assert len(gzip.compress(page.data)) + sum(sent) < 120_000


def test_markup_in_names_stays_text(reading: Reading, desk: Desk, maria: Visitor) -> None:
    account = "\"><script>alert(1)</script>'"
    desk.add("1", account=account)
    desk.hub.pause_account(account, actor="<b>joana</b>")
    page = maria.client.get("/health/lag", query_string={"account": account}).text
    assert "<script>alert" not in page
    assert "<b>joana" not in page
