"""`dlq-console demo`: everything at once, on this machine, with invented data.

One process tree: the simulated ERP, a worker, the console, and the producers in this process. On SQLite in table mode,
unless DLQ_DATABASE_URL and DLQ_BROKER_URL say otherwise.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
import tempfile
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from dlq_console.clock import monotonic
from dlq_console.demo.children import Children, StoppedEarly
from dlq_console.demo.data import SEED
from dlq_console.demo.erp_client import RULES
from dlq_console.demo.greeting import greet, say_goodbye
from dlq_console.demo.opening import opening
from dlq_console.demo.producers import Production, run_producer
from dlq_console.demo.summary import count_events, summarise
from dlq_console.demo.team import Team
from dlq_console.errors import ConfigurationError
from dlq_console.runtime import Hub
from dlq_console.settings import read_settings, unknown_names
from dlq_console.store import people
from dlq_console.store.people import Role

HOST = "127.0.0.1"
#: How many events the demo's worker runs at once.
SLOTS = 8
#: Log-ins that the demo makes: name to role.
LOGINS = {f"demo-{role}": role for role in (Role.OPERATOR, Role.EDITOR, Role.VIEWER, Role.ADMIN)}
#: Who made them, says the audit.
ACTOR = "demo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """What the command line asks for. `seconds`: None runs until Ctrl-C; `rate` is in events per second."""

    port: int = 8000
    data: Path | None = None
    seconds: float | None = None
    rate: float = 2.0


def run_demo(demo: Demo) -> int:
    """Start everything, say where it is, wait, stop everything; returns the exit status.

    Raises:
        ConfigurationError: the port is taken, or something did not start.
    """
    _refuse_taken_port(demo.port)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        return _run(demo, stop)
    except StoppedEarly:
        print("Stopped before everything had started.", file=sys.stderr)
        return 0


def _run(demo: Demo, stop: threading.Event) -> int:
    with ExitStack() as stack:
        folder = demo.data or Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="dlq-console-demo-"))
        )
        folder.mkdir(parents=True, exist_ok=True)
        environment = _environment(folder)
        hub = Hub(read_settings(database_url=environment["DLQ_DATABASE_URL"]))
        stack.callback(hub.close)
        hub.migrate()
        logins = _make_logins(hub)
        before = count_events(hub)
        children = stack.enter_context(Children(environment, stop))
        erp = children.start_erp(SEED, folder / "erp.jsonl")
        console = children.start_console(HOST, demo.port)
        children.start_worker(SLOTS)
        greet(console, erp, logins, hub, demo.seconds)
        team = Team(hub, {role: name for name, role in LOGINS.items()})
        production = _produce(hub, demo, stop, children, team, first_number=8800 + 10 * before)
        children.stop_worker()
        summary = summarise(hub, erp, before=before, created=production.created, folded=production.folded)
        say_goodbye(summary)
    return 0 if summary.holds and not children.fallen else 1


def _refuse_taken_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            raise ConfigurationError(f"Port {port} is taken; choose another one with --port.") from None


def _environment(folder: Path) -> dict[str, str]:
    """The environment of the children: the caller's own settings win, except for the handlers and their rules."""
    database = f"sqlite:///{folder.resolve()}/demo.db"
    defaults = {"DLQ_DATABASE_URL": database, "DLQ_SECRET_KEY": secrets.token_urlsafe(32)}
    # What is no setting has been told once; the children need not say it again.
    strange = unknown_names()
    own = {name: value for name, value in os.environ.items() if value and name.upper() not in strange}
    return defaults | own | {"DLQ_APP": "dlq_console.demo.handlers:hub", "DLQ_RULES": str(RULES)}


def _make_logins(hub: Hub) -> dict[str, str]:
    """Fresh passwords every time: the database may be a real one."""
    known = {entry.person.name for entry in people.list_users(hub.store)}
    passwords = {}
    for login, role in LOGINS.items():
        passwords[login] = secrets.token_urlsafe(9)
        if login in known:
            people.set_password(hub.store, login, passwords[login], actor=ACTOR)
        else:
            people.add_user(hub.store, login, passwords[login], role=role, actor=ACTOR)
    return passwords


def _produce(
    hub: Hub, demo: Demo, stop: threading.Event, children: Children, team: Team, *, first_number: int
) -> Production:
    """Make traffic until the time is over, Ctrl-C, or a child that should not have ended."""
    made: list[Production] = []

    def work() -> None:
        production = run_producer(
            hub,
            demo.rate,
            demo.seconds,
            SEED,
            stop,
            first_number=first_number,
            opening=opening,
        )
        made.append(production)

    producer = threading.Thread(target=work, name="demo-producers")
    producer.start()
    ends = None if demo.seconds is None else monotonic() + demo.seconds
    settled = False
    while not stop.wait(0.5) and (ends is None or monotonic() < ends):
        if children.look():
            break
        settled = settled or team.work()
    stop.set()
    producer.join(30)
    return made[0] if made else Production(0, 0)
