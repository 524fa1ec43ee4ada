"""How many events of each account and calls of each service are under way, of how many, and what do providers allow?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from flask import url_for
from flask_babel import gettext, ngettext

from dlq_console.hub import services
from dlq_console.hub.door_figures import room_figures, room_of_share
from dlq_console.hub.doors import every_door
from dlq_console.hub.limit_figures import LimitFigures, limit_figures
from dlq_console.hub.shown_names import hub_name, shown_name
from dlq_console.store import queries, snapshots
from dlq_console.store.people import Person
from dlq_console.store.queries import Count
from dlq_console.store.queries.crew import Running, crew
from dlq_console.store.queries.runs import last_minute, waited_for_limits
from dlq_console.store.snapshots import Snapshot
from dlq_console.web import breakers, circuit_words, display, health_seen, health_words, looks, stretches
from dlq_console.web.auth import person
from dlq_console.web.doubts import standing
from dlq_console.web.hub import store
from dlq_console.web.lists import with_query

#: From this share on a bulkhead is marked as crowded.
CROWDED = 0.8
#: Seconds for which the rollups are not read again.
COUNTED_FOR = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """One bulkhead as a row of the list.

    Attributes:
        name: under which it is shown.
        what: `account`, `limited` for one whose limit was set, or `service`.
        figures: as programs read them.
        holder: the oldest of those inside: its event, where it is one, and where it runs.
        since: when it came in.
        waiting: how many wait; None where that is not known.
        served: whether anybody who lives could use its slots.
    """

    name: str
    what: str
    figures: Mapping[str, Any]
    holder: str = ""
    event_id: int | None = None
    since: datetime | None = None
    waiting: Count | None = None
    served: bool = True

    @property
    def share(self) -> float:
        """How much of it is in use, 0 to 1; a bulkhead that lets nothing in is full, one without a worker has no share."""
        if not self.served:
            return 0.0
        most = self.figures["max"]
        return float(self.figures["in_use"] / most) if most else float(bool(self.figures["in_use"]))

    @property
    def is_crowded(self) -> bool:
        """Whether it is marked."""
        return not self.figures["degraded"] and self.share > CROWDED

    @property
    def is_stopped(self) -> bool:
        """Whether it was set to let nothing in."""
        return self.served and bool(self.figures["max"] == 0)


def page() -> dict[str, Any]:
    """What the page shows for the filter of this request."""
    rooms, snapshot = visible(person())
    name, start = stretches.asked()
    matching = [room for room in rooms if name.casefold() in room.name.casefold()]
    limits = [one for one in _limits(person()) if name.casefold() in one.name.casefold()]
    return {
        **standing(
            _answer(rooms),
            gettext(
                "What runs and how many slots living workers have is read from the database; how many events wait is not known."
            ),
        ),
        "room_word": _room_word,
        "scope_word": circuit_words.scope_word,
        "away": breakers.away(snapshot) if person().accounts is None else "",
        "rooms": matching[start : start + stretches.PER_PAGE],
        "known": len(rooms),
        "number": len(matching),
        "limits": limits[: stretches.PER_PAGE],
        "limits_left": max(0, len(limits) - stretches.PER_PAGE),
        "waited": looks.kept("waited", lambda: waited_for_limits(store()), seconds=COUNTED_FOR),
        "name": name,
        "address": url_for("health.bulkheads"),
        **stretches.turns(lambda first: _part(name, first), start, len(matching)),
        "poll": _part(name, start, endpoint="health.bulkheads_part"),
    }


def visible(asking: Person) -> tuple[list[Room], Snapshot]:
    """Every bulkhead that somebody may see, the fullest first, and the reading of services."""
    hubs, snapshot = looks.kept("bulkheads", _look)
    rooms = [room for room in hubs if asking.sees(room.name)]
    if asking.accounts is None:
        names = {room.name for room in hubs}
        rooms = [replace(room, name=hub_name(room.name)) for room in rooms]
        rooms += [
            _of_service(shown_name(name, names), figures)
            for name, figures in services.last_seen(snapshot).items()
        ]
    return sorted(rooms, key=lambda room: (not room.is_crowded, -room.share, room.name)), snapshot


def _look() -> tuple[list[Room], Snapshot]:
    at_work = looks.kept("crew", lambda: crew(store()))
    limits = {
        door.scope.name: door.max_running for door, _ in every_door(store()) if door.scope.type == "account"
    }
    waiting = _waiting()
    inside: dict[str, list[Running]] = {}
    for one in at_work.running:
        if not one.internal:
            inside.setdefault(one.account, []).append(one)
    share = room_of_share(at_work.slots)
    set_ = {name for name, limit in limits.items() if limit is not None}
    rooms = [
        replace(
            _of_account(name, inside.get(name, []), limits.get(name), share, waiting.get(name)),
            served=at_work.serves(name),
        )
        for name in sorted(inside.keys() | waiting.keys() | set_)
    ]
    return rooms, snapshots.look(store(), services.BULKHEADS)


def _waiting() -> Mapping[str, Count | None]:
    """How many events of each account wait, as they were counted last; by the overview where nobody has counted yet.

    None where they were counted too long ago.
    """
    health = health_seen.seen(store())
    if health.as_of is not None:
        return {
            one.account: None if health.is_stale else health_words.waiting(one) for one in health.accounts
        }
    return {part.account: part.due for part in queries.overview(store()).accounts}


def _of_account(
    name: str, inside: Sequence[Running], limit: int | None, share: int, waiting: Count | None
) -> Room:
    oldest = min((one for one in inside if one.since), key=_since, default=None)
    return Room(
        name=name,
        what="account" if limit is None else "limited",
        figures=room_figures(len(inside), limit, share, waiting.number if waiting else 0),
        waiting=waiting,
        holder=f"{oldest.kind} {oldest.entity_id}" if oldest else "",
        event_id=oldest.id if oldest else None,
        since=oldest.since if oldest else None,
    )


def _since(one: Running) -> float:
    return one.since.timestamp() if one.since else 0.0


def _of_service(name: str, figures: Mapping[str, Any]) -> Room:
    oldest = figures["oldest"]
    return Room(
        name=name,
        what="service",
        figures=figures,
        waiting=Count(figures["waiting"], capped=False),
        holder=oldest["owner"] if oldest else "",
        since=breakers.moment_of(oldest["since"]) if oldest else None,
    )


def _limits(asking: Person) -> list[LimitFigures]:
    """What providers allow in the accounts that somebody sees; over all accounts only for who sees all."""
    runs = looks.kept("last minute", lambda: last_minute(store()), seconds=COUNTED_FOR)
    found = looks.kept("limits", lambda: limit_figures(store(), every_door(store()), runs))
    if asking.accounts is None:
        return found
    return [one for one in found if one.account is not None and asking.sees(one.account)]


def _part(name: str, start: int, *, endpoint: str = "health.bulkheads") -> str:
    asked = [("q", name), ("start", str(start or ""))]
    return with_query(url_for(endpoint), [(key, value) for key, value in asked if value])


def _answer(rooms: Sequence[Room]) -> str:
    crowded = [room for room in rooms if room.is_crowded and not room.is_stopped]
    share = display.current().percent(CROWDED)
    if not rooms:
        return gettext("No event runs or waits, and no service is protected by slots.")
    if not any(room.served for room in rooms):
        return gettext("No worker is alive: nothing runs until one is started.")
    if not crowded:
        return gettext("Slots are free everywhere: nowhere are more than %(share)s in use.", share=share)
    if len(crowded) == 1:
        (room,) = crowded
        return gettext(
            "%(name)s has %(number)s of %(most)s slots in use.",
            name=room.name,
            number=display.current().number(room.figures["in_use"]),
            most=display.current().number(room.figures["max"]),
        )
    return ngettext(
        "In %(num)d place more than %(share)s of the slots are in use.",
        "In %(num)d places more than %(share)s of the slots are in use.",
        len(crowded),
        share=share,
    )


def _room_word(what: str) -> str:
    return gettext("account, limit set") if what == "limited" else circuit_words.scope_word(what)
