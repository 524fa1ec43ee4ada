"""How do circuits stand? The list, those that are open first, and what a row of it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask import abort, request, url_for
from flask_babel import gettext, ngettext

from dlq_console.hub import services
from dlq_console.hub.door_figures import CircuitScope, breaker_figures
from dlq_console.hub.doors import circuits
from dlq_console.hub.shown_names import hub_name, shown_name
from dlq_console.store import queries, snapshots
from dlq_console.store.people import Person
from dlq_console.store.queries.circuits import openings
from dlq_console.store.snapshots import Snapshot
from dlq_console.web import circuit_words, display, looks, stretches
from dlq_console.web.auth import person
from dlq_console.web.doubts import standing
from dlq_console.web.hub import hub, store
from dlq_console.web.lists import with_query
from dlq_console.web.space import within
from dlq_console.web.words import Look

#: Bytes of a page for why one circuit stands as it does.
REASON = 180
#: What the list can be narrowed to.
STATES = ("open", "half_open", "closed", "forced", "unknown")
#: Seconds for which openings are not counted again.
COUNTED_FOR = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Circuit:
    """One circuit as it was looked at.

    Attributes:
        name: under which it is shown and acted upon.
        scope: of the hub's; None for a service.
        figures: as programs read them.
        opened: how often in the last 24 hours.
    """

    name: str
    scope: CircuitScope | None
    figures: Mapping[str, Any]
    opened: int

    @property
    def state(self) -> str:
        """Where it stands; `unknown` where nobody could look lately."""
        return "unknown" if self.figures["degraded"] else str(self.figures["state"])

    @property
    def badness(self) -> int:
        """What to sort by, the worst first."""
        if self.state == "closed":
            return 3 if self.figures["override"] else 4 if self.figures["failures"] else 5
        return ("open", "half_open", "unknown").index(self.state)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One circuit as a row of the list."""

    circuit: Circuit
    look: Look
    what: str
    address: str
    held: str
    failures: str
    until: str
    reason: str


def page() -> dict[str, Any]:
    """What the list shows for the filter of this request."""
    found, snapshot = visible(person())
    name, state, start = _asked()
    matching = [one for one in found if _matches(one, name, state)]
    rows = [_row(one) for one in matching[start : start + stretches.PER_PAGE]]
    return {
        **standing(_answer(found), unmoved()),
        "moment_of": moment_of,
        "state_word": circuit_words.state_word,
        "away": away(snapshot) if person().accounts is None else "",
        "rows": rows,
        "number": len(matching),
        "known": len(found),
        "name": name,
        "state": state,
        "states": [(one, _choice(one)) for one in STATES],
        "address": url_for("health.breakers"),
        **stretches.turns(lambda first: _part(name, state, first), start, len(matching)),
        "poll": _part(name, state, start, endpoint="health.breakers_part"),
    }


def visible(asking: Person) -> tuple[list[Circuit], Snapshot]:
    """Every circuit that somebody may see, the worst first, and the reading of services."""
    hubs, snapshot = looks.kept("breakers", _look)
    found = [one for one in hubs if one.scope and queries.concerns(one.scope, asking.accounts)]
    if asking.accounts is None:
        names = {one.scope.name for one in hubs if one.scope}
        found += [
            Circuit(name=shown_name(name, names), scope=None, figures=figures, opened=_opened(figures))
            for name, figures in services.last_seen(snapshot).items()
        ]
    return sorted(found, key=lambda one: (one.badness, one.name)), snapshot


def unmoved() -> str:
    """What is known of circuits where nobody works."""
    return gettext(
        "Circuits of accounts and kinds are read from the database and stand as shown; until a worker runs, none is tried."
    )


def away(snapshot: Snapshot) -> str:
    """What must be said of the figures of services; empty where they are as they stand."""
    if not snapshot.is_stale:
        return ""
    if snapshot.taken_at is None:
        # Nobody has looked: there may be no service at all, so only a place that is away is told.
        return gettext("What guards keep of services was never read.") if snapshot.away else ""
    if not snapshot.values and not snapshot.away:
        return ""
    since = display.current().moment(snapshot.taken_at)
    if snapshot.away:
        return gettext(
            "The state that guards share cannot be reached since %(time)s; what is shown of services is from then.",
            time=since,
        )
    return gettext(
        "Nobody has read the state of services since %(time)s; see that a worker is running.", time=since
    )


def _look() -> tuple[list[Circuit], Snapshot]:
    kinds = hub().known_kinds()
    opened = looks.kept("openings", lambda: openings(store()), seconds=COUNTED_FOR)
    hubs = [
        Circuit(
            name=hub_name(door.scope.name),
            scope=door.scope,
            figures=breaker_figures(door, now, kinds),
            opened=opened.get((door.scope.type, door.scope.name), 0),
        )
        for door, now in circuits(store())
    ]
    return hubs, snapshots.look(store(), services.BREAKERS)


