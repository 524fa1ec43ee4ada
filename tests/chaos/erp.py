"""What does the ERP of the storm do with a call, and what does it write down?

    python -m tests.chaos.erp --port 8100 --ledger erp.jsonl --faults faults.json --seed 7

It is a program of its own with nothing of the hub in it. Its ledger has one JSON object a line, handed to the operating
system before the caller is answered, so neither its own death nor anybody else's changes what has been written.

POST /<account>     a call: X-Effect-Key, JSON {entity, refused}
POST /_register     JSON {entity}: from now on it is not refused

How its accounts behave stands in a file, which `write_faults` writes, so that it can be told while it is away.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Protocol

#: Status and body of an answer.
Said = tuple[int, dict[str, Any]]


class Receive(Protocol):
    """Takes the call that is being answered to the books."""

    def __call__(self, *, echo: bool = False) -> Said: ...


#: Longer than any handler waits (seconds).
TOO_LONG = 1.2
#: Seconds that a call takes when all is well.
LATENCY = (0.05, 0.3)
#: Share of the calls of a faulty account that meet its fault.
SHARE = 0.6


class Books:
    """What the ERP holds. An effect key that it has seen is recognised, whoever sends it.

    Args:
        ledger: the file; what stands there from an earlier life is remembered.
    """

    def __init__(self, ledger: Path) -> None:
        self._lock = threading.Lock()
        self._applied: set[tuple[str, str]] = set()
        self._registered: set[str] = set()
        for line in ledger.read_text().splitlines() if ledger.exists() else ():
            entry = json.loads(line)
            if entry["what"] == "applied":
                self._applied.add((entry["account"], entry["key"]))
            elif entry["what"] == "registered":
                self._registered.add(entry["entity"])
        self._file = os.open(ledger, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def register(self, entity: str) -> None:
        """Take this document from now on."""
        with self._lock:
            self._registered.add(entity)
            self._write(what="registered", entity=entity)

    def receive(self, account: str, key: str, body: dict[str, Any], *, echo: bool = False) -> Said:
        """Apply a document once for its key. `echo`: the network, and not the caller, has sent it once more."""
        with self._lock:
            about = {"account": account, "key": key, "entity": body["entity"], "echo": echo}
            if (account, key) in self._applied:
                self._write(what="repeated", **about)
                return 200, {"repeat": True}
            if body["refused"] and body["entity"] not in self._registered:
                self._write(what="refused", **about)
                return 422, {}
            self._applied.add((account, key))
            self._write(what="applied", **about)
            return 200, {"repeat": False}

    def _write(self, **entry: Any) -> None:
        os.write(self._file, (json.dumps(entry) + "\n").encode())


class Faults:
    """How each account behaves at this moment.

    Args:
        path: the file that `write_faults` writes.
        seed: decides which calls meet the fault of their account.
    """

    def __init__(self, path: Path, seed: int) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._random = Random(f"erp:{seed}")

    def next(self, account: str) -> str:
        """What happens to the next call, after the time that the ERP takes for it; the empty text for nothing."""
        with self._lock:
            meets, latency = self._random.random() < SHARE, self._random.uniform(*LATENCY)
        time.sleep(latency)
        fault, until = json.loads(self._path.read_text()).get(account, ("", 0.0))
        return str(fault) if meets and time.monotonic() < until else ""


def write_faults(path: Path, faults: Mapping[str, tuple[str, float]]) -> None:
    """Say how accounts behave: account -> fault, and until when by the monotonic clock of this machine."""
    written = path.with_suffix(".new")
    written.write_text(json.dumps(faults))
    written.replace(path)


def _hangs(_receive: Receive) -> Said:
    time.sleep(TOO_LONG)
    return 504, {}


def _slow(receive: Receive) -> Said:
    """It is applied when the caller may have gone and tried again."""
    time.sleep(TOO_LONG)
    return receive()


def _late(receive: Receive) -> Said:
    """It is applied at once, and the caller learns of it too late."""
    said = receive()
    time.sleep(TOO_LONG)
    return said


def _lies(receive: Receive) -> Said:
    receive()
    return 500, {}


def _breaks(receive: Receive) -> None:
    receive()


def _doubles(receive: Receive) -> Said:
    said = receive()
    receive(echo=True)
    return said


#: Fault -> what becomes of a call; None for a connection that breaks off without an answer.
FAULTS: dict[str, Callable[[Receive], Said | None]] = {
    "unavailable": lambda _receive: (503, {}),
    "limits": lambda _receive: (429, {}),
    "hangs": _hangs,
    "slow": _slow,
    "late": _late,
    "lies": _lies,
    "breaks": _breaks,
    "doubles": _doubles,
    "": lambda receive: receive(),
}


class Handler(BaseHTTPRequestHandler):
    """Answers one request. What it works on is set on the class before the server starts."""

    books: ClassVar[Books]
    faults: ClassVar[Faults]

    def do_POST(self) -> None:
        """A call, or the registration of a document."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        account = self.path.removeprefix("/")
        if account == "_register":
            self.books.register(body["entity"])
            self._say(200, {})
            return
        receive = partial(self.books.receive, account, self.headers["X-Effect-Key"], body)
        said = FAULTS[self.faults.next(account)](receive)
        if said is not None:
            self._say(*said)

    def _say(self, status: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        with suppress(ConnectionError):  # the caller has gone
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """A line per call would drown what matters."""


class Server(ThreadingHTTPServer):
    """Takes as many callers at once as there are."""

    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    """Answer until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--faults", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    Handler.books, Handler.faults = Books(options.ledger), Faults(options.faults, options.seed)
    with Server(("127.0.0.1", options.port), Handler) as server:
        print("the ERP answers", flush=True)  # noqa: T201 - whoever started it waits for this line
        server.serve_forever()


if __name__ == "__main__":
    main()
