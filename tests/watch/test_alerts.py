"""Is somebody told of what is wrong, once, however the channel fares, and of its end? Through real events and a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import time, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from dlq_console import Event, Hub, Policy
from dlq_console.errors import ConfigurationError, PermanentError
from dlq_console.health import alert_words
from dlq_console.health.alert_speech import speech
from dlq_console.health.alert_values import When
from dlq_console.hub import alerting
from dlq_console.settings import read_settings
from dlq_console.store import queries
from dlq_console.store.filters import EventFilter
from dlq_console.store.queries.alerts import closed_notices, count_open, deliveries, open_notices
from dlq_console.watch import alert_rules, alerts, looking
from dlq_console.workers import steps
from dlq_console.workers.scheduler import Scheduler
from dlq_console.workers.steps import Step
from tests.cli.running import CommandLine
from tests.store.making import rows


class Channel:
    """A web address that takes messages, unless it is told to fail."""

    def __init__(self) -> None:
        self.taken: list[dict[str, Any]] = []
        self.fails, self.code = False, 503
        channel = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if not channel.fails:
                    channel.taken.append(json.loads(body))
                self.send_response(channel.code if channel.fails else 200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook?token=s3cret-of-the-hook"

    @property
    def states(self) -> list[tuple[str, str]]:
        """What each message said, and about which account."""
        return [(one["state"], one["account"]) for one in self.taken]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


@pytest.fixture
def channel() -> Iterator[Channel]:
    made = Channel()
    yield made
    made.close()


@pytest.fixture
def hub(database_url: str, channel: Channel) -> Iterator[Hub]:
    made = Hub(
        read_settings(
            database_url=database_url, broker_url="", alert_webhook_url=channel.url, locale="en", public_url="https://ops.example"
        )
    )  # fmt: skip
    made.handler("refused", policy=Policy(max_attempts=1))(_refuse)
    made.publish_kinds("test")
    yield made
    made.close()


def _refuse(_event: Event) -> None:
    raise PermanentError("refused")


def turn(hub: Hub, seconds: float = 0) -> None:
    """One turn of the steps, some time later."""
    hub.store.clock.advance(seconds)
    looking.count(hub)
    looking.look(hub)
    alerts.check(hub)
    steps.send_alerts(hub)


def die(hub: Hub, entity: str) -> int:
    event_id = hub.enqueue("refused", account="filial-sp", entity_id=entity, payload={}).id
    hub.run_due()
    return event_id


def test_a_dead_letter_is_told_once_and_its_end_is_told_too(hub: Hub, channel: Channel) -> None:
    event_id = die(hub, "1")
    for _ in range(3):
        turn(hub, 15)
    assert channel.states == [("opened", "filial-sp")]
    (message,) = channel.taken
    assert "filial-sp has 1 dead letter." in message["text"]
    assert message["link"].startswith("https://ops.example/dead-letters?")
    (notice,) = open_notices(hub.store)
    assert (notice.rule, notice.subject, notice.value) == ("dead_letters", "filial-sp", 1)
    assert deliveries(hub.store, [notice])[notice.id][0].told_at is not None
    hub.discard(event_id, actor="maria", note="not needed")
    for _ in range(6):
        turn(hub, 15)
    assert channel.states == [("opened", "filial-sp"), ("closed", "filial-sp")]
    assert count_open(hub.store) == 0
    (over,) = closed_notices(hub.store).items
    assert (over.id, over.when) == (notice.id, "dead_letters")
    assert "it stood for" in channel.taken[-1]["text"]
    assert channel.taken[-1]["ended"] is not None


def test_an_end_is_told_as_past_with_when_it_was_found_last_and_the_worst_that_it_was(
    database_url: str, channel: Channel, tmp_path: Path
) -> None:
    rules = tmp_path / "alerts.toml"
    rules.write_text('[[rule]]\nname = "dead"\nwhen = "dead_letters"\n', encoding="utf-8")
    settings = read_settings(
        database_url=database_url, broker_url="", alert_webhook_url=channel.url, locale="pt_BR", alerts=str(rules),
        timezone="America/Sao_Paulo",
    )  # fmt: skip
    with closing(Hub(settings)) as hub:
        hub.handler("refused", policy=Policy(max_attempts=1))(_refuse)
        hub.publish_kinds("test")
        first, second = die(hub, "1"), die(hub, "2")
        turn(hub)
        hub.discard(first, actor="maria", note="not needed")
        turn(hub, 90)
        (notice,) = open_notices(hub.store)
        assert notice.value == 1, "as it is now"
        hub.discard(second, actor="maria", note="not needed")
        for _ in range(6):
            turn(hub, 15)
        (over,) = closed_notices(hub.store).items
        assert (over.closed_at, over.value) == (notice.seen_at, 2)
        message = channel.taken[-1]
        assert message["title"] == "Resolvido: filial-sp tinha 2 cartas mortas."
        assert message["ended"] == notice.seen_at.isoformat()
        local = notice.seen_at.astimezone(settings.zone)
        assert f"a {local:%d/%m/%Y %H:%M} -03: durou 90 s." in message["text"]


def test_two_looks_at_once_tell_once_and_four_hours_later_it_is_told_again(
    hub: Hub, channel: Channel
) -> None:
    die(hub, "1")
    turn(hub)
    alerts.check(hub)
    steps.send_alerts(hub)
    assert [state for state, _ in channel.states] == ["opened"]
    for _ in range(2):
        turn(hub, 4 * 3600 + 1)
    assert "again" in [state for state, _ in channel.states]


def test_a_channel_that_is_down_for_an_hour_loses_nothing_and_makes_no_dead_letter(
    hub: Hub, channel: Channel
) -> None:
    channel.fails = True
    die(hub, "1")
    for _ in range(12):
        turn(hub, 300)
    assert channel.taken == []
    channel.fails = False
    for _ in range(4):
        turn(hub, 3600)
    assert ("opened", "filial-sp") in channel.states
    assert len({one["key"] for one in channel.taken}) == len(channel.taken)
    # Its messages are nobody's dead letters, stand in no list, and no alert is about them.
    assert queries.count(hub.store, EventFilter()).number == 1
    assert {row["subject"] for row in rows(hub.store, "alert")} == {"filial-sp"}
    assert "s3cret" not in json.dumps([dict(row) for row in rows(hub.store)], default=str)


def test_a_snooze_keeps_the_notice_and_tells_nobody(hub: Hub, channel: Channel) -> None:
    turn(hub)
    alerting.snooze_alert(
        hub.store, "dead_letters", until=timedelta(hours=2), actor="maria", note="stocktaking"
    )
    die(hub, "1")
    turn(hub, 15)
    assert channel.taken == []
    assert count_open(hub.store) == 1


def test_a_paused_account_is_told_of_to_nobody(hub: Hub, channel: Channel) -> None:
    hub.pause_account("filial-sp", actor="maria", note="stocktaking")
    hub.enqueue("refused", account="filial-sp", entity_id="1", payload={})
    for _ in range(60):
        turn(hub, 30)
    assert channel.taken == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[[rule]]\nname = "a"\nwhen = "nonsense"', "when"),
        ('[[rule]]\nname = "a"\nwhen = "lag_p95"\nover = "much"', "over"),
        ('[[rule]]\nname = "a"\nwhen = "source_depth"', "source"),
        ('[[rule]]\nname = "a"\nwhen = "lag_p95"\nto = ["pigeon"]', '"pigeon" is no channel'),
        ('[[rule]]\nname = "a"\nwhen = "lag_p95"\n\n[[rule]]\nname = "a"\nwhen = "lag_p95"', "two rules named"),
        ('[[rule]]\nwhen = "lag_p95"', "name"),
        ('[[rule]]\nname = "a"\nwhen = "lag_p95"\nloud = true', "loud"),
        ('[[rule]]\nname = "a"\nwhen = "lag_p95"\nlevel = "loud"', '"level" must be one of "page", "ticket"'),
        ('[[rule]]\nname = "a"\nwhen = "lag_p95"\nat_least = 3', '"at_least" belongs to "dead_rate"'),
        ('[[rule]]\nname = "a"\nwhen = "lag_p95"\nrepeat_hours = 0.5', "at least 1, or 0 for never"),
        ('[[rule]]\nname = "a"\nwhen = "auth_failure"\nkind = "order.create"', '"kind"'),
        ('[hours]\ndays = ["mon", "someday"]', "days"),
        ('[hours]\nfrom = "eight"', "a time such as"),
        ('[hours]\nfrom = "18:00"\nto = "08:00"', 'later than "from"'),
        ('[hours]\nlunch = true', "lunch"),
        ('[hours]\ndays = []', "at least one day"),
        ('[[rule]]\nname = "a"\nwhen = "bulkhead_use"\nover = 100', '"over" of "bulkhead_use" must be less than 100'),
        ('[[rule]]\nname = "a"\nwhen = "lag_p95"\nover = 1e300', '"over" must be 1,000,000,000 at most'),
        ('[[rule]]\nname = "a"\nwhen = "lag_p95"\nfor_minutes = 1e300', '"for_minutes" must be 10,080 at most'),
        ('[[rule]]\nname = "a"\nwhen = "lag_p95"\nrepeat_hours = 1e300', '"repeat_hours" must be 8,784 at most'),
    ],
)  # fmt: skip
def test_a_mistake_in_the_file_is_one_sentence_with_its_place(
    tmp_path: Path, text: str, sentence: str
) -> None:
    file = tmp_path / "alerts.toml"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=r"alerts\.toml") as refused:
        alert_rules.read_rules(str(file), ["webhook"])
    assert sentence in refused.value.message


def test_a_rule_may_hurry_more_than_usual_be_told_once_and_know_when_people_work(tmp_path: Path) -> None:
    file = tmp_path / "alerts.toml"
    file.write_text(
        """
        [hours]
        days = ["sat", "mon"]
        from = "07:30"

        [[rule]]
        name = "money"
        when = "dead_grows"
        over = 0
        level = "page"
        repeat_hours = 0

        [[rule]]
        name = "refused"
        when = "dead_rate"
        kind = "order.create"
        at_least = 20
        level = "ticket"
        """
    )
    found = alert_rules.read_rules(str(file), ["mail"])
    money, refused = found.rules
    assert (money.level, money.repeat_hours, money.over) == ("page", 0, 0)
    assert (refused.level, refused.repeat_hours, refused.at_least, refused.over) == ("ticket", 4, 20, 5)
    assert (found.hours.days, found.hours.begin, found.hours.end) == ((0, 5), time(7, 30), time(18))


@pytest.mark.parametrize("when", [when for when in When if when is not When.SOURCE_DEPTH])
def test_every_rule_has_its_sentence_and_its_page_in_both_languages(when: When) -> None:
    for account, fingerprint in (("filial-sp", "a" * 32), (None, None)):
        found = {"account": account, "fingerprint": fingerprint}
        texts = [
            alert_words.sentence(when, account or "service:x", 7, found, speech(locale))
            for locale in ("en", "pt_BR")
        ]
        assert texts[0] != texts[1]
        ended = [
            alert_words.sentence(when, account or "service:x", 7, found, speech(locale), ended=True)
            for locale in ("en", "pt_BR")
        ]
        assert ended[0] != ended[1]
        # What it found was no silence any more, or it tells of the past anyway.
        assert when is When.SILENCE or ended[0] != texts[0]
        for text in (*texts, *ended):
            assert (account or "service:x") in text
            assert "%" not in text.replace("7%", "")
            assert text.endswith(".")
        assert alert_words.link(when, "filial-sp", found).startswith(("/dead-letters", "/health", "/groups/"))
    (usual,) = [rule for rule in alert_rules.read_rules("", ["mail"]).rules if rule.when is when]
    assert usual.name == str(when)


def test_what_is_not_looked_at_yet_is_offered_to_nobody(tmp_path: Path) -> None:
    file = tmp_path / "alerts.toml"
    file.write_text('[[rule]]\nname = "a"')
    with pytest.raises(ConfigurationError) as refused:
        alert_rules.read_rules(str(file), [])
    assert "lag_p95" in refused.value.message
    assert "source_depth" not in refused.value.message


@pytest.mark.parametrize(
    ("value", "over", "shown"), [(82.6, 80, 83), (82.4, 80, 82), (80.45, 80.4, 81), (70, 80, 70)]
)
def test_percent_are_rounded_but_never_to_less_than_the_limit(value: float, over: float, shown: int) -> None:
    text = alert_words.sentence(When.BULKHEAD_USE, "a", value, {}, speech("en"), over=over)
    assert text == f"a uses {shown}% of its slots."


def test_a_mistake_in_the_file_is_one_line_of_the_log_until_it_changes(
    hub: Hub, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "alerts.toml"
    file.write_text("rule = 1")
    wrong = Hub(read_settings(database_url=hub.settings.database_url, alerts=str(file)))
    scheduler = Scheduler(wrong, (Step("check_alerts", steps.check_alerts, 0),))
    for _ in range(3):
        scheduler.run_due_steps()
    (said,) = [one for one in caplog.records if one.levelname == "ERROR"]
    assert "alerts.toml, line 1" in said.getMessage()
    assert said.exc_info is None
    line = CommandLine({"DLQ_DATABASE_URL": hub.settings.database_url}, tmp_path)
    for words in (["list"], ["test"], ["snooze", "lag_p95", "--hours", "1", "--note", "x"]):
        refused = line("alerts", *words)
        assert (refused.status, "alerts.toml, line 1" in refused.sentence) == (1, True), words
    assert "--hours" in line("alerts", "snooze", "lag_p95", "--hours", "0", "--note", "x").sentence
    wrong.close()


def test_the_rules_of_the_manual_are_understood(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/how-to/alerts.md").read_text(encoding="utf-8")
    file = tmp_path / "alerts.toml"
    file.write_text(page.split("```toml\n")[1].split("```")[0])
    found = alert_rules.read_rules(str(file), ["mail", "team"])
    assert [(rule.name, rule.to) for rule in found.rules] == [
        ("orders are late", ("mail",)),
        ("a dead letter", ("mail", "team")),
    ]


def test_the_command_line_lists_tries_and_snoozes(hub: Hub, channel: Channel, tmp_path: Path) -> None:
    die(hub, "1")
    turn(hub)
    line = CommandLine(
        {"DLQ_DATABASE_URL": hub.settings.database_url, "DLQ_ALERT_WEBHOOK_URL": channel.url}, tmp_path
    )
    (listed,) = line("alerts", "list", "--json").json["items"]
    assert (listed["rule"], listed["sentence"]) == ("dead_letters", "filial-sp has 1 dead letter.")
    assert "filial-sp has 1 dead letter." in line("alerts", "list").output
    assert line("alerts", "test").status == 0
    steps.send_alerts(hub)
    assert channel.taken[-1]["state"] == "test"
    snoozed = line("alerts", "snooze", "dead_letters", "--hours", "3", "--note", "we know")
    assert snoozed.status == 0
    assert line("alerts", "test", "pigeon").status == 1
    assert "dead_letters" in line("alerts", "snooze", "none", "--hours", "1", "--note", "x").sentence
