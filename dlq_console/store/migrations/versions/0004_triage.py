"""What people do with dead letters: fields to search by, the desk, views, bulk runs, and where acts came from.

Frozen: what this step adds, written out, whatever `models.py` says by then. The indexes of lanes are made anew, because a
lane is in the order of places now: an event that holds the edited payload of another stands in that one's place.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import context, op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

#: SQLite only counts up by itself where the type is exactly INTEGER; both hold 64 bits.
BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
#: `timestamptz` on PostgreSQL, whole microseconds since 1970 on SQLite.
TIME = sa.DateTime(timezone=True).with_variant(sa.BigInteger(), "sqlite")

#: Name of the index -> its condition.
LANES = {
    "lane_open_ix": "status IN ('pending', 'failed', 'running') AND lane IS NOT NULL",
    "lane_blocked_ix": "status = 'blocked'",
    "lane_stopped_ix": "status = 'dead' AND on_dead = 'block'",
}


def upgrade() -> None:
    """Apply."""
    prefix: str = context.config.attributes["table_prefix"]
    _events(f"{prefix}event")
    _texts(f"{prefix}event")
    _acts(f"{prefix}audit")
    op.add_column(f"{prefix}users", _count("keys_off"))
    _groups(prefix)
    op.add_column(f"{prefix}kind", _text("filled", null=True))
    _event_field(f"{prefix}event_field")
    _desks(prefix)
    _saved_view(f"{prefix}saved_view")
    _bulk_run(f"{prefix}bulk_run")
    _bulk_item(f"{prefix}bulk_item")


def _events(table: str) -> None:
    _add(
        table,
        _text("former_status", null=True),
        _text("former_reason", null=True),
        _time("former_finished_at", null=True),
        sa.Column("place", BIG_ID, nullable=True),
    )
    for name, condition in LANES.items():
        op.drop_index(f"{table}_{name}", table)
        _partial(f"{table}_{name}", table, ["lane", sa.text("coalesce(place, id)")], condition)
    ended = "status IN ('done', 'dead', 'discarded') AND lane IS NOT NULL"
    _partial(f"{table}_lane_ended_ix", table, ["lane", "started_at"], ended)
    for column in ("reason", "verdict"):
        _partial(f"{table}_dead_{column}_ix", table, [column, "finished_at", "id"], "status = 'dead'")


def _texts(table: str) -> None:
    """An index of the texts of errors, where the database has the extension for it and this account may create it.

    Without it texts are looked for row by row, as on SQLite. Not described in `models.py`, because not every database has it.
    """
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    known = sa.text("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'")
    if connection.execute(known).first() is None:
        return
    try:
        # Undone alone: the rest of this step stands.
        with connection.begin_nested():
            connection.execute(sa.text("CREATE EXTENSION IF NOT EXISTS pg_trgm"))
            op.create_index(
                f"{table}_dead_text_ix",
                table,
                ["last_error"],
                postgresql_using="gin",
                postgresql_ops={"last_error": "gin_trgm_ops"},
                postgresql_where=sa.text("status = 'dead'"),
                # Otherwise every search reads a list of what is not in the index yet.
                postgresql_with={"fastupdate": "off"},
            )
    except sa.exc.ProgrammingError as error:
        # 42501: it may not create extensions; 42704: the extension stands in a schema of somebody else.
        if getattr(error.orig, "sqlstate", None) not in ("42501", "42704"):
            raise


def _acts(table: str) -> None:
    _add(
        table,
        _text("address", null=True),
        _text("via", null=True),
        sa.Column("bulk_id", BIG_ID, nullable=True),
        _text("filter", null=True),
        _text("account", null=True),
    )
    op.create_index(f"{table}_at_ix", table, ["at"])
    op.create_index(f"{table}_actor_ix", table, ["actor", "id"])
    op.create_index(f"{table}_action_ix", table, ["action", "id"])


def _groups(prefix: str) -> None:
    group, cause = f"{prefix}error_group", f"{prefix}error_cause"
    op.add_column(group, _text("trend", null=True))
    _partial(f"{group}_account_ix", group, ["account", "dead", "fingerprint"], "dead > 0")
    _partial(f"{group}_dead_ix", group, ["dead", "fingerprint", "account"], "dead > 0")
    # Filled when groups are counted next.
    op.create_table(
        cause,
        _text("fingerprint"),
        _text("account"),
        _text("kind"),
        sa.Column("dead", BIG_ID, nullable=False),
        sa.Column("largest", sa.Integer(), nullable=False),
        sa.Column("accounts", sa.Integer(), nullable=False),
        *map(_time, ("first_seen_at", "last_seen_at", "sampled_at")),
        sa.PrimaryKeyConstraint("fingerprint", name=op.f(f"{cause}_pk")),
    )
    op.create_index(f"{cause}_dead_ix", cause, ["dead", "last_seen_at", "fingerprint"])


def _event_field(table: str) -> None:
    op.create_table(
        table,
        _text("value"),
        _text("path"),
        sa.Column("event_id", BIG_ID, nullable=False),
        sa.PrimaryKeyConstraint("value", "path", "event_id", name=op.f(f"{table}_pk")),
    )
    op.create_index(f"{table}_event_ix", table, ["event_id"])


def _desks(prefix: str) -> None:
    desk, group, tag, note = (f"{prefix}{name}" for name in ("desk", "group_desk", "tag", "note"))
    op.create_table(
        desk,
        sa.Column("event_id", BIG_ID, autoincrement=False, nullable=False),
        _text("assignee", null=True),
        _time("due_at", null=True),
        _time("snoozed_until", null=True),
        _time("updated_at"),
        sa.PrimaryKeyConstraint("event_id", name=op.f(f"{desk}_pk")),
    )
    _partial(f"{desk}_assignee_ix", desk, ["assignee", "event_id"], "assignee IS NOT NULL")
    _partial(f"{desk}_snoozed_ix", desk, ["snoozed_until"], "snoozed_until IS NOT NULL")
    op.create_table(
        group,
        _text("fingerprint"),
        _text("playbook", null=True),
        _text("playbook_by", null=True),
        _time("playbook_at", null=True),
        _text("assignee", null=True),
        _time("due_at", null=True),
        _time("updated_at"),
        sa.PrimaryKeyConstraint("fingerprint", name=op.f(f"{group}_pk")),
    )
    op.create_table(
        tag,
        _text("tag"),
        sa.Column("event_id", BIG_ID, nullable=False),
        sa.PrimaryKeyConstraint("tag", "event_id", name=op.f(f"{tag}_pk")),
    )
    op.create_index(f"{tag}_event_ix", tag, ["event_id"])
    op.create_table(
        note,
        sa.Column("id", BIG_ID, autoincrement=True, nullable=False),
        _time("at"),
        _text("actor"),
        sa.Column("event_id", BIG_ID, nullable=False),
        _text("text"),
        _text("form", null=True),
        sa.PrimaryKeyConstraint("id", name=op.f(f"{note}_pk")),
        sa.UniqueConstraint("form", name=op.f(f"{note}_form_uq")),
        sqlite_autoincrement=True,
    )
    op.create_index(f"{note}_event_ix", note, ["event_id", "id"])


def _saved_view(table: str) -> None:
    op.create_table(
        table,
        sa.Column("id", BIG_ID, autoincrement=True, nullable=False),
        _text("name"),
        _text("owner"),
        _count("shared"),
        _text("page"),
        _text("filter"),
        _time("created_at"),
        _time("updated_at"),
        sa.PrimaryKeyConstraint("id", name=op.f(f"{table}_pk")),
        sqlite_autoincrement=True,
    )
    op.create_index(f"{table}_name_uq", table, ["owner", "name"], unique=True)


def _bulk_run(table: str) -> None:
    op.create_table(
        table,
        sa.Column("id", BIG_ID, autoincrement=True, nullable=False),
        _text("action"),
        _text("arguments", null=True),
        _text("filter", null=True),
        _text("accounts", null=True),
        _text("selection_token", null=True),
        _text("actor"),
        _text("via", null=True),
        _text("address", null=True),
        _text("note", null=True),
        _text("state"),
        _text("cause", null=True),
        _time("created_at"),
        _time("cut_at"),
        _time("frozen_at", null=True),
        _time("finished_at", null=True),
        sa.Column("expected", sa.Integer(), nullable=True),
        _text("cursor", null=True),
        sa.Column("rate", sa.Float(), nullable=True),
        _count("window"),
        _text("stages", null=True),
        *map(_count, ("stage", "stage_released", "stage_ended", "stage_died")),
        sa.Column("stop_share", sa.Float(), nullable=True),
        *map(_count, ("total", "released", "succeeded", "died_same", "died_different", "refused")),
        _time("released_at", null=True),
        _text("acted_by", null=True),
        sa.Column("version", BIG_ID, nullable=False, server_default=sa.text("0")),
        sa.PrimaryKeyConstraint("id", name=op.f(f"{table}_pk")),
        sa.UniqueConstraint("selection_token", name=op.f(f"{table}_selection_token_uq")),
        sqlite_autoincrement=True,
    )
    _partial(f"{table}_live_ix", table, ["id"], "finished_at IS NULL")


def _bulk_item(table: str) -> None:
    op.create_table(
        table,
        sa.Column("bulk_id", BIG_ID, autoincrement=False, nullable=False),
        sa.Column("event_id", BIG_ID, autoincrement=False, nullable=False),
        sa.Column("position", BIG_ID, nullable=False),
        sa.Column("epoch", BIG_ID, nullable=False),
        sa.Column("cycle", sa.Integer(), nullable=False),
        _text("fingerprint", null=True),
        _text("state"),
        _text("cause", null=True),
        _time("released_at", null=True),
        _time("ended_at", null=True),
        sa.PrimaryKeyConstraint("bulk_id", "event_id", name=op.f(f"{table}_pk")),
    )
    op.create_index(f"{table}_state_ix", table, ["bulk_id", "state", "position", "event_id"])


def _partial(name: str, table: str, columns: list[Any], condition: str) -> None:
    where = sa.text(condition)
    op.create_index(name, table, columns, postgresql_where=where, sqlite_where=where)


def _add(table: str, *columns: sa.Column[Any]) -> None:
    for column in columns:
        op.add_column(table, column)


def _text(name: str, *, null: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.Text(), nullable=null)


def _time(name: str, *, null: bool = False) -> sa.Column[Any]:
    return sa.Column(name, TIME, nullable=null)


def _count(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.Integer(), nullable=False, server_default=sa.text("0"))
