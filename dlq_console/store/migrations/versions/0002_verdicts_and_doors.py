"""Verdicts on attempts, doubts and successors of events, doors of scopes, groups of errors.

Frozen: what this step adds, written out, whatever `models.py` says by then.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import context, op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

#: SQLite only counts up by itself where the type is exactly INTEGER; both hold 64 bits.
BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
#: `timestamptz` on PostgreSQL, whole microseconds since 1970 on SQLite.
TIME = sa.DateTime(timezone=True).with_variant(sa.BigInteger(), "sqlite")


def upgrade() -> None:
    """Apply."""
    prefix: str = context.config.attributes["table_prefix"]
    _add(f"{prefix}event", _count("doubts"), sa.Column("superseded_by", BIG_ID, nullable=True))
    _add(
        f"{prefix}attempt", *map(_text, ("effect", "reach", "wait_source", "rule", "rules_version", "answer"))
    )
    _add(f"{prefix}kind", _text("limits"))
    _add(
        f"{prefix}scope",
        _text("account"),
        _text("kind"),
        _count("guarded"),
        _count("watched"),
        _time("provider_until"),
        _text("provider_reason"),
        _text("circuit"),
        _time("paused_at"),
        _time("paused_until"),
        _text("paused_by"),
        _text("pause_note"),
        _text("pause_cause"),
        _text("pace"),
        _time("paced_until"),
    )
    _guarded_index(f"{prefix}scope")
    _scope_change(f"{prefix}scope_change")
    _error_group(f"{prefix}error_group")
    dead = sa.text("status = 'dead'")
    op.create_index(
        f"{prefix}event_dead_group_account_ix",
        f"{prefix}event",
        ["fingerprint", "account", "finished_at", "id"],
        postgresql_where=dead,
        sqlite_where=dead,
    )


def _add(table: str, *columns: sa.Column[Any]) -> None:
    for column in columns:
        op.add_column(table, column)


def _guarded_index(table: str) -> None:
    guarded = sa.text("guarded > 0")
    op.create_index(f"{table}_guarded_ix", table, ["account"], postgresql_where=guarded, sqlite_where=guarded)


def _scope_change(table: str) -> None:
    op.create_table(
        table,
        sa.Column("id", BIG_ID, autoincrement=True, nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("generation", BIG_ID, nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("before", sa.Text(), nullable=False),
        sa.Column("after", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f(f"{table}_pk")),
        sqlite_autoincrement=True,
    )
    op.create_index(f"{table}_generation_uq", table, ["type", "name", "generation"], unique=True)
    op.create_index(f"{table}_at_ix", table, ["at"])


def _error_group(table: str) -> None:
    op.create_table(
        table,
        sa.Column("fingerprint", sa.Text(), nullable=False),
        sa.Column("account", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        _text("error_type"),
        _text("verdict"),
        sa.Column("sample", sa.Text(), nullable=False),
        sa.Column("sample_event_id", BIG_ID, nullable=False),
        _count("dead"),
        sa.Column("first_seen_at", TIME, nullable=False),
        sa.Column("last_seen_at", TIME, nullable=False),
        sa.Column("sampled_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", "account", name=op.f(f"{table}_pk")),
    )
    op.create_index(f"{table}_sampled_ix", table, ["sampled_at"])


def _text(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.Text(), nullable=True)


def _time(name: str) -> sa.Column[Any]:
    return sa.Column(name, TIME, nullable=True)


def _count(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.Integer(), nullable=False, server_default=sa.text("0"))
