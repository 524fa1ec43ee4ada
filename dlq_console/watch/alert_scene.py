"""What has one look of the rules of alerts before it? The state of the installation as it was read last, and the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from dlq_console.health import spelling
from dlq_console.health.alert_values import ANY, AlertRule
from dlq_console.health.values import AccountHealth, Health, Word
from dlq_console.health.working_hours import WorkingHours
from dlq_console.resilience import SharedState
from dlq_console.store import doors, snapshots
from dlq_console.store.alerts import Sighting
from dlq_console.store.doors import Door
from dlq_console.store.scope_names import method_name
from dlq_console.store.store import Store

#: Begins the subject of what belongs to a service, so that no account has the same.
SERVICE = "service:"
#: What explains that things stand still: a person, the provider, an open circuit.
PAUSE, PROVIDER, CIRCUIT = "pause", "provider", "circuit"


class NotKnown(Exception):
    """What the rule asks for could not be read, so it finds nothing more and ends nothing."""


@dataclass(frozen=True)
class Scene:
    """What one look has before it; what several rules ask for is read once."""

    store: Store
    state: SharedState
    health: Health
    hours: WorkingHours
    zone: ZoneInfo

    def accounts(self, rule: AlertRule) -> Iterator[AccountHealth]:
        """Those that the rule is about and of which anything is known."""
        if self.health.is_stale:
            raise NotKnown
        for one in self.health.accounts:
            if rule.account in (ANY, one.account) and one.word is not Word.UNKNOWN:
                yield one

    @property
    def now(self) -> datetime:
        """When the state was read."""
        if self.health.is_stale or self.health.as_of is None:
            raise NotKnown
        return self.health.as_of

    @cached_property
    def doors(self) -> list[tuple[Door, float]]:
        """Doors that anything has happened to, with the database's time in seconds since 1970."""
        return doors.read_eventful(self.store)

    @cached_property
    def explained(self) -> Mapping[str | None, str]:
        """Accounts of which a closed door explains that things stand still, with what keeps it closed."""
        return {one.account: one.closing.cause for one in self.health.accounts if one.closing}


#: Yields all that a rule finds, whether it is over its limit or not.
Look = Callable[[AlertRule, Scene], Iterator[Sighting]]


def scene(store: Store, state: SharedState, *, hours: WorkingHours, zone: ZoneInfo) -> Scene:
    """What there is to look at now."""
    accounts = snapshots.look(store, spelling.ACCOUNTS)
    health = spelling.read(accounts.values, {}, as_of=accounts.taken_at, age=accounts.age)
    return Scene(store, state, health, hours, zone)


def of_account(one: AccountHealth, value: float, *, muted: Iterable[str] = (), **figures: Any) -> Sighting:
    """Something found in an account, of which nobody is told while one of `muted` keeps it closed."""
    closed = one.closing is not None and one.closing.cause in muted
    return Sighting(subject=one.account, account=one.account, value=value, figures=figures, muted=closed)


def of_kind(seen: Sighting, account: str, kind: str) -> Sighting:
    """The same, of one kind of the account."""
    return replace(seen, subject=method_name(account, kind), figures={**seen.figures, "kind": kind})


def concerns(rule: AlertRule, account: str | None, kind: str | None = None) -> bool:
    """Whether the rule is about this account and kind."""
    return rule.account in (ANY, account) and rule.kind in (ANY, kind)


def services(scene: Scene, reading: str) -> Iterable[tuple[str, Any]]:
    """What was read last of services, by name."""
    found = snapshots.look(scene.store, reading)
    if found.is_stale:
        raise NotKnown
    return found.values.items()


def now_and_then(
    scene: Scene, reading: str, seconds: float, read: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """What `read` says, kept under a name and asked for anew only after so many seconds: it costs more than one look may."""
    known = snapshots.look(scene.store, reading)
    if known.age < seconds:
        return dict(known.values)
    found = read()
    snapshots.keep(scene.store, reading, found)
    return found
