"""Which tables hold what people do with events: fields to search by, the desk, views, and bulk runs.

None of it stands on the event's own row: every change of that row is written to all of its indexes, and a note or an
assignment must never wait for a worker, nor a worker for it.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, Float, Index, Integer, MetaData, Table, Text, text

from dlq_console.store.types import BigId, UtcTime


def _id() -> Column[int]:
    return Column("id", BigId, primary_key=True, autoincrement=True)


def _text(name: str, *, null: bool = False) -> Column[Any]:
    return Column(name, Text, nullable=null)


def _time(name: str, *, null: bool = True) -> Column[Any]:
    return Column(name, UtcTime, nullable=null)


def _count(name: str) -> Column[Any]:
    return Column(name, Integer, nullable=False, server_default=text("0"))


def event_field(metadata: MetaData, prefix: str) -> Table:
    """What lists show of payloads and people search by: one row per event and configured field of its kind."""
    table = Table(
        f"{prefix}event_field",
        metadata,
        # As text, cut; first, because whoever looks for a number does not know in which field it stands.
        Column("value", Text, primary_key=True),
        # As in the policy: names and places joined by dots.
        Column("path", Text, primary_key=True),
        Column("event_id", BigId, primary_key=True),
    )
    Index(f"{prefix}event_field_event_ix", table.c.event_id)
    return table


def desk(metadata: MetaData, prefix: str) -> Table:
    """Who has an event on the desk, until when, and until when it is out of sight."""
    table = Table(
        f"{prefix}desk",
        metadata,
        Column("event_id", BigId, primary_key=True, autoincrement=False),
        # Name of a person.
        _text("assignee", null=True),
        _time("due_at"),
        _time("snoozed_until"),
        _time("updated_at", null=False),
    )
    assigned, snoozed = text("assignee IS NOT NULL"), text("snoozed_until IS NOT NULL")
    Index(
        f"{prefix}desk_assignee_ix",
        table.c.assignee,
        table.c.event_id,
        postgresql_where=assigned,
        sqlite_where=assigned,
    )
    Index(f"{prefix}desk_snoozed_ix", table.c.snoozed_until, postgresql_where=snoozed, sqlite_where=snoozed)
    return table


def group_desk(metadata: MetaData, prefix: str) -> Table:
    """How a cause is fixed, and who sees to it; kept whatever becomes of its events."""
    return Table(
        f"{prefix}group_desk",
        metadata,
        Column("fingerprint", Text, primary_key=True),
        _text("playbook", null=True),
        _text("playbook_by", null=True),
        _time("playbook_at"),
        _text("assignee", null=True),
        _time("due_at"),
        _time("updated_at", null=False),
    )


def tag(metadata: MetaData, prefix: str) -> Table:
    """Words that people stick to events."""
    table = Table(
        f"{prefix}tag",
        metadata,
        Column("tag", Text, primary_key=True),
        Column("event_id", BigId, primary_key=True),
    )
    Index(f"{prefix}tag_event_ix", table.c.event_id)
    return table


def note(metadata: MetaData, prefix: str) -> Table:
    """What people wrote about an event."""
    table = Table(
        f"{prefix}note",
        metadata,
        _id(),
        _time("at", null=False),
        _text("actor"),
        Column("event_id", BigId, nullable=False),
        _text("text"),
        # Of the form it was typed into, so that a form which is sent twice writes one note.
        Column("form", Text, nullable=True, unique=True),
        sqlite_autoincrement=True,
    )
    Index(f"{prefix}note_event_ix", table.c.event_id, table.c.id)
    return table


def saved_view(metadata: MetaData, prefix: str) -> Table:
    """Filters that people keep under a name."""
    table = Table(
        f"{prefix}saved_view",
        metadata,
        _id(),
        _text("name"),
        # Name of a person, or of a program.
        _text("owner"),
        # 1: everybody sees it.
        _count("shared"),
        # The list that it belongs to: `dead-letters` or `events`.
        _text("page"),
        # A query string.
        _text("filter"),
        _time("created_at", null=False),
        _time("updated_at", null=False),
        sqlite_autoincrement=True,
    )
    Index(f"{prefix}saved_view_name_uq", table.c.owner, table.c.name, unique=True)
    return table


def bulk_run(metadata: MetaData, prefix: str) -> Table:
    """One act upon many events: what was asked for, and how far it has come."""
    table = Table(
        f"{prefix}bulk_run",
        metadata,
        _id(),
        _text("action"),
        # JSON object; NULL where the action takes none.
        _text("arguments", null=True),
        # A query string; NULL where the events were chosen one by one.
        _text("filter", null=True),
        # JSON list of the accounts that whoever asked may act upon; NULL means all.
        _text("accounts", null=True),
        # What the preview handed out; a second start with it finds the first.
        Column("selection_token", Text, nullable=True, unique=True),
        _text("actor"),
        # Where it was asked for, as in the audit; that of each of its acts.
        _text("via", null=True),
        _text("address", null=True),
        _text("note", null=True),
        # freezing, running, paused, stopped, cancelled, done
        _text("state"),
        # Why it stands still; a word for the pages.
        _text("cause", null=True),
        _time("created_at", null=False),
        # Events that ended later are not part of it.
        _time("cut_at", null=False),
        _time("frozen_at"),
        _time("finished_at"),
        # How many the preview counted; NULL without one.
        Column("expected", Integer, nullable=True),
        # JSON: where freezing goes on after a crash.
        _text("cursor", null=True),
        # Items per second; NULL as fast as it goes.
        Column("rate", Float, nullable=True),
        _count("window"),
        # JSON list of stage sizes; NULL without a canary.
        _text("stages", null=True),
        # Which of them it is in, counted from 0; behind the last one comes the rest.
        _count("stage"),
        # Of this stage: how many were let go, have come to an end, and died again.
        _count("stage_released"),
        _count("stage_ended"),
        _count("stage_died"),
        # Share of ended items that died again, 0 to 1, above which it stops by itself.
        Column("stop_share", Float, nullable=True),
        _count("total"),
        # Let go and not ended yet: how much of the window is in use.
        _count("released"),
        _count("succeeded"),
        _count("died_same"),
        _count("died_different"),
        _count("refused"),
        # Until when its pace is used up.
        _time("released_at"),
        # Who paused, resumed or cancelled it last.
        _text("acted_by", null=True),
        # Grows with every act and every step, so that a page knows whether anything is new.
        Column("version", BigId, nullable=False, server_default=text("0")),
        sqlite_autoincrement=True,
    )
    # A cancelled run is not finished before what it had let go has ended.
    live = text("finished_at IS NULL")
    Index(f"{prefix}bulk_run_live_ix", table.c.id, postgresql_where=live, sqlite_where=live)
    return table


def bulk_item(metadata: MetaData, prefix: str) -> Table:
    """The frozen selection of a bulk run: one row per event, with how it ended."""
    table = Table(
        f"{prefix}bulk_item",
        metadata,
        Column("bulk_id", BigId, primary_key=True, autoincrement=False),
        Column("event_id", BigId, primary_key=True, autoincrement=False),
        # They are released in this order, that of the places of lanes, so that no lane is turned round.
        Column("position", BigId, nullable=False),
        # As they were when the selection was frozen.
        Column("epoch", BigId, nullable=False),
        Column("cycle", Integer, nullable=False),
        _text("fingerprint", null=True),
        # waiting, released, succeeded, died_same, died_different, refused
        _text("state"),
        # Of a refused one: why.
        _text("cause", null=True),
        _time("released_at"),
        _time("ended_at"),
    )
    c = table.c
    Index(f"{prefix}bulk_item_state_ix", c.bulk_id, c.state, c.position, c.event_id)
    return table