def _opened(figures: Mapping[str, Any]) -> int:
    """Of a service, as far as its last transitions tell."""
    day_ago = display.current().now.timestamp() - 86_400
    return sum(
        moved["after"] == "open" != moved["before"] and moment_of(moved["at"]).timestamp() > day_ago
        for moved in figures["history"]
    )


def moment_of(value: datetime | str) -> datetime:
    """A time of the figures: as it is, or as a reading keeps it."""
    return value if isinstance(value, datetime) else datetime.fromisoformat(value)


def _asked() -> tuple[str, str, int]:
    name, start = stretches.asked()
    state = request.args.get("state", "")
    if state and state not in STATES:
        abort(400)
    return name, state, start


def _part(name: str, state: str, start: int, *, endpoint: str = "health.breakers") -> str:
    asked = [("q", name), ("state", state), ("start", str(start or ""))]
    return with_query(url_for(endpoint), [(key, value) for key, value in asked if value])


def _matches(one: Circuit, name: str, state: str) -> bool:
    if name.casefold() not in one.name.casefold():
        return False
    if state == "forced":
        return one.figures["override"] is not None
    return not state or one.state == state


def _choice(state: str) -> str:
    return gettext("held by a person") if state == "forced" else circuit_words.look(state).word


def _answer(found: Sequence[Circuit]) -> str:
    """Which circuits block calls, in one sentence."""
    if not found:
        return gettext("No circuit has anything to tell: no failure was counted, and nothing is held.")
    is_open = [one for one in found if one.state == "open"]
    probing = [one for one in found if one.state == "half_open"]
    unknown = [one for one in found if one.state == "unknown"]
    told = []
    if len(is_open) == 1:
        told.append(gettext("The circuit of %(name)s is open (blocking calls).", name=is_open[0].name))
    elif is_open:
        told.append(
            ngettext(
                "%(open)s of %(num)d circuit is open (blocking calls).",
                "%(open)s of %(num)d circuits are open (blocking calls).",
                len(found),
                open=display.current().number(len(is_open)),
            )
        )
    if probing:
        told.append(
            ngettext(
                "%(num)d circuit tries whether it may close.",
                "%(num)d circuits try whether they may close.",
                len(probing),
            )
        )
    if unknown:
        told.append(
            ngettext(
                "How %(num)d circuit stands is not known.",
                "How %(num)d circuits stand is not known.",
                len(unknown),
            )
        )
    return " ".join(told) or gettext("No circuit is open; every call goes through.")


def _row(one: Circuit) -> Row:
    return Row(
        circuit=one,
        look=circuit_words.look(one.state),
        what=one.scope.kind or ""
        if one.scope and one.scope.kind
        else circuit_words.scope_word(one.figures["scope"]),
        address=with_query(url_for("health.breaker"), [("name", one.name)]),
        held=held(one.figures),
        failures=failures(one.figures),
        until=until(one),
        reason=within(_reason(one.figures), REASON),
    )


def held(figures: Mapping[str, Any]) -> str:
    """Who holds it where, and how it would stand by itself; empty where nobody does."""
    override = figures["override"]
    if override is None:
        return ""
    words = {"who": override["actor"], "state": circuit_words.state_word(figures["computed"])}
    if override["position"] == "forced_open":
        return gettext("held open by %(who)s; by itself: %(state)s", **words)
    return gettext("held closed by %(who)s; by itself: %(state)s", **words)


def failures(figures: Mapping[str, Any]) -> str:
    """Failures of how many it takes to open, or the share of bad calls of its window."""
    shown, settings, window = display.current(), figures["settings"], figures["window"]
    if window is not None:
        if not window["calls"]:
            return shown.percent(0)
        return shown.percent(window["failures"] / window["calls"])
    if figures["computed"] != "closed":
        # They have done what they were counted for; probes decide now.
        return "–"
    number = shown.number(figures["failures"])
    return f"{number}/{shown.number(settings['failure_threshold'])}" if settings else number


def until(one: Circuit) -> str:
    """When it changes by itself, or who must change it."""
    figures, shown = one.figures, display.current()
    override = figures["override"]
    if override is not None:
        if override["until"] is None:
            return gettext("until a person resets it")
        return gettext("until %(time)s", time=shown.moment(moment_of(override["until"])))
    if one.state == "half_open":
        return ngettext("%(num)d probe under way", "%(num)d probes under way", figures["probes"])
    if one.state == "open" and figures["open_until"]:
        at = moment_of(figures["open_until"])
        return gettext("probe at %(time)s, %(distance)s", time=shown.moment(at), distance=shown.ago(at))
    return ""


def _reason(figures: Mapping[str, Any]) -> str:
    override, history = figures["override"], figures["history"]
    if override is not None and override["note"]:
        return str(override["note"])
    if figures["computed"] != "closed" and history:
        return circuit_words.why(history[0]["why"])
    if figures["failures"]:
        return gettext("last failure: %(error)s", error=figures["last_failure"])
    return ""
