"""Which worker runs which event: the fair, atomic claim.

Two looks. `ready_accounts` finds, without touching any event, the accounts that have something due, an open door and
room; it walks from account to account through the index, so 100,000 due rows of a closed account cost one step.
`claim` then takes events of the accounts it is given by one guarded UPDATE that repeats every condition.

A running row is the slot it takes. Where an account has a set limit, its scope row is locked while the running rows
are counted, so the limit is never overstepped; where it has none it may take three quarters of all slots, which needs
no lock because overstepping a fair share by one for a moment harms nobody.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from dlq_console.store.claim_sql import (
    ACCOUNT_OPEN,
    BULK,
    GUARDED,
    IS_FIRST,
    LIVE,
    METHOD_AND_PROVIDER_OPEN,
    NOW_DUE,
    READY,
    RETRY,
    RUNNING,
    TAKE,
    UNLIMITED,
    room_sql,
)
from dlq_console.store.cursors import MAX_ID
from dlq_console.store.direct import execute
from dlq_console.store.events import EVENT_COLUMNS, Event, event_from_row
from dlq_console.store.guarded_claims import claim_guarded, claim_one_guarded
from dlq_console.store.presence import SLOTS
from dlq_console.store.store import Store

Answer = TypeVar("Answer")

#: Events at the head of each line of an account among which those with limits are looked for.
NEAR_THE_HEAD = 20
#: Accounts that one look for ready ones yields where all are served.
MOST_ACCOUNTS = 50
#: Without any announced worker (`run_due` in one process) there is no share to divide.
_ROOM = room_sql(":slots", without_workers=1_000_000)


#: Sorting by the index's own columns leaves the planner one sensible way in, whatever its statistics say: the walk
#: over the accounts must never read the finished events of an account.
_INDEX_ORDER = "ORDER BY e.account, e.priority, e.next_run_at LIMIT 1"


def _earliest(priority: int) -> str:
    return (
        f"(SELECT e.next_run_at FROM {{event}} e WHERE {READY} AND e.account = a.account "
        f"AND e.priority = {priority} {_INDEX_ORDER})"
    )


def _limited_near_the_head(priority: int) -> str:
    head = (
        f"SELECT e.kind FROM {{event}} e WHERE {READY} AND e.account = a.account AND e.priority = {priority} "
        f"ORDER BY e.account, e.priority, e.next_run_at, e.id LIMIT {NEAR_THE_HEAD}"
    )
    return f"EXISTS (SELECT 1 FROM ({head}) AS h JOIN {{kind}} k ON k.name = h.kind AND k.limits IS NOT NULL)"


#: Whether an event of a kind with limits stands near the head of the account's line; none is claimed plainly.
_LIMITED_AHEAD = f"""
(EXISTS (SELECT 1 FROM {{kind}} WHERE limits IS NOT NULL)
    AND ({" OR ".join(_limited_near_the_head(priority) for priority in (LIVE, RETRY, BULK))}))
"""
_SCOPE = "FROM {scope} s WHERE s.type = 'account' AND s.name = a.account"
#: No join: the walk below stops at the limit only if nothing needs all of its rows at once.
_READY_NAMES = f"""
SELECT a.account, (SELECT s.max_running {_SCOPE}) AS max_running, {RUNNING} AS running, {SLOTS} AS slots,
    ({GUARDED} OR {_LIMITED_AHEAD}) AS guarded
FROM names a WHERE a.account IS NOT NULL AND NOT EXISTS (SELECT 1 {_SCOPE} AND NOT {ACCOUNT_OPEN})
    AND ({" OR ".join(f"{_earliest(priority)} <= {{now}}" for priority in (LIVE, RETRY, BULK))})
LIMIT :most
"""
READY_ACCOUNTS = f"""
WITH RECURSIVE names(account) AS (
    SELECT (SELECT e.account FROM {{event}} e WHERE {READY} AND e.account > :after {_INDEX_ORDER})
    UNION ALL
    SELECT (
        SELECT e.account FROM {{event}} e WHERE {READY} AND e.account > o.account {_INDEX_ORDER}
    ) FROM names o WHERE o.account IS NOT NULL
) {_READY_NAMES}
"""
READY_AMONG_POSTGRES = f"""
WITH names(account) AS (
    SELECT account FROM jsonb_array_elements_text(CAST(:only AS jsonb)) AS j(account) WHERE account > :after ORDER BY account
) {_READY_NAMES}
"""
READY_AMONG_SQLITE = f"""
WITH names(account) AS (SELECT value FROM json_each(:only) WHERE value > :after ORDER BY value) {_READY_NAMES}
"""

LOCK_LIMITED = """
SELECT s.name FROM {scope} s
WHERE s.type = 'account' AND s.name IN (SELECT jsonb_array_elements_text(CAST(:accounts AS jsonb)))
ORDER BY s.name FOR NO KEY UPDATE SKIP LOCKED
"""

_RETURNING = ", ".join(EVENT_COLUMNS)

#: Due rows of one account `a`, in the order in which they are served. LIMIT stands in for the room left.
_CANDIDATES = f"""
    SELECT e.id FROM {{event}} e
    WHERE {READY} AND e.account = a.account AND e.priority = p.priority AND {NOW_DUE}
        AND {METHOD_AND_PROVIDER_OPEN} AND {UNLIMITED} AND {IS_FIRST}
    ORDER BY e.account, e.priority, e.next_run_at, e.id LIMIT a.room FOR NO KEY UPDATE SKIP LOCKED
