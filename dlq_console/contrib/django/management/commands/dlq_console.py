"""How is `dlq-console` run on the project's own database? `python manage.py dlq_console worker`, and so on."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from django.core.management.base import BaseCommand

from dlq_console.contrib.django.databases import database_url


class Command(BaseCommand):
    """Everything after its name is handed on as it is."""

    help = "Runs dlq-console on the database of this project: db upgrade, worker, serve, ..."

    def run_from_argv(self, argv: Sequence[str]) -> None:
        """Become `dlq-console`; where DLQ_DATABASE_URL is set, it wins."""
        os.environ.setdefault("DLQ_DATABASE_URL", database_url())
        os.execv(sys.executable, [sys.executable, "-m", "dlq_console", *argv[2:]])  # noqa: S606 - no shell is wanted
