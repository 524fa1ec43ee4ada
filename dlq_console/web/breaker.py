"""How does one circuit stand, how did it get there, and what may a person do about it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from flask import abort, url_for
from flask_babel import gettext, ngettext

from dlq_console.errors import PayloadRefused
from dlq_console.health.openings import Openings
from dlq_console.health.openings import openings as counted
from dlq_console.health.series import RANGES
from dlq_console.health.spelling import COUNTS
from dlq_console.hub import services
from dlq_console.hub.door_figures import breaker_figures
from dlq_console.hub.doors import circuit, circuit_scope
from dlq_console.hub.shown_names import PREFIX, hub_name
from dlq_console.store import accounts, people, queries, snapshots
from dlq_console.store.people import Permission
from dlq_console.store.queries.circuits import MOST_MOVES, Move, circuit_moves
from dlq_console.store.queries.runs import run_times
from dlq_console.web import breakers, circuit_words, display, doubts, looks, pulse, series_seen
from dlq_console.web.auth import person
from dlq_console.web.breakers import Circuit, moment_of
from dlq_console.web.health_words import capped
from dlq_console.web.hub import hub, store
from dlq_console.web.lists import with_query
from dlq_console.web.series_seen import Asked
from dlq_console.web.space import within

#: For how long a circuit may be held from the page, in minutes; 0 until a person resets it.
HOLDS = (0, 15, 60, 240, 1440)
#: Changes that the page shows, and bytes of each reason.
SHOWN_MOVES, REASON = 50, 400


@dataclass(frozen=True, slots=True)
class Logged:
    """One change as the page tells it."""

    at: datetime
    tone: str
    shape: str
    sentence: str
    by: str


def one(name: str) -> dict[str, Any]:
    """What the page of a circuit shows; 404 for one that there is not, or that this person may not see."""
    found, away = _found(name)
    moves, complete = _moves(found)
    return {
        **_doubt(found),
        "name": found.name,
        "what": _what(found),
        "look": circuit_words.look(found.state),
        "computed": circuit_words.look(found.figures["computed"]),
        "held": breakers.held(found.figures),
        "override": found.figures["override"],
        "override_since": moment_of(found.figures["override"]["at"]) if found.figures["override"] else None,
        "since": moment_of(found.figures["since"]) if found.figures["since"] else None,
        "until": breakers.until(found),
        "away": away,
        "facts": [*_standing(found), *_measured(found)],
        "refused": _refused(found),
        "opened": [
            (gettext("last 24 h"), _opened(found, moves, timedelta(days=1), complete=complete)),
            (gettext("last 30 days"), _opened(found, moves, timedelta(days=30), complete=complete)),
        ],
        "settings": circuit_words.settings(found.figures["settings"]) if found.figures["settings"] else [],
        "log": [_logged(move) for move in moves[:SHOWN_MOVES]],
        "log_left": max(0, len(moves) - SHOWN_MOVES),
        "may_force": people.may(person(), Permission.FORCE_BREAKER),
        "holds": [(minutes, _hold_word(minutes)) for minutes in HOLDS],
        "account": found.scope.account if found.scope else None,
        "poll": with_query(url_for("health.breaker_part"), [("name", found.name)]),
    }


def _doubt(found: Circuit) -> dict[str, Any]:
    """Since when nothing moves it; of a service that is told with how old its figures are."""
    if found.scope is None:
        return {"answer": "", "doubtful": False, "unseen": ""}
    return doubts.standing("", breakers.unmoved())


def _found(name: str) -> tuple[Circuit, str]:
    """The circuit of that name as it stands now, and what must be said of its figures."""
    service = _service(name)
    if service is not None:
        return service
    try:
        scope = circuit_scope(store(), name)
        door, now = circuit(store(), name)
    except PayloadRefused:
        abort(404)
    known = not door.is_new or (
        scope.account is not None and accounts.is_known(store(), scope.account, scope.kind)
    )
    if not known or not queries.concerns(scope, person().accounts):
        abort(404)
    figures = breaker_figures(door, now, hub().known_kinds())
    return Circuit(name=hub_name(scope.name), scope=scope, figures=figures, opened=0), ""


def _service(name: str) -> tuple[Circuit, str] | None:
    """The circuit of a service as it was read last, if that is meant and may be seen."""
    if person().accounts is not None:
        return None
    found, snapshot = breakers.visible(person())
    known = next((one for one in found if one.name == name and one.scope is None), None)
    if known is None and name.startswith(PREFIX):
        # Also by this name where it has a shorter one.
        own = name.removeprefix(PREFIX)
        known = next((one for one in found if one.name == own and one.scope is None), None)
    return None if known is None else (known, breakers.away(snapshot))


def _what(found: Circuit) -> str:
    if found.scope is not None and found.scope.kind:
        return gettext(
            "kind %(kind)s of account %(account)s", kind=found.scope.kind, account=found.scope.account
        )
    return circuit_words.scope_word(found.figures["scope"])


def _moves(found: Circuit) -> tuple[Sequence[Move], bool]:
    """Its changes of the last 30 days, newest first, and whether these are all."""
    if found.scope is not None:
        moves = circuit_moves(store(), found.scope)
        return moves, len(moves) < MOST_MOVES
    history = found.figures["history"]
    told = [Move(moment_of(one["at"]), one["before"], one["after"], one["why"], one["by"]) for one in history]
    return told, len(told) < services.KEPT_CHANGES


def _opened(found: Circuit, moves: Sequence[Move], span: timedelta, *, complete: bool) -> str:
    now = display.current().now
    told = counted(
        [(move.at, move.before, move.after) for move in moves],
        state=found.figures["computed"] if not moves else moves[0].after,
        start=now - span,
        now=now,
        complete=complete,
    )
    return _opening_words(told)


def _opening_words(told: Openings) -> str:
    if not told.number and not told.seconds and told.complete:
        return gettext("never open")
    number = ngettext("opened %(num)d time", "opened %(num)d times", told.number)
    words = gettext("%(number)s, open for %(span)s", number=number, span=display.current().span(told.seconds))
    return words if told.complete else gettext("at least: %(what)s", what=words)


def _standing(found: Circuit) -> list[tuple[str, str]]:
    """What decides what it does next."""
    figures, shown, settings = found.figures, display.current(), found.figures["settings"]
    window = figures["window"]
    rows = []
    if window is not None:
        span = circuit_words.span_of(window["last_calls"], window["last_seconds"])
        calls = max(1, window["calls"])
        rows.append((gettext("Calls in the window"), f"{shown.number(window['calls'])} ({span})"))
        rows.append((gettext("Failed"), _share(window["failures"], calls, span)))
        rows.append((gettext("Slow"), _share(window["slow"], calls, span)))
    elif figures["computed"] != "closed":
        rows.append((gettext("Failures in a row"), gettext("not counted while it is not closed")))
    elif settings:
        allowed = settings["failure_threshold"]
        rows.append(
            (
                gettext("Failures in a row"),
                gettext("%(number)s of %(most)s", number=figures["failures"], most=allowed),
            )
        )
    else:
        rows.append((gettext("Failures in a row"), shown.number(figures["failures"])))
    if figures["last_failure"]:
        rows.append((gettext("Last failure"), str(figures["last_failure"])))
    if figures["computed"] != "closed":
        rows += _probing(figures, settings)
    return rows


def _probing(figures: Mapping[str, Any], settings: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    shown = display.current()
    probes, good = shown.number(figures["probes"]), shown.number(figures["probe_successes"])
    if settings:
        probes = gettext("%(number)s of %(most)s", number=probes, most=settings["half_open_max_calls"])
        good = gettext("%(number)s of %(most)s", number=good, most=settings["success_threshold"])
    return [
        (gettext("Probes under way"), probes),
        (gettext("Probes that succeeded"), good),
        (gettext("Probes that failed"), shown.number(figures["reopened"])),
    ]


def _share(part: int, whole: int, span: str) -> str:
    return f"{display.current().percent(part / whole)} ({display.current().number(part)}; {span})"


def _measured(found: Circuit) -> list[tuple[str, str]]:
    """How long runs took and how many went wrong."""
    shown = display.current()
    if found.scope is None or found.scope.account is None:
        return [(gettext("Run time"), gettext("not measured: guards keep no times"))]
    times = run_times(store(), found.scope.account, found.scope.kind or "")
    if times is None:
        return [(gettext("Run time, last hour"), gettext("no run was counted"))]
    spans = " / ".join(shown.span(value) for value in (times.p50, times.p95, times.p99))
    return [
        (gettext("Run time p50 / p95 / p99, last hour"), spans),
        (
            gettext("Failed or died, last hour"),
            gettext(
                "%(share)s of %(number)s",
                share=shown.percent(times.bad / times.tried if times.tried else 0),
                number=ngettext("%(num)d run", "%(num)d runs", times.tried),
            ),
        ),
    ]


def _refused(found: Circuit) -> list[tuple[str, str]]:
    """What was not let through, by cause."""
    shown, counts = display.current(), found.figures["counts"]
    if counts is None:
        none = (gettext("By the circuit"), gettext("none: events wait and spend no attempt"))
        return [none, *_kept_waiting(found)]
    own = found.name.removeprefix(PREFIX)
    room = (snapshots.look(store(), services.BULKHEADS).values.get(own) or {}).get("counts") or {}
    rows = [(gettext("By the circuit"), shown.number(counts.get("short_circuits", 0)))]
    if room:
        rows += [
            (gettext("No slot was free"), shown.number(room.get("rejected", 0))),
            (gettext("No slot in time"), shown.number(room.get("timeouts", 0))),
        ]
    calls = [
        (gettext("Calls"), shown.number(counts.get("calls", 0))),
        (gettext("Succeeded"), shown.number(counts.get("successes", 0))),
        (gettext("Failed"), shown.number(counts.get("failures", 0))),
        (gettext("Proved nothing"), shown.number(counts.get("ignored", 0))),
    ]
    return [*rows, *calls]


def _kept_waiting(found: Circuit) -> list[tuple[str, str]]:
    """What waits instead of being refused; that is known of whole accounts only, whatever closed their doors."""
    if found.scope is None or found.scope.type != "account":
        return []
    seen, rows = pulse.known_now(), []
    known = seen.by_name.get(found.scope.name)
    counted_at = looks.kept("counted", lambda: snapshots.taken_last(store(), COUNTS)).taken_at
    if known is not None and counted_at is not None and not seen.is_doubtful:
        waiting = display.current().count(capped(known, "paused"))
        when = display.current().moment(counted_at)
        rows.append((gettext("Events that waited behind its door at %(time)s", time=when), waiting))
    lost = series_seen.seen(Asked(RANGES["24h"], found.scope.name)).columns.get("lost_closed", ())
    span = display.current().span(sum(one for one in lost if one is not None))
    return [*rows, (gettext("Waited behind its door, last 24 h, all events together"), span)]


def _logged(move: Move) -> Logged:
    looks = circuit_words.look(move.after)
    told = within(circuit_words.why(move.why), REASON)
    if move.before == move.after:
        # A person's decision: what is computed goes on underneath.
        return Logged(move.at, "info", "diamond", told, move.by)
    sentence = gettext(
        "%(before)s → %(after)s: %(why)s",
        before=circuit_words.state_word(move.before),
        after=circuit_words.state_word(move.after),
        why=told,
    )
    return Logged(move.at, looks.tone, looks.shape, sentence, move.by)


def _hold_word(minutes: int) -> str:
    if not minutes:
        return gettext("until a person resets it")
    return gettext("for %(span)s", span=display.current().span(minutes * 60))
