"""Which events must wait for which: the lanes.

A lane is `<account>|<ordering key>`, or `<account>|*` for the serial lane of an account, which takes all of its kinds.
Its events are run one at a time in the order of their places, across retries and crashes; the place of an event is its
id, or that of the event whose edited payload it holds. Whatever waits behind an earlier
event is `blocked`, so the claim never reads it: 100,000 waiting events of one lane cost it one step.

An event is let go (`promote`) in the transaction that ends the one before it. Two such transactions at once may each see
the other's event still in the way, and an event may be inserted as blocked by somebody who could not see yet that the
lane had become free; so a periodic step (`promote_waiting`) looks for lanes that nothing holds up any more.

The lanes are safe without any of this: the claim itself takes only the first open event of a lane, and a unique index
allows one running event in each.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping

from dlq_console.store.events import read_time
from dlq_console.store.states import Reason
from dlq_console.store.store import Store

#: What follows when an event of a lane dies: the lane stops until a person acts, or the rest goes on.
BLOCK, SKIP = "block", "skip"
#: Waiting events of a lane that are counted one by one.
COUNT_CAP = 1_000
#: Most lanes that are listed at once.
MOST_LISTED = 500

_OPEN = "{one}.status IN ('pending', 'failed', 'running')"
_BLOCKED = "{one}.status = 'blocked'"
#: Of the index by the start of what has ended.
_ENDED = "{one}.status IN ('done', 'dead', 'discarded')"
_STOPS = f"{{one}}.status = 'dead' AND {{one}}.on_dead = '{BLOCK}'"


def place(one: str) -> str:
    """SQL: the place in its lane of the event `one`, an alias; as its indexes spell it."""
    return f"coalesce({one}.place, {one}.id)"


def _first(column: str, condition: str, lane: str) -> str:
    """SQL: `column` of the first event of `lane`, an SQL expression. Sorted as its index is, so that no other one is read."""
    return (
        f"(SELECT {column} FROM {{event}} o WHERE o.lane = {lane} AND {condition.replace('{one}', 'o')}"
        f" ORDER BY o.lane, {place('o')} LIMIT 1)"
    )


def _first_place(condition: str, lane: str) -> str:
    return _first(place("o"), condition, lane)


#: Whether the event `e` is the one of its lane that may run. Ready events that are not are few: those that several
#: transactions put into an empty lane at once, and old ones that were reprocessed while a later one ran.
IS_FIRST = f"""(e.lane IS NULL OR (NOT EXISTS (
    SELECT 1 FROM {{event}} o WHERE o.lane = e.lane AND {_OPEN.replace("{one}", "o")}
        AND o.id <> e.id AND ({place("o")} < {place("e")} OR o.status = 'running')
) AND coalesce({_first_place(_STOPS, "e.lane")}, {place("e")}) >= {place("e")}))"""


def is_held_up(lane: str) -> str:
    """SQL: whether an event that comes into `lane`, an SQL expression, has to wait."""
    held = " OR ".join(f"{_first('o.id', each, lane)} IS NOT NULL" for each in (_OPEN, _BLOCKED, _STOPS))
    return f"({lane} IS NOT NULL AND ({held}))"


def head_of(lane: str) -> str:
    """SQL: the id of the event behind which `lane`, an SQL expression, waits: what stopped it, or the first open one."""
    opened, stopped = _first_place(_OPEN, lane), _first_place(_STOPS, lane)
    return (
        f"CASE WHEN {stopped} IS NULL OR {opened} < {stopped} THEN {_first('o.id', _OPEN, lane)}"
        f" ELSE {_first('o.id', _STOPS, lane)} END"
    )


#: The wait in the lane is no wait for a worker: what was due meanwhile is due now, and has as long as it had before.
PROMOTE = f"""
UPDATE {{event}} SET status = 'pending', updated_at = {{now}},
    due_at = {{greatest}}(due_at, {{now}}), next_run_at = {{greatest}}(next_run_at, {{now}}),
    give_up_at = CASE WHEN give_up_at = expires_at THEN expires_at
        ELSE {{least}}(coalesce(expires_at, {{greatest}}(due_at, {{now}}) + (give_up_at - due_at)),
            {{greatest}}(due_at, {{now}}) + (give_up_at - due_at)) END