"""

CLAIM_POSTGRES = f"""
WITH asked AS (
    SELECT account, rank FROM jsonb_array_elements_text(CAST(:accounts AS jsonb)) WITH ORDINALITY AS j(account, rank)
), a AS MATERIALIZED (
    SELECT a.account, a.rank, greatest(0, least(CAST(:share AS integer), {_ROOM})) AS room
    FROM asked a LEFT JOIN {{scope}} s ON s.type = 'account' AND s.name = a.account
    WHERE {ACCOUNT_OPEN} AND NOT {GUARDED}
        -- A limit that was set since the first look was not locked.
        AND (s.max_running IS NULL OR jsonb_exists(CAST(:locked AS jsonb), a.account))
), picked AS MATERIALIZED (
    SELECT x.id FROM a CROSS JOIN LATERAL (
        SELECT c.id, p.priority
        FROM (VALUES ({LIVE}), ({RETRY}), ({BULK})) AS p(priority) CROSS JOIN LATERAL ({_CANDIDATES}) AS c
        ORDER BY p.priority LIMIT a.room
    ) AS x
    ORDER BY x.priority, a.rank LIMIT :limit
)
UPDATE {{event}} AS e SET {TAKE}
FROM picked WHERE e.id = picked.id AND {READY}
RETURNING {", ".join(f"e.{name}" for name in EVENT_COLUMNS)}
"""

ROOM_SQLITE = f"""
SELECT {{least}}(:share, {_ROOM}) AS room
FROM (SELECT :account AS account) a LEFT JOIN {{scope}} s ON s.type = 'account' AND s.name = a.account
WHERE {ACCOUNT_OPEN} AND NOT {GUARDED}
"""
CLAIM_SQLITE = f"""
UPDATE {{event}} AS e SET {TAKE}
WHERE {READY} AND e.id IN (
    SELECT e.id FROM {{event}} e
    WHERE {READY} AND e.account = :account AND e.priority = :priority AND {NOW_DUE}
        AND {METHOD_AND_PROVIDER_OPEN} AND {UNLIMITED} AND {IS_FIRST}
    ORDER BY e.account, e.priority, e.next_run_at, e.id LIMIT :room
)
RETURNING {_RETURNING}
"""

_ROOM_OF_EVENT = _ROOM.replace("a.account", "e.account")
CLAIM_ONE = f"""
UPDATE {{event}} AS e SET {TAKE}
WHERE e.id = :id AND (CAST(:epoch AS bigint) IS NULL OR e.lease_epoch = CAST(:epoch AS bigint))
    AND {READY} AND {NOW_DUE} AND {METHOD_AND_PROVIDER_OPEN} AND {UNLIMITED}
    AND {IS_FIRST} AND EXISTS (
    SELECT 1 FROM (SELECT 1 AS one) o LEFT JOIN {{scope}} s ON s.type = 'account' AND s.name = e.account
    WHERE {ACCOUNT_OPEN} AND NOT {GUARDED.replace("a.account", "e.account")} AND {_ROOM_OF_EVENT} > 0 AND (s.max_running IS NULL OR :locked = 1)
)
RETURNING {", ".join(f"{name}" for name in EVENT_COLUMNS)}
"""
LOCK_ACCOUNT_OF = """
SELECT s.name FROM {scope} s JOIN {event} e ON e.account = s.name
WHERE e.id = :id AND s.type = 'account' AND s.max_running IS NOT NULL FOR NO KEY UPDATE OF s
"""
GUARDED_ACCOUNT_OF = f"""
SELECT e.account FROM {{event}} e WHERE e.id = :id AND {READY}
    AND ({GUARDED.replace("a.account", "e.account")} OR NOT {UNLIMITED})
