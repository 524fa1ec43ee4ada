"""Which notices of alerts are open, and whom is there something to tell? One open row per rule and subject, never two.

A row begins at the first sight, as one that is only seen (`told` is PENDING); held for long enough it becomes a notice,
which is updated in place, told again now and then, and closed once it has not been seen for a while: with the moment at
which it was seen last as its end, and the worst figure that it had. Every step is a guarded UPDATE, so that of two
schedulers at once one tells. What is told is put in, in the same transaction, as events of the hub's own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row

from dlq_console.store import acts
from dlq_console.store.canonical import LARGEST_PAYLOAD, encode_payload
from dlq_console.store.events import read_time
from dlq_console.store.queries.routes import prepared
from dlq_console.store.store import Store

#: Seen, but not for long enough to be told.
PENDING = -1
#: A notice is closed when it has not been seen for so long, in seconds, so that what comes and goes is one notice.
CLOSE_AFTER = 60
#: Subjects of one rule that are kept at a time.
MOST_OPEN = 1_000
#: What a message says: found first, still there, over.
OPENED, AGAIN, CLOSED = "opened", "again", "closed"
#: Of a message that waited for its channel until others were added to it.
SEVERAL = "several"

COLUMNS = "id, rule, condition, subject, level, found, value, opened_at, seen_at, closed_at, told_at, told"
_SEE = f"""
INSERT INTO {{alert}} (rule, condition, subject, level, found, value, worst, opened_at, seen_at, told)
VALUES (:rule, :condition, :subject, :level, :found, :value, :value, {{now}}, {{now}}, {PENDING})
ON CONFLICT (rule, subject) WHERE closed_at IS NULL
DO UPDATE SET condition = excluded.condition, level = excluded.level, found = excluded.found, value = excluded.value,
    worst = CASE WHEN {{alert}}.worst > excluded.value THEN {{alert}}.worst ELSE excluded.value END, seen_at = excluded.seen_at
"""
_KEEP = """
UPDATE {alert} SET found = :found, value = :value, seen_at = {now},
    worst = CASE WHEN worst > :value THEN worst ELSE :value END
WHERE rule = :rule AND subject = :subject AND closed_at IS NULL
"""
_OPEN = f"""
UPDATE {{alert}} SET told = 0
WHERE rule = :rule AND closed_at IS NULL AND told = {PENDING} AND opened_at <= {{now}} - {{interval[hold]}}
"""
_STANDING = f"""
SELECT {COLUMNS}, seen_at <= {{now}} - {{interval[{CLOSE_AFTER}]}} AS gone,
    told = 0 OR told_at <= {{now}} - {{interval[repeat]}} AS to_tell