WHERE status = 'blocked' AND id = {_first("o.id", _BLOCKED, ":lane")}
    AND {_first("o.id", _OPEN, ":lane")} IS NULL
    AND coalesce({_first_place(_STOPS, ":lane")}, place, id) >= coalesce(place, id)
"""


def later_started(one: str, since: str) -> str:
    """SQL: whether an event behind `one`, an alias, in its lane has been started since a moment, an SQL expression."""
    behind = f"o.lane = {one}.lane AND o.started_at >= {since} AND {place('o')} > {place(one)}"
    return f"""({one}.lane IS NOT NULL AND (
    EXISTS (SELECT 1 FROM {{event}} o WHERE {_OPEN.replace("{one}", "o")} AND {behind})
    OR EXISTS (SELECT 1 FROM {{event}} o WHERE {_ENDED.replace("{one}", "o")} AND {behind})))"""


_BEHIND = f"""
SELECT o.id FROM {{event}} e JOIN {{event}} o ON o.lane = e.lane AND {place("o")} > {place("e")}
WHERE e.id = :id AND {_OPEN.replace("{one}", "o")} AND o.status <> 'running' ORDER BY o.id
"""


def _make_way(behind: str) -> str:
    # The guard is spelled so that no index of ready events fits it, see `dispatching.py`.
    return f"""
UPDATE {{event}} SET status = 'blocked', dispatched_at = NULL, dispatch_count = 0, updated_at = {{now}}
WHERE status || '' IN ('pending', 'failed') AND id IN ({behind})
"""


MAKE_WAY_SQLITE = _make_way(_BEHIND)
MAKE_WAY_POSTGRES = _make_way(f"{_BEHIND} FOR NO KEY UPDATE OF o")


def _walk(name: str, condition: str) -> str:
    """A walk from lane to lane through the index: one step each, however many events wait in them."""
    step = f"SELECT o.lane FROM {{event}} o WHERE {condition.replace('{one}', 'o')} %s ORDER BY o.lane, {place('o')} LIMIT 1"
    return f"""{name}(lane) AS (
    SELECT ({step % ""}) UNION ALL
    SELECT ({step % "AND o.lane > w.lane"}) FROM {name} w WHERE w.lane IS NOT NULL
)"""


FREE_LANES = f"""
WITH RECURSIVE {_walk("waiting", _BLOCKED)}
SELECT w.lane FROM waiting w WHERE w.lane IS NOT NULL AND {_first("o.id", _OPEN, "w.lane")} IS NULL
    AND ({_first("o.id", _STOPS, "w.lane")} IS NULL
        OR {_first_place(_STOPS, "w.lane")} > {_first_place(_BLOCKED, "w.lane")})
"""

_DESCRIBED = f"""
SELECT l.lane, l.head, e.kind, e.account, e.entity_id, e.status, e.reason, e.next_run_at, e.finished_at,
    (SELECT count(*) FROM (
        SELECT 1 FROM {{event}} b WHERE b.status = 'blocked' AND b.lane = l.lane LIMIT {COUNT_CAP + 1}
    ) AS counted) AS waiting
