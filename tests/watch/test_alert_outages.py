"""What if a channel is away for an hour, or two processes look at once? Nothing is lost, doubled or turned round."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dlq_console import Hub
from dlq_console.health.alert_values import AlertRule, When
from dlq_console.settings import read_settings
from dlq_console.store.alert_messages import MOST_WAITING
from dlq_console.store.alerts import Sighting
from dlq_console.store.queries.alerts import open_notices
from dlq_console.watch import alerts, looking
from dlq_console.workers import steps
from tests.services.process import StartChild, wait_until
from tests.store.filling import dead
from tests.store.making import rows
from tests.watch.alert_turns import look
from tests.watch.test_alerts import Channel

#: Whoever is away that long loses nothing (seconds).
AN_HOUR = 3_600


@pytest.fixture
def channel() -> Iterator[Channel]:
    made = Channel()
    yield made
    made.close()


class Troubles:
    """A hub with one rule, which finds what the test says."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.accounts: Sequence[str] = ()
        self.told = 0

    def find(self, rule: AlertRule, _scene: object) -> tuple[list[Sighting], bool]:
        wrong = self.accounts if rule.when is When.DEAD_LETTERS else ()
        return [Sighting(subject=name, account=name, value=1) for name in wrong], True

    def turn(self, seconds: float, *accounts: str) -> None:
        """Some time later, the rule looks and finds these; what is to be told is tried to be brought."""
        self.hub.store.clock.advance(seconds)
        self.accounts = accounts
        self.told += alerts.check(self.hub)
        steps.send_alerts(self.hub)


@pytest.fixture
def troubles(database_url: str, channel: Channel, monkeypatch: pytest.MonkeyPatch) -> Iterator[Troubles]:
    settings = read_settings(
        database_url=database_url, broker_url="", alert_webhook_url=channel.url, locale="en", public_url="https://ops.example"
    )  # fmt: skip
    hub = Hub(settings)
    made = Troubles(hub)
    monkeypatch.setattr(alerts, "find", made.find)
    yield made
    hub.close()


def number_of(taken: Sequence[dict[str, Any]]) -> int:
    """Of how many messages they tell."""
    return sum(one.get("count", 1) for one in taken)


