"""`/metrics`: for Prometheus. Open to programs on this machine; others need a bearer token."""

from __future__ import annotations

from ipaddress import ip_address

from flask import Blueprint, Response, abort, request
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from dlq_console.errors import StoreUnavailable
from dlq_console.store import people
from dlq_console.store.people import Permission
from dlq_console.web.hub import store
from dlq_console.web.scraping import Figures, read

metrics = Blueprint("metrics", __name__)

#: What a proxy adds: the request came from somewhere else than this machine.
_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP")


@metrics.get("/metrics")
def show() -> Response:
    """All figures that whoever asks may see; of a token with some accounts only, those of these accounts."""
    accounts = None if _is_local() else _accounts_of_token()
    registry = CollectorRegistry()
    registry.register(Figures(read(store(), accounts)))
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return Response(encode(registry), content_type=content_type)


def _is_local() -> bool:
    """Whether a program on this machine asks, and not somebody through a proxy on it."""
    if any(name in request.headers for name in _FORWARDED):
        return False
    try:
        address = ip_address(request.remote_addr or "")
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _accounts_of_token() -> tuple[str, ...] | None:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    try:
        person = people.token_person(store(), token.strip()) if scheme.lower() == "bearer" else None
    except StoreUnavailable:
        abort(503)
    if person is None or not people.may(person, Permission.VIEW):
        response = Response("A bearer token is needed from here.\n", 401, mimetype="text/plain")
        response.headers["WWW-Authenticate"] = "Bearer"
        abort(response)
    return person.accounts
