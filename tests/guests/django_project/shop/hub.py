"""The hub of this project, on its own database."""

from dlq_console import Hub, Settings
from dlq_console.contrib.django import database_url

hub = Hub(Settings(database_url=database_url()))
