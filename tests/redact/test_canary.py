"""A secret goes in with a payload, comes back in every way an error knows, and is found nowhere but in that payload."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flask import Flask
from werkzeug.routing import Rule

from dlq_console.app import create_app
from dlq_console.runtime import Hub
from dlq_console.settings import read_settings
from dlq_console.store import groups, people, queries
from dlq_console.store.store import Store
from tests.cli.running import CommandLine
from tests.redact.leaky import HANDLERS
from tests.services.process import StartChild
from tests.store.making import rows
from tests.web.desk import SECRET_KEY
from tests.web.visitor import Visitor

CANARY = "c4n4ry-0f-th3-t3st"
#: Tax number with right check digits, and the person of a mail address.
PERSONAL = ("52998224725", "529.982.247-25", "maria.canario")
PAYLOAD = {
    "app_key": CANARY,
    "app_secret": CANARY,
    "access_token": CANARY,
    "customer": {"senha": CANARY, "fone": CANARY, "cpf": PERSONAL[0]},
    "headers": [{"name": "Authorization", "value": f"Bearer {CANARY}"}],
    "callback": f"https://user:{CANARY}@shop.example/hook?access_token={CANARY}",
    "raw": json.dumps({"client_secret": CANARY}),
    "number": 8841,
}
#: Where the payload and what a handler returned are kept as they were given.
AS_GIVEN = {("event", "payload"), ("event", "result")}
#: Addresses that show no data, or act.
NO_PAGES = {"static", "assets.serve"}


def _hub(url: str) -> Hub:
    return Hub(read_settings(database_url=url, secret_key=SECRET_KEY, redact="customer.fone"))


def _let_it_run(url: str, start_child: StartChild) -> str:
    """Put one event in for every way to leak, let a real worker run them, and return what the worker printed."""
    hub = _hub(url)
    # An account each, so that none waits behind a door that another has closed.
    ids = [
        hub.enqueue(
            f"leak.{handler.__name__}", account=handler.__name__, entity_id="8841", payload=PAYLOAD
        ).id
        for handler in HANDLERS
    ]
    worker = start_child(
        [sys.executable, "-m", "dlq_console", "worker", "--concurrency", "2"],
        env={
            "DLQ_DATABASE_URL": url,
            "DLQ_APP": "tests.redact.leaky:hub",
            "DLQ_REDACT": "customer.fone",
            "DLQ_POLL_SECONDS": "0.05",
        },
    )

    worker.wait_until(
        lambda: all(queries.attempts(hub.store, event_id) for event_id in ids), 60, "every event was tried"
    )
    worker.stop()
    for event_id in ids:
        event = hub.get(event_id)
        if event.status == "dead":
            hub.discard(event_id, actor="maria", note=f"the token={CANARY} was wrong, CPF {PERSONAL[1]}")
            break
    groups.sample(hub.store)
    hub.close()
    return worker.output()


def _stored(store: Store) -> Iterator[tuple[str, str]]:
    """Where and what of every value in every table, but the payload and the result as they were given."""
    for table in store.tables.metadata.tables.values():
        name = table.name.removeprefix(store.tables.prefix)
        for row in rows(store, name):
            for column, value in row.items():
                if (name, column) not in AS_GIVEN and value is not None:
                    yield f"{name}.{column}", str(value)


def _addresses(app: Flask, store: Store) -> Iterator[str]:
    """Every address that can be read, with every id and fingerprint there is."""
    values: dict[str, list[Any]] = {
        "event_id": [row["id"] for row in rows(store)],
        "fingerprint": [row["fingerprint"] for row in rows(store, "error_group")],
    }
    with app.test_request_context():
        for rule in app.url_map.iter_rules():
            if (
                "GET" not in (rule.methods or ())
                or rule.endpoint in NO_PAGES
                or not rule.arguments <= set(values)
            ):
                continue
            yield from _built(app, rule, values)


def _built(app: Flask, rule: Rule, values: dict[str, list[Any]]) -> Iterator[str]:
    adapter = app.create_url_adapter(None) or app.url_map.bind("localhost")
    if not rule.arguments:
        yield adapter.build(rule.endpoint)
    for argument in rule.arguments:
        yield from (adapter.build(rule.endpoint, {argument: value}) for value in values[argument])


def _shown(app: Flask, hub: Hub) -> Iterator[tuple[str, str]]:
    """Every page and every answer of the API, with its headers."""
    visitor = Visitor(app)
    person = people.add_user(hub.store, "ana", "correct horse battery", role="admin")
    token = people.open_session(hub.store, person)
    with visitor.client.session_transaction() as session:
        session["token"] = token
    program = people.add_token(hub.store, "ci", role="admin")
    for address in _addresses(app, hub.store):
        headers = {"Authorization": f"Bearer {program}"} if address.startswith("/api/") else {}
        answer = visitor.get(address, **headers)
        # 400: the page needs to be asked for something; 409: its act is not allowed in the state of this event.
        assert answer.status_code in (200, 204, 302, 303, 400, 404, 405, 409), (address, answer.status_code)
        yield address, f"{answer.headers}{answer.text}"


def test_a_secret_is_found_nowhere_but_in_the_payload_as_it_was_given(
    sqlite_url: str, tmp_path: Path, start_child: StartChild, forgetting: None
) -> None:
    printed = _let_it_run(sqlite_url, start_child)
    hub = _hub(sqlite_url)
    app = create_app(hub)
    line = CommandLine({"DLQ_DATABASE_URL": sqlite_url, "DLQ_REDACT": "customer.fone"}, tmp_path)
    ids = [row["id"] for row in rows(hub.store)]
    places = [
        ("what the worker printed", printed),
        *_stored(hub.store),
        *_shown(app, hub),
        ("events list", line("events", "list").output),
        ("events list --json", line("events", "list", "--json").output),
        *((f"events show {id_}", line("events", "show", id_).output) for id_ in ids),
        *((f"events show {id_} --json", line("events", "show", id_, "--json").output) for id_ in ids),
    ]
    hub.close()
    leaks = [(place, text) for place, text in places for secret in (CANARY, *PERSONAL) if secret in text]
    assert not leaks, {place: _around(text) for place, text in leaks}
    # The test can fail: it looked at the places where the words around the secret are, and the payload has it.
    names = {place for place, text in places if "•••" in text}
    assert {
        "what the worker printed",
        "attempt.error",
        "attempt.traceback",
        "event.last_error",
        "audit.note",
    } <= names
    assert {"error_group.sample", f"/events/{ids[0]}", f"/api/v1/events/{ids[0]}"} <= names
    assert any(name.startswith("/groups/") for name in names)
    assert all(CANARY in row["payload"] for row in rows(hub.store))


def _around(text: str) -> str:
    secret = next(secret for secret in (CANARY, *PERSONAL) if secret in text)
    at = text.index(secret)
    return text[max(0, at - 120) : at + len(secret) + 40]
