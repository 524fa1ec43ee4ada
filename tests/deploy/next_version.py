"""What is the next version of this program, as far as an upgrade is concerned? A copy of it with one more migration."""

from __future__ import annotations

import shutil
from pathlib import Path

from dlq_console.store import migrate
from tests.services.process import PROJECT_ROOT

#: Two kinds of change that a migration may make: a column that may be empty and a table of its own. It can be told to
#: wait in the middle, so that it can be killed there.
MIGRATION = '''"""Colours for events."""

import os
import time
from pathlib import Path

import sqlalchemy as sa
from alembic import context, op

revision = "{revision}"
down_revision = "{before}"


def upgrade() -> None:
    prefix = context.config.attributes["table_prefix"]
    op.add_column(f"{{prefix}}event", sa.Column("colour", sa.Text(), nullable=True))
    op.create_table(f"{{prefix}}colour", sa.Column("name", sa.Text(), primary_key=True))
    if hold := os.environ.get("HOLD_MIGRATION"):
        Path(hold).touch()
        while Path(hold).exists():
            time.sleep(0.02)
    op.create_index(f"{{prefix}}event_colour_ix", f"{{prefix}}event", ["colour"])
'''


#: The newest migration of this program.
OWN = migrate.head()


def after(revision: str, steps: int = 1) -> str:
    """The number of the migration that comes so many steps later."""
    return f"{int(revision) + steps:04d}"


NEXT = after(OWN)


class NextVersion:
    """The next version, in a folder of its own.

    Attributes:
        folder: what to put on Python's path.
        migrations: where its migrations are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        ignored = shutil.ignore_patterns("__pycache__")
        for name in ("dlq_console", "templates", "static"):
            shutil.copytree(PROJECT_ROOT / name, folder / name, ignore=ignored)
        self.migrations = folder / "dlq_console" / "store" / "migrations"
        migration = MIGRATION.format(revision=NEXT, before=OWN)
        (self.migrations / "versions" / f"{NEXT}_colours.py").write_text(migration)

    @property
    def environment(self) -> dict[str, str]:
        """With it, `python -m dlq_console` is the next version; handlers of the tests are still found."""
        return {"PYTHONPATH": f"{self.folder}:{PROJECT_ROOT}"}
