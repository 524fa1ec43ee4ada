"""Two payloads side by side: what was added, removed, changed; secrets stay masked, and too much is not compared."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from dlq_console.web.differences import MOST_VALUES, SHOWN, differences
from dlq_console.web.payload import Plain


def told(before: Any, after: Any) -> list[tuple[str, str, str | None, str | None]]:
    found = differences(before, after)
    assert found is not None
    return [(one.what, one.field, _text(one.before), _text(one.after)) for one in found.items]


def _text(value: Plain | None) -> str | None:
    return None if value is None else value.text or value.kind


def test_every_value_that_is_not_the_same_is_named_with_its_place() -> None:
    before = {"total": 10, "gone": "x", "items": [{"price": 1}, {"price": 2}], "same": {"a": [1]}}
    after = {
        "total": 12,
        "items": [{"price": 1}, {"price": 3}, {"price": 4}],
        "same": {"a": [1]},
        "new_one": None,
    }
    assert told(before, after) == [
        ("changed", "Total", "10", "12"),
        ("removed", "Gone", "x", None),
        ("changed", "Items 2, Price", "2", "3"),
        ("added", "Items 3, Price", None, "4"),
        ("added", "New one", None, "nothing"),
    ]


def test_numbers_are_compared_as_numbers_and_kinds_of_values_as_such() -> None:
    assert told({"a": Decimal("12.50"), "b": 1}, {"a": Decimal("12.5"), "b": 1}) == []
    assert told({"a": 1}, {"a": True}) == [("changed", "A", "1", "yes")]
    assert told({"a": 1}, {"a": "1"}) == [("changed", "A", "1", "1")]
    assert told({"a": 0}, {"a": False}) == [("changed", "A", "0", "no")]


def test_payloads_of_any_shape_are_compared() -> None:
    assert told("x", "y") == [("changed", "", "x", "y")]
    assert told([], {}) == [("changed", "", "nothing", "nothing")]
    assert told({"a": {}}, {"a": {"b": 1}}) == [("added", "A, B", None, "1")]
    assert told([1, [2]], [1, [2, 3]]) == [("added", "2 2", None, "3")]
    assert told(None, None) == []


def test_a_secret_that_changed_is_named_and_not_shown() -> None:
    before = {
        "token": "canary-1",
        "customer": {"cpf": ["canary-2"]},
        "h": {"name": "secret", "value": "canary-3"},
    }
    after = {
        "token": "canary-4",
        "customer": {"cpf": ["canary-5"]},
        "h": {"name": "secret", "value": "canary-6"},
    }
    found = told(before, after)
    assert [line[1] for line in found] == ["Token", "Customer, Cpf 1", "H, Value"]
    assert {text for line in found for text in line[2:]} == {"•••"}
    assert "canary" not in str(told({"u": "https://a:canary@x/"}, {"u": "https://b:canary@x/"}))


def test_only_the_first_differences_are_shown_and_the_rest_counted() -> None:
    found = differences({}, {f"f{number}": number for number in range(SHOWN + 7)})
    assert found is not None
    assert (len(found.items), found.more) == (SHOWN, 7)
    long = differences({"a": "x"}, {"a": "y" * 10_000})
    assert long is not None
    assert long.items[0].after is not None
    assert (len(long.items[0].after.text), long.items[0].after.cut) == (80, True)


def test_where_there_is_little_room_fewer_are_shown_and_the_rest_counted() -> None:
    after = {f"f{number}": "<&" * 100 for number in range(SHOWN + 7)}
    found = differences({}, after, size=2_000)
    assert found is not None
    assert 1 < len(found.items) < SHOWN
    assert len(found.items) + found.more == SHOWN + 7
    (whole,) = [one for one in (differences({}, {"a": 1}, size=1),) if one]
    assert len(whole.items) == 1, "never none"


def test_too_many_values_are_not_compared() -> None:
    most = {f"f{number}": number for number in range(MOST_VALUES)}
    assert differences(most, most) is not None
    assert differences(most | {"one": 1}, most) is None
    assert differences({}, [[]] * (MOST_VALUES + 1)) is None
