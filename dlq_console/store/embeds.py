"""Status frames that pages of others show: what may be seen in them, in which pages, and until when.

Their addresses hold a signed id and version (`hub/embed_tokens.py`); a signature alone could not be taken back, so the
row decides. A row is never deleted: once it is revoked its name is free again, and its version goes on from there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from unicodedata import normalize

from sqlalchemy import RowMapping

from dlq_console.store.at_once import write_at_once
from dlq_console.store.events import read_time
from dlq_console.store.framing import check_origins, usable_origins
from dlq_console.store.people.acts import SOMEBODY, note_act
from dlq_console.store.people.rows import known_time, read_accounts
from dlq_console.store.people.rules import NameTaken, NoSuchName, PeopleError, write_accounts
from dlq_console.store.store import Store

#: Characters of a name, which is what the frame calls itself.
MAX_NAME = 60
#: Days for which a frame can be seen, unless said otherwise, and at most.
DAYS, MOST_DAYS = 90, 3_650
#: Rows of one list; more frames than anybody keeps.
MOST = 1_000

_COLUMNS = (
    "id, name, accounts, origins, detail, version, created_by, created_at, expires_at, paused_at, revoked_at, "
    "last_seen_at, last_origin, hits, {now} AS now"
)
ADD = """
INSERT INTO {embed} (name, accounts, origins, detail, created_by, created_at, expires_at)
VALUES (:name, :accounts, :origins, :detail, :actor, {now}, {now} + {interval[seconds]})
ON CONFLICT (name) DO UPDATE SET
    accounts = excluded.accounts, origins = excluded.origins, detail = excluded.detail,
    created_by = excluded.created_by, created_at = excluded.created_at, expires_at = excluded.expires_at,
    version = {embed}.version + 1, paused_at = NULL, revoked_at = NULL, last_seen_at = NULL, last_origin = NULL, hits = 0
