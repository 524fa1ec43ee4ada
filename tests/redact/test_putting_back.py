"""Putting back: which hidden value does a mask stand for that comes back from a person, and where does it stand for none?"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlq_console.redact import MASK, Misplaced, MisplacedMask, masked, put_back

ORIGINAL = {
    "number": 1,
    "password": "hunter2",
    "keys": {"api_key": {"id": 1, "value": "abc"}},
    "address": "https://maria:hunter2@erp.example/",
    "headers": [{"name": "app_secret", "value": "s1"}, {"name": "accept", "value": "json"}],
    "people": [{"name": "Ana", "cpf": "1"}, {"name": "Bia", "cpf": "2"}],
}


def _with(**changes: Any) -> dict[str, Any]:
    shown: dict[str, Any] = masked(ORIGINAL)
    return shown | changes


def test_what_comes_back_as_it_was_shown_is_what_it_was() -> None:
    assert masked(ORIGINAL) != ORIGINAL
    assert put_back(masked(ORIGINAL), ORIGINAL) == ORIGINAL


def test_a_change_beside_a_hidden_value_keeps_that_value() -> None:
    assert put_back(_with(number=2), ORIGINAL) == ORIGINAL | {"number": 2}
    changed = [{"name": "Ana Maria", "cpf": MASK}, {"name": "Bia", "cpf": MASK}]
    assert put_back(_with(people=changed), ORIGINAL)["people"] == [
        {"name": "Ana Maria", "cpf": "1"},
        {"name": "Bia", "cpf": "2"},
    ]


def test_a_hidden_value_may_be_written_anew_or_left_out() -> None:
    assert put_back(_with(password="new"), ORIGINAL)["password"] == "new"
    without = {name: value for name, value in _with().items() if name != "password"}
    assert "password" not in put_back(without, ORIGINAL)


def test_true_is_not_taken_for_one() -> None:
    assert put_back(_with(number=True), ORIGINAL)["number"] is True


@pytest.mark.parametrize(
    "people",
    [
        [{"name": "Bia", "cpf": MASK}],
        [{"name": "Bia", "cpf": MASK}, {"name": "Ana", "cpf": MASK}],
        [{"name": "Caio", "cpf": "3"}, {"name": "Ana", "cpf": MASK}, {"name": "Bia", "cpf": MASK}],
    ],
)
def test_an_item_that_moved_keeps_its_own_value(people: list[dict[str, str]]) -> None:
    own = {"Ana": "1", "Bia": "2", "Caio": "3"}
    for person in put_back(_with(people=people), ORIGINAL)["people"]:
        assert person["cpf"] == own[person["name"]]


@pytest.mark.parametrize(
    ("change", "place", "why"),
    [
        ({"note": MASK}, "payload.note", Misplaced.NOTHING_HIDDEN),
        ({"note": f"see {MASK}"}, "payload.note", Misplaced.NOTHING_HIDDEN),
        ({"number": MASK}, "payload.number", Misplaced.NOTHING_HIDDEN),
        ({"number": [1, {"a": MASK}]}, "payload.number[1].a", Misplaced.NOTHING_HIDDEN),
        ({"address": f"https://joao:{MASK}@erp.example/"}, "payload.address", Misplaced.NOTHING_HIDDEN),
        ({"keys": {"other_key": MASK}}, "payload.keys.other_key", Misplaced.NOTHING_HIDDEN),
        ({"people": {"cpf": MASK}}, "payload.people.cpf", Misplaced.NOTHING_HIDDEN),
        # Two have changed: nobody can tell which one is whose.
        (
            {"people": [{"name": "A", "cpf": MASK}, {"name": "B", "cpf": MASK}]},
            "payload.people[0].cpf",
            Misplaced.UNCERTAIN,
        ),
        ({"people": [{"name": "A", "cpf": MASK}]}, "payload.people[0].cpf", Misplaced.UNCERTAIN),
        ({"people": [MASK]}, "payload.people[0]", Misplaced.UNCERTAIN),
    ],
)
def test_a_mask_that_stands_for_nothing_known_is_refused_with_its_place(
    change: dict[str, Any], place: str, why: Misplaced
) -> None:
    assert _refusal(_with(**change), ORIGINAL) == (place, why)


def _refusal(edited: Any, original: Any) -> tuple[str, Misplaced]:
    with pytest.raises(MisplacedMask) as caught:
        put_back(edited, original)
    return caught.value.path, caught.value.why


def _seats(*seats: int) -> dict[str, Any]:
    return {"people": [{"cpf": MASK, "seats": number} for number in seats]}


def test_an_item_that_now_looks_like_another_never_gets_the_value_of_that_one() -> None:
    original = {"people": [{"cpf": "111", "seats": 1}, {"cpf": "222", "seats": 2}]}
    assert _refusal(_seats(2, 2), original) == ("payload.people[0].cpf", Misplaced.UNCERTAIN)
    assert put_back(_seats(3, 2), original) == {
        "people": [{"cpf": "111", "seats": 3}, {"cpf": "222", "seats": 2}]
    }


@pytest.mark.parametrize(
    ("seats", "place"),
    [
        # A copy.
        ((1, 2, 2), "payload.people[2].cpf"),
        # Changed and moved.
        ((2, 5), "payload.people[1].cpf"),
        # One is gone, another was changed.
        ((5,), "payload.people[0].cpf"),
        # Changed beside a new one.
        ((5, 2, 3), "payload.people[0].cpf"),
    ],
)
def test_an_item_of_a_list_that_may_be_another_one_is_refused(seats: tuple[int, ...], place: str) -> None:
    original = {"people": [{"cpf": "111", "seats": 1}, {"cpf": "222", "seats": 2}]}
    assert _refusal(_seats(*seats), original) == (place, Misplaced.UNCERTAIN)


def test_an_item_that_changed_beside_one_whose_value_was_written_anew_may_be_either() -> None:
    original = {"people": [{"cpf": "111", "seats": 1}, {"cpf": "222", "seats": 2}]}
    written = {"cpf": "333", "seats": 4}
    for here, people in enumerate(
        ([{"cpf": MASK, "seats": 3}, written], [written, {"cpf": MASK, "seats": 3}])
    ):
        edited = {"people": people}
        assert _refusal(edited, original) == (f"payload.people[{here}].cpf", Misplaced.UNCERTAIN)


def test_items_that_look_alike_are_told_apart_by_nothing_but_their_places() -> None:
    original = {"keys": [{"token": "a"}, {"token": "b"}, 7]}
    alike = {"token": MASK}
    for keys in ([alike, alike, 8], [alike, alike]):
        assert put_back({"keys": keys}, original)["keys"][:2] == original["keys"][:2]
    for keys in ([alike], [7, alike, alike], [alike, alike, alike]):
        assert _refusal({"keys": keys}, original)[1] is Misplaced.UNCERTAIN


def test_a_number_and_a_text_of_the_same_digits_do_not_look_alike() -> None:
    original = [{"cpf": "111", "n": 1}, {"cpf": "222", "n": 2}]
    for other in ("2", True):
        edited = [{"cpf": MASK, "n": other}]
        assert _refusal(edited, original) == ("payload[0].cpf", Misplaced.UNCERTAIN)


@pytest.mark.parametrize(
    ("original", "edited", "place"),
    [
        (
            {"h": {"name": "app_secret", "value": "canary"}},
            {"h": {"name": "plain", "value": MASK}},
            "payload.h.value",
        ),
        ({"h": {"name": "app_secret", "value": "canary"}}, {"h": {"value": MASK}}, "payload.h.value"),
        (
            {"h": {"name": "app_secret", "value": {"password": "canary", "n": 1}}},
            {"h": {"name": "plain", "value": MASK}},
            "payload.h.value",
        ),
        (
            {"h": {"name": "app_secret", "value": "password=canary"}},
            {"h": {"name": "plain", "value": MASK}},
            "payload.h.value",
        ),
        (
            [{"key": "color", "value": "red"}, {"key": "token", "value": "canary"}],
            [{"key": "color", "value": "red"}, {"key": "size", "value": MASK}],
            "payload[1].value",
        ),
    ],
)
def test_a_value_that_would_not_be_hidden_any_more_is_not_put_back(
    original: Any, edited: Any, place: str
) -> None:
    assert _refusal(edited, original) == (place, Misplaced.WOULD_SHOW)


def test_a_field_of_another_name_gets_nothing_back() -> None:
    for name in ("plain", "token"):
        edited = {"keys": {name: MASK}}
        assert _refusal(edited, ORIGINAL) == (f"payload.keys.{name}", Misplaced.NOTHING_HIDDEN)


def test_a_value_that_stays_hidden_under_another_name_of_a_secret_is_put_back() -> None:
    original = {"h": {"name": "app_secret", "value": "canary"}}
    renamed = {"h": {"name": "api_key", "value": MASK}}
    assert put_back(renamed, original) == {"h": {"name": "api_key", "value": "canary"}}


def test_another_kind_of_value_in_the_place_of_a_payload_is_refused() -> None:
    for payload in (MASK, [MASK], {"password": [MASK]}):
        assert _refusal(payload, ORIGINAL)[1] is Misplaced.NOTHING_HIDDEN


#: Seats of a person, and whether their number comes back as a mask or is written anew.
_Item = tuple[int, bool]
_SEATS = st.integers(1, 4)


@st.composite
def _lists(draw: st.DrawFn) -> tuple[list[int], list[_Item]]:
    """The seats of people, and what a person may make of the list: items changed, copied, moved, added or left out."""
    before = draw(st.lists(_SEATS, min_size=1, max_size=3))
    after = [(seats, True) for seats in before]
    for _ in range(draw(st.integers(1, 3))):
        here, taken = draw(st.integers(0, len(after))), draw(st.integers(0, 1))
        after[here : here + taken] = draw(
            st.lists(st.tuples(_SEATS, st.sampled_from([True, True, False])), max_size=1)
        )
    return before, after


@given(_lists())
def test_no_edit_of_a_list_gives_an_item_the_value_of_another(lists: tuple[list[int], list[_Item]]) -> None:
    before, after = lists
    original = [{"cpf": place, "seats": seats} for place, seats in enumerate(before)]
    edited = [{"cpf": MASK if hidden else "new", "seats": seats} for seats, hidden in after]
    try:
        items = put_back(edited, original)
    except MisplacedMask:
        return
    assert [item["seats"] for item in items] == [seats for seats, _ in after]
    assert [item["cpf"] != "new" for item in items] == [hidden for _, hidden in after]
    found = [item["cpf"] for item in items if item["cpf"] != "new"]
    assert len(found) == len(set(found)), "one value stands in two places"
    for here, item in enumerate(items):
        place, seats = item["cpf"], item["seats"]
        if place == "new" or (seats == before[place] and before.count(seats) == 1):
            continue
        assert place == here, "it has moved, and is not known by its looks"
        if seats == before[place]:
            assert after.count((seats, True)) == before.count(seats), "one that looks like it was left out"
        else:
            others = items[:here] + items[here + 1 :]
            assert others == original[:here] + original[here + 1 :], (
                "it is not the only one that is different"
            )
            assert seats not in before, "it looks like another one"


_NAMES = st.sampled_from(["name", "key", "value", "password", "plain", "list"])
_WORDS = st.sampled_from(["app_secret", "token", "color", "size"])


@st.composite
def _payloads(draw: st.DrawFn) -> Any:
    """Fields that hold secrets, or not, by their names and by those beside them."""
    numbers = iter(range(1000))
    leaves = st.builds(lambda: f"canary {next(numbers)}.")
    return draw(
        st.recursive(
            st.one_of(_WORDS, leaves),
            lambda inner: st.one_of(
                st.lists(inner, max_size=3),
                st.dictionaries(_NAMES, inner, max_size=3),
                st.fixed_dictionaries({"name": _WORDS, "value": inner}),
            ),
            max_leaves=8,
        )
    )


def _changed(draw: st.DrawFn, shown: Any) -> Any:
    """What a person may make of a payload: words changed, fields renamed or left out, items moved, copied or left out."""
    if isinstance(shown, dict):
        kept = [name for name in shown if draw(st.integers(0, 5))]
        return {
            name if draw(st.integers(0, 5)) else draw(_NAMES): _changed(draw, shown[name]) for name in kept
        }
    if isinstance(shown, list):
        items = [_changed(draw, item) for item in shown]
        return draw(
            st.one_of(st.just(items), st.permutations(items), st.lists(st.sampled_from(items or [1])))
        )
    return shown if draw(st.integers(0, 3)) else draw(_WORDS)


@given(st.data())
def test_no_edit_shows_what_was_hidden(data: st.DataObject) -> None:
    original = data.draw(_payloads())
    shown = masked(original)
    edited = data.draw(st.composite(_changed)(shown))
    try:
        whole = put_back(edited, original)
    except MisplacedMask:
        return
    assert _canaries(masked(whole)) <= _canaries(shown)
    assert MASK not in json.dumps(whole, ensure_ascii=False)


def _canaries(value: Any) -> set[str]:
    return {part.partition(".")[0] for part in json.dumps(value).split("canary ")[1:]}
