"""first tables"""

from alembic import context, op

from dlq_console.store.models import tables

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    prefix = context.config.attributes["table_prefix"]
    tables(prefix).metadata.create_all(op.get_bind())