WHERE {embed}.revoked_at IS NOT NULL
RETURNING id
"""
ALL = f"SELECT {_COLUMNS} FROM {{embed}} ORDER BY revoked_at IS NOT NULL, name LIMIT {MOST}"
BY_ID = f"SELECT {_COLUMNS} FROM {{embed}} WHERE id = :id"
BY_NAME = f"SELECT {_COLUMNS} FROM {{embed}} WHERE name = :name"
#: Every act is upon the version that was seen: a form that is sent twice, or late, changes nothing.
_SEEN = "WHERE id = :id AND version = :version AND revoked_at IS NULL"
PAUSE = f"UPDATE {{embed}} SET paused_at = {{now}} {_SEEN} AND paused_at IS NULL"
RESUME = f"UPDATE {{embed}} SET paused_at = NULL {_SEEN} AND paused_at IS NOT NULL"
REVOKE = f"UPDATE {{embed}} SET revoked_at = {{now}} {_SEEN}"
ROTATE = f"UPDATE {{embed}} SET version = version + 1 {_SEEN}"
RENEW = f"UPDATE {{embed}} SET expires_at = {{now}} + {{interval[seconds]}} {_SEEN}"
USED = """
UPDATE {embed} SET hits = hits + :hits, last_seen_at = {now}, last_origin = coalesce(CAST(:origin AS text), last_origin)
WHERE id = :id
"""


class Detail(StrEnum):
    """How much a frame tells."""

    #: How it stands, and since when.
    STATUS = "status"
    #: Also how far behind it is, coarsely, and until when.
    FIGURES = "figures"


class Standing(StrEnum):
    """Whether a frame can be seen, and why not."""

    ACTIVE = "active"
    PAUSED = "paused"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Embed:
    """One frame.

    Attributes:
        accounts: which it tells of, by name; None for all together, without their names.
        origins: the pages that may frame it, as browsers spell their origins; empty: none may.
        version: which of its addresses holds.
        last_origin: the page that showed it last, where the browser said so.
        hits: how often it was asked for, without what was answered on the way.
        left: seconds until it expires, by the database's clock; not more than 0 once it has.
    """

    id: int
    name: str
    accounts: tuple[str, ...] | None
    origins: tuple[str, ...]
    detail: Detail
    version: int
    created_by: str
    created_at: datetime
    expires_at: datetime
    paused_at: datetime | None
    revoked_at: datetime | None
    last_seen_at: datetime | None
    last_origin: str | None
    hits: int
    left: float

    @property
    def standing(self) -> Standing:
        """Whether it could be seen when it was read."""
        if self.revoked_at is not None:
            return Standing.REVOKED
        if self.left <= 0:
            return Standing.EXPIRED
        return Standing.ACTIVE if self.paused_at is None else Standing.PAUSED


def add(
    store: Store,
    name: str,
    *,
    origins: Sequence[str],
    accounts: Sequence[str] | None = None,
    detail: str = Detail.STATUS,
    days: int = DAYS,
    actor: str = SOMEBODY,
) -> Embed:
    """Make a frame. `actor` did it. Without `origins` no page may frame it: only its badge and its own address work.

    Raises:
        NameTaken: there is one of this name that was not revoked.
        PeopleError: something cannot be used; the message says what to write.
    """
    known = check_origins(origins)
    parameters = {
        "name": clean_name(name),
        "accounts": write_accounts(accounts),
        "origins": json.dumps(known),
        "detail": _check_detail(detail),
        "seconds": _seconds(days),
        "actor": actor,
    }
    with store.write() as connection:
        made = connection.execute(store.statement(ADD), parameters).scalar()
        if made is None:
            raise NameTaken(
                f"The frame {parameters['name']} exists already; revoke it first or choose another name.",
                cause="frame_taken",
                name=parameters["name"],
            )
        about = f"{detail} for {', '.join(known) or 'no page'}, {days} days"
        note_act(store, connection, actor, "add_embed", f"embed:{parameters['name']}", about)
        row = connection.execute(store.statement(BY_ID), {"id": made}).mappings().one()
    return _read(row)


def list_embeds(store: Store) -> tuple[Embed, ...]:
    """Every frame by name, those that were revoked last."""
    with store.read() as connection:
        return tuple(_read(row) for row in connection.execute(store.statement(ALL)).mappings())


def find(store: Store, embed_id: int) -> Embed | None:
    """The frame of that id, whatever its standing; None where there is none."""
    with store.read() as connection:
        row = connection.execute(store.statement(BY_ID), {"id": embed_id}).mappings().one_or_none()
    return None if row is None else _read(row)


def named(store: Store, name: str) -> Embed:
    """The frame of that name, whatever its standing.

    Raises:
        NoSuchName: there is none.
        PeopleError: it is no name.
    """
    name = clean_name(name)
    with store.read() as connection:
        row = connection.execute(store.statement(BY_NAME), {"name": name}).mappings().one_or_none()
    if row is None:
        raise NoSuchName(f"There is no frame {name}.")
    return _read(row)


def pause(store: Store, embed: Embed, *, actor: str = SOMEBODY) -> bool:
    """Let nobody see it until it is resumed; False where it is not, or not any more, as `embed` says."""
    return _act(store, PAUSE, embed, actor, "pause_embed")


def resume(store: Store, embed: Embed, *, actor: str = SOMEBODY) -> bool:
    """Let it be seen again; False as with `pause`."""
    return _act(store, RESUME, embed, actor, "resume_embed")


def revoke(store: Store, embed: Embed, *, actor: str = SOMEBODY) -> bool:
    """Let nobody see it any more, for good; False where it is revoked already, or not as `embed` says."""
    return _act(store, REVOKE, embed, actor, "revoke_embed")


def rotate(store: Store, embed: Embed, *, actor: str = SOMEBODY) -> bool:
    """Replace its address: the old one is worth nothing any more; False as with `pause`."""
    return _act(store, ROTATE, embed, actor, "rotate_embed")


def renew(store: Store, embed: Embed, *, days: int = DAYS, actor: str = SOMEBODY) -> bool:
    """Let it be seen for so many days from now, at the same address; False as with `pause`.

    Raises:
        PeopleError: the number of days cannot be used.
    """
    return _act(store, RENEW, embed, actor, "renew_embed", f"{days} days", seconds=_seconds(days))


#: What can be done to a frame that is there, by its name.
ACTS: Mapping[str, Callable[..., bool]] = {
    "pause": pause,
    "resume": resume,
    "renew": renew,
    "rotate": rotate,
    "revoke": revoke,
}


def note_use(store: Store, embed_id: int, *, hits: int, origin: str | None) -> bool:
    """Write down that it was asked for `hits` times since it was last noted; False: not now, as somebody else writes."""
    parameters = {"id": embed_id, "hits": hits, "origin": origin}
    return write_at_once(store, store.statement(USED), parameters)


def clean_name(name: str) -> str:
    """A name as it is kept and shown.

    Raises:
        PeopleError: it is none; the message says what one is.
    """
    cleaned = normalize("NFC", name).strip()
    if not 0 < len(cleaned) <= MAX_NAME or not cleaned.isprintable():
        raise PeopleError(
            f"name: use 1 to {MAX_NAME} printable characters.", cause="frame_name", limit=MAX_NAME
        )
    return cleaned


def _act(
    store: Store, template: str, embed: Embed, actor: str, action: str, after: str | None = None, **more: Any
) -> bool:
    """One guarded change with its row of the audit."""
    parameters = {"id": embed.id, "version": embed.version} | more
    with store.write() as connection:
        if not connection.execute(store.statement(template), parameters).rowcount:
            return False
        note_act(store, connection, actor, action, f"embed:{embed.name}", after)
    return True


def _check_detail(detail: str) -> str:
    try:
        return Detail(detail)
    except ValueError as error:
        raise PeopleError(f"detail: choose one of {', '.join(Detail)}.", cause="frame_detail") from error


def _seconds(days: int) -> float:
    if not 1 <= days <= MOST_DAYS:
        raise PeopleError(f"expires: use 1 to {MOST_DAYS} days.", cause="frame_days", limit=MOST_DAYS)
    return days * 86_400.0


def _read(row: RowMapping) -> Embed:
    expires_at, now = known_time(row["expires_at"]), known_time(row["now"])
    return Embed(
        id=row["id"],
        name=row["name"],
        accounts=read_accounts(row["accounts"]),
        # Checked again: whatever stands in the row becomes part of a header.
        origins=usable_origins(json.loads(row["origins"])),
        detail=Detail(row["detail"]),
        version=row["version"],
        created_by=row["created_by"],
        created_at=known_time(row["created_at"]),
        expires_at=expires_at,
        paused_at=read_time(row["paused_at"]),
        revoked_at=read_time(row["revoked_at"]),
        last_seen_at=read_time(row["last_seen_at"]),
        last_origin=row["last_origin"],
        hits=row["hits"],
        left=(expires_at - now).total_seconds(),
    )
