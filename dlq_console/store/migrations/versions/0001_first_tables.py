"""The first tables.

Frozen: what the tables are at this revision, written out, whatever `models.py` says by then.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import context, op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

#: SQLite only counts up by itself where the type is exactly INTEGER; both hold 64 bits.
BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
#: `timestamptz` on PostgreSQL, whole microseconds since 1970 on SQLite.
TIME = sa.DateTime(timezone=True).with_variant(sa.BigInteger(), "sqlite")

#: A status change never stays within its page, so the default of "a fifth of the table is dead" would let the hot
#: partial indexes bloat for hours on a large table.
LARGE = {
    "autovacuum_vacuum_scale_factor": 0,
    "autovacuum_vacuum_threshold": 20000,
    "autovacuum_vacuum_insert_scale_factor": 0.02,
    "autovacuum_analyze_scale_factor": 0,
    "autovacuum_analyze_threshold": 20000,
    "autovacuum_vacuum_cost_delay": 0,
}
#: Small tables that are updated all the time: room on every page, and vacuum early.
SMALL = {"fillfactor": 50, "autovacuum_vacuum_scale_factor": 0, "autovacuum_vacuum_threshold": 1000}


def upgrade() -> None:
    """Apply."""
    prefix: str = context.config.attributes["table_prefix"]
    _event(f"{prefix}event")
    _event_indexes(f"{prefix}event")
    _attempt(f"{prefix}attempt")
    _audit(f"{prefix}audit")
    _kind(f"{prefix}kind")
    _scope(f"{prefix}scope")
    _worker(f"{prefix}worker")
    _step(f"{prefix}step")
    _users(f"{prefix}users")
    _sessions(f"{prefix}sessions")
    _tokens(f"{prefix}tokens")
    _once(f"{prefix}once")


def _event(table: str) -> None:
    op.create_table(
        table,
        _id(),
        _text("kind"),
        _text("account"),
        _text("entity_id"),
        _text("idempotency_key"),
        _text("payload_hash"),
        _text("effect_key"),
        _text("version", null=True),
        _text("ordering_key", null=True),
        _text("lane", null=True),
        _text("on_dead", null=True),
        _text("status"),
        _text("reason", null=True),
        sa.Column("priority", sa.SmallInteger(), nullable=False, server_default=sa.text("0")),
        _count("attempts"),
        _count("total_attempts"),
        sa.Column("max_attempts", sa.Integer(), nullable=True),
        _count("cycle"),
        _time("due_at"),
        _time("next_run_at"),
        _time("give_up_at", null=True),
        _time("expires_at", null=True),
        _time("dispatched_at", null=True),
        _count("dispatch_count"),
        sa.Column("lease_epoch", BIG_ID, nullable=False, server_default=sa.text("0")),
        _text("lease_owner", null=True),
        _time("lease_until", null=True),
        _time("created_at"),
        _time("updated_at"),
        _time("started_at", null=True),
        _time("finished_at", null=True),
        _text("error_type", null=True),
        _text("last_error", null=True),
        _text("verdict", null=True),
        _text("fingerprint", null=True),
        _text("died_with", null=True),
        _text("died_again", null=True),
        _text("payload"),
        _text("result", null=True),
        _count("duplicates"),
        _time("last_duplicate_at", null=True),
        _text("origin", null=True),
        sa.Column("parent_id", BIG_ID, nullable=True),
        sa.Column("bulk_id", BIG_ID, nullable=True),
        _text("trace_context", null=True),
        sa.CheckConstraint(
            "status IN ('blocked', 'pending', 'running', 'failed', 'done', 'dead', 'discarded')",
            name=op.f(f"{table}_status_ck"),
        ),
        _primary_key(table, "id"),
        sqlite_autoincrement=True,
        postgresql_with={"fillfactor": 85} | LARGE,
    )


def _event_indexes(table: str) -> None:
    # Those over the whole table first: where SQLite has no other reason to choose, it takes the youngest that fits.
    op.create_index(f"{table}_key_uq", table, ["idempotency_key"], unique=True)
    op.create_index(f"{table}_entity_ix", table, ["entity_id", "id"])
    op.create_index(f"{table}_account_ix", table, ["account", "id"])

    ready = "status IN ('pending', 'failed')"
    _partial(table, "ready_ix", ready, "account", "priority", "next_run_at", "id")
    _partial(table, "give_up_ix", f"{ready} AND give_up_at IS NOT NULL", "give_up_at", "id")
    _partial(table, "running_ix", "status = 'running'", "account", "lease_until", "id")
    _partial(
        table, "lane_open_ix", "status IN ('pending', 'failed', 'running') AND lane IS NOT NULL", "lane", "id"
    )
    _partial(table, "lane_blocked_ix", "status = 'blocked'", "lane", "id")
    _partial(table, "lane_stopped_ix", "status = 'dead' AND on_dead = 'block'", "lane", "id")
    _partial(table, "lane_running_uq", "status = 'running' AND lane IS NOT NULL", "lane", unique=True)
    _partial(table, "dead_ix", "status = 'dead'", "finished_at", "id")
    _partial(table, "dead_kind_ix", "status = 'dead'", "kind", "finished_at", "id")
    _partial(table, "dead_account_ix", "status = 'dead'", "account", "finished_at", "id")
    _partial(table, "dead_account_kind_ix", "status = 'dead'", "account", "kind", "finished_at", "id")
    _partial(table, "dead_group_ix", "status = 'dead'", "fingerprint", "finished_at", "id")
    _partial(table, "discarded_ix", "status = 'discarded'", "finished_at", "id")
    _partial(table, "ended_ix", "status IN ('done', 'discarded')", "finished_at", "id")


def _attempt(table: str) -> None:
    op.create_table(
        table,
        _id(),
        sa.Column("event_id", BIG_ID, nullable=False),
        _count("cycle"),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("lease_epoch", BIG_ID, nullable=False),
        _text("kind"),
        _text("account"),
        _time("due_at"),
        _time("started_at"),
        _time("ended_at"),
        _text("outcome"),
        _text("error_type", null=True),
        _text("error", null=True),
        _text("traceback", null=True),
        _text("verdict", null=True),
        _text("fingerprint", null=True),
        sa.Column("wait_seconds", sa.Float(), nullable=True),
        _text("worker", null=True),
        _primary_key(table, "id"),
        sqlite_autoincrement=True,
        # Written once and never updated, so its pages may be full.
        postgresql_with=LARGE,
    )
    op.create_index(f"{table}_event_ix", table, ["event_id", "id"])
    op.create_index(f"{table}_ended_ix", table, ["ended_at"])


def _audit(table: str) -> None:
    op.create_table(
        table,
        _id(),
        _time("at"),
        _text("actor"),
        _text("action"),
        sa.Column("event_id", BIG_ID, nullable=True),
        _text("subject", null=True),
        _text("note", null=True),
        _text("before", null=True),
        _text("after", null=True),
        _primary_key(table, "id"),
        sqlite_autoincrement=True,
    )
    op.create_index(f"{table}_event_ix", table, ["event_id", "id"])


def _kind(table: str) -> None:
    op.create_table(
        table,
        _text("name"),
        _text("policy"),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("timeout", sa.Float(), nullable=False),
        _text("provider", null=True),
        _text("worker", null=True),
        _time("published_at"),
        _primary_key(table, "name"),
    )


def _scope(table: str) -> None:
    op.create_table(
        table,
        _text("type"),
        _text("name"),
        _time("closed_until", null=True),
        _text("closed_reason", null=True),
        _time("closed_since", null=True),
        sa.Column("max_running", sa.Integer(), nullable=True),
        _time("created_at"),
        _time("updated_at"),
        _primary_key(table, "type", "name"),
        postgresql_with=SMALL,
    )


def _worker(table: str) -> None:
    op.create_table(
        table,
        _text("id"),
        _text("mode"),
        _text("host"),
        sa.Column("pid", sa.Integer(), nullable=False),
        _text("version"),
        sa.Column("slots", sa.Integer(), nullable=False),
        _text("accounts", null=True),
        _text("state"),
        _time("started_at"),
        _time("heartbeat_at"),
        _primary_key(table, "id"),
        postgresql_with=SMALL,
    )


def _step(table: str) -> None:
    op.create_table(
        table,
        _text("name"),
        _text("owner", null=True),
        _time("lease_until", null=True),
        _time("last_run_at", null=True),
        _text("last_error", null=True),
        _primary_key(table, "name"),
        postgresql_with=SMALL,
    )


def _users(table: str) -> None:
    op.create_table(
        table,
        _id(),
        _text("name"),
        _text("password_hash"),
        _text("role"),
        _text("accounts", null=True),
        _text("locale", null=True),
        _text("timezone", null=True),
        _text("theme", null=True),
        _time("created_at"),
        _time("disabled_at", null=True),
        _time("last_login_at", null=True),
        _primary_key(table, "id"),
        sa.UniqueConstraint("name", name=op.f(f"{table}_name_uq")),
        sqlite_autoincrement=True,
    )


def _sessions(table: str) -> None:
    op.create_table(
        table,
        _text("token_hash"),
        sa.Column("user_id", BIG_ID, nullable=False),
        _time("created_at"),
        _time("seen_at"),
        _time("expires_at"),
        _primary_key(table, "token_hash"),
    )
    op.create_index(f"{table}_user_ix", table, ["user_id"])


def _tokens(table: str) -> None:
    op.create_table(
        table,
        _id(),
        _text("name"),
        _text("token_hash"),
        _text("role"),
        _text("accounts", null=True),
        _time("created_at"),
        _time("last_used_at", null=True),
        _time("revoked_at", null=True),
        _primary_key(table, "id"),
        sa.UniqueConstraint("name", name=op.f(f"{table}_name_uq")),
        sa.UniqueConstraint("token_hash", name=op.f(f"{table}_token_hash_uq")),
        sqlite_autoincrement=True,
    )


def _once(table: str) -> None:
    op.create_table(
        table,
        _text("scope"),
        _text("key"),
        _time("created_at"),
        _primary_key(table, "scope", "key"),
    )
    op.create_index(f"{table}_created_ix", table, ["created_at"])


def _id() -> sa.Column[Any]:
    return sa.Column("id", BIG_ID, autoincrement=True, nullable=False)


def _text(name: str, *, null: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.Text(), nullable=null)


def _time(name: str, *, null: bool = False) -> sa.Column[Any]:
    return sa.Column(name, TIME, nullable=null)


def _count(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.Integer(), nullable=False, server_default=sa.text("0"))


def _primary_key(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*columns, name=op.f(f"{table}_pk"))


def _partial(table: str, name: str, where: str, *columns: str, unique: bool = False) -> None:
    condition = sa.text(where)
    op.create_index(
        f"{table}_{name}",
        table,
        list(columns),
        unique=unique,
        postgresql_where=condition,
        sqlite_where=condition,
    )
