"""Do the rules about dead letters and lanes find what they should, no less and no more, and let go of it?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from dlq_console import Event, Hub, Policy
from dlq_console.clock import utc_now
from dlq_console.health.alert_values import When
from dlq_console.health.working_hours import WorkingHours
from dlq_console.store import rollups
from dlq_console.store.kinds import PublishedKind, publish
from dlq_console.store.people import add_user
from dlq_console.watch.alert_looks import find, scene
from tests.store.closing import close
from tests.store.filling import dead, fill, put
from tests.watch.alert_turns import built_in, finds, look, turn, turns_until_closed
from tests.watch.examined import hub_on

ALWAYS = WorkingHours(tuple(range(7)), time(0), time(23, 59))
LANE = {"lane": "filial-sp|8841", "ordering_key": "8841", "on_dead": "block"}


@pytest.fixture
def hub(database_url: str) -> Iterator[Hub]:
    made = hub_on(database_url)
    yield made
    made.close()


def ago(**span: float) -> datetime:
    return utc_now() - timedelta(**span)


def pause(hub: Hub, account: str = "filial-sp") -> None:
    hub.pause_account(account, actor="maria", note="stocktaking")


# New causes


def test_a_new_cause_is_one_notice_per_account_and_kind_until_nothing_is_dead_of_it(hub: Hub) -> None:
    rule = built_in(When.NEW_CAUSE)
    (id_,) = dead(hub.store, 1, fingerprint="new")
    dead(hub.store, 1, fingerprint="new", account="filial-rj")
    found = turn(hub, rule)
    assert set(found) == {"filial-sp/order.create/new", "filial-rj/order.create/new"}
    more = dead(hub.store, 3, fingerprint="new")
    assert turn(hub, rule, 15)["filial-sp/order.create/new"].value == 4
    for event_id in (id_, *more):
        hub.discard(event_id, actor="maria", note="not needed")
    assert set(turns_until_closed(hub, rule)) == {"filial-rj/order.create/new"}


def test_a_cause_that_has_been_there_for_a_day_opens_nothing_and_closes_nothing(hub: Hub) -> None:
    rule = built_in(When.NEW_CAUSE)
    dead(hub.store, 1, fingerprint="old", at=ago(hours=25))
    assert turn(hub, rule) == {}
    dead(hub.store, 1, fingerprint="old")
    assert turn(hub, rule, 15) == {}
    dead(hub.store, 1, fingerprint="new")
    assert set(turn(hub, rule, 15)) == {"filial-sp/order.create/new"}
    assert set(turn(hub, rule, 25 * 3600)) == {"filial-sp/order.create/new"}


def test_of_a_new_cause_of_a_paused_account_nobody_is_told(hub: Hub) -> None:
    dead(hub.store, 1, fingerprint="new")
    pause(hub)
    assert turn(hub, built_in(When.NEW_CAUSE)) == {}
    hub.resume_account("filial-sp", actor="maria", note="done")
    assert len(turn(hub, built_in(When.NEW_CAUSE), 15)) == 1


def test_a_new_cause_is_told_once(hub: Hub) -> None:
    rule = built_in(When.NEW_CAUSE)
    assert rule.repeat_hours == 0
    dead(hub.store, 1, fingerprint="new")
    assert next(iter(turn(hub, rule, 5 * 3600).values())).told == 1
    assert next(iter(turn(hub, rule, 5 * 3600).values())).told == 1


# How many, how old, how often


def test_a_backlog_that_grows_is_told_by_how_much(hub: Hub) -> None:
    rule = built_in(When.DEAD_GROWS)
    dead(hub.store, 15)
    assert turn(hub, rule) == {}, "nobody knows how many there were"
    bucket = ago(minutes=62).replace(second=0, microsecond=0)
    put(hub.store, "sample", grain=1, account="", bucket=bucket)
    put(hub.store, "sample", grain=1, account="filial-sp", bucket=bucket, dead=5)
    assert turn(hub, rule) == {}, "ten more are not over ten"
    (one,) = dead(hub.store, 1)
    assert turn(hub, rule)["filial-sp"].value == 11
    hub.discard(one, actor="maria", note="not needed")
    # Above nine tenths of its limit it stays.
    assert set(turn(hub, rule, 90)) == {"filial-sp"}
    pause(hub)
    assert finds(hub, rule)["filial-sp"].muted


def test_the_oldest_dead_letter_counts_in_working_hours_unless_somebody_has_it_in_hand(hub: Hub) -> None:
    add_user(hub.store, "maria", "correct horse battery", role="operator")
    rule = built_in(When.OLDEST_DEAD, over=300)
    young = dead(hub.store, 1, at=ago(minutes=200))
    assert finds(hub, rule, ALWAYS) == {}
    old = dead(hub.store, 3, at=ago(hours=10), fingerprint="c" * 32)

    def found() -> bool:
        hub.store.clock.advance(301)
        return "filial-sp" in finds(hub, rule, ALWAYS)

    assert found()
    hub.assign(old[0], "maria", actor="maria")
    hub.snooze(old[1], utc_now() + timedelta(days=2), actor="maria")
    assert found(), "the third one is nobody's"
    hub.assign_group("c" * 32, "maria", actor="maria")
    assert not found(), "its cause is somebody's"
    hub.assign_group("c" * 32, None, actor="maria")
    hub.assign(old[2], "maria", actor="maria")
    hub.snooze(old[1], None, actor="maria")
    assert found(), "out of sight no more"
    hub.assign(old[1], "maria", actor="maria")
    assert not found()
    hub.store.clock.advance(7_200)
    assert found(), f"{young} has got old too"


def test_nights_and_weekends_are_no_working_hours() -> None:
    zone, hours = ZoneInfo("America/Sao_Paulo"), WorkingHours()
    friday = datetime(2026, 3, 6, 17, tzinfo=zone)
    assert hours.minutes(friday, datetime(2026, 3, 9, 8, 30, tzinfo=zone), zone) == 90
    assert (
        hours.minutes(datetime(2026, 3, 7, 3, tzinfo=zone), datetime(2026, 3, 8, 23, tzinfo=zone), zone) == 0
    )
    assert hours.minutes(friday, friday - timedelta(hours=1), zone) == 0
    assert hours.minutes(friday - timedelta(days=3650), friday, zone) == pytest.approx(
        366 * 5 / 7 * 600, rel=0.01
    )
    # The hour that is left out in spring is not worked, the one that comes twice is.
    berlin = ZoneInfo("Europe/Berlin")
    nights = WorkingHours(tuple(range(7)), time(0), time(8))
    begin, end = datetime(2026, 3, 29, tzinfo=berlin), datetime(2026, 3, 29, 12, tzinfo=berlin)
    assert nights.minutes(begin, end, berlin) == 7 * 60


def test_a_rate_of_deaths_needs_a_share_and_a_number(hub: Hub) -> None:
    rule = built_in(When.DEAD_RATE)
    bucket = ago(minutes=15).replace(second=0, microsecond=0)
    minute = {"grain": 1, "kind": "order.create", "bucket": bucket}
    dead(hub.store, 4, account="few", at=ago(minutes=15))
    put(hub.store, "rollup", account="few", died=4, **minute)
    dead(hub.store, 6, account="large", at=ago(minutes=15))
    put(hub.store, "rollup", account="large", done=200, died=6, **minute)
    dead(hub.store, 6, account="bad", at=ago(minutes=15))
    put(hub.store, "rollup", account="bad", done=54, died=6, **minute)
    found = turn(hub, rule)
    assert {name: one.value for name, one in found.items()} == {"bad/order.create": 10}
    assert set(finds(hub, built_in(When.DEAD_RATE, at_least=4))) == {"bad/order.create", "few/order.create"}
    assert turns_until_closed(hub, rule).keys() == {"bad/order.create"}
    assert turn(hub, rule, 1_800) == {}, "half an hour later it is over"


def test_a_rate_of_deaths_of_a_paused_account_opens_nothing(hub: Hub) -> None:
    bucket = ago(minutes=5).replace(second=0, microsecond=0)
    dead(hub.store, 6, at=ago(minutes=5))
    put(hub.store, "rollup", grain=1, account="filial-sp", kind="order.create", bucket=bucket, died=6)
    pause(hub)
    assert turn(hub, built_in(When.DEAD_RATE)) == {}


def test_what_no_rule_knows_is_added_up_by_provider(hub: Hub) -> None:
    rule = built_in(When.UNCLASSIFIED)
    kind = PublishedKind(name="order.create", policy={}, max_attempts=6, timeout=30.0, provider="omie")
    publish(hub.store, [kind], worker="test")
    for account in ("filial-sp", "filial-rj"):
        dead(hub.store, 2, account=account, reason="unclassified")
    dead(hub.store, 4, account="filial-mg", kind="other", reason="unclassified")
    dead(hub.store, 9, reason="unclassified", at=ago(hours=25))
    found = turn(hub, rule)
    assert {name: (one.account, one.value) for name, one in found.items()} == {
        "provider:omie": (None, 4),
        "filial-mg": ("filial-mg", 4),
    }
    assert finds(hub, built_in(When.UNCLASSIFIED, account="filial-sp")) == {}
    assert turn(hub, rule, 86_400) == {}


def test_a_doubt_is_told_once_it_has_stood_long_enough_by_itself(hub: Hub) -> None:
    rule = built_in(When.IN_DOUBT)
    for minutes in (1, 5, 10):
        dead(hub.store, 1, reason="in_doubt", at=ago(minutes=minutes))
        assert turn(hub, rule) == {}, "none has stood for a quarter of an hour"
    dead(hub.store, 1, reason="in_doubt", at=ago(minutes=16))
    assert turn(hub, rule)["filial-sp"].value == 1
    assert turn(hub, rule, 600)["filial-sp"].value == 3


# Lanes


def test_a_lane_that_a_dead_letter_stops_is_told_of_until_somebody_has_it_in_hand(hub: Hub) -> None:
    add_user(hub.store, "maria", "correct horse battery", role="operator")
    rule = built_in(When.LANE_STOPPED)
    (head, _) = fill(hub.store, [{"status": "dead", **LANE}, {"status": "blocked", **LANE}])
    dead(hub.store, 1, lane="filial-sp|alone", on_dead="block")
    assert turn(hub, rule) == {}
    assert turn(hub, rule, 301)["filial-sp"].value == 1
    hub.assign(head, "maria", actor="maria")
    assert turns_until_closed(hub, rule) == {}


def test_a_lane_that_waits_behind_the_same_event_is_told_of_whatever_it_is_tried_again(hub: Hub) -> None:
    add_user(hub.store, "maria", "correct horse battery", role="operator")
    rule = built_in(When.LANE_WAITS)
    head, _ = fill(
        hub.store, [{"status": "failed", "at": ago(seconds=5), **LANE}, {"status": "blocked", **LANE}]
    )
    fill(hub.store, [{"status": "failed", "at": ago(hours=9), "lane": "filial-rj|none-behind"}])
    assert turn(hub, rule) == {}
    began = ago(minutes=31)
    put(
        hub.store, "attempt", event_id=head, cycle=0, number=1, lease_epoch=1, kind="order.create", account="filial-sp",
        due_at=began, started_at=began, ended_at=began, outcome="failed",
    )  # fmt: skip
    # It is asked for once a minute.
    assert turn(hub, rule, 15) == {}
    assert set(turn(hub, rule, 61)) == {"filial-sp"}
    hub.assign(head, "maria", actor="maria")
    turn(hub, rule, 61)
    assert turn(hub, rule, 61) == {}


@pytest.mark.parametrize("closed", ["pause", "provider", "nothing"])
def test_a_lane_behind_a_closed_door_is_told_of_to_nobody(hub: Hub, closed: str) -> None:
    fill(hub.store, [{"status": "pending", "at": ago(hours=1), **LANE}, {"status": "blocked", **LANE}])
    if closed == "pause":
        pause(hub)
    elif closed == "provider":
        with hub.store.write() as connection:
            close(hub.store, connection, "account", "filial-sp", 600, "busy")
    assert bool(turn(hub, built_in(When.LANE_WAITS))) is (closed == "nothing")


# Silence


def weeks_of(hub: Hub, hour: datetime, numbers: tuple[int, ...], account: str = "filial-sp") -> None:
    for back, number in enumerate(numbers, start=1):
        put(
            hub.store, "rollup", grain=60, account=account, kind="", bucket=hour - timedelta(weeks=back), arrived=number
        )  # fmt: skip


def test_an_hour_in_which_something_usually_comes_and_nothing_did_is_told_of(hub: Hub) -> None:
    rule = built_in(When.SILENCE)
    hour = utc_now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    weeks_of(hub, hour, (5, 3, 4))
    weeks_of(hub, hour, (5, 3), "rarely")
    weeks_of(hub, hour, (5, 3, 4, 4), "alive")
    put(hub.store, "rollup", grain=1, account="alive", kind="", bucket=hour + timedelta(minutes=7), arrived=1)
    found = turn(hub, rule)
    assert {name: one.value for name, one in found.items()} == {"filial-sp": 3}


def test_an_hour_that_was_not_made_yet_is_not_taken_for_a_silent_one(hub: Hub) -> None:
    hour = utc_now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    weeks_of(hub, hour, (5, 3, 4))
    before = scene(hub.store, hub.state, hours=ALWAYS, zone=hub.settings.zone)
    assert find(built_in(When.SILENCE), before) == ([], False)
    rollups.roll_up(hub.store)
    hub.store.clock.advance(3_600)
    # The minutes stand at the former hour; that one is told of, the next one not yet.
    assert [one.subject for one in find(built_in(When.SILENCE), before)[0]] == ["filial-sp"]
    hub.store.clock.advance(3 * 3_600)
    assert find(built_in(When.SILENCE), before) == ([], False)


def test_the_hubs_own_events_are_no_dead_letters_of_anybody(hub: Hub) -> None:
    dead(hub.store, 9, kind="dlq.precheck", at=ago(hours=10), fingerprint=None)
    look(hub)
    for when in (When.OLDEST_DEAD, When.DEAD_RATE, When.NEW_CAUSE, When.DEAD_LETTERS):
        assert finds(hub, built_in(when), ALWAYS) == {}


def _never(_event: Event) -> None:
    raise AssertionError


def test_every_rule_looks_at_an_empty_installation_and_finds_nothing(hub: Hub) -> None:
    hub.handler("order.create", policy=Policy())(_never)
    hub.publish_kinds("test")
    for when in When:
        if when is When.SOURCE_DEPTH:
            continue
        assert finds(hub, built_in(when)) == {}
