"""How does a view reach the hub of its process?"""

from __future__ import annotations

from typing import cast

from flask import current_app

from dlq_console.hub.core import HubCore
from dlq_console.store.store import Store

#: Under which name the hub stands in `app.extensions`.
EXTENSION = "dlq_console"


def hub() -> HubCore:
    """The hub that this application was made with."""
    return cast(HubCore, current_app.extensions[EXTENSION])


def store() -> Store:
    """The store of that hub."""
    return hub().store
