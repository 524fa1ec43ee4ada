"""What pages do to texts from outside: unseen characters become signs, long ones are cut to what they weigh."""

from __future__ import annotations

import json

import pytest

from dlq_console.hub.pointers import NoSuchPlace, step, value_at
from dlq_console.web.payload import raw_json
from dlq_console.web.space import Space, weight, within
from dlq_console.web.sparklines import sparkline
from dlq_console.web.visible import escaped, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("invoice\u202egpj.exe", "invoice[U+202E]gpj.exe"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("a\x00b\x7fc\x85d", "a␀b␡c[U+0085]d"),
        ("\u2066\u2069\u200e\u200f\u061c", "[U+2066][U+2069][U+200E][U+200F][U+061C]"),
        ("zero\u200bwidth\ufeff", "zero[U+200B]width[U+FEFF]"),
        ("line\u2028end", "line[U+2028]end"),
        ("plain ção ✂ 日本\tand\r\nlines\xa0", "plain ção ✂ 日本\tand\r\nlines\xa0"),
        ("👩\u200d💻", "👩\u200d💻"),
    ],
)
def test_characters_that_nobody_sees_are_shown_as_signs(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_json_stays_the_same_json_with_them_written_out() -> None:
    value = {"\u202ename": "\x1b[31m\u2066 x \x85", "plain": "ção"}
    text = raw_json(value)
    assert visible(text) == text
    assert json.loads(text) == value
    assert escaped('"\u202e"') == '"\\u202e"'


@pytest.mark.parametrize("text", ["x" * 100, "é" * 100, "<&\"'>" * 30, "日" * 60, ""])
@pytest.mark.parametrize("room", [0, 1, 3, 50, 99, 1000])
def test_a_text_is_cut_to_the_bytes_that_it_fills_on_a_page(text: str, room: int) -> None:
    space = Space(room)
    shown = space.take(text)
    assert weight(shown) <= room
    assert space.left == room - weight(shown)
    assert text.startswith(shown)
    assert shown == text or weight(text) > room
    assert text.endswith(Space(room).take(text, keep_end=True))
    assert weight(within(text, max(room, 3))) <= max(room, 3)
    # Not much is wasted.
    assert shown == text or weight(shown) >= room * 0.7 - 6


def test_a_place_in_a_payload_is_found_by_its_pointer() -> None:
    payload = {"a/b": {"~x": [10, {"": 20}]}}
    assert value_at(payload, step("a/b") + step("~x") + step(1) + step("")) == 20
    assert step("a/b") + step("~x") == "/a~1b/~0x"
    assert value_at(payload, "") is payload
    for wrong in (
        "/a",
        "/a~1b/~0x/2",
        "/a~1b/~0x/-1",
        "/a~1b/~0x/0/0",
        "a/b",
        "/a~1b/~0x/\u0661",
        "/a~1b/~0x/" + "9" * 50,
    ):
        with pytest.raises(NoSuchPlace):
            value_at(payload, wrong)


def test_a_sparkline_is_as_high_as_its_largest_number_and_shows_the_smallest() -> None:
    line = sparkline([0, 0, 9, 0, 900, 900])
    assert line is not None
    assert (line.path, line.largest, line.total) == ("M0 18V18h8V16h4V18h4V0h8V18z", 900, 1809)
    assert sparkline([0] * 24) is None
    assert sparkline([]) is None
