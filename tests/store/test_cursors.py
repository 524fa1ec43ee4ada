"""Does a cursor come back as it went out, and is everything else refused?"""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlq_console.store.cursors import MAX_ID, Cursor, Direction, read_cursor
from dlq_console.store.filters import FilterError

DIRECTIONS: list[Direction] = ["next", "previous"]


def encoded(text: str) -> str:
    return urlsafe_b64encode(text.encode()).decode().rstrip("=")


@given(
    direction=st.sampled_from(DIRECTIONS),
    microseconds=st.integers(0, 253_402_300_799_999_999),
    id_=st.integers(0, MAX_ID),
)
def test_a_cursor_survives_the_way_through_an_address(
    direction: Direction, microseconds: int, id_: int
) -> None:
    cursor = Cursor("dead", direction, microseconds, id_)
    assert read_cursor(str(cursor), "dead") == cursor
    assert str(cursor).replace("-", "").replace("_", "").isalnum()


def test_without_a_cursor_a_list_begins_at_its_start() -> None:
    assert read_cursor("", "dead") is None


@pytest.mark.parametrize(
    "text",
    [
        "nonsense",
        "é",
        "A" * 5_000,
        encoded("1.dead.next.5"),
        encoded("2.dead.next.5.5"),
        encoded("1.dead.sideways.5.5"),
        encoded("1.dead.next.-5.5"),
        encoded("1.dead.next.5.5.5"),
        encoded("1.dead.next.05.5"),
        encoded("1.dead.next.\u0665.5"),
        encoded(f"1.dead.next.5.{MAX_ID + 1}"),
        encoded("1.dead.next.253402300800000000.5"),
        f"{encoded('1.dead.next.5.55')}==",
        f" {encoded('1.dead.next.5.55')}",
        f"{encoded('1.dead.next.5.55')[:-1]}~",
    ],
)
def test_a_damaged_cursor_is_refused(text: str) -> None:
    with pytest.raises(FilterError, match="cursor: it does not belong to this list"):
        read_cursor(text, "dead")


def test_a_cursor_of_another_list_is_refused() -> None:
    with pytest.raises(FilterError, match="cursor: it does not belong to this list"):
        read_cursor(str(Cursor("all", "next", 0, 5)), "dead")


@given(st.text(max_size=120))
def test_whatever_stands_there_is_a_cursor_or_refused(text: str) -> None:
    try:
        cursor = read_cursor(text, "dead")
    except FilterError:
        return
    assert cursor is None or str(cursor) == text
