"""How does the API join the application? Its routes, its description, and its own way of saying no."""

from __future__ import annotations

from importlib.metadata import version
from typing import NoReturn

from flask import Blueprint, Flask, current_app, request
from flask_smorest import Api
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound

from dlq_console.web.api import problems
from dlq_console.web.api.acts import acts
from dlq_console.web.api.alerts import alerts
from dlq_console.web.api.blueprints import PREFIX
from dlq_console.web.api.bulk import bulk
from dlq_console.web.api.described import ProblemSchema
from dlq_console.web.api.desk import desk
from dlq_console.web.api.door_schemas import BulkheadSchema
from dlq_console.web.api.doors import doors
from dlq_console.web.api.embeds import embeds
from dlq_console.web.api.events import api
from dlq_console.web.api.groups import groups
from dlq_console.web.api.health import health
from dlq_console.web.api.kinds import kinds
from dlq_console.web.api.lag import LagSchema, lag
from dlq_console.web.api.nodes import nodes
from dlq_console.web.api.recovery import recovery
from dlq_console.web.api.views import views
from dlq_console.web.api.workers import workers
from dlq_console.web.security import csrf

#: In the order in which they are described.
PARTS = (
    api, acts, groups, kinds, desk, doors, lag, health, alerts, workers, nodes, recovery, bulk, views, embeds,
)  # fmt: skip
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

#: Answers what no route of the API does; the pages' own error pages are of no use to a program.
unknown = Blueprint("api_unknown", __name__, url_prefix=PREFIX)
problems.install(unknown)


class QuietApi(Api):
    """The library's extension without its error handler, which would answer for the pages too."""

    ERROR_SCHEMA = ProblemSchema

    def _register_error_handlers(self) -> None:
        pass


def install(app: Flask) -> None:
    """Serve the API under PREFIX and its description as `openapi.json`."""
    app.config.update(
        API_TITLE="DLQ Console",
        API_VERSION="v1",
        OPENAPI_VERSION="3.0.3",
        OPENAPI_URL_PREFIX=PREFIX,
        API_SPEC_OPTIONS={
            "info": {"description": f"DLQ Console {version('dlq-console')}"},
            "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
            "security": [{"token": []}],
        },
    )
    described = QuietApi(app)
    # Named by hand, because it stands only inside an object whose names are those of bulkheads.
    described.spec.components.schema("Bulkhead", schema=BulkheadSchema)
    described.spec.components.schema("Lag", schema=LagSchema)
    for part in PARTS:
        described.register_blueprint(part)
    app.register_blueprint(unknown)
    for blueprint in (*PARTS, unknown):
        # Callers send a token, never a cookie: there is nothing that a foreign page could make a browser send.
        csrf.exempt(blueprint)


@unknown.route("/<path:_rest>", methods=METHODS)
def nothing_here(_rest: str) -> NoReturn:
    """404, or 405 where the address takes other requests."""
    allowed = [method for method in METHODS if _is_route(method)]
    if allowed:
        raise MethodNotAllowed(valid_methods=allowed)
    raise NotFound


def _is_route(method: str) -> bool:
    adapter = current_app.create_url_adapter(request)
    try:
        endpoint, _ = adapter.match(method=method) if adapter else ("", {})
    except HTTPException:
        return False
    return endpoint not in ("", "api_unknown.nothing_here")
