"""The JSON API under `/api/v1`, for programs. Flask is loaded by `init_app` only: the command line writes JSON too."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask import Flask


def init_app(app: Flask) -> None:
    """Serve the API; `app` has its hub and its form tokens already."""
    from dlq_console.web.api.setup import install

    install(app)
