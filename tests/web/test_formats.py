"""Numbers, moments and spans as people of each language write them."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from dlq_console.web import formats
from dlq_console.web.display import current
from dlq_console.web.payload import label, raw_json, readable

MOMENT = datetime(2026, 11, 29, 14, 5, 12, tzinfo=ZoneInfo("America/Sao_Paulo"))


def test_numbers_are_grouped_as_the_language_does_it() -> None:
    assert formats.whole_number("pt_BR", 1234567) == "1.234.567"
    assert formats.whole_number("en", 1234567) == "1,234,567"
    assert formats.whole_number("en", 0) == "0"
    assert (formats.one_decimal("pt_BR", 0.44), formats.one_decimal("en", 0.44)) == ("0,4", "0.4")


def test_a_moment_is_as_short_as_it_stays_clear() -> None:
    days = (date(2026, 11, 29), date(2026, 11, 30), date(2027, 1, 1))
    assert [formats.day_and_time("pt_BR", MOMENT, day) for day in days] == [
        "14:05:12",
        "29/11 14:05",
        "29/11/2026 14:05",
    ]
    assert [formats.day_and_time("en", MOMENT, day) for day in days] == [
        "14:05:12",
        "29 Nov 14:05",
        "29 Nov 2026 14:05",
    ]
    assert formats.day_and_time("en", MOMENT, days[1], exact=True) == "29 Nov 14:05:12"
    assert formats.full("pt_BR", MOMENT) == "29/11/2026 14:05:12 -03"


def test_spans_have_at_most_two_units() -> None:
    spans = {
        0: "0 s",
        0.0004: "<1 ms",
        0.0193: "19 ms",
        0.44: "440 ms",
        0.9996: "1.0 s",
        9.96: "10.0 s",
        12: "12 s",
        60: "1 min",
        200: "3 min 20 s",
        3600: "1 h",
    }
    spans |= {3900: "1 h 5 min", 86400: "1 d", 100_000: "1 d 3 h", -5: "0 s"}
    assert {seconds: formats.span("en", seconds) for seconds in spans} == spans


def test_how_long_ago_is_told_in_one_unit_and_in_both_directions(app_display: None) -> None:
    shown = current()
    told = {0: "agora", 3: "há 3 s", 70: "há 1 min", 7300: "há 2 h", 200_000: "há 2 d", -70: "em 1 min"}
    assert {seconds: shown.ago(shown.now - timedelta(seconds=seconds)) for seconds in told} == told


def test_labels_are_made_of_field_names() -> None:
    assert [label(name) for name in ("customer_code", "CNPJ", "unitPrice", "", "_")] == [
        "Customer code",
        "CNPJ",
        "UnitPrice",
        "",
        "",
    ]


def test_what_is_too_long_or_too_deep_is_cut_and_said_to_be_cut() -> None:
    node = readable(list(range(250)))
    assert node.shape == "lines"
    assert (len(node.items), node.more) == (100, 150)  # type: ignore[union-attr]  # the shape says which node it is
    deep: object = "end"
    for _ in range(10):
        deep = {"in": deep}
    assert '"end"' in raw_json(deep)
    text = str(readable(deep))
    assert "end" not in text
    assert "deeper" in text


def test_money_keeps_every_digit_that_was_given_and_reads_as_the_language_writes_it() -> None:
    assert formats.decimal("pt_BR", Decimal("1240.50")) == "1.240,50"
    assert formats.decimal("en", Decimal("1240.50")) == "1,240.50"
    assert formats.decimal("pt_BR", 0.1) == "0,1"
    assert formats.decimal("en", Decimal("-0.00")) == "-0.00"
    assert formats.decimal("en", Decimal("1E-7")) == "0.0000001"
