"""What does the page of one account show beside its figures? Closed doors, what people did, what its circuit went through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2s
from typing import Any

from flask import request, url_for
from flask_babel import gettext

from dlq_console.errors import StoreUnavailable
from dlq_console.health.series import RANGES
from dlq_console.health.values import AccountHealth, Why, Word
from dlq_console.store import people, queries
from dlq_console.store.accounts import is_known
from dlq_console.store.people import Permission
from dlq_console.store.queries import ClosedDoor
from dlq_console.store.queries.acts import ActFilter, acts
from dlq_console.store.queries.circuits import account_moves
from dlq_console.web import circuit_words, doors, looks
from dlq_console.web.acts_told import Told, told
from dlq_console.web.auth import person
from dlq_console.web.boards import Board, account_board
from dlq_console.web.bulk_sight import addresses
from dlq_console.web.chart_asking import USUAL
from dlq_console.web.display import Stamp, current
from dlq_console.web.health_seen import Seen
from dlq_console.web.hub import store
from dlq_console.web.series_seen import Asked

#: Acts of people, and changes of the circuit, that are shown; the newest.
MOST = 15


@dataclass(frozen=True, slots=True)
class Move:
    """A change of the account's circuit: when, from what to what, why, and who brought it about."""

    stamp: Stamp
    before: str
    after: str
    why: str
    by: str


def unseen_account(name: str, seen: Seen, *, believed: bool = False) -> AccountHealth | None:
    """An account that is not among those with work, a door or dead letters; None where nobody knows it.

    Args:
        name: of the account.
        seen: the state as it is known.
        believed: whether somebody has found out already that there is such an account.
    """
    if not believed and not is_known(store(), name):
        return None
    since = seen.health.as_of or current().now
    if seen.health.as_of is None:
        return AccountHealth(account=name, word=Word.UNKNOWN, since=since, why=Why.NOT_SEEN)
    return AccountHealth(account=name, word=Word.OK, since=since, why=Why.FINE)


def account_parts(name: str) -> dict[str, Any]:
    """What the page shows besides its figures; empty while the database is away."""
    parts = {"ways": _ways(name, may_audit=people.may(person(), Permission.AUDIT)), "board": None}
    parts |= _nothing_closed()
    try:
        return parts | {"board": _board(name)} | _by_doors(name)
    except StoreUnavailable:
        return parts


def changed_parts(name: str, shown: str) -> dict[str, Any] | None:
    """The same of what changes with the doors; None where the page shows them as they are, or nobody knows.

    Args:
        name: of the account.
        shown: which doors the page shows, as `account_parts` has named them.
    """
    try:
        closed = looks.kept("closed doors", lambda: _by_account(queries.closed_doors(store())))
        return None if shown == _named(closed.get(name, ())) else _by_doors(name)
    except StoreUnavailable:
        return None


def _nothing_closed() -> dict[str, Any]:
    return {
        "doors": [], "acts": [], "moves": [], "may_pause": False, "shown": "", "pauses": doors.pauses(),
        "may_audit": people.may(person(), Permission.AUDIT),
    }  # fmt: skip


def _by_doors(name: str) -> dict[str, Any]:
    """What changes only when a door does, or somebody does something."""
    asking, parts = person(), _nothing_closed()
    closed = _by_account(queries.closed_doors(store(), accounts=(name,))).get(name, ())
    shut = any(door.type == "account" and door.cause in ("auth", "pause") for door in closed)
    return parts | {
        "doors": doors.rows(closed, asking),
        "acts": _acts(name) if parts["may_audit"] else [],
        "moves": _moves(name),
        "may_pause": people.may(asking, Permission.PAUSE_ACCOUNT) and not shut,
        "shown": _named(closed),
    }


def _by_account(closed: Sequence[ClosedDoor]) -> dict[str, tuple[ClosedDoor, ...]]:
    """Those of accounts and their kinds, by account."""
    found: dict[str, tuple[ClosedDoor, ...]] = {}
    for door in closed:
        if door.account is not None:
            found[door.account] = (*found.get(door.account, ()), door)
    return found


def _named(closed: Sequence[ClosedDoor]) -> str:
    """A name that changes when what is closed does, or why, or until when."""
    whole = [(one.name, one.cause, one.until, one.by, one.reason) for one in closed]
    return blake2s(repr(whole).encode(), digest_size=8).hexdigest()


def _board(name: str) -> Board:
    range_ = RANGES.get(request.args.get("range", USUAL), RANGES[USUAL])
    return account_board(Asked(range_, name))


def _acts(name: str) -> list[Told]:
    asking = person()
    page = acts(
        store(),
        ActFilter(account=name, people=True),
        limit=MOST,
        accounts=asking.accounts,
        asking=asking.name,
    )
    runs = addresses(entry.bulk_id for entry in page.items)
    return [told(entry, runs) for entry in page.items]


def _moves(name: str) -> list[Move]:
    shown = current()
    return [
        Move(
            shown.stamp(one.at, exact=True),
            _state_word(one.before),
            _state_word(one.after),
            circuit_words.why(one.why),
            one.by,
        )
        for one in account_moves(store(), name)[:MOST]
    ]


def _state_word(state: str) -> str:
    """Where a circuit stands, in the words of the glossary."""
    return {
        "closed": gettext("closed (normal)"),
        "open": gettext("open (blocking calls)"),
        "half_open": gettext("half-open (testing)"),
        "forced_open": gettext("held open"),
        "forced_closed": gettext("held closed"),
    }.get(state, state)


def _ways(name: str, *, may_audit: bool) -> list[tuple[str, str]]:
    ways = [
        (url_for("triage.dead_letters", account=name), gettext("Dead letters")),
        (url_for("triage.events", account=name), gettext("All events")),
        (url_for("groups.index", account=name), gettext("Groups")),
        (url_for("charts.lag", account=name), gettext("Lag")),
    ]
    return [*ways, (url_for("audit.index", account=name), gettext("Audit"))] if may_audit else ways
