"""Which status frames are there, and how do programs make, renew and take them back? By the rules of the page of frames."""

from __future__ import annotations

from dataclasses import fields as parts
from typing import Any

from flask import Response, abort
from marshmallow import Schema, fields, validate

from dlq_console.store.embeds import DAYS, MAX_NAME, MOST_DAYS, Detail, Embed, Standing
from dlq_console.store.people import Permission
from dlq_console.web import embed_acts
from dlq_console.web.api.access import demand
from dlq_console.web.api.blueprints import PROBLEM, api_blueprint, json_answer
from dlq_console.web.api.described import BodySchema, about, time_field
from dlq_console.web.api.representation import Document

embeds = api_blueprint("api_embeds", __name__, "Status frames that pages of others show; for administrators.")

#: Why each act cannot be done now.
_NOT_NOW = {
    "pause": "It is paused or revoked already, or was changed meanwhile.",
    "resume": "It is not paused, is revoked, or was changed meanwhile.",
    "renew": "It is revoked, or was changed meanwhile.",
    "rotate": "It is revoked, or was changed meanwhile.",
    "revoke": "It is revoked already, or was changed meanwhile.",
}


class NewEmbedSchema(BodySchema):
    """A frame to be made."""

    name = fields.String(required=True, metadata=about(f"What it calls itself; up to {MAX_NAME} characters."))
    accounts = fields.List(
        fields.String(),
        allow_none=True,
        load_default=None,
        metadata=about("Those it tells of, by name; null: all together, without names."),
    )
    origins = fields.List(
        fields.String(),
        load_default=list,
        metadata=about("Pages that may frame it, such as https://intranet.example."),
    )
    no_page = fields.Boolean(
        load_default=False, metadata=about("No page may frame it: for its badge and its own address alone.")
    )
    detail = fields.String(
        load_default=str(Detail.STATUS), metadata=about("status, or figures: also lag, drain and circuit.")
    )
    days = fields.Integer(load_default=DAYS, strict=True, metadata=about("For how long it can be seen."))


class RenewalSchema(BodySchema):
    """For how long a frame can be seen from now."""

    days = fields.Integer(
        load_default=DAYS, strict=True, metadata=about(f"1 to {MOST_DAYS}; only renew asks for it.")
    )


class EmbedSchema(Schema):
    """One frame."""

    id = fields.Integer()
    name = fields.String(metadata=about("What it calls itself."))
    accounts = fields.List(
        fields.String(), allow_none=True, metadata=about("Those it tells of; null for all.")
    )
    origins = fields.List(fields.String(), metadata=about("Pages that may frame it."))
    detail = fields.String(validate=validate.OneOf(list(Detail)))
    state = fields.String(validate=validate.OneOf(list(Standing)))
    version = fields.Integer(metadata=about("Counts its addresses."))
    created_by = fields.String()
    created_at = time_field("When it was made.", null=False)
    expires_at = time_field("When it ends.", null=False)
    paused_at = time_field("Since when it is paused.")
    revoked_at = time_field("When it was revoked.")
    last_seen_at = time_field("When it was last asked for.")
    last_origin = fields.String(allow_none=True, metadata=about("The page that showed it last."))
    hits = fields.Integer(metadata=about("How often it was asked for."))


class MadeEmbedSchema(EmbedSchema):
    """One frame with its address, which is told only when it is made or replaced."""

    address = fields.String(metadata=about("Of the frame."))
    badge = fields.String(metadata=about("Of its badge."))


class EmbedsSchema(Schema):
    """Every frame that the token may see."""

    items = fields.List(fields.Nested(EmbedSchema))


@embeds.route("/embeds", methods=["GET"])
@embeds.response(200, EmbedsSchema)
def list_embeds() -> Response:
    """Frames by name, those that were revoked last; never their addresses."""
    return json_answer({"items": [_document(one) for one in embed_acts.visible(demand(Permission.EMBEDS))]})


@embeds.route("/embeds", methods=["POST"])
@embeds.arguments(NewEmbedSchema)
@embeds.response(201, MadeEmbedSchema)
@embeds.alt_response(409, **PROBLEM)
def add_embed(new: dict[str, Any]) -> Response:
    """Make a frame; its address is told now."""
    return json_answer(_with_address(embed_acts.add(demand(Permission.EMBEDS), **new)), 201)


@embeds.route(
    "/embeds/<int(max=9223372036854775807):embed_id>/<any(pause, resume, renew, rotate, revoke):act>",
    methods=["POST"],
)
@embeds.arguments(RenewalSchema)
@embeds.response(200, MadeEmbedSchema)
@embeds.alt_response(404, **PROBLEM)
@embeds.alt_response(409, **PROBLEM)
def act_on_embed(asked: dict[str, Any], embed_id: int, act: str) -> Response:
    """Pause, resume, renew, revoke a frame, or give it another address (rotate), which is told now."""
    who = demand(Permission.EMBEDS)
    known = embed_acts.found(who, embed_id)
    if known is None:
        abort(404)
    if not embed_acts.act(who, known, act, **(asked if act == "renew" else {})):
        abort(409, _NOT_NOW[act])
    now = embed_acts.found(who, embed_id) or known
    return json_answer(_with_address(now) if act == "rotate" else _document(now))


def _document(one: Embed) -> Document:
    known = {part.name: getattr(one, part.name) for part in parts(Embed) if part.name != "left"}
    return known | {"state": one.standing}


def _with_address(one: Embed) -> Document:
    where = embed_acts.addresses(one)
    return _document(one) | {"address": where.frame, "badge": where.badge}
