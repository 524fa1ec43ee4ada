"""With which arguments is something put on the desk of many events? Checked as for one event, and as they are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from dlq_console.errors import PayloadRefused
from dlq_console.hub.desk import check_due, check_snooze, wanted_assignment
from dlq_console.store import desk
from dlq_console.store.bulk.runs import DESK_ACTIONS
from dlq_console.store.people.roles import Permission
from dlq_console.store.store import Store

#: As they come in, and as a run keeps them: by name, as JSON.
Arguments = Mapping[str, Any]


def check_arguments(store: Store, action: str, given: Arguments | None) -> dict[str, Any]:
    """The arguments of an action as a run keeps them.

    Args:
        store: knows who may log in.
        action: of a bulk run.
        given: for `assign` {to, due?, reassign?}: a name or None for nobody, a moment, and whether to take what somebody
            else has; for `tag` {tags}: those to add; for `snooze` {until}: a moment, or None to bring back. A moment is a
            datetime or ISO 8601 text, with a time zone. Other actions take none.

    Raises:
        PayloadRefused: one is missing, unknown or wrong.
    """
    arguments = {} if given is None else given
    if not isinstance(arguments, Mapping):
        raise PayloadRefused("arguments: write an object.")
    needed, optional = _NAMES.get(action, ((), ()))
    unknown = [str(name) for name in arguments if name not in (*needed, *optional)]
    if unknown:
        raise PayloadRefused(f"arguments: {action} takes no {unknown[0]:.80}.")
    for name in needed:
        if name not in arguments:
            raise PayloadRefused(f"arguments: {action} needs {name}.")
    return _CHECKS[action](store, arguments) if action in DESK_ACTIONS else {}


def _assign(store: Store, given: Arguments) -> dict[str, Any]:
    wanted = wanted_assignment(given["to"], _moment(given.get("due"), "due"))
    check_due(wanted.due_at)
    reassign = given.get("reassign", False)
    if not isinstance(reassign, bool):
        raise PayloadRefused("reassign: write true or false.")
    if wanted.assignee is not None:
        with store.read() as connection:
            desk.accounts_of(store, connection, wanted.assignee)
    return {"to": wanted.assignee, "due": _text(wanted.due_at), "reassign": reassign}


def _tag(_store: Store, given: Arguments) -> dict[str, Any]:
    if not isinstance(given["tags"], list | tuple):
        raise PayloadRefused('tags: send a list of texts, such as ["urgent"].')
    tags = desk.clean_tags(given["tags"])
    if not tags:
        raise PayloadRefused("tags: name at least one.")
    return {"tags": list(tags)}


def _snooze(_store: Store, given: Arguments) -> dict[str, Any]:
    until = _moment(given["until"], "until")
    check_snooze(until)
    return {"until": _text(until)}


_NAMES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    Permission.ASSIGN: (("to",), ("due", "reassign")),
    Permission.TAG: (("tags",), ()),
    Permission.SNOOZE: (("until",), ()),
}
_CHECKS: dict[str, Callable[[Store, Arguments], dict[str, Any]]] = {
    Permission.ASSIGN: _assign,
    Permission.TAG: _tag,
    Permission.SNOOZE: _snooze,
}


def _moment(value: object, name: str) -> datetime | None:
    if value is None:
        return None
    try:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        raise PayloadRefused(f"{name}: write a moment as ISO 8601 with a time zone.") from None
    if moment.tzinfo is None:
        raise PayloadRefused(f"{name}: it has no time zone.")
    return moment


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
