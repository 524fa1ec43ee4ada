"""Does a filter read from an address mean what it says, and does nonsense get a sentence instead of a crash?"""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from werkzeug.datastructures import ImmutableMultiDict

from dlq_console.classify import VerdictClass
from dlq_console.store.desk import clean_tags
from dlq_console.store.filters import (
    MAX_LENGTH,
    MAX_REPEATS,
    PARAMETERS,
    PAYLOAD,
    VERDICTS,
    EventFilter,
    FilterError,
)

FULL = EventFilter(
    kind=("order.create", "invoice.create"),
    account=("filial-sp",),
    reason=("permanent",),
    status=("dead",),
    entity="8841",
    q="not registered",
    since="4h",
    from_=datetime(2026, 3, 1, 11, tzinfo=UTC),
    to=datetime(2026, 3, 2, 11, 30, 5, 250_000, tzinfo=UTC),
    group="f1-0123",
    class_=("auth", "transient"),
    assignee="maria",
    tag=("tax", "price"),
    attempts="3+",
    payload=(("items.0.sku", "P-1"), ("number", "8841")),
    snoozed="only",
    at=datetime(2026, 3, 2, 12, tzinfo=UTC),
    sort="oldest",
)


def refusal(**values: list[str]) -> str:
    with pytest.raises(FilterError) as caught:
        EventFilter.parse({name.rstrip("_"): value for name, value in values.items()})
    return caught.value.message


def test_an_empty_address_asks_for_nothing() -> None:
    assert EventFilter.parse({}).is_empty
    assert EventFilter.parse({"kind": [""], "q": ["  "], "from": [""]}).is_empty


def test_a_filter_survives_the_way_through_an_address() -> None:
    address = urlencode(FULL.query())
    assert EventFilter.parse(parse_qs(address)) == FULL


def test_the_parameters_of_a_request_are_read_the_same() -> None:
    assert EventFilter.parse(ImmutableMultiDict(FULL.query())) == FULL


def test_other_parameters_are_left_alone() -> None:
    assert EventFilter.parse({"cursor": ["x"], "page": ["3"], "colour": ["red"]}).is_empty


def test_a_repeated_value_counts_once_and_the_order_is_kept() -> None:
    assert EventFilter.parse({"kind": ["b", "a", "b"]}).kind == ("b", "a")


def test_texts_are_compared_in_the_form_in_which_the_store_keeps_them() -> None:
    assert EventFilter.parse({"account": [" Sa\u0303o Paulo "]}).account == ("S\u00e3o Paulo",)


def test_a_tag_is_looked_for_as_the_desk_keeps_it() -> None:
    written = ["Fim de  M\u00caS", "fim de me\u0302s", "URGENT"]
    assert EventFilter.parse({"tag": written}).tag == ("fim de m\u00eas", "urgent") == clean_tags(written)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2026-03-01T08:00-03:00", datetime(2026, 3, 1, 11, tzinfo=UTC)),
        ("2026-03-01T11:00Z", datetime(2026, 3, 1, 11, tzinfo=UTC)),
        ("2026-03-01T13:00:00.5+02:00", datetime(2026, 3, 1, 11, 0, 0, 500_000, tzinfo=UTC)),
        # An unescaped "+" in an address arrives as a space.
        ("2026-03-01T13:00 02:00", datetime(2026, 3, 1, 11, tzinfo=UTC)),
        ("2026-03-01T13:00:00 0200", datetime(2026, 3, 1, 11, tzinfo=UTC)),
    ],
)
def test_a_time_is_read_with_its_zone(written: str, meant: datetime) -> None:
    assert EventFilter.parse({"from": [written]}).from_ == meant


@pytest.mark.parametrize(
    ("written", "seconds"), [("30m", 1_800), ("4h", 14_400), ("2d", 172_800), ("1w", 604_800)]
)
def test_since_is_a_duration(written: str, seconds: int) -> None:
    assert EventFilter.parse({"since": [written]}).since_seconds == seconds


