"""The rules of canonical JSON and of stored payloads."""

from __future__ import annotations

import json
import random
import unicodedata
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal, localcontext
from enum import Enum, IntEnum, StrEnum
from types import MappingProxyType, NoneType
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlq_console.errors import PayloadRefused
from dlq_console.store.canonical import (
    MAX_DEPTH,
    canonical_json,
    decode_payload,
    encode_payload,
    payload_hash,
    read_payload,
)
from dlq_console.store.canonical_scalars import MAX_DIGITS

LIMIT = 256_000
SAO_PAULO = timezone(timedelta(hours=-3))


class Weekday(Enum):
    MONDAY = "monday"


class Priority(IntEnum):
    HIGH = 7


class Field(StrEnum):
    PRICE = "price"


class Point(NamedTuple):
    x: int
    y: int


class LastFirst(str):
    """Text that sorts the wrong way round."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        return str.__gt__(self, other)


def encode(payload: object) -> str:
    return encode_payload(payload, max_bytes=LIMIT)


def refusal(payload: object, max_bytes: int = LIMIT) -> str:
    with pytest.raises(PayloadRefused) as caught:
        read_payload(payload, max_bytes=max_bytes)
    return str(caught.value)


# What payloads are made of, for the properties.

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
decimals = st.builds(
    lambda sign, digits, exponent: Decimal(f"{sign}{digits}E{exponent}"),
    st.sampled_from(["", "-"]),
    st.integers(0, 20) | st.integers(0, 10**60),
    st.integers(-3, 3) | st.integers(-300, 300),
)
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=offsets)  # noqa: DTZ001 - zones are added
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**MAX_DIGITS) + 1, 10**MAX_DIGITS - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    decimals,
    texts,
    moments,
    st.dates(),
    st.times(),
    st.uuids(),
    st.sampled_from([Weekday.MONDAY, Priority.HIGH]),
)


def _lists_and_dicts(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.lists(texts, max_size=4, unique_by=lambda key: unicodedata.normalize("NFC", key))
    members = keys.flatmap(lambda names: st.fixed_dictionaries(dict.fromkeys(names, values)))
    return st.lists(values, max_size=4) | st.lists(values, max_size=3).map(tuple) | members


payloads = st.recursive(scalars, _lists_and_dicts, max_leaves=12)


def respelled(value: object, chance: random.Random) -> object:
    """The same payload as another producer might spell it."""
    if isinstance(value, dict):
        members = [
            (unicodedata.normalize("NFD", key), respelled(item, chance)) for key, item in value.items()
        ]
        chance.shuffle(members)
        return dict(members)
    if isinstance(value, (list, tuple)):
        items = [respelled(item, chance) for item in value]
        return tuple(items) if isinstance(value, list) else items
    return RESPELLED[type(value)](value, chance)


RESPELLED: dict[type, Callable[[Any, random.Random], object]] = {
    NoneType: lambda value, _: value,
    bool: lambda value, _: value,
    int: lambda value, chance: (
        Decimal(value) if chance.random() < 0.5 or abs(value) > 10**300 else Decimal(f"{value}.0")
    ),
    float: lambda value, _: Decimal(repr(value)),
    Decimal: lambda value, _: Decimal(f"{value:E}"),
    str: lambda value, _: unicodedata.normalize("NFD", value),
    datetime: lambda value, chance: value.astimezone(
        timezone(timedelta(minutes=chance.randrange(-600, 600)))
    ),
    date: lambda value, _: value.isoformat(),
    time: lambda value, _: value.isoformat(),
    UUID: lambda value, _: str(value),
    Weekday: lambda value, _: value.value,
    Priority: lambda value, _: float(value.value),
}


@given(payloads)
def test_what_comes_back_from_the_store_means_what_went_in(payload: object) -> None:
    assert canonical_json(decode_payload(encode(payload))) == canonical_json(payload)


@given(payloads)
def test_storing_what_came_back_changes_nothing_more(payload: object) -> None:
    stored = encode(payload)
    assert canonical_json(decode_payload(encode(decode_payload(stored)))) == canonical_json(payload)


@given(payloads, st.randoms(use_true_random=False))
def test_the_spelling_of_a_payload_does_not_matter(payload: object, chance: random.Random) -> None:
    assert canonical_json(respelled(payload, chance)) == canonical_json(payload)


@given(payloads)
def test_both_texts_are_json_and_the_canonical_one_is_its_own_canonical_form(payload: object) -> None:
    text = read_payload(payload, max_bytes=LIMIT)
    json.loads(text.stored)
    assert canonical_json(decode_payload(text.canonical)) == text.canonical
    assert text.digest == payload_hash(text.canonical)


@given(decimals, decimals)
def test_numbers_are_the_same_exactly_when_their_values_are(one: Decimal, other: Decimal) -> None:
    assert (canonical_json(one) == canonical_json(other)) == (one == other)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_float_can_be_sent_and_comes_back_the_same(number: float) -> None:
    back = decode_payload(encode(number))
    assert isinstance(back, float)
    assert back == number


@given(decimals)
def test_no_digit_of_a_decimal_is_lost(number: Decimal) -> None:
    back = decode_payload(encode(number))
    assert isinstance(back, (int, float, Decimal))
    assert Decimal(repr(back) if isinstance(back, float) else back) == number


@given(moments, moments)
def test_times_are_the_same_exactly_when_they_are_the_same_moment(one: datetime, other: datetime) -> None:
    assert (canonical_json(one) == canonical_json(other)) == (one == other)


@pytest.mark.parametrize(
    ("payload", "canonical"),
    [
        ({"b": 1, "a": [True, None, "x"]}, '{"a":[true,null,"x"],"b":1}'),
        ([10, 10.0, 1e1, Decimal("10.00"), Decimal("1E+1")], "[10,10,10,10,10]"),
        ([-0.0, Decimal("-0.00"), Decimal("0E+7"), 0], "[0,0,0,0]"),
        ([1e16, 1e-7, 5e-324 > 0, 123.4500], "[10000000000000000,0.0000001,true,123.45]"),
        ([100, Decimal("100.0"), Decimal("1.10")], "[100,100,1.1]"),
        (datetime(2026, 5, 1, 10, tzinfo=SAO_PAULO), '"2026-05-01T13:00:00Z"'),
        (datetime(2026, 5, 1, 10, 0, 0, 500_000, tzinfo=UTC), '"2026-05-01T10:00:00.500000Z"'),
        (datetime(987, 5, 1, tzinfo=UTC), '"0987-05-01T00:00:00Z"'),
        ([date(2026, 5, 1), time(8, 30)], '["2026-05-01","08:30:00"]'),
        (UUID("9F1C2D3E-4A5B-4C6D-8E7F-0123456789AB"), '"9f1c2d3e-4a5b-4c6d-8e7f-0123456789ab"'),
        ([Weekday.MONDAY, Priority.HIGH], '["monday",7]'),
        ({"ﬁ": 1, "😀": 2, "z": 3}, '{"z":3,"ﬁ":1,"😀":2}'),
        ({"Z": 1, "a": 2, "é": 3}, '{"Z":1,"a":2,"é":3}'),
        ({Field.PRICE: 1}, '{"price":1}'),
        ({LastFirst("a"): LastFirst("x"), LastFirst("b"): 1}, '{"a":"x","b":1}'),
        ([(1, 2), Point(1, 2), OrderedDict(b=1, a=2)], '[[1,2],[1,2],{"a":2,"b":1}]'),
        ('"\\\n\x01\x7f', '"\\"\\\\\\n\\u0001\x7f"'),
        (None, "null"),
        ("", '""'),
    ],
)
def test_canonical_text(payload: object, canonical: str) -> None:
    assert canonical_json(payload) == canonical


def test_the_stored_text_keeps_key_order_digits_and_unicode_form() -> None:
    payload = {"z": Decimal("10.50"), "a": "cafe\u0301", "m": [1.0, 10**20]}
    assert encode(payload) == '{"z":10.50,"a":"cafe\u0301","m":[1.0,100000000000000000000]}'


def test_a_handler_gets_ints_floats_and_a_decimal_only_where_a_float_would_lose_digits() -> None:
    back = decode_payload(
        "[1, -0, 10.50, 1e2, 0.1, 0.1000000000000000055511151231257827, 1e400, 12345678901234567.8]"
    )
    assert back == [
        1,
        0,
        10.5,
        100.0,
        0.1,
        Decimal("0.1000000000000000055511151231257827"),
        Decimal("1e400"),
        Decimal("12345678901234567.8"),
    ]
    assert [type(number) for number in back] == [int, int, float, float, float, Decimal, Decimal, Decimal]


def test_the_decimal_context_of_the_caller_changes_nothing() -> None:
    number = Decimal("123456789.123456789")
    with localcontext() as context:
        context.prec = 3
        assert canonical_json(number) == "123456789.123456789"
        assert decode_payload("1234567890.12345678901") == Decimal("1234567890.12345678901")


def test_true_is_not_one_and_null_is_not_missing() -> None:
    written = [
        canonical_json(value) for value in (True, 1, "1", {"a": None}, {}, [None], [], None, "", 0, False)
    ]
    assert len(set(written)) == len(written)


@pytest.mark.parametrize(
    "number", [10**MAX_DIGITS - 1, Decimal(f"1E+{MAX_DIGITS - 1}"), Decimal("0." + "1" * 399)]
)
def test_a_number_of_the_most_digits_is_accepted(number: object) -> None:
    assert len(canonical_json(number).replace(".", "")) == MAX_DIGITS


@pytest.mark.parametrize(
    "number",
    [
        10**MAX_DIGITS,
        -(10**MAX_DIGITS),
        pytest.param(10**5000, id="5001 digits"),
        Decimal(f"1E+{MAX_DIGITS}"),
        Decimal(f"1E-{MAX_DIGITS}"),
        Decimal("1E+999999999"),
        Decimal("1E-999999999"),
        Decimal("0E-999999999"),
        Decimal("0." + "1" * MAX_DIGITS),
        Decimal(f"1{'0' * 200}.{'0' * 200}"),
    ],
)
def test_a_number_with_too_many_digits_is_refused_before_it_is_written_out(number: object) -> None:
    assert refusal({"total": number}) == (
        "payload.total: a number has more than 400 digits when written out in full; send it as text."
    )


def _cycle_of_lists() -> object:
    items: list[object] = [1]
    items.append(items)
    return items


def _cycle_of_dicts() -> object:
    parent: dict[str, object] = {}
    parent["child"] = {"parent": parent}
    return parent


def _nested(depth: int) -> object:
    value: object = []
    for _ in range(depth - 1):
        value = [value]
    return value


@dataclass
class Order:
    number: int


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"items": [0, 1, {"price": {1}}]}, "payload.items[2].price: a set is not supported; send a list"),
        ({"a": b"x"}, "payload.a: a bytes is not supported; send text, or bytes as base64 text."),
        ({"a": timedelta(1)}, "payload.a: a timedelta is not supported; send a number of seconds."),
        ([MappingProxyType({})], "payload[0]: a mappingproxy is not supported; send a dict."),
        ([(n for n in [1])], "payload[0]: a generator is not supported; send a list."),
        ([Order(1)], "payload[0]: an Order is not supported; send text, a number, True,"),
        (object(), "payload: an object is not supported;"),
        ({"a": 1 + 2j}, "payload.a: a complex is not supported;"),
        ({"when": datetime(2026, 5, 1)}, "payload.when: a datetime without a time zone names no moment;"),  # noqa: DTZ001 - that is the point
        ({"when": time(8, tzinfo=UTC)}, "payload.when: a time of day with a zone names no moment;"),
        (datetime.max.replace(tzinfo=SAO_PAULO), "payload: this datetime falls outside the years 1 to 9999"),
        ({"a": float("nan")}, "payload.a: NaN and infinity are not JSON; leave it out or send text."),
        ({"a": float("-inf")}, "payload.a: NaN and infinity are not JSON;"),
        ({"a": Decimal("sNaN")}, "payload.a: NaN and infinity are not JSON;"),
        ({"a": Decimal("Infinity")}, "payload.a: NaN and infinity are not JSON;"),
        ({"a": "x\0y"}, "payload.a: a NUL character cannot be stored; remove it."),
        ({"é\0": 1}, 'payload["\\u00e9\\u0000"]: a NUL character cannot be stored'),
        ({"a": "x\ud800"}, "payload.a: half a character (a lone surrogate) cannot be stored;"),
        ({"\udfff": 1}, 'payload["\\udfff"]: half a character'),
        ({"a": {1: 2}}, "payload.a: one of its keys is an int; keys must be text."),
        ({"a": {None: 2}}, "payload.a: one of its keys is a NoneType; keys must be text."),
        (
            {"é": {"e\u0301": 1, "\u00e9": 2}},
            'payload.é: the key "\\u00e9" stands here twice, in two Unicode forms;',
        ),
        ({"odd key": {"a.b": {"c": {1}}}}, 'payload["odd key"]["a.b"].c: a set'),
        ({"k" * 50: {1}}, f'payload["{"k" * 40}..."]: a set'),
    ],
)
def test_what_cannot_be_stored_is_refused_with_its_path_and_what_to_send(
    payload: object, message: str
) -> None:
    assert refusal(payload).startswith(message)


@pytest.mark.parametrize("payload", [_cycle_of_lists(), _cycle_of_dicts(), _nested(MAX_DEPTH + 1)])
def test_too_deep_a_payload_or_one_that_contains_itself_is_refused(payload: object) -> None:
    message = refusal(payload)
    assert "lists and objects lie more than 100 levels deep, or one of them contains itself" in message
    assert len(message) < 400


def test_a_payload_of_the_greatest_depth_is_accepted_and_read_back() -> None:
    payload = _nested(MAX_DEPTH)
    assert decode_payload(encode(payload)) == payload


def test_errors_name_keys_but_never_values() -> None:
    assert "123.456.789" not in refusal({"tax_id": "123.456.789-00\0"})


@pytest.mark.parametrize(
    ("payload", "size"),
    [("é", 4), ({"a": [1, 2]}, 11), ([], 2), ({}, 2), ([[]], 4), ({"é": "😀"}, 13), (12345, 5)],
)
def test_the_limit_counts_bytes_of_utf8_exactly(payload: object, size: int) -> None:
    assert len(encode_payload(payload, max_bytes=size).encode()) == size
    assert "this is larger than the limit" in refusal(payload, max_bytes=size - 1)


def test_too_large_a_payload_is_refused_naming_the_part_that_is_too_large() -> None:
    assert refusal({"order": 1, "photos": ["x" * 900, "y" * 900]}, max_bytes=1_500) == (
        "payload.photos: this is larger than the limit of 1,500 bytes of JSON; "
        "send a reference (an id or a path) instead."
    )


@pytest.mark.parametrize("grow", [lambda inner: [inner, inner], lambda inner: {"a": inner, "b": inner}])
def test_a_small_payload_that_unfolds_without_end_is_refused_while_it_is_written(
    grow: Callable[[object], object],
) -> None:
    payload: object = "x"
    for _ in range(90):
        payload = grow(payload)
    assert "this is larger than the limit" in refusal(payload, max_bytes=10_000)


def test_another_name_stands_in_the_error() -> None:
    with pytest.raises(PayloadRefused, match=r"^result\.rows: a set is not supported"):
        encode_payload({"rows": {1}}, max_bytes=LIMIT, name="result")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "payload: this is not JSON: Expecting value (line 1, column 1)."),
        ('{"a":\n 1,}', "payload: this is not JSON: "),
        ("{'a': 1}", "payload: this is not JSON: "),
        ("[1] 2", "payload: this is not JSON: Extra data (line 1, column 5)."),
        ('["\n"]', "payload: this is not JSON: Invalid control character"),
        ("[NaN]", "payload: NaN and infinity are not JSON;"),
        ("-Infinity", "payload: NaN and infinity are not JSON;"),
        ('{"a": {"b": 1, "c": 2, "b": 3}}', 'payload: an object has the key "b" twice; keep one of them.'),
        ("9" * 5000, "payload: a number has more than 400 digits"),
        ("1e99999999999999999999", "payload: a number has more than 400 digits"),
        ("1e-99999999999999999999", "payload: a number has more than 400 digits"),
        ("[" * 100_000, "payload: lists and objects lie more than 100 levels deep"),
    ],
)
def test_text_that_is_not_json_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(PayloadRefused) as caught:
        decode_payload(text)
    assert str(caught.value).startswith(message)


@given(st.text(max_size=30) | st.text('[]{}",:0123456789.eE+-truefalsn\\ ', max_size=40))
def test_reading_any_text_gives_a_value_or_a_refusal(text: str) -> None:
    try:
        decode_payload(text)
    except PayloadRefused as refused:
        assert str(refused).startswith("payload: ")  # noqa: PT017 - any other exception fails the test
