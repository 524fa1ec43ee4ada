"""State that programs share through the database, and the readings that pages show.

Frozen: what this step adds, written out, whatever `models.py` says by then.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import context, op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

#: `timestamptz` on PostgreSQL, whole microseconds since 1970 on SQLite.
TIME = sa.DateTime(timezone=True).with_variant(sa.BigInteger(), "sqlite")
#: Small tables that are updated all the time: vacuum early.
STORAGE = {
    "fillfactor": "50",
    "autovacuum_vacuum_scale_factor": "0",
    "autovacuum_vacuum_threshold": "1000",
}


def upgrade() -> None:
    """Apply."""
    prefix: str = context.config.attributes["table_prefix"]
    shared, snapshot = f"{prefix}shared", f"{prefix}snapshot"
    op.create_table(
        shared,
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.Float(53), nullable=False),
        sa.PrimaryKeyConstraint("kind", "name", name=op.f(f"{shared}_pk")),
        postgresql_with=STORAGE,
    )
    op.create_index(f"{shared}_expires_ix", shared, ["expires_at"])
    op.create_table(
        snapshot,
        sa.Column("reading", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("changed_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("reading", "name", name=op.f(f"{snapshot}_pk")),
        postgresql_with=STORAGE,
    )