FROM lanes l LEFT JOIN {{event}} e ON e.id = l.head ORDER BY l.lane LIMIT {MOST_LISTED}
"""
LANES = f"""
WITH RECURSIVE {_walk("waiting", _BLOCKED)}, {_walk("stopped", _STOPS)}, lanes AS (
    SELECT lane, {head_of("l.lane")} AS head FROM (
        SELECT lane FROM waiting WHERE lane IS NOT NULL UNION SELECT lane FROM stopped WHERE lane IS NOT NULL
    ) AS l
) {_DESCRIBED}
"""
ONE_LANE = f"""
WITH lanes AS (SELECT n.lane, {head_of("n.lane")} AS head FROM (SELECT CAST(:lane AS text) AS lane) AS n) {_DESCRIBED}
"""
#: Every event that stops the lane stays dead and stops it no longer.
LET_GO_DEAD = f"""
UPDATE {{event}} SET on_dead = '{SKIP}', updated_at = {{now}}
WHERE lane = :lane AND status = 'dead' AND on_dead = '{BLOCK}' RETURNING id
"""
#: The head is between two attempts: it goes to the dead letters, where somebody sees it.
LET_GO_FAILED = f"""
UPDATE {{event}} SET on_dead = '{SKIP}', status = 'dead', reason = '{Reason.EXHAUSTED}', finished_at = {{now}},
    updated_at = {{now}}, lease_epoch = lease_epoch + 1, died_with = fingerprint,
    died_again = CASE WHEN cycle = 0 THEN NULL WHEN died_with = fingerprint THEN 'same' ELSE 'different' END
WHERE id = :id AND status = 'failed' RETURNING id
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """A lane in which events wait, or which has stopped.

    Attributes:
        lane: its name.
        waiting: how many events are blocked in it, counted up to `COUNT_CAP` + 1.
        head: id of the event they wait behind; None in the moment before the next one is let go.
        status: the status of the head: a dead one has stopped the lane.
        next_run_at: when the head may run again.
        finished_at: since when the head is dead.
    """

    lane: str
    waiting: int
    head: int | None
    kind: str | None
    account: str | None
    entity_id: str | None
    status: str | None
    reason: str | None
    next_run_at: datetime | None
    finished_at: datetime | None


def promote(store: Store, connection: Connection, lane: str) -> bool:
    """Let the next event of a lane go if nothing stands in its way (any more); whether there was one."""
    return connection.execute(store.statement(PROMOTE), {"lane": lane}).rowcount == 1


def make_way(store: Store, connection: Connection, event_id: int) -> None:
    """Let what stands ready behind an event in its lane wait for it, because it comes back to its place before them.

    What was just about to be claimed is waited for, so whoever asks afterwards sees what has been started.
    """
    template = MAKE_WAY_SQLITE if store.sqlite else MAKE_WAY_POSTGRES
    connection.execute(store.statement(template), {"id": event_id})


def promote_waiting(store: Store) -> int:
    """Let go what nothing holds up any more, in all lanes; returns how many events."""
    with store.read() as connection:
        free = list(connection.execute(store.statement(FREE_LANES)).scalars())
    promoted = 0
    for lane in free:
        with store.single_statement() as connection:
            promoted += promote(store, connection, lane)
    return promoted


def lanes(store: Store) -> list[Lane]:
    """Lanes in which something waits or which have stopped, by name; the first MOST_LISTED of them."""
    with store.read() as connection:
        rows = connection.execute(store.statement(LANES)).mappings().all()
    return [_lane(row) for row in rows]


def lane(store: Store, name: str) -> Lane:
    """One lane as it stands; without a head where nothing is in it that could be waited for."""
    with store.read() as connection:
        return lane_in(store, connection, name)


def lane_in(store: Store, connection: Connection, name: str) -> Lane:
    """`lane` as the transaction of `connection` sees it."""
    return _lane(connection.execute(store.statement(ONE_LANE), {"lane": name}).mappings().one())


def _lane(row: RowMapping) -> Lane:
    values: dict[str, Any] = dict(row)
    for name in ("next_run_at", "finished_at"):
        values[name] = read_time(values[name])
    return Lane(**values)


def let_go(store: Store, connection: Connection, lane: str, head_id: int, head_status: str) -> list[int]:
    """Let a lane go on without its head, which is dead or between two attempts.

    Returns:
        The events that stop it no longer, with a dead head all dead ones of the lane; none when that has changed meanwhile.
    """
    template = LET_GO_DEAD if head_status == "dead" else LET_GO_FAILED
    asked = {"lane": lane, "id": head_id}
    passed = sorted(connection.execute(store.statement(template), asked).scalars())
    if passed:
        promote(store, connection, lane)
    return passed