@pytest.mark.parametrize("written", ["4", "h", "4 hours", "-4h", "0h", "1.5h", "999999w", "\u0664h"])
def test_a_since_that_is_no_duration_is_refused(written: str) -> None:
    assert refusal(since=[written]).startswith("since: write a number and m, h, d or w")


@pytest.mark.parametrize("name", ["from_", "to"])
@pytest.mark.parametrize(
    "written",
    ["yesterday", "2026-13-01T00:00Z", "1772352000", "0001-01-01T00:00+14:00", "9999-12-31T23:59-14:00"],
)
def test_a_time_that_is_none_is_refused(name: str, written: str) -> None:
    assert refusal(**{name: [written]}).startswith(f"{name.rstrip('_')}: it is no time")


@pytest.mark.parametrize("written", ["2026-03-01T08:00", "2026-03-01", "2026-03-01 08:00"])
def test_a_time_without_a_zone_is_refused(written: str) -> None:
    assert refusal(to=[written]).startswith("to: the zone is missing; write")


def test_a_span_that_ends_before_it_begins_is_refused() -> None:
    assert (
        refusal(from_=["2026-03-02T00:00Z"], to=["2026-03-01T00:00Z"])
        == "from: it must be earlier than `to`."
    )


def test_a_word_that_is_no_status_is_refused_with_the_choices() -> None:
    assert refusal(status=["done", "broken"]) == (
        "status: choose one of blocked, pending, running, failed, done, dead, discarded."
    )
    assert refusal(reason=["because"]).startswith("reason: choose one of permanent, exhausted,")


@pytest.mark.parametrize("name", ["kind", "account", "entity", "q"])
@pytest.mark.parametrize("text", ["a\0b", "a\nb", "a\x1bb", "\ud800"])
def test_a_control_character_or_half_a_character_is_refused(name: str, text: str) -> None:
    assert refusal(**{name: [text]}) == f"{name}: a control character is not allowed; remove it."


def test_a_huge_value_is_refused() -> None:
    assert (
        refusal(q=["x" * (MAX_LENGTH + 1)]) == "q: 201 characters are more than the limit of 200; shorten it."
    )


def test_a_value_given_too_often_is_refused() -> None:
    many = [str(number) for number in range(MAX_REPEATS + 1)]
    assert refusal(kind=many) == "kind: it is given 21 times; give it at most 20 times."


def test_a_single_value_given_twice_is_refused() -> None:
    assert refusal(entity=["1", "2"]) == "entity: it has two values; give one."


def test_a_chip_takes_its_own_value_away_and_nothing_else() -> None:
    assert FULL.without("kind", "order.create").kind == ("invoice.create",)
    assert FULL.without("kind").kind == ()
    rest = FULL.without("from").without("q").without("status", "dead")
    assert (rest.from_, rest.q, rest.status, rest.entity) == (None, "", (), "8841")


def test_taking_every_chip_away_leaves_nothing() -> None:
    rest = FULL
    for name, value in FULL.query():
        rest = rest.without(name, value)
    assert rest == EventFilter()


def test_an_order_alone_asks_for_nothing() -> None:
    assert EventFilter(sort="oldest").is_empty
    assert not EventFilter(snoozed="hide").is_empty


def test_every_parameter_is_known_by_its_name() -> None:
    assert {name for name, _ in FULL.query() if not name.startswith(PAYLOAD)} == PARAMETERS


def test_the_verdicts_are_those_of_the_rules() -> None:
    assert set(VERDICTS) == {str(verdict) for verdict in VerdictClass}


@pytest.mark.parametrize(
    ("written", "meant"), [("3", "3"), ("03", "3"), ("3+", "3+"), ("3 ", "3+"), ("", "")]
)
def test_attempts_are_exact_or_at_least(written: str, meant: str) -> None:
    assert EventFilter.parse({"attempts": [written]}).attempts == meant


