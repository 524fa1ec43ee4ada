"""Which part of a filter names few events? Those are looked at one by one, whatever the list is sorted by.

What a person has on the desk, what bears a tag, what has a value in a configured field, what runs right now: usually a few
hundred among millions, and anywhere among them. Walking the list from its beginning would give up long before it finds
them. Whether they really are few is asked before each use; where they are not, the filter is checked row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dlq_console.store.filters import NOBODY, EventFilter
from dlq_console.store.states import READY, Status

#: That many or more are not few.
FEW_LIMIT = 5_000
#: Rows of dead letters with a text in their error are found by an index of their own, so more of them are still few.
TEXT_LIMIT = 10_001

#: Texts with fewer letters or digits in a row cannot be found by the index of texts.
_SHORTEST_RUN = 3

_SNOOZED = "snoozed_until > {now}"
_BY_ASSIGNEE = "assignee DESC, event_id DESC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Few:
    """Events that are usually few.

    Attributes:
        members: SQL from FROM on that yields them, the event as `event_id`, or as rows of the event table; in the
            order of an index, because together with a limit that makes every engine choose it.
        check: the same asked of one event of a list.
        of_event: whether the members are rows of the event table.
        outside: whether the list is made of all others.
        limit: that many or more are not few.
    """

    members: str
    check: str
    of_event: bool = False
    outside: bool = False
    limit: int = FEW_LIMIT

    @property
    def counted(self) -> str:
        """SQL for one figure: how many, `limit` at most."""
        return f"(SELECT count(*) FROM (SELECT 1 {self.members} LIMIT {self.limit}) AS few)"

    @property
    def left_out(self) -> str:
        """SQL of the ids of all of them, where they were few a moment ago."""
        return f"SELECT event_id {self.members} LIMIT {2 * self.limit}"

    def source(self, columns: str, *, sqlite: bool) -> str:
        """SQL of a table of these events, one look-up in the event table for each."""
        if self.of_event:
            return f"(SELECT {columns} {self.members} LIMIT {self.limit}) AS few"
        ids = f"(SELECT DISTINCT event_id FROM (SELECT event_id {self.members} LIMIT {self.limit}) AS few_ids) AS ids"
        # Both forms leave the engine no choice but to begin with the few.
        if sqlite:
            return f"(SELECT {columns} FROM {ids} CROSS JOIN {{event}} ON id = ids.event_id) AS few"
        one = "SELECT * FROM {event} WHERE id = ids.event_id LIMIT 1"
        return f"(SELECT {columns} FROM {ids} CROSS JOIN LATERAL ({one}) AS one) AS few"


def asked_for(flt: EventFilter, statuses: tuple[Status, ...] | None) -> tuple[list[Few], dict[str, Any]]:
    """What a filter asks for that may be few, the most telling first, and the parameters of all of it."""
    few, parameters = _on_the_desk(flt)
    if flt.tag:
        few.insert(0, _noted("tag", "tag IN :tag_list", "tag, event_id"))
        parameters["tag_list"] = list(flt.tag)
    if statuses == (Status.RUNNING,):
        few.append(_of_event("status = 'running'"))
    elif statuses and set(statuses) <= set(READY):
        few.append(_of_event("status IN ('pending', 'failed')"))
    return few, parameters


def field(number: int, spellings: int = 1) -> Few:
    """Events with one of some values in the configured field `field_path_<number>`.

    The values are `field_value_<number>_0` and so on, as many as there are `spellings`.
    """
    path = f"path = :field_path_{number}"
    values = [f":field_value_{number}_{place}" for place in range(spellings)]
    by_value = [
        _noted("event_field", f"value = {value} AND {path}", "value, path, event_id") for value in values
    ]
    if spellings == 1:
        return by_value[0]
    # One walk along the index for each, because a list of values has no order there.
    walks = [
        f"SELECT * FROM (SELECT event_id {one.members} LIMIT {2 * FEW_LIMIT}) AS walk_{place}"
        for place, one in enumerate(by_value)
    ]
    any_of = _noted("event_field", f"value IN ({', '.join(values)}) AND {path}", "value")
    return Few(members=f"FROM ({' UNION ALL '.join(walks)}) AS spelled", check=any_of.check)


def dead_with_text(condition: str) -> Few:
    """Dead events in whose error a text stands."""
    return Few(
        members=f"FROM {{event}} WHERE status = 'dead' AND {condition}",
        check=condition,
        of_event=True,
        limit=TEXT_LIMIT,
    )


def is_found_by_index(text: str) -> bool:
    """Whether the index of texts can find it: it knows runs of three letters or digits."""
    run = 0
    for character in text:
        run = run + 1 if character.isalnum() else 0
        if run == _SHORTEST_RUN:
            return True
    return False


def _on_the_desk(flt: EventFilter) -> tuple[list[Few], dict[str, Any]]:
    few, parameters = [], {}
    if flt.assignee == NOBODY:
        few.append(_noted("desk", "assignee IS NOT NULL", _BY_ASSIGNEE, outside=True))
    elif flt.assignee:
        few.append(_noted("desk", "assignee = :assignee", _BY_ASSIGNEE))
        parameters["assignee"] = flt.assignee
    if flt.snoozed:
        few.append(_noted("desk", _SNOOZED, "snoozed_until", outside=flt.snoozed == "hide"))
    return few, parameters


def _noted(table: str, condition: str, order: str, *, outside: bool = False) -> Few:
    """What a row of another table says about events, in the order of an index."""
    # Not as EXISTS: PostgreSQL may read the whole table for that, to know the answer for every event.
    one = f"(SELECT 1 FROM {{{table}}} noted WHERE noted.event_id = id AND {condition} LIMIT 1)"
    return Few(
        members=f"FROM {{{table}}} WHERE {condition} ORDER BY {order}",
        check=f"{one} IS NULL" if outside else f"{one} IS NOT NULL",
        outside=outside,
    )


def _of_event(condition: str) -> Few:
    return Few(members=f"FROM {{event}} WHERE {condition}", check="1 = 1", of_event=True)
