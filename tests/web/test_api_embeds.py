"""Frames in the API: made, listed, renewed and taken back by the rules of their page, and never by anybody else."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from dlq_console.store import embeds
from dlq_console.web.api.embeds import EmbedSchema, MadeEmbedSchema
from tests.store.making import rows
from tests.web.desk import Desk
from tests.web.test_api import Program, client, problem, program

__all__ = ["client"]

NEW = {"name": "Portal", "accounts": ["filial-sp"], "origins": ["https://intranet.example"]}


@pytest.fixture
def root(desk: Desk, client: FlaskClient) -> Program:
    """A token of an administrator."""
    return program(desk, client, "admin")


def _path(address: str) -> str:
    return address.removeprefix("http://localhost")


def test_a_frame_is_made_its_address_told_once_and_listed_without(root: Program, app: Flask) -> None:
    answer = root.post("/embeds", NEW | {"detail": "figures", "days": 30})
    made = answer.get_json()
    assert answer.status_code == 201
    assert set(made) == set(MadeEmbedSchema().fields)
    assert (made["name"], made["accounts"], made["detail"], made["state"]) == (
        "Portal", ["filial-sp"], "figures", "active",
    )  # fmt: skip
    assert app.test_client().get(_path(made["address"])).status_code == 200
    assert app.test_client().get(_path(made["badge"])).mimetype == "image/svg+xml"
    (item,) = root.get("/embeds").get_json()["items"]
    assert set(item) == set(EmbedSchema().fields)
    assert made["address"].rpartition("/")[2] not in root.get("/embeds").text


def test_it_is_paused_resumed_renewed_rotated_and_revoked_each_once(
    root: Program, app: Flask, desk: Desk
) -> None:
    made = root.post("/embeds", NEW).get_json()
    path, address = f"/embeds/{made['id']}", _path(made["address"])

    def act(name: str, body: Any = None) -> dict[str, Any]:
        answer = root.post(f"{path}/{name}", {} if body is None else body)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.get_json()
        return found

    assert act("pause")["state"] == "paused"
    problem(root.post(f"{path}/pause", {}), 409)
    assert app.test_client().get(address).status_code == 404
    assert act("resume")["state"] == "active"
    problem(root.post(f"{path}/resume", {}), 409)
    assert act("renew", {"days": 400})["expires_at"] > made["expires_at"]
    problem(root.post(f"{path}/renew", {"days": 0}), 422)
    rotated = act("rotate")
    assert rotated["address"] != made["address"]
    assert app.test_client().get(address).status_code == 404
    assert app.test_client().get(_path(rotated["address"])).status_code == 200
    assert "address" not in act("revoke")
    for name in embeds.ACTS:
        problem(root.post(f"{path}/{name}", {}), 409)
    acts = [row for row in rows(desk.hub.store, "audit") if row["action"].endswith("_embed")]
    assert [row["action"] for row in acts] == [
        "add_embed", "pause_embed", "resume_embed", "renew_embed", "rotate_embed", "revoke_embed",
    ]  # fmt: skip
    assert {row["actor"] for row in acts} == {"token:admin-0"}


@pytest.mark.parametrize(
    ("body", "status", "detail"),
    [
        (NEW | {"origins": ["https://a.example; script-src *"]}, 422, "origin: "),
        (NEW | {"origins": ["https://a.example\r\nX-Frame-Options: allow"]}, 422, "origin: "),
        (NEW | {"origins": []}, 422, "origin: name the pages"),
        (NEW | {"no_page": True}, 422, "origin: name pages, or say that none may"),
        (NEW | {"accounts": []}, 422, "accounts: "),
        (NEW | {"detail": "everything"}, 422, "detail: "),
        (NEW | {"days": "30"}, 400, "days: "),
        ({"origins": ["https://a.example"]}, 400, "name: "),
        (NEW | {"colour": "red"}, 400, "colour: "),
    ],
)
def test_what_cannot_be_used_is_told_and_nothing_is_made(
    root: Program, body: dict[str, Any], status: int, detail: str
) -> None:
    assert problem(root.post("/embeds", body), status)["detail"].startswith(detail)
    assert root.get("/embeds").get_json() == {"items": []}


def test_a_name_is_given_once(root: Program) -> None:
    root.post("/embeds", NEW)
    assert problem(root.post("/embeds", NEW), 409)["detail"].startswith("The frame Portal exists already")


def test_only_administrators_and_only_of_the_accounts_that_they_see(
    root: Program, desk: Desk, client: FlaskClient
) -> None:
    made = root.post("/embeds", NEW).get_json()
    for role in ("viewer", "operator", "editor"):
        other = program(desk, client, role)
        for answer in (
            other.get("/embeds"),
            other.post("/embeds", NEW),
            other.post(f"/embeds/{made['id']}/revoke", {}),
        ):
            problem(answer, 403)
    some = program(desk, client, "admin", accounts=["filial-rj"])
    assert some.get("/embeds").get_json() == {"items": []}
    problem(some.post(f"/embeds/{made['id']}/revoke", {}), 404)
    problem(some.post("/embeds", NEW | {"name": "Other"}), 422)
    problem(some.post("/embeds", NEW | {"name": "Other", "accounts": None}), 422)
    assert some.post("/embeds", NEW | {"name": "Other", "accounts": ["filial-rj"]}).status_code == 201
