"""How do events come in from a Django project? In its own transactions, and the workers hear of them at the commit.

    INSTALLED_APPS = [..., "dlq_console.contrib.django"]

Without it `session=connection` works as well, but nobody tells of the commit: a worker's relay finds the event.
"""

from __future__ import annotations

from dlq_console.contrib.django.databases import database_url

__all__ = ["database_url"]