"""
IS_READY = f"SELECT 1 FROM {{event}} e WHERE e.id = :id AND {READY}"


@dataclass(frozen=True, slots=True)
class ReadyAccount:
    """An account that has something due and an open door.

    Attributes:
        account: its name.
        max_running: its set limit; None where it takes the default share.
        running: how many of its events run at this moment.
        slots: how many events all living workers together can run.
        guarded: whether it must be claimed from with care.
    """

    account: str
    max_running: int | None
    running: int
    slots: int
    guarded: bool = False

    @property
    def limit(self) -> int:
        """How many of its events may run at once."""
        if self.max_running is not None:
            return self.max_running
        return fair_share(self.slots)

    @property
    def room(self) -> int:
        """How many more may start now."""
        return max(0, self.limit - self.running)


def fair_share(slots: int) -> int:
    """How many events of an account without a limit of its own may run at once, where so many slots serve it."""
    return max(1, slots * 3 // 4)


class ReadyRound:
    """Goes round the accounts from which something could be claimed, a bounded number at each look.

    Args:
        store: the store.
        only: the accounts this worker serves; None for all.
        most: how many accounts one look yields at most. Nobody can serve all of 1,000 accounts at once, and finding
            them all would cost more than serving some.
    """

    def __init__(self, store: Store, only: Sequence[str] | None = None, most: int = MOST_ACCOUNTS) -> None:
        self._store = store
        self._only = only
        self._most = most
        self._after = ""

    def look(self) -> list[ReadyAccount]:
        """The next ready accounts, those with the fewest running events first; all of them where they are few."""
        found = self._find(self._after, self._most)
        if self._after and len(found) < self._most:
            seen = {ready.account for ready in found}
            found += [ready for ready in self._find("", self._most - len(found)) if ready.account not in seen]
        self._after = found[-1].account if len(found) == self._most else ""
        random.shuffle(found)  # equals take turns
        return sorted(found, key=lambda ready: ready.running)

    def _find(self, after: str, most: int) -> list[ReadyAccount]:
        parameters: dict[str, object] = {"after": after, "most": most}
        template = READY_ACCOUNTS
        if self._only is not None:
            parameters["only"] = json.dumps(list(self._only))
            template = READY_AMONG_SQLITE if self._store.sqlite else READY_AMONG_POSTGRES
        with self._store.read() as connection:
            rows = connection.execute(self._store.statement(template), parameters).all()
        return [
            ReadyAccount(row.account, row.max_running, row.running, row.slots, bool(row.guarded))
            for row in rows
        ]


def ready_accounts(store: Store, only: Sequence[str] | None = None) -> list[ReadyAccount]:
    """All accounts from which something could be claimed now, those with the fewest running events first.

    Args:
        store: the store.
        only: the accounts this worker serves; None for all.
    """
    return ReadyRound(store, only, most=MAX_ID).look()


def claim(
    store: Store, accounts: Sequence[ReadyAccount], *, worker: str, limit: int, lease_seconds: float = 30
) -> list[Event]:
    """Take up to `limit` due events of `accounts`, spread evenly over them; each is this worker's alone.

    Every event taken counts as an attempt and carries a new `lease_epoch`, which all later writes must name.
    """
    taken: list[Event] = []
    guarded = [ready for ready in accounts if ready.guarded]
    accounts = [ready for ready in accounts if not ready.guarded]
    # As many accounts as there are free slots are enough as a rule; looking at all of them costs more the more they
    # are. The others are asked only when those had less to give than they seemed to.
    for asked in (accounts[:limit], accounts[limit:]):
        if asked and len(taken) < limit:
            look = partial(_claim_from, store, asked, worker, limit - len(taken), lease_seconds)
            taken += _unless_overtaken(look) or []
    for ready in guarded:
        if len(taken) < limit:
            careful = partial(
                claim_guarded,
                store,
                ready.account,
                worker=worker,
                limit=limit - len(taken),
                slots=ready.slots,
                lease_seconds=lease_seconds,
            )
            taken += _unless_overtaken(careful) or []
    # RETURNING promises no order.
    return sorted(taken, key=lambda event: (event.due_at, event.id))


def _unless_overtaken(claim_now: Callable[[], Answer]) -> Answer | None:
    """`claim_now`, once more if another worker began an event of the same lane in the same moment."""
    for _ in range(2):
        try:
            return claim_now()
        except (
            IntegrityError
        ):  # the unique index of what runs in a lane; this statement writes no other unique value
            continue
    return None


def _claim_from(
    store: Store, accounts: Sequence[ReadyAccount], worker: str, limit: int, lease_seconds: float
) -> list[Event]:
    parameters = {
        "worker": worker,
        "lease_seconds": lease_seconds,
        "limit": limit,
        "share": -(-limit // len(accounts)),
        "slots": accounts[0].slots,
    }
    if store.sqlite:
        return _claim_sqlite(store, accounts, parameters)
    limited = [ready.account for ready in accounts if ready.max_running is not None]
    free = [ready.account for ready in accounts if ready.max_running is None]
    if not limited:
        with store.single_statement() as connection:
            return _claim_postgres(store, connection, [], free, parameters)
    with store.write() as connection:
        lock = store.statement(LOCK_LIMITED)
        locked = [*connection.execute(lock, {"accounts": json.dumps(limited)}).scalars()]
        return _claim_postgres(store, connection, locked, free, parameters)


def claim_any(
    store: Store, *, worker: str, limit: int, lease_seconds: float = 30, only: Sequence[str] | None = None
) -> list[Event]:
    """Look for ready accounts and claim from them: both looks in one call."""
    ready = ready_accounts(store, only)
    return claim(store, ready, worker=worker, limit=limit, lease_seconds=lease_seconds)


def claim_one(
    store: Store,
    event_id: int,
    *,
    worker: str,
    slots: int = 0,
    lease_seconds: float = 30,
    epoch: int | None = None,
) -> Event | None:
    """Take one event by its id; None when it is not due, not ready, or its account is closed or has no room.

    With an `epoch`, also None when the event has been claimed or acted upon since it had that one.
    """
    if not 0 < event_id <= MAX_ID:
        return None
    parameters: dict[str, object] = {
        "id": event_id,
        "epoch": epoch,
        "worker": worker,
        "slots": slots,
        "lease_seconds": lease_seconds,
    }
    plain = _claim_one_sqlite if store.sqlite else _claim_one_postgres
    event = _unless_overtaken(partial(plain, store, parameters))
    account = None if event else _guarded_account_of(store, event_id)
    if account is None:
        return event
    careful = partial(
        claim_one_guarded,
        store,
        account,
        event_id,
        epoch=epoch,
        worker=worker,
        slots=slots,
        lease_seconds=lease_seconds,
    )
    return _unless_overtaken(careful)


def _guarded_account_of(store: Store, event_id: int) -> str | None:
    with store.read() as connection:
        found: str | None = connection.execute(store.statement(GUARDED_ACCOUNT_OF), {"id": event_id}).scalar()
    return found


def _claim_one_sqlite(store: Store, parameters: dict[str, object]) -> Event | None:
    with store.write() as connection:
        return _one(store, connection, parameters | {"locked": 1})


def _claim_one_postgres(store: Store, parameters: dict[str, object]) -> Event | None:
    with store.single_statement() as connection:
        event = _one(store, connection, parameters | {"locked": 0})
    if event is not None:
        return event
    with store.write() as connection:
        if connection.execute(store.statement(LOCK_ACCOUNT_OF), {"id": parameters["id"]}).first() is None:
            return None
        return _one(store, connection, parameters | {"locked": 1})


def is_ready(store: Store, event_id: int) -> bool:
    """Whether an event still waits to be run, now or later."""
    with store.read() as connection:
        return connection.execute(store.statement(IS_READY), {"id": event_id}).first() is not None


def _one(store: Store, connection: Connection, parameters: dict[str, object]) -> Event | None:
    if not store.sqlite:
        return next(iter(_claimed(store, connection, CLAIM_ONE, parameters)), None)
    row = connection.execute(store.statement(CLAIM_ONE), parameters).mappings().first()
    return None if row is None else event_from_row(row, store.queue(row["account"], row["lane"]))


def _claimed(
    store: Store, connection: Connection, template: str, parameters: dict[str, object]
) -> list[Event]:
    rows = [
        dict(zip(EVENT_COLUMNS, row, strict=True)) for row in execute(store, connection, template, parameters)
    ]
    return [event_from_row(row, store.queue(row["account"], row["lane"])) for row in rows]


def _claim_postgres(
    store: Store, connection: Connection, locked: list[str], free: list[str], parameters: dict[str, object]
) -> list[Event]:
    asked = parameters | {"accounts": json.dumps([*locked, *free]), "locked": json.dumps(locked)}
    return _claimed(store, connection, CLAIM_POSTGRES, asked)


def _claim_sqlite(
    store: Store, accounts: Sequence[ReadyAccount], parameters: dict[str, object]
) -> list[Event]:
    taken: list[Event] = []
    limit = int(str(parameters["limit"]))
    with store.write() as connection:
        for ready in accounts:
            asked = parameters | {"account": ready.account}
            room = min(
                limit - len(taken), connection.execute(store.statement(ROOM_SQLITE), asked).scalar() or 0
            )
            for priority in (LIVE, RETRY, BULK):
                if room < 1:
                    break
                asked |= {"priority": priority, "room": room}
                rows = connection.execute(store.statement(CLAIM_SQLITE), asked).mappings().all()
                taken += [event_from_row(row, store.queue(row["account"], row["lane"])) for row in rows]
                room -= len(rows)
    return taken
