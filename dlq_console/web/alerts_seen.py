"""What is known of alerts, as far as somebody may see it? Read once a second by each process, however many look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dlq_console.errors import StoreUnavailable
from dlq_console.health import alert_reading
from dlq_console.health.alert_reading import READING, InForce
from dlq_console.health.alert_values import ANY, AlertRule, urgency
from dlq_console.store import snapshots
from dlq_console.store.people import Person
from dlq_console.store.queries import Count
from dlq_console.store.queries import alerts as told
from dlq_console.store.queries.alerts import MOST_OPEN, Delivery, Notice, Snooze
from dlq_console.store.queries.pages import Page
from dlq_console.store.queries.routes import Accounts
from dlq_console.store.snapshots import Snapshot
from dlq_console.web import health_seen, looks
from dlq_console.web.auth import person
from dlq_console.web.hub import store

#: Notices of one page of each list: a row is as high as what it tells.
PER_PAGE = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Alerts as somebody sees them.

    Attributes:
        reading: of the rules in force: when it was taken.
        steps_stand: whether the states, which are read every two seconds, are too old: then no step runs.
        rules: those in force, and what is wrong with them.
        snoozes: those that stand, by rule.
        open: every notice that stands, urgent ones first, then the newest.
        start: how many of them stand before this page.
        shown: those of them that are on this page.
        past: a page of those that are over.
        brought: the last message of each notice that is shown to each channel, by the id of the notice.
    """

    reading: Snapshot
    steps_stand: bool
    rules: InForce
    snoozes: Mapping[str, Snooze]
    open: tuple[Notice, ...]
    start: int
    shown: tuple[Notice, ...]
    past: Page[Notice]
    brought: Mapping[int, tuple[Delivery, ...]]


def look(asking: Person, *, start: int = 0, cursor: str = "") -> Told:
    """Alerts as `asking` may see them: open ones from `start` on, and those that are over behind `cursor`.

    Raises:
        FilterError: the cursor is damaged.
    """
    if asking.accounts is None and not start and not cursor:
        return looks.kept("alerts", lambda: _read(None, 0, ""))
    return _read(asking.accounts, start, cursor)


def in_force(asking: Person) -> InForce:
    """The rules that `asking` may know of, and the channels, where they lead only for whoever sees everything."""
    return _rules(snapshots.look(store(), READING), asking.accounts)


def trials(asking: Person, rules: InForce) -> dict[str, Delivery]:
    """The last trial message to each channel, for whoever sees everything."""
    return told.trials(store(), rules.channels) if asking.accounts is None else {}


def open_alerts() -> Count | None:
    """How many notices stand that this person may see, for the list of pages; None where the database is away."""
    accounts = person().accounts
    try:
        standing = looks.kept("open alerts", lambda: told.open_by_account(store()))
    except StoreUnavailable:
        return None
    number = sum(number for account, number in standing.items() if accounts is None or account in accounts)
    return Count(number, sum(standing.values()) >= MOST_OPEN)


def _read(accounts: Accounts, start: int, cursor: str) -> Told:
    reading = snapshots.look(store(), READING)
    states = health_seen.look(store())
    standing = sorted(told.open_notices(store(), accounts=accounts), key=lambda one: urgency(one.level))
    if start >= len(standing):
        # Behind the end is what was there before some of them were over: the last page there is.
        start = max(0, len(standing) - 1) // PER_PAGE * PER_PAGE
    shown = standing[start : start + PER_PAGE]
    past = told.closed_notices(store(), cursor=cursor, accounts=accounts, limit=PER_PAGE)
    return Told(
        reading=reading,
        steps_stand=states.health.as_of is not None and states.is_doubtful,
        rules=_rules(reading, accounts),
        snoozes=told.snoozes(store()),
        open=tuple(standing),
        start=start,
        shown=tuple(shown),
        past=past,
        brought=told.deliveries(store(), [*shown, *past.items]),
    )


def _rules(reading: Snapshot, accounts: Accounts) -> InForce:
    rules = alert_reading.read(reading.values, reading.away)
    if accounts is None:
        return rules
    known = {name: rule for name, rule in rules.rules.items() if _concerns(rule, accounts)}
    # The sentence about a mistake names a file, and maybe the account of somebody else.
    wrong = None if rules.wrong is None else ""
    return replace(rules, rules=known, where={}, written={}, wrong=wrong)


def _concerns(rule: AlertRule, accounts: tuple[str, ...]) -> bool:
    return rule.account == ANY or rule.account in accounts
