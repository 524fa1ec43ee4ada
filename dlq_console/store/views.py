"""Which filters do people keep under a name, for themselves or for everybody?

A view is a list and a query string, checked when it is kept, so that it can always be read. A name is unique among those of
one owner. Only the owner changes a view; an administrator of all accounts may change and delete those that everybody sees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, get_args
from unicodedata import category, normalize
from urllib.parse import parse_qs, urlencode

from sqlalchemy import Connection, RowMapping
from sqlalchemy.exc import IntegrityError

from dlq_console.errors import DLQError
from dlq_console.store import acts
from dlq_console.store.cursors import MAX_ID
from dlq_console.store.events import read_time
from dlq_console.store.filters import EventFilter, FilterError
from dlq_console.store.hidden_fields import refuse_hidden
from dlq_console.store.people.roles import Permission, Person, Role, may
from dlq_console.store.queries.counts import Count, count
from dlq_console.store.states import Status
from dlq_console.store.store import Store

#: The list that a view belongs to.
ViewPage = Literal["dead-letters", "events"]

#: Of one owner.
MAX_VIEWS = 50
#: Of everybody, in one answer.
MAX_SHARED = 200
MAX_NAME = 80
#: Characters of a query string.
MAX_FILTER = 10_000
#: Largest exact count of a view.
COUNT_CAP = 1_000

_COLUMNS = "id, name, owner, shared, page, filter, created_at, updated_at"
_MINE = f"SELECT {_COLUMNS} FROM {{saved_view}} WHERE owner = :owner ORDER BY name, id LIMIT {MAX_VIEWS}"
_SHARED = f"""
SELECT {_COLUMNS} FROM {{saved_view}} WHERE shared = 1 AND owner <> :owner ORDER BY name, owner, id LIMIT {MAX_SHARED}
"""
_ONE = f"""
SELECT {_COLUMNS} FROM {{saved_view}}
WHERE id = :id AND (owner = :owner OR shared = 1 OR CAST(:whoever AS integer) = 1)
"""
_SAVE = f"""
INSERT INTO {{saved_view}} (name, owner, shared, page, filter, created_at, updated_at)
SELECT CAST(:name AS text), CAST(:owner AS text), CAST(:shared AS integer), CAST(:page AS text), CAST(:filter AS text), {{now}}, {{now}}
WHERE (SELECT count(*) FROM {{saved_view}} WHERE owner = :owner) < {MAX_VIEWS}
ON CONFLICT (owner, name) DO NOTHING RETURNING {_COLUMNS}
"""
_NAMED = "SELECT 1 FROM {saved_view} WHERE owner = :owner AND name = :name"
#: Of one's own, or of everybody for whoever may.
_CHANGEABLE = "id = :id AND (owner = :owner OR (shared = 1 AND CAST(:admin AS integer) = 1))"
_CHANGE = f"""
UPDATE {{saved_view}} SET name = :name, shared = :shared, page = :page, filter = :filter, updated_at = {{now}}
WHERE {_CHANGEABLE} RETURNING {_COLUMNS}
"""
_DELETE = f"DELETE FROM {{saved_view}} WHERE {_CHANGEABLE} RETURNING {_COLUMNS}"


class ViewRefused(DLQError):
    """The view cannot be kept like this."""

    def __init__(self, message: str | None = None, *, cause: str = "") -> None:
        #: What is wrong, for whoever says it in another language.
        self.cause = cause
        super().__init__(message)


class ViewNameTaken(ViewRefused):
    """You have a view of this name already; choose another name."""

    def __init__(self) -> None:
        super().__init__(cause="taken")


class ViewNotFound(DLQError):
    """There is no such view, or it is not yours to change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A filter under a name. `filter` is its query string; times are aware, in UTC."""

    id: int
    name: str
    owner: str
    shared: bool
    page: ViewPage
    filter: str
    created_at: datetime
    updated_at: datetime

    @property
    def flt(self) -> EventFilter:
        """The filter itself."""
        return EventFilter.parse(parse_qs(self.filter))


def listed(store: Store, person: Person) -> list[View]:
    """The views of a person, and those that others have shared, by name."""
    with store.read() as connection:
        owner = {"owner": person.name}
        found = [
            *connection.execute(store.statement(_MINE), owner).mappings(),
            *connection.execute(store.statement(_SHARED), owner).mappings(),
        ]
    return [_view(row) for row in found]


def get(store: Store, view_id: int, person: Person | None) -> View:
    """One view that the person may use; None for who runs the hub and may use all.

    Raises:
        ViewNotFound: there is none.
    """
    if not 0 < view_id <= MAX_ID:
        raise ViewNotFound
    with store.read() as connection:
        asked = {"id": view_id, "owner": person.name if person else "", "whoever": int(person is None)}
        row = connection.execute(store.statement(_ONE), asked).mappings().one_or_none()
    if row is None:
        raise ViewNotFound
    return _view(row)


def filter_of(view: View) -> EventFilter:
    """What its list shows: dead letters are those that nobody has put off, unless the view says otherwise."""
    if view.page == "events":
        return view.flt
    statuses = view.flt.status or (Status.DEAD,)
    dead = tuple(status for status in statuses if status == Status.DEAD)
    # A list of dead letters that asks for other states shows nothing.
    return replace(view.flt, status=dead or statuses, snoozed=view.flt.snoozed or "hide")


def with_filter(view: View, asked: Mapping[str, Sequence[str]]) -> EventFilter:
    """What the list of a view shows where more is asked for: that replaces the same of the view.

    Raises:
        FilterError: a value cannot mean anything.
    """
    return EventFilter.parse({**filter_of(view).parameters(), **asked})


def counted(store: Store, view: View, person: Person) -> Count:
    """How many events its list has for this person now, up to COUNT_CAP."""
    if view.page == "dead-letters" and view.flt.status and Status.DEAD not in view.flt.status:
        return Count()
    return count(store, filter_of(view), accounts=person.accounts, cap=COUNT_CAP)


def save(
    store: Store,
    person: Person,
    *,
    name: str,
    filter_: str,
    shared: bool = False,
    page: str = "dead-letters",
) -> View:
    """Keep a filter under a name.

    Raises:
        ViewNameTaken: the person has one of this name.
        ViewRefused: the name or the list is none, there are too many, or the person may not share.
        FilterError: the filter cannot be understood, or would tell what is masked.
    """
    values = _checked(store, person, name, filter_, shared, page)

    def write(connection: Connection) -> View:
        row = connection.execute(store.statement(_SAVE), values).mappings().one_or_none()
        if row is None:
            _refuse(store, connection, values)
        assert row is not None, "refused before"  # noqa: S101 - tells the type checker
        return _told(store, connection, person, "save_view", _view(row))

    return store.transact(write)


def change(
    store: Store,
    view_id: int,
    person: Person,
    *,
    name: str,
    filter_: str,
    shared: bool,
    page: str = "dead-letters",
) -> View:
    """Change a view.

    Raises:
        ViewNotFound: there is none that the person may change.
        As `save`.
    """
    values = _checked(store, person, name, filter_, shared, page) | _who(view_id, person)

    def write(connection: Connection) -> View:
        row = connection.execute(store.statement(_CHANGE), values).mappings().one_or_none()
        if row is None:
            raise ViewNotFound
        return _told(store, connection, person, "change_view", _view(row))

    try:
        return store.transact(write)
    except IntegrityError:
        # The only rule that the values can break by now: one name, one view.
        raise ViewNameTaken from None


def delete(store: Store, view_id: int, person: Person) -> None:
    """Forget a view.

    Raises:
        ViewNotFound: there is none that the person may delete.
    """

    def write(connection: Connection) -> None:
        row = connection.execute(store.statement(_DELETE), _who(view_id, person)).mappings().one_or_none()
        if row is None:
            raise ViewNotFound
        _told(store, connection, person, "delete_view", _view(row))

    store.transact(write)


def may_change_shared(person: Person) -> bool:
    """Whether somebody may change views that others have shared, which concern people of other accounts as well."""
    return person.role is Role.ADMIN and person.accounts is None


def _who(view_id: int, person: Person) -> dict[str, Any]:
    if not 0 < view_id <= MAX_ID:
        raise ViewNotFound
    return {"id": view_id, "owner": person.name, "admin": int(may_change_shared(person))}


def _checked(
    store: Store, person: Person, name: str, filter_: str, shared: bool, page: str
) -> dict[str, Any]:
    if shared and not may(person, Permission.SHARE_VIEW):
        raise ViewRefused(f"shared: the role {person.role} may keep views for itself only.", cause="role")
    if page not in get_args(ViewPage):
        raise ViewRefused(f"page: choose one of {', '.join(get_args(ViewPage))}.")
    flt = _clean_filter(filter_)
    refuse_hidden(store, flt, person)
    return {
        "name": _clean_name(name),
        "owner": person.name,
        "shared": int(shared),
        "page": page,
        "filter": urlencode(flt.query()),
    }


def _clean_name(name: str) -> str:
    cleaned = normalize("NFC", name[: MAX_NAME * 4]).strip()
    if not 0 < len(cleaned) <= MAX_NAME or any(category(one).startswith("C") for one in cleaned):
        raise ViewRefused(f"name: write 1 to {MAX_NAME} printable characters.", cause="name")
    return cleaned


def _clean_filter(text: str) -> EventFilter:
    if len(text) > MAX_FILTER:
        raise FilterError(
            f"filter: {len(text):,} characters are more than the limit of {MAX_FILTER:,}; shorten it."
        )
    try:
        values = parse_qs(text.removeprefix("?"), max_num_fields=200)
    except ValueError:
        raise FilterError("filter: it has more than 200 parameters; use fewer.") from None
    return EventFilter.parse_all(values)


def _refuse(store: Store, connection: Connection, values: dict[str, Any]) -> None:
    if connection.execute(store.statement(_NAMED), values).first() is not None:
        raise ViewNameTaken
    raise ViewRefused(f"There are {MAX_VIEWS} views of yours already; delete one first.", cause="too_many")


def _told(store: Store, connection: Connection, person: Person, action: str, view: View) -> View:
    acts.record(
        store,
        connection,
        actor=person.name,
        action=action,
        subject=f"view:{view.name}",
        after="shared" if view.shared else "private",
        filter_=view.filter,
    )
    return view


def _view(row: RowMapping) -> View:
    times = {name: read_time(row[name]) for name in ("created_at", "updated_at")}
    return View(**{**row, **times, "shared": bool(row["shared"])})
