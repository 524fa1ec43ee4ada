"""How does a run put something on the desk of its events? As a person does; what a person could not do is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from dlq_console.errors import PayloadRefused
from dlq_console.store import desk
from dlq_console.store.acts import Record
from dlq_console.store.bulk.items import Refusal
from dlq_console.store.bulk.runs import BulkRun
from dlq_console.store.desk import MAX_TAGS, Assignment
from dlq_console.store.people.roles import Permission
from dlq_console.store.queries.routes import Accounts
from dlq_console.store.store import Store

#: What each audit row says of the run besides who and what.
_TOLD = "SELECT id AS bulk_id, note, via, address FROM {bulk_run} WHERE id = :id"

#: Of a preview: cause -> SQL that holds for an event `e` which is refused for it, and its parameters.
Obstacles = dict[Refusal, tuple[str, dict[str, Any]]]

_OF_SOMEBODY_ELSE = "EXISTS (SELECT 1 FROM {desk} d WHERE d.event_id = e.id AND d.assignee <> :holder)"
_FULL_OF_TAGS = "(SELECT count(*) FROM {tag} t WHERE t.event_id = e.id AND t.tag NOT IN :added_list) > :room"


def put_on_desk(
    store: Store, connection: Connection, run: BulkRun, accounts: Mapping[int, str]
) -> dict[int, Refusal]:
    """Assign, tag or snooze events; returns those that are refused, each with its cause.

    Args:
        store: the store.
        connection: the transaction that holds the run.
        run: says what, and with which arguments.
        accounts: event id -> its account.
    """
    told: Record = dict(connection.execute(store.statement(_TOLD), {"id": run.id}).mappings().one())
    if run.action == Permission.ASSIGN:
        return _assign(store, connection, run, accounts, told)
    if run.action == Permission.TAG:
        return _tag(store, connection, run, list(accounts), told)
    until = read_moment(run.arguments["until"])
    done = desk.snooze(store, connection, list(accounts), until, actor=run.actor, told=told)
    return {event_id: Refusal.NOT_DEAD for event_id in accounts if event_id not in done}


def assignment_of(arguments: Mapping[str, Any]) -> Assignment:
    """Whom the arguments of an `assign` name, and until when."""
    return Assignment(arguments["to"], read_moment(arguments["due"]))


def takes_away(arguments: Mapping[str, Any]) -> bool:
    """Whether an `assign` also concerns what somebody else sees to. Naming nobody means exactly that."""
    return arguments["to"] is None or bool(arguments["reassign"])


def read_moment(text: str | None) -> datetime | None:
    """A moment as arguments keep it."""
    return None if text is None else datetime.fromisoformat(text)


def obstacles(action: str, arguments: Mapping[str, Any]) -> Obstacles:
    """What keeps an event from being assigned or tagged, beside what its account says."""
    if action == Permission.ASSIGN and not takes_away(arguments):
        return {Refusal.ASSIGNED: (_OF_SOMEBODY_ELSE, {"holder": arguments["to"]})}
    if action == Permission.TAG:
        tags = arguments["tags"]
        values = {"added_list": tags, "room": MAX_TAGS - len(tags)}
        return {Refusal.TOO_MANY_TAGS: (_FULL_OF_TAGS, values)}
    return {}


def sight_of(store: Store, connection: Connection, name: str | None) -> Accounts:
    """The accounts whose events may be given to somebody; none where that person may not log in any more."""
    if name is None:
        return None
    try:
        return desk.accounts_of(store, connection, name)
    except PayloadRefused:
        return ()


def _assign(
    store: Store, connection: Connection, run: BulkRun, accounts: Mapping[int, str], told: Record
) -> dict[int, Refusal]:
    to = assignment_of(run.arguments)
    sight = sight_of(store, connection, to.assignee)
    refused = {
        event_id: Refusal.NOT_ALLOWED
        for event_id, account in accounts.items()
        if sight is not None and account not in sight
    }
    allowed = [event_id for event_id in accounts if event_id not in refused]
    if not takes_away(run.arguments):
        held = desk.held_by(store, connection, allowed)
        theirs = [event_id for event_id, holder in held.items() if holder not in (None, to.assignee)]
        refused |= dict.fromkeys(theirs, Refusal.ASSIGNED)
    free = [event_id for event_id in allowed if event_id not in refused]
    desk.assign(store, connection, free, to, actor=run.actor, told=told)
    return refused


def _tag(
    store: Store, connection: Connection, run: BulkRun, event_ids: Sequence[int], told: Record
) -> dict[int, Refusal]:
    added = run.arguments["tags"]
    tags = desk.tags_of(store, connection, event_ids)
    full = [event_id for event_id, has in tags.items() if len(has | {*added}) > MAX_TAGS]
    room = [event_id for event_id in event_ids if event_id not in set(full)]
    desk.change_tags(store, connection, room, add=added, remove=(), actor=run.actor, told=told)
    return dict.fromkeys(full, Refusal.TOO_MANY_TAGS)
