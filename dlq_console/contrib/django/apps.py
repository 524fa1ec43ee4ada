"""What happens when a project lists this app: the hub of the process learns Django's ways."""

from __future__ import annotations

from django.apps import AppConfig

from dlq_console.contrib.django.connections import DjangoConnections, afresh, fresh
from dlq_console.hub import callers, surroundings
from dlq_console.hub.surroundings import Surroundings


class DlqConsoleConfig(AppConfig):
    """The app. It has no models: the hub brings its tables up to date by itself."""

    name = "dlq_console.contrib.django"
    label = "dlq_console"
    verbose_name = "DLQ Console"

    def ready(self) -> None:
        """Called by Django once it is set up."""
        callers.register(DjangoConnections())
        surroundings.register(Surroundings(fresh, afresh))
