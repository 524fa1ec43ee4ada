"""What does the page of one account show beside its figures? Closed doors, what people did, what its circuit went through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import request, url_for
from flask_babel import gettext

from dlq_console.errors import StoreUnavailable
from dlq_console.health.series import RANGES
from dlq_console.health.values import AccountHealth, Why, Word
from dlq_console.store import people, queries
from dlq_console.store.accounts import is_known
from dlq_console.store.people import Permission
from dlq_console.store.queries.acts import ActFilter, acts
from dlq_console.store.queries.circuits import account_moves
from dlq_console.web import circuit_words, doors
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
    """What changes only when somebody does something; all of it empty while the database is away."""
    asking = person()
    may_audit = people.may(asking, Permission.AUDIT)
    parts: dict[str, Any] = {
        "board": None, "doors": [], "acts": [], "moves": [], "may_pause": False, "may_audit": may_audit,
        "pauses": doors.pauses(), "ways": _ways(name, may_audit=may_audit),
    }  # fmt: skip
    try:
        closed = [door for door in queries.closed_doors(store(), accounts=(name,)) if door.account == name]
        shut = any(door.type == "account" and door.cause in ("auth", "pause") for door in closed)
        return parts | {
            "board": _board(name),
            "doors": doors.rows(closed, asking),
            "acts": _acts(name) if may_audit else [],
            "moves": _moves(name),
            "may_pause": people.may(asking, Permission.PAUSE_ACCOUNT) and not shut,
        }
    except StoreUnavailable:
        return parts


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
