"""Which filters are kept under a name? The views of the program itself, and those that are shared with everybody."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from flask import Response
from marshmallow import Schema, fields

from dlq_console.store import views as saved
from dlq_console.store.people import Permission, Person
from dlq_console.store.views import View
from dlq_console.web.api.access import demand
from dlq_console.web.api.blueprints import PROBLEM, api_blueprint, json_answer
from dlq_console.web.api.described import BodySchema, about
from dlq_console.web.api.filters import parameters_of
from dlq_console.web.api.representation import Document
from dlq_console.web.hub import hub

views = api_blueprint("api_views", __name__, "Views: filters that are kept under a name.")


class NewViewSchema(BodySchema):
    """A filter to be kept."""

    name = fields.String(required=True, metadata=about("Unique among your own."))
    filter = fields.Raw(
        required=True,
        metadata=about("An object of parameters as in GET /events, or a query string."),
    )
    shared = fields.Boolean(load_default=False, metadata=about("Whether everybody sees it."))
    page = fields.String(
        load_default="dead-letters", metadata=about("Which list it is of: dead-letters or events.")
    )


class ViewSchema(Schema):
    """A view, and how many events it holds now."""

    id = fields.Integer()
    name = fields.String()
    owner = fields.String()
    shared = fields.Boolean()
    page = fields.String()
    filter = fields.String(metadata=about("A query string."))
    count = fields.Integer(metadata=about(f"Up to {saved.COUNT_CAP:,}."))
    count_capped = fields.Boolean(metadata=about("Whether there are, or may be, more than `count`."))


class ViewsSchema(Schema):
    """All views that the program may use."""

    items = fields.List(fields.Nested(ViewSchema))


@views.route("/views", methods=["GET"])
@views.response(200, ViewsSchema)
def list_views() -> Response:
    """Your views, then those that others have shared, by name, with how many events each holds now."""
    asking = demand(Permission.VIEW)
    return json_answer({"items": [_document(view, asking) for view in saved.listed(hub().store, asking)]})


@views.route("/views", methods=["POST"])
@views.arguments(NewViewSchema)
@views.response(200, ViewSchema)
@views.alt_response(409, **PROBLEM)
def save_view(new: dict[str, Any]) -> Response:
    """Keep a filter under a name."""
    asking = _may_share(demand(Permission.VIEW), shared=new["shared"])
    view = saved.save(hub().store, asking, **_values(new))
    return json_answer(_document(view, asking))


@views.route("/views/<int:view_id>", methods=["PUT"])
@views.arguments(NewViewSchema)
@views.response(200, ViewSchema)
@views.alt_response(404, **PROBLEM)
def change_view(new: dict[str, Any], view_id: int) -> Response:
    """Change a view of yours; an administrator also one that is shared."""
    asking = _may_share(demand(Permission.VIEW), shared=new["shared"])
    view = saved.change(hub().store, view_id, asking, **_values(new))
    return json_answer(_document(view, asking))


@views.route("/views/<int:view_id>", methods=["DELETE"])
@views.response(204)
@views.alt_response(404, **PROBLEM)
def delete_view(view_id: int) -> Response:
    """Forget a view of yours; an administrator also one that is shared."""
    saved.delete(hub().store, view_id, demand(Permission.VIEW))
    return Response(status=204)


def _may_share(asking: Person, *, shared: bool) -> Person:
    return demand(Permission.SHARE_VIEW) if shared else asking


def _values(new: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": new["name"],
        "filter_": _query(new["filter"]),
        "shared": new["shared"],
        "page": new["page"],
    }


def _query(given: Any) -> str:
    """A filter as a query string, however it was written."""
    return given if isinstance(given, str) else urlencode(parameters_of(given), doseq=True)


def _document(view: View, asking: Person) -> Document:
    number = saved.counted(hub().store, view, asking)
    return {
        "id": view.id,
        "name": view.name,
        "owner": view.owner,
        "shared": view.shared,
        "page": view.page,
        "filter": view.filter,
        "count": number.number,
        "count_capped": number.capped,
    }
