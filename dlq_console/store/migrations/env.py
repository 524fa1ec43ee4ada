"""How Alembic runs here: always online, on the connection that `migrate.upgrade` gives it."""

from alembic import context

from dlq_console.store.migrate import version_table
from dlq_console.store.models import tables

config = context.config
prefix = config.attributes["table_prefix"]
context.configure(
    connection=config.attributes["connection"],
    target_metadata=tables(prefix).metadata,
    version_table=version_table(prefix),
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