FROM {{alert}} WHERE rule = :rule AND closed_at IS NULL ORDER BY subject LIMIT {2 * MOST_OPEN}
"""
_FORGET = f"DELETE FROM {{alert}} WHERE id = :id AND told = {PENDING} AND closed_at IS NULL"
_CLOSE = f"""
UPDATE {{alert}} SET closed_at = seen_at, value = worst
WHERE id = :id AND closed_at IS NULL AND seen_at <= {{now}} - {{interval[{CLOSE_AFTER}]}}
RETURNING closed_at, value
"""
_TELL = """
UPDATE {alert} SET told = told + 1, told_at = {now} WHERE id = :id AND closed_at IS NULL AND told = :told
"""
_IS_SNOOZED = "SELECT 1 FROM {alert_snooze} WHERE rule = :rule AND until > {now}"
_WITHOUT_RULE = f"""
UPDATE {{alert}} SET closed_at = {{now}} WHERE closed_at IS NULL AND told > {PENDING} AND rule NOT IN :rule_list
"""
_SEEN_WITHOUT_RULE = (
    f"DELETE FROM {{alert}} WHERE closed_at IS NULL AND told = {PENDING} AND rule NOT IN :rule_list"
)
_FORGET_OLD = "DELETE FROM {alert} WHERE closed_at < {now} - {interval[age]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How the findings of one rule are kept and told; times in seconds.

    Attributes:
        rule: its name.
        level: of its notices.
        hold: how long it must be found before it is a notice.
        repeat: an open notice is told again no sooner.
        tells: whether there is anybody to tell.
        when: what the rule looks at; kept with its notices.
    """

    rule: str
    level: str
    hold: float
    repeat: float
    tells: bool
    when: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """Something that a rule has found at this look.

    Attributes:
        subject: what it is about, unique within the rule; empty for the installation.
        value: the figure, in the unit of the rule.
        firm: whether it is over what the rule allows; else it was shortly, and only keeps open what is open.
        account: whose it is; None where it is nobody's, so that only those see it who see everything.
        figures: what a sentence needs besides; texts in it are redacted.
        muted: whether something else explains it (a pause, a block of the provider), so that nobody is told.
    """

    subject: str
    value: float
    firm: bool = True
    account: str | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)
    muted: bool = False

    def row(self, terms: Terms) -> dict[str, Any]:
        """It as parameters."""
        found = encode_payload(
            {"account": self.account, **self.figures}, max_bytes=LARGEST_PAYLOAD, name="found"
        )
        return {
            "rule": terms.rule,
            "condition": terms.when,
            "subject": self.subject,
            "level": terms.level,
            "found": found,
            "value": self.value,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What a rule has found, from when to when.

    `when` is what the rule looked at. `told` counts how often it was told; PENDING: it is no notice yet.
    """

    id: int
    rule: str
    subject: str
    level: str
    found: Mapping[str, Any]
    value: float | None
    opened_at: datetime
    seen_at: datetime
    closed_at: datetime | None
    told_at: datetime | None
    told: int
    when: str | None = None

    @property
    def account(self) -> str | None:
        """Whose it is; None where it is nobody's."""
        account: str | None = self.found.get("account")
        return account


@dataclass(frozen=True, slots=True)
class Telling:
    """Something to be told of a notice: which message of it, and what it says (OPENED, AGAIN or CLOSED)."""

    notice: Notice
    number: int
    state: str


#: Puts messages in, in the transaction in which they were decided upon.
Tell = Callable[[Connection, Sequence[Telling]], None]


def record(
    store: Store, terms: Terms, sightings: Sequence[Sighting], tell: Tell, *, complete: bool = True
) -> int:
    """Write down what one rule has found, and tell what is to be told; returns how many messages that were.

    Args:
        store: the store.
        terms: of the rule.
        sightings: everything that it finds now; no two have the same subject.
        tell: puts the messages in.
        complete: whether what is not among them is over; False where there was more than a look takes.
    """
    return store.transact(lambda connection: _record(store, connection, terms, sightings, tell, complete))


def _record(
    store: Store,
    connection: Connection,
    terms: Terms,
    sightings: Sequence[Sighting],
    tell: Tell,
    complete: bool,
) -> int:
    _see(store, connection, terms, sightings)
    rule = {"rule": terms.rule}
    connection.execute(store.statement(_OPEN), rule | {"hold": terms.hold})
    standing = connection.execute(store.statement(_STANDING), rule | {"repeat": terms.repeat}).all()
    seen = {one.subject: one for one in sightings}
    tells = terms.tells and connection.execute(store.statement(_IS_SNOOZED), rule).first() is None
    tellings = []
    for row in standing:
        sighting = seen.get(row.subject)
        if sighting is None and complete:
            tellings += _ended(store, connection, row)
        elif row.told > PENDING and row.to_tell and tells and not (sighting is None or sighting.muted):
            tellings += _told(store, connection, row)
    if tells and tellings:
        tell(connection, tellings)
    return len(tellings) if tells else 0


def _see(store: Store, connection: Connection, terms: Terms, sightings: Sequence[Sighting]) -> None:
    # In one order, so that two who do it at once do not wait for each other.
    in_order = sorted(sightings, key=lambda one: one.subject)[:MOST_OPEN]
    new = [one.row(terms) for one in in_order if one.firm and not one.muted]
    kept = [one.row(terms) for one in in_order if not one.firm or one.muted]
    if new:
        connection.execute(store.statement(_SEE), new)
    if kept:
        connection.execute(store.statement(_KEEP), kept)


def _ended(store: Store, connection: Connection, row: Row[Any]) -> list[Telling]:
    """What is not found any more is forgotten at once, or where it was a notice, closed after a while."""
    if row.told == PENDING:
        connection.execute(store.statement(_FORGET), {"id": row.id})
        return []
    ended = connection.execute(store.statement(_CLOSE), {"id": row.id}).first() if row.gone else None
    if ended is None or not row.told:
        return []
    over = replace(notice(row), closed_at=read_time(ended.closed_at), value=ended.value)
    return [Telling(over, row.told + 1, CLOSED)]


def _told(store: Store, connection: Connection, row: Row[Any]) -> list[Telling]:
    guarded = {"id": row.id, "told": row.told}
    if connection.execute(store.statement(_TELL), guarded).rowcount == 0:
        return []
    return [Telling(notice(row), row.told + 1, AGAIN if row.told else OPENED)]


def close_without_rule(store: Store, rules: Sequence[str]) -> int:
    """Close notices of rules that are in force no more; nobody is told. Returns how many."""
    parameters = {"rule_list": list(rules)}
    with store.write() as connection:
        connection.execute(prepared(store, _SEEN_WITHOUT_RULE, parameters), parameters)
        return connection.execute(prepared(store, _WITHOUT_RULE, parameters), parameters).rowcount


def forget(store: Store, *, days: int) -> int:
    """Delete notices that were closed so long ago; returns how many."""
    with store.write() as connection:
        return connection.execute(store.statement(_FORGET_OLD), {"age": days * 86_400}).rowcount


# Snoozes


@dataclass(frozen=True, slots=True)
class Snooze:
    """Nobody is told of a rule until then: who said so, when, and why."""

    rule: str
    until: datetime
    actor: str
    note: str
    at: datetime


#: Whether the moment lies ahead, and not too far, is for the clock by which it will end.
_SNOOZE = """
INSERT INTO {alert_snooze} (rule, until, actor, note, at)
SELECT CAST(:rule AS text), wanted.until, CAST(:actor AS text), CAST(:note AS text), {now}
FROM (SELECT UNTIL AS until) AS wanted WHERE wanted.until > {now} AND wanted.until <= {now} + {interval[most]}
ON CONFLICT (rule) DO UPDATE SET until = excluded.until, actor = excluded.actor, note = excluded.note, at = excluded.at
"""
#: A snooze ends at a moment that somebody chose, or after a span from now.
_UNTIL, _FOR = "CAST(:until_at AS {time})", "{now} + {interval[span]}"
_WAKE = "DELETE FROM {alert_snooze} WHERE rule = :rule AND until > {now}"
_SNOOZES = "SELECT rule, until, actor, note, at FROM {alert_snooze} WHERE until > {now} ORDER BY rule"


def snooze(
    store: Store, rule: str, *, until: datetime | timedelta, most: timedelta, actor: str, note: str
) -> Snooze | None:
    """Tell nobody of a rule until then, or for so long; a snooze that stands is replaced.

    None, and nothing is changed, where that is not ahead, or further than `most`, by the clock of the database.
    """
    values: dict[str, Any] = {"rule": rule, "actor": actor, "note": note, "most": most.total_seconds()}
    if isinstance(until, timedelta):
        template, values["span"] = _SNOOZE.replace("UNTIL", _FOR), until.total_seconds()
    else:
        template, values["until_at"] = _SNOOZE.replace("UNTIL", _UNTIL), until
    with store.write() as connection:
        if connection.execute(store.statement(template), values).rowcount == 0:
            return None
        acts.record(
            store, connection, actor=actor, action="snooze_alert", subject=f"alert:{rule}", note=note or None
        )
        rows = connection.execute(store.statement(_SNOOZES)).all()
    return next(_snooze(row) for row in rows if row.rule == rule)


def wake(store: Store, rule: str, *, actor: str) -> bool:
    """End the snooze of a rule; False when it has none."""
    with store.write() as connection:
        ended = connection.execute(store.statement(_WAKE), {"rule": rule}).rowcount == 1
        if ended:
            acts.record(store, connection, actor=actor, action="wake_alert", subject=f"alert:{rule}")
    return ended


def snoozes(store: Store) -> dict[str, Snooze]:
    """The snoozes that stand, by rule."""
    with store.read() as connection:
        rows = connection.execute(store.statement(_SNOOZES)).all()
    return {row.rule: _snooze(row) for row in rows}


def _snooze(row: Row[Any]) -> Snooze:
    return Snooze(row.rule, _time(row.until), row.actor, row.note, _time(row.at))


def notice(row: Row[Any]) -> Notice:
    """A notice from a row that holds COLUMNS."""
    return Notice(
        id=row.id,
        rule=row.rule,
        subject=row.subject,
        level=row.level,
        found=json.loads(row.found),
        value=row.value,
        opened_at=_time(row.opened_at),
        seen_at=_time(row.seen_at),
        closed_at=read_time(row.closed_at),
        told_at=read_time(row.told_at),
        told=row.told,
        when=row.condition,
    )


def _time(value: Any) -> datetime:
    found = read_time(value)
    assert found is not None, "the column is never empty"  # noqa: S101 - tells the type checker what the schema says
    return found
