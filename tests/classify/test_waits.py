"""Is every way in which providers say how long to wait understood, and nothing else?"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlq_console.classify import waits

NOW = datetime(2026, 11, 30, 14, 30, tzinfo=UTC)
SAO_PAULO = ZoneInfo("America/Sao_Paulo")  # three hours behind: 11:30
EPOCH = int(NOW.timestamp())


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        (" 120 ", 120),
        ("0", 0),
        ("1.5", 2),
        ("1,5", 2),
        ("0.2", 1),
        ("+7", 7),
        ("2030", 2030),  # seconds, not a year
        ("86400", 86_400),
        ("Mon, 30 Nov 2026 14:31:00 GMT", 60),
        ("Mon, 30 Nov 2026 11:31:00 -0300", 60),
        ("Monday, 30-Nov-26 14:31:00 GMT", 60),
        ("Mon, 30 Nov 2020 14:31:00 GMT", 0),
        (str(EPOCH + 60), 60),
        (f"{EPOCH + 60}.25", 61),
        (str((EPOCH + 60) * 1000), 60),
        (str(EPOCH - 60), 0),
        ("2026-11-30T14:31:00Z", 60),
        ("2026-11-30T14:31:00.500Z", 61),
        ("2026-11-30T11:31:00-03:00", 60),
        ("2026-11-30t14:31:00z", 60),
        ("2026-11-30 14:31:00", 60),
        ("2020-01-01T00:00:00Z", 0),
    ],
)
def test_a_value_is_read(value: str, seconds: float) -> None:
    assert waits.from_value(value, NOW) == seconds


@pytest.mark.parametrize(
    "value",
    [
        "", " ", "-1", "-0.5", "inf", "-inf", "Infinity", "nan", "NaN", "1e5", "0x10", "12:00", "soon", "60s", "60, 60",
        "2026-11-30", "2026-13-45T99:00:00Z", "Mon, 99 Foo 2026 14:31:00 GMT", "999999999", "9" * 500, "\uff19", "None", "1.2.3",
    ],
)  # fmt: skip
def test_what_is_no_wait_is_left_alone(value: str) -> None:
    assert waits.from_value(value, NOW) is None


@pytest.mark.parametrize(
    ("value", "unit", "seconds"),
    [
        ("1500", "milliseconds", 2),
        ("2", "minutes", 120),
        ("1", "hours", 3600),
        (str(EPOCH + 5), "epoch", 5),
        ("5", "epoch", 0),
    ],
)
def test_a_number_has_the_unit_that_the_rule_names(value: str, unit: str, seconds: float) -> None:
    assert waits.from_value(value, NOW, unit=unit) == seconds


def test_a_time_without_a_zone_is_in_that_of_the_provider() -> None:
    assert waits.from_value("2026-11-30 11:31:00", NOW, zone=SAO_PAULO) == 60


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("API blocked for improper consumption, try again in 1700 seconds", 1700),
        ("redundant consumption, wait 43 seconds (REDUNDANT)", 43),
        ("Consumo redundante detectado. Aguarde 5 segundos", 5),
        ("API bloqueada por consumo indevido. Tente novamente em 1678 segundos.", 1678),
        ("TENTE NOVAMENTE DAQUI A 2 MINUTOS", 120),
        ("try again in 2 minutes", 120),
        ("retry in 1 min", 60),
        ("Aguarde 1 minuto e 30 segundos", 90),
        ("try again in 1 hour and 5 minutes", 3900),
        ("wait 1 day", 86_400),
        ("retry after 1.5 seconds", 2),
        ("retry in 500 ms", 1),
        ("limit exceeded, wait 30s", 30),
        ("reset in 12 sec", 12),
        ("Query limit exceeded, token blocked until 2026-11-30 14:45:00", 900),
        ("blocked until 2026-11-30T14:45:00Z", 900),
        ("bloqueado até 30/11/2026 às 14:45", 900),
        ("blocked until 14:45", 900),
        ("liberado às 14:45:30", 930),
        ("available after 2:45 pm", 900),
        ("blocked until 13:00", 22.5 * 3600),  # tomorrow
        ("blocked until 14:28", 0),  # just over
        ("blocked until 00:00", 9.5 * 3600),
    ],
)
def test_a_sentence_is_read(text: str, seconds: float) -> None:
    assert waits.from_message(text, NOW) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "", "wait", "wait for it", "try again later", "order 43 seconds old", "requests over 6000 in 300 s",
        "try again in 5 items", "code 1678 seconds to live is wrong", "until 99:99", "aguarde aprovação do pedido 12",
        "blocked until 31/31/2026 10:00", "try again in inf seconds", "wait -5",
    ],
)  # fmt: skip
def test_a_sentence_without_a_wait_gives_none(text: str) -> None:
    assert waits.from_message(text, NOW) is None


def test_a_clock_time_is_that_of_the_provider() -> None:
    assert waits.from_message("blocked until 11:45", NOW, zone=SAO_PAULO) == 900


def test_the_wait_until_a_day_ends_is_that_of_the_provider() -> None:
    assert waits.until_next_day(NOW) == 9.5 * 3600
    assert waits.until_next_day(NOW, zone=SAO_PAULO) == 12.5 * 3600


@pytest.mark.parametrize(
    "day", [datetime(2026, 3, 29, 0, 30, tzinfo=UTC), datetime(2026, 10, 25, 0, 30, tzinfo=UTC)]
)
def test_the_day_on_which_clocks_change_ends_at_midnight_all_the_same(day: datetime) -> None:
    zone = ZoneInfo("Europe/Warsaw")
    seconds = waits.until_next_day(day, zone=zone)
    assert seconds is not None
    ended = (day + timedelta(seconds=seconds)).astimezone(zone)
    assert (ended.hour, ended.minute, ended.day) == (0, 0, day.day + 1)


@pytest.mark.parametrize(
    ("cost", "available", "rate", "seconds"),
    [(752, 2, 50, 15), (100, 99.5, 50, 1), (10, 10, 50, 0), (10, 900, 50, 0), (10, 0, 0, None), (10, 0, -1, None),
     (None, 0, 1, None), ("10", 0, 1, None), (math.inf, 0, 1, None), (10, math.nan, 1, None)],
)  # fmt: skip
def test_the_wait_for_a_bucket_is_worked_out(
    cost: object, available: object, rate: object, seconds: float | None
) -> None:
    assert waits.from_cost(cost, available, rate) == seconds


def test_a_very_long_wait_is_handed_on_whole() -> None:
    assert waits.from_value(str(40 * 86_400), NOW) == 40 * 86_400


def proper(seconds: float | None) -> bool:
    return seconds is None or (math.isfinite(seconds) and 0 <= seconds <= waits.LONGEST)


@given(
    st.text() | st.from_regex(r"[0-9eE.+:TZ /,-]{1,40}", fullmatch=True), st.sampled_from(sorted(waits.UNITS))
)
def test_no_value_gives_a_wait_that_is_none(value: str, unit: str) -> None:
    assert proper(waits.from_value(value, NOW, unit=unit))


PIECES = (
    "wait ",
    "try again in ",
    "until ",
    "aguarde ",
    "99",
    "9" * 12,
    "1.5",
    ":",
    " s",
    " minutes",
    " e ",
    "2026-11-30 ",
    "T25",
    "/",
    "às ",
)


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
def test_no_sentence_gives_a_wait_that_is_none(text: str) -> None:
    assert proper(waits.from_message(text, NOW))


@given(st.integers(0, waits.LONGEST))
def test_a_wait_is_never_less_than_what_was_said(seconds: int) -> None:
    assert waits.from_value(str(seconds), NOW) in {seconds, max(0, seconds - EPOCH)}


@given(st.floats(0, 100_000_000, allow_nan=False))
def test_a_fraction_is_rounded_up(seconds: float) -> None:
    found = waits.from_value(f"{seconds:.3f}", NOW)
    assert found is not None
    assert found >= round(seconds, 3) > found - 1 or found == seconds


@given(st.datetimes(datetime(2000, 1, 1), datetime(2060, 1, 1)), st.integers(-12, 12))  # noqa: DTZ001 - made aware below
def test_a_date_is_read_alike_in_every_zone(moment: datetime, hours: int) -> None:
    aware = moment.replace(microsecond=0, tzinfo=timezone(timedelta(hours=hours)))
    expected = max(0, (aware - NOW).total_seconds())
    expected_or_nothing = expected if expected <= waits.LONGEST else None
    assert waits.from_value(format_datetime(aware), NOW) == expected_or_nothing
    assert waits.from_value(aware.isoformat(), NOW) == expected_or_nothing
