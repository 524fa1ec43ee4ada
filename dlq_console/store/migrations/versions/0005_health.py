"""How things went and how they stand: figures per minute, samples, closings, frames for other pages, alerts.

Frozen: what this step adds, written out, whatever `health_tables.py` says by then.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import context, op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

#: SQLite only counts up by itself where the type is exactly INTEGER; both hold 64 bits.
BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
#: `timestamptz` on PostgreSQL, whole microseconds since 1970 on SQLite.
TIME = sa.DateTime(timezone=True).with_variant(sa.BigInteger(), "sqlite")

COUNTED = (
    "arrived", "tried", "first_tried", "done", "failed", "died", "reopened", "resolved", "tries_of_done", "superseded",
    "in_doubt", "duplicates",
)  # fmt: skip
ADDED = (
    "lag_ms", "wait_ms", "run_ms", "end_to_end_ms", "lost_retry_ms", "lost_limit_ms", "lost_closed_ms", "lost_order_ms",
    "lag_max_ms", "run_max_ms",
)  # fmt: skip
HISTOGRAMS = ("lag", "wait", "run")
BINS = 12
SAMPLED = ("due", "scheduled", "paused", "blocked", "running", "dead")


def upgrade() -> None:
    """Apply."""
    prefix: str = context.config.attributes["table_prefix"]
    _rollup(f"{prefix}rollup")
    _sample(f"{prefix}sample")
    _closing(f"{prefix}scope_closing")
    _note_standing(f"{prefix}scope_closing", f"{prefix}scope")
    _embed(f"{prefix}embed")
    _alerts(prefix)
    _first_seen(f"{prefix}error_group")
    # When how many items of a bulk run had ended, by which its pace is told.
    op.add_column(f"{prefix}bulk_run", _text("marks", null=True))


def _rollup(table: str) -> None:
    op.create_table(
        table,
        sa.Column("grain", sa.SmallInteger(), nullable=False),
        _text("account"),
        _text("kind"),
        _time("bucket"),
        *map(_count, COUNTED),
        *map(_long, ADDED),
        *(_count(f"{name}{place}") for name in HISTOGRAMS for place in range(BINS)),
        sa.PrimaryKeyConstraint("grain", "account", "kind", "bucket", name=op.f(f"{table}_pk")),
    )


def _sample(table: str) -> None:
    op.create_table(
        table,
        sa.Column("grain", sa.SmallInteger(), nullable=False),
        _time("bucket"),
        _text("account"),
        *map(_count, SAMPLED),
        _long("oldest_due_ms"),
        sa.PrimaryKeyConstraint("grain", "bucket", "account", name=op.f(f"{table}_pk")),
    )


def _closing(table: str) -> None:
    op.create_table(
        table,
        sa.Column("id", BIG_ID, nullable=False, autoincrement=True),
        *map(_text, ("type", "name", "cause")),
        _time("began_at"),
        _time("until_at", null=True),
        _text("reason", null=True),
        sa.PrimaryKeyConstraint("id", name=op.f(f"{table}_pk")),
        sqlite_autoincrement=True,
    )
    op.create_index(f"{table}_began_ix", table, ["type", "name", "began_at"])
    op.create_index(f"{table}_until_ix", table, ["until_at"])


def _note_standing(table: str, scope: str) -> None:
    """What keeps a door closed already began before this table did."""
    into = f"INSERT INTO {table} (type, name, cause, began_at, until_at, reason)"
    op.execute(
        f"{into} SELECT type, name, 'provider', coalesce(closed_since, updated_at), provider_until, provider_reason"
        f" FROM {scope} WHERE provider_until IS NOT NULL"
    )
    op.execute(
        f"{into} SELECT type, name, CASE WHEN pause_cause = 'auth' THEN 'auth' ELSE 'pause' END, paused_at,"
        f" paused_until, pause_note FROM {scope} WHERE paused_at IS NOT NULL"
    )


def _embed(table: str) -> None:
    op.create_table(
        table,
        sa.Column("id", BIG_ID, nullable=False, autoincrement=True),
        _text("name"),
        _text("accounts", null=True),
        _text("origins"),
        _text("detail"),
        _count("version", 1),
        _text("created_by"),
        _time("created_at"),
        _time("expires_at"),
        *(_time(name, null=True) for name in ("paused_at", "revoked_at", "last_seen_at")),
        _text("last_origin", null=True),
        _count("hits"),
        sa.PrimaryKeyConstraint("id", name=op.f(f"{table}_pk")),
        sa.UniqueConstraint("name", name=op.f(f"{table}_name_uq")),
        sqlite_autoincrement=True,
    )


def _alerts(prefix: str) -> None:
    table = f"{prefix}alert"
    op.create_table(
        table,
        sa.Column("id", BIG_ID, nullable=False, autoincrement=True),
        _text("rule"),
        _text("condition", null=True),
        *map(_text, ("subject", "level", "found")),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("worst", sa.Float(), nullable=True),
        _time("opened_at"),
        _time("seen_at"),
        _time("closed_at", null=True),
        _time("told_at", null=True),
        _count("told"),
        sa.PrimaryKeyConstraint("id", name=op.f(f"{table}_pk")),
        sqlite_autoincrement=True,
    )
    is_open = sa.text("closed_at IS NULL")
    op.create_index(
        f"{table}_open_uq",
        table,
        ["rule", "subject"],
        unique=True,
        postgresql_where=is_open,
        sqlite_where=is_open,
    )
    op.create_index(f"{table}_opened_ix", table, ["opened_at", "id"])
    snooze = f"{prefix}alert_snooze"
    op.create_table(
        snooze,
        _text("rule"),
        _time("until"),
        _text("actor"),
        _text("note"),
        _time("at"),
        sa.PrimaryKeyConstraint("rule", name=op.f(f"{snooze}_pk")),
    )


def _first_seen(table: str) -> None:
    """For alerts about causes that are new."""
    dead = sa.text("dead > 0")
    op.create_index(f"{table}_first_ix", table, ["first_seen_at"], postgresql_where=dead, sqlite_where=dead)


def _text(name: str, *, null: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.Text(), nullable=null)


def _time(name: str, *, null: bool = False) -> sa.Column[Any]:
    return sa.Column(name, TIME, nullable=null)


def _count(name: str, default: int = 0) -> sa.Column[Any]:
    return sa.Column(name, sa.Integer(), nullable=False, server_default=sa.text(str(default)))


def _long(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.BigInteger(), nullable=False, server_default=sa.text("0"))
