"""Which tables hold what people do with events: fields to search by, the desk, views, and bulk runs.

None of it stands on the event's own row: every change of that row is written to all of its indexes, and a note or an
assignment must never wait for a worker, nor a worker for it.
"""

from __future__ import annotations

from sqlalchemy import Column, Float, Index, Integer, MetaData, Table, Text, text

from dlq_console.store.table_columns import id_, integer, moment, partial_index, text_
from dlq_console.store.types import BigId


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
        text_("assignee", null=True),
        moment("due_at"),
        moment("snoozed_until"),
        moment("updated_at", null=False),
    )
    c = table.c
    partial_index(f"{prefix}desk_assignee_ix", "assignee IS NOT NULL", c.assignee, c.event_id)
    partial_index(f"{prefix}desk_snoozed_ix", "snoozed_until IS NOT NULL", c.snoozed_until)
    return table


def group_desk(metadata: MetaData, prefix: str) -> Table:
    """How a cause is fixed, and who sees to it; kept whatever becomes of its events."""
    return Table(
        f"{prefix}group_desk",
        metadata,
        Column("fingerprint", Text, primary_key=True),
        text_("playbook", null=True),
        text_("playbook_by", null=True),
        moment("playbook_at"),
        text_("assignee", null=True),
        moment("due_at"),
        moment("updated_at", null=False),
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
        id_(),
        moment("at", null=False),
        text_("actor"),
        Column("event_id", BigId, nullable=False),
        text_("text"),
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
        id_(),
        text_("name"),
        # Name of a person, or of a program.
        text_("owner"),
        # 1: everybody sees it.
        integer("shared"),
        # The list that it belongs to: `dead-letters` or `events`.
        text_("page"),
        # A query string.
        text_("filter"),
        moment("created_at", null=False),
        moment("updated_at", null=False),
        sqlite_autoincrement=True,
    )
    Index(f"{prefix}saved_view_name_uq", table.c.owner, table.c.name, unique=True)
    return table


def bulk_run(metadata: MetaData, prefix: str) -> Table:
    """One act upon many events: what was asked for, and how far it has come."""
    table = Table(
        f"{prefix}bulk_run",
        metadata,
        id_(),
        text_("action"),
        # JSON object; NULL where the action takes none.
        text_("arguments", null=True),
        # A query string; NULL where the events were chosen one by one.
        text_("filter", null=True),
        # JSON list of the accounts that whoever asked may act upon; NULL means all.
        text_("accounts", null=True),
        # What the preview handed out; a second start with it finds the first.
        Column("selection_token", Text, nullable=True, unique=True),
        text_("actor"),
        # Where it was asked for, as in the audit; that of each of its acts.
        text_("via", null=True),
        text_("address", null=True),
        text_("note", null=True),
        # freezing, running, paused, stopped, cancelled, done
        text_("state"),
        # Why it stands still; a word for the pages.
        text_("cause", null=True),
        moment("created_at", null=False),
        # Events that ended later are not part of it.
        moment("cut_at", null=False),
        moment("frozen_at"),
        moment("finished_at"),
        # How many the preview counted; NULL without one.
        Column("expected", Integer, nullable=True),
        # JSON: where freezing goes on after a crash.
        text_("cursor", null=True),
        # Items per second; NULL as fast as it goes.
        Column("rate", Float, nullable=True),
        integer("window"),
        # JSON list of stage sizes; NULL without a canary.
        text_("stages", null=True),
        # Which of them it is in, counted from 0; behind the last one comes the rest.
        integer("stage"),
        # Of this stage: how many were let go, have come to an end, and died again.
        integer("stage_released"),
        integer("stage_ended"),
        integer("stage_died"),
        # Share of ended items that died again, 0 to 1, above which it stops by itself.
        Column("stop_share", Float, nullable=True),
        integer("total"),
        # Let go and not ended yet: how much of the window is in use.
        integer("released"),
        integer("succeeded"),
        integer("died_same"),
        integer("died_different"),
        integer("refused"),
        # Until when its pace is used up.
        moment("released_at"),
        # Who paused, resumed or cancelled it last.
        text_("acted_by", null=True),
        # Grows with every act and every step, so that a page knows whether anything is new.
        Column("version", BigId, nullable=False, server_default=text("0")),
        # JSON: two moments in microseconds since 1970, each with how many items had ended, by which its pace is told.
        text_("marks", null=True),
        sqlite_autoincrement=True,
    )
    # A cancelled run is not finished before what it had let go has ended.
    partial_index(f"{prefix}bulk_run_live_ix", "finished_at IS NULL", table.c.id)
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
        text_("fingerprint", null=True),
        # waiting, released, succeeded, died_same, died_different, refused
        text_("state"),
        # Of a refused one: why.
        text_("cause", null=True),
        moment("released_at"),
        moment("ended_at"),
    )
    c = table.c
    Index(f"{prefix}bulk_item_state_ix", c.bulk_id, c.state, c.position, c.event_id)
    return table