@pytest.mark.parametrize("written", ["many", "-1", "3++", "3 4", "+3", "99999", "\u0663", "9" * 1_000_000])
def test_attempts_that_are_no_number_are_refused(written: str) -> None:
    assert refusal(attempts=[written]).startswith("attempts: write one number, such as 3")


@pytest.mark.parametrize("name", ["class", "snoozed", "sort"])
def test_a_word_that_is_no_choice_is_refused_with_the_choices(name: str) -> None:
    message = refusal(**{name: ["sideways"]})
    assert message.startswith(f"{name}: ")
    assert {"class": "auth", "snoozed": "hide", "sort": "oldest"}[name] in message


def test_fields_of_the_payload_are_named_by_paths() -> None:
    flt = EventFilter.parse(
        {"payload.items.0.sku": [" P-1 "], "payload.order.number": "88", "payload.empty": [""]}
    )
    assert flt.payload == (("items.0.sku", "P-1"), ("order.number", "88"))
    assert flt.without("payload.items.0.sku", "P-1").payload == (("order.number", "88"),)


@pytest.mark.parametrize(
    "path", ["", ".", "a..b", "a.", " .a", 'a"b', "a\nb", "a\0b", ".".join("abcdefghijk")]
)
def test_a_path_that_leads_nowhere_is_refused(path: str) -> None:
    assert refusal(**{f"payload.{path}": ["1"]}).startswith("payload: ")


@pytest.mark.parametrize("path", ["password", "login.api_key", "tokens.0", "credentials.user"])
def test_nobody_searches_for_secrets(path: str) -> None:
    assert refusal(**{f"payload.{path}": ["x"]}).startswith(f"payload: {path} is a secret")


def test_a_number_of_a_person_may_be_searched_for() -> None:
    assert EventFilter.parse({"payload.customer.cpf": "52998224725"}).payload


def test_too_many_fields_of_the_payload_are_refused() -> None:
    many = {f"payload.field{number}": ["1"] for number in range(6)}
    assert refusal(**many) == "payload: 6 fields are asked for; ask for at most 5."


@pytest.mark.parametrize("name", [*sorted(PARAMETERS), "payload.number"])
def test_a_value_of_a_million_characters_is_refused_in_a_short_sentence(name: str) -> None:
    with pytest.raises(FilterError) as caught:
        EventFilter.parse({name: ["x" * 1_000_000]})
    assert len(caught.value.message) < 300


def test_a_name_of_a_million_characters_is_refused_in_a_short_sentence() -> None:
    for name in ("payload." + "x" * 1_000_000, "payload." + "a." * 500_000 + "a"):
        assert len(refusal(**{name: ["1"]})) < 300
    with pytest.raises(FilterError) as caught:
        EventFilter.parse_all({"x" * 1_000_000: ["1"]})
    assert len(caught.value.message) < 600


def test_where_there_may_be_no_other_parameters_a_misspelt_one_is_refused() -> None:
    with pytest.raises(FilterError, match="acount: there is no such filter"):
        EventFilter.parse_all({"acount": ["filial-sp"]})
    assert EventFilter.parse_all({"kind": ["a"], "payload.b": ["c"]}) == EventFilter(
        kind=("a",), payload=(("b", "c"),)
    )


def test_a_query_may_change_fields_and_carry_a_cursor() -> None:
    pairs = EventFilter(kind=("a",)).query(kind=("b",), entity="7", cursor="xyz")
    assert pairs == [("kind", "b"), ("entity", "7"), ("cursor", "xyz")]
    assert EventFilter().query(cursor="") == []


@given(st.dictionaries(st.sampled_from([name for name, _ in FULL.query()]), st.lists(st.text(max_size=300))))
def test_whatever_stands_in_an_address_is_a_filter_or_a_sentence(values: dict[str, list[str]]) -> None:
    try:
        flt = EventFilter.parse(values)
    except FilterError:
        return
    assert EventFilter.parse(parse_qs(urlencode(flt.query()))) == flt