def test_an_hour_of_coming_and_going_is_a_few_messages_that_tell_of_all(
    troubles: Troubles, channel: Channel
) -> None:
    channel.fails = True
    for _ in range(AN_HOUR // 90):
        troubles.turn(15, "filial-sp", "filial-rj", "filial-mg")
        troubles.turn(15)
        troubles.turn(60)
    assert channel.taken == []
    assert troubles.told == 3 * 2 * (AN_HOUR // 90)
    channel.fails = False
    for _ in range(3):
        troubles.turn(900)
    assert len(channel.taken) <= MOST_WAITING + 1
    assert number_of(channel.taken) == troubles.told
    *apart, last = channel.taken
    assert last["state"] == "several"
    assert "And 200 more." in last["text"]
    assert last["link"] == "https://ops.example/alerts"
    assert set(last["subjects"]) == {"filial-sp", "filial-rj", "filial-mg"}
    assert not {"subject", "account", "value", "since"} & set(last)
    told = [(one["notice"], one["number"]) for one in apart]
    assert len(set(told)) == len(told)
    # Each beginning before its end.
    assert all(number == 1 or (notice, 1) in told[:place] for place, (notice, number) in enumerate(told))
    # From then on each is told by itself again.
    troubles.turn(15, "filial-sp")
    assert [one["state"] for one in channel.taken[len(apart) + 1 :]] == ["opened"]


def test_an_end_waits_for_the_message_that_told_of_many_beginnings(
    troubles: Troubles, channel: Channel
) -> None:
    names = [f"filial-{number}" for number in range(7)]
    channel.fails = True
    troubles.turn(0, *names)
    # The others go on, so it is one end, which must not overtake the beginning of all seven.
    for _ in range(6):
        troubles.turn(15, *names[1:])
    channel.fails = False
    for _ in range(40):
        troubles.turn(2, *names[1:])
    assert [one["state"] for one in channel.taken] == ["opened", "closed"]
    assert channel.taken[0]["subjects"] == names
    assert channel.taken[1]["subject"] == "filial-0"


def test_a_channel_is_tried_less_often_the_longer_it_is_away(troubles: Troubles, channel: Channel) -> None:
    channel.fails = True
    tries = 0
    for _ in range(AN_HOUR // 15):
        troubles.turn(15, "filial-sp")
        tries = rows(troubles.hub.store)[0]["total_attempts"]
    assert 6 <= tries <= 10
    assert rows(troubles.hub.store)[0]["status"] == "failed"


@pytest.mark.parametrize(("code", "tries"), [(404, 1), (429, 2), (503, 2)])
def test_what_is_refused_for_good_is_given_up_and_holds_up_no_other(
    troubles: Troubles, channel: Channel, code: int, tries: int
) -> None:
    channel.fails, channel.code = True, code
    troubles.turn(0, "filial-sp")
    troubles.turn(40, "filial-sp")
    (event,) = rows(troubles.hub.store)
    assert event["total_attempts"] == tries
    assert event["status"] == ("done" if tries == 1 else "failed")
    assert f"{code}" in (event["result"] or event["last_error"])
    channel.fails = False
    troubles.turn(900, "filial-sp", "filial-rj")
    assert channel.taken[-1]["subject"] == "filial-rj"


def test_after_a_day_a_message_is_given_up_and_never_dead(troubles: Troubles, channel: Channel) -> None:
    channel.fails = True
    troubles.turn(0, "filial-sp")
    for _ in range(100):
        troubles.turn(1_000, "filial-sp")
    first = rows(troubles.hub.store)[0]
    assert (first["status"], '"told": false' in first["result"]) == ("done", True)
    assert {row["status"] for row in rows(troubles.hub.store)} <= {"done", "failed", "blocked"}


def test_two_processes_at_once_tell_each_thing_once(
    postgres_url: str, channel: Channel, tmp_path: Path, start_child: StartChild
) -> None:
    hub = Hub(read_settings(database_url=postgres_url, broker_url=""))
    names = [f"filial-{number}" for number in range(4)]
    environment = {"DLQ_DATABASE_URL": postgres_url, "DLQ_ALERT_WEBHOOK_URL": channel.url}
    processes = [
        start_child([sys.executable, "-m", "tests.watch.alert_process", str(tmp_path)], env=environment)
        for _ in range(2)
    ]
    for each in processes:
        each.wait_for_line("ready")
    (tmp_path / "begin").touch()
    # Five of the same rule at once are told each by itself, more as one.
    for turn in range(5):
        letters = [dead(hub.store, 1, account=name)[0] for name in names]
        _until(channel, hub, "opened", len(names) * (turn + 1))
        for event_id in letters:
            hub.discard(event_id, actor="maria", note="not needed")
        _until(channel, hub, "closed", len(names) * (turn + 1))
        assert not [one for one in open_notices(hub.store) if one.rule == "dead_letters"]
    (tmp_path / "end").touch()
    for each in processes:
        each.wait_for_line(r"[1-9]\d+ rounds")
    keys = [one["key"] for one in channel.taken if one["rule"] == "dead_letters"]
    assert len(keys) == len(set(keys)) == 2 * 5 * len(names)
    states = Counter((one["subject"], one["state"]) for one in channel.taken if one["rule"] == "dead_letters")
    assert set(states.values()) == {5}
    notices = [row for row in rows(hub.store, "alert") if row["rule"] == "dead_letters"]
    assert len(notices) == 5 * len(names)
    assert {row["told"] for row in notices} == {1}
    told = [(one["notice"], one["number"]) for one in channel.taken if one["rule"] == "dead_letters"]
    assert all(number == 1 or (notice, 1) in told[:place] for place, (notice, number) in enumerate(told))
    hub.close()


def _see(hub: Hub) -> None:
    looking.count(hub)
    look(hub)


def _unseen(hub: Hub) -> None:
    """As if a minute had gone by since it was seen last."""
    statement = "UPDATE {alert} SET seen_at = seen_at - {interval[120]} WHERE closed_at IS NULL"
    with hub.store.write() as connection:
        connection.execute(hub.store.statement(statement))


def _until(channel: Channel, hub: Hub, state: str, number: int) -> None:
    def told() -> bool:
        _see(hub)
        if state == "closed":
            _unseen(hub)
        found = [one for one in channel.taken if (one["rule"], one["state"]) == ("dead_letters", state)]
        return len(found) >= number

    wait_until(told, 60, f"{number} messages of {state}")
