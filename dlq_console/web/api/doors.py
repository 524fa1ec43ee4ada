"""Which accounts and circuits are closed, and what can programs do about it? The same figures as the command line."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from flask import Response, abort

from dlq_console.hub.door_figures import account_figures, breaker_figures
from dlq_console.hub.doors import account_name, circuit, circuit_scope, every_door
from dlq_console.hub.services import service_breaker, service_of
from dlq_console.store import queries
from dlq_console.store.people import Permission, Person
from dlq_console.web.api import door_schemas
from dlq_console.web.api.access import demand
from dlq_console.web.api.blueprints import PROBLEM, api_blueprint, json_answer
from dlq_console.web.api.described import NoteSchema
from dlq_console.web.api.representation import Document
from dlq_console.web.health_figures import every_breaker, every_bulkhead
from dlq_console.web.hub import hub

#: How an object whose names are those of circuits is described.
BY_NAME = {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Breaker"}}
ROOMS_BY_NAME = {"type": "object", "additionalProperties": {"$ref": "#/components/schemas/Bulkhead"}}


doors = api_blueprint("api_doors", __name__, "Accounts and circuits: what is closed, and why.")


@doors.route("/accounts", methods=["GET"])
@doors.response(200, door_schemas.AccountsSchema)
def list_accounts() -> Response:
    """Accounts that have work or a door, with what keeps it closed."""
    return json_answer({"items": _accounts(demand(Permission.VIEW))})


@doors.route("/accounts/<path:account>/pause", methods=["POST"])
@doors.arguments(door_schemas.PauseSchema, required=False)
@doors.response(200, door_schemas.AccountSchema)
def pause_account(how: dict[str, Any], account: str) -> Response:
    """Let no further event of an account start; what runs goes on to its end."""
    account = account_name(account)
    asking = _may_touch(demand(Permission.PAUSE_ACCOUNT), account)
    until: datetime | None = how.get("until")
    hub().pause_account(account, actor=asking.name, note=how.get("note"), until=until)
    return _account(asking, account)


@doors.route("/accounts/<path:account>/resume", methods=["POST"])
@doors.arguments(NoteSchema, required=False)
@doors.response(200, door_schemas.AccountSchema)
@doors.alt_response(409, **PROBLEM)
def resume_account(how: dict[str, Any], account: str) -> Response:
    """Let events of a paused account start again."""
    account = account_name(account)
    asking = _may_touch(demand(Permission.RESUME_ACCOUNT), account)
    hub().resume_account(account, actor=asking.name, note=how.get("note"))
    return _account(asking, account)


@doors.route("/breakers", methods=["GET"])
@doors.response(200, BY_NAME)
def list_breakers() -> Response:
    """Circuits of accounts, kinds and services that have anything to tell, by name."""
    return json_answer(every_breaker(hub().store, demand(Permission.VIEW), hub().known_kinds()))


@doors.route("/bulkheads", methods=["GET"])
@doors.response(200, ROOMS_BY_NAME)
def list_bulkheads() -> Response:
    """Accounts that have work and services that guards protect, by name: how many run at once, and out of how many."""
    return json_answer(every_bulkhead(hub().store, demand(Permission.VIEW)))


@doors.route("/breakers/<path:name>/force-open", methods=["POST"])
@doors.arguments(door_schemas.ForceSchema, required=False)
@doors.response(200, door_schemas.BreakerSchema)
def force_open(how: dict[str, Any], name: str) -> Response:
    """Let nothing start behind a circuit, whatever its calls say."""
    return _forced(name, "open", how)


@doors.route("/breakers/<path:name>/force-closed", methods=["POST"])
@doors.arguments(door_schemas.ForceSchema, required=False)
@doors.response(200, door_schemas.BreakerSchema)
def force_closed(how: dict[str, Any], name: str) -> Response:
    """Let everything start behind a circuit, whatever its calls say."""
    return _forced(name, "closed", how)


@doors.route("/breakers/<path:name>/reset", methods=["POST"])
@doors.arguments(NoteSchema, required=False)
@doors.response(200, door_schemas.BreakerSchema)
@doors.alt_response(404, **PROBLEM)
def reset_breaker(how: dict[str, Any], name: str) -> Response:
    """Close a circuit, and end what a person had decided about it."""
    asking = _may_touch_circuit(name)
    hub().reset_breaker(name, actor=asking.name, note=how.get("note"))
    return _breaker(name)


def _forced(name: str, position: Literal["open", "closed"], how: dict[str, Any]) -> Response:
    asking = _may_touch_circuit(name)
    hub().force_breaker(name, position, actor=asking.name, note=how.get("note"), seconds=how.get("seconds"))
    return _breaker(name)


def _may_touch(asking: Person, account: str) -> Person:
    if not asking.sees(account):
        abort(403, f"The token may not use the account {account}.")
    return asking


def _may_touch_circuit(name: str) -> Person:
    asking = demand(Permission.FORCE_BREAKER)
    if asking.accounts is None:
        return asking
    if service_of(hub().store, hub().state, name) is not None:
        abort(403, "The token may use some accounts only; a service belongs to none.")
    account = circuit_scope(hub().store, name).account
    return _may_touch(asking, account) if account is not None else asking


def _accounts(asking: Person) -> list[Document]:
    store = hub().store
    return account_figures(
        queries.overview(store, accounts=asking.accounts),
        [(door, now) for door, now in every_door(store) if queries.concerns(door.scope, asking.accounts)],
    )


def _account(asking: Person, account: str) -> Response:
    (found,) = [each for each in _accounts(asking) if each["account"] == account]
    return json_answer(found)


def _breaker(name: str) -> Response:
    store, state = hub().store, hub().state
    service = service_of(store, state, name)
    if service is not None:
        return json_answer(service_breaker(state, service, hub().services.breakers))
    return json_answer(breaker_figures(*circuit(store, name), hub().known_kinds()))
