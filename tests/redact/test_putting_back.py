"""Putting back: which hidden value does a mask stand for that comes back from a person, and where does it stand for none?"""

from __future__ import annotations

from typing import Any

import pytest

from dlq_console.redact import MASK, MisplacedMask, masked, put_back

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
    ("change", "place"),
    [
        ({"note": MASK}, "payload.note"),
        ({"note": f"see {MASK}"}, "payload.note"),
        ({"number": MASK}, "payload.number"),
        ({"address": f"https://joao:{MASK}@erp.example/"}, "payload.address"),
        ({"keys": {"other_key": MASK}}, "payload.keys.other_key"),
        ({"people": {"cpf": MASK}}, "payload.people.cpf"),
        # Two have changed: nobody can tell which one is whose.
        ({"people": [{"name": "A", "cpf": MASK}, {"name": "B", "cpf": MASK}]}, "payload.people[0].cpf"),
        ({"people": [{"name": "A", "cpf": MASK}]}, "payload.people[0].cpf"),
        ({"people": [MASK]}, "payload.people[0]"),
    ],
)
def test_a_mask_that_stands_for_nothing_known_is_refused_with_its_place(
    change: dict[str, Any], place: str
) -> None:
    with pytest.raises(MisplacedMask) as caught:
        put_back(_with(**change), ORIGINAL)
    assert caught.value.path == place


def test_two_that_look_alike_are_told_apart_by_nothing() -> None:
    original = {"keys": [{"token": "a"}, {"token": "b"}]}
    shown = [{"token": MASK}, {"token": MASK}]
    assert put_back({"keys": shown}, original) == original
    with pytest.raises(MisplacedMask):
        put_back({"keys": shown[:1]}, original)
    same = {"keys": [{"token": "a"}, {"token": "a"}]}
    assert put_back({"keys": shown[:1]}, same) == {"keys": [{"token": "a"}]}


def test_another_kind_of_value_in_the_place_of_a_payload_is_refused() -> None:
    for payload in (MASK, [MASK], {"password": [MASK]}):
        with pytest.raises(MisplacedMask):
            put_back(payload, ORIGINAL)
