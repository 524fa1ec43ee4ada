"""What does a provider get to feel of an outage, a block and a backlog? In simulated time, on SQLite.

An outage of half an hour that 2,000 events of one account meet: refused connections, then time-outs, then 503s. A block of
fifteen minutes. A backlog of 10,000 events (2,000 without --full) against a provider that takes 240 calls a minute.
Beside the outage stands the same one with the circuit held closed, which is how a plain retry behaves.
"""

from __future__ import annotations

import sys
import tempfile
from collections import deque
from pathlib import Path
from typing import Any

import httpx

from benchmarks.report import Report, arguments, load
from dlq_console import Hub, Policy
from dlq_console.settings import read_settings
from dlq_console.store.events import Event
from tests.hub.simulation import Provider, Workers
from tests.store.making import rows

ACCOUNT = "filial-sp"
OUTAGE, BLOCK, PER_MINUTE = 1_800.0, 900.0, 240
REQUEST = httpx.Request("POST", "http://127.0.0.1/")


def main() -> int:
    """Measure, print, and tell by the exit status whether every bar was reached."""
    full = arguments(__doc__).full
    report = Report()
    report.heading(f"{load()}; simulated time")
    with tempfile.TemporaryDirectory() as folder:
        _outage(report, Path(folder))
        _block(report, Path(folder))
        _backlog(report, Path(folder), 10_000 if full else 2_000)
    return report.status


def _hub(folder: Path, name: str, policy: Policy) -> Provider:
    hub = Hub(read_settings(database_url=f"sqlite:///{folder / name}.db", broker_url=""))
    hub.migrate()
    provider = Provider(hub)
    hub.handler("order.create", policy=policy)(provider.handle)
    hub.publish_kinds("simulated")
    return provider


def _enqueue(hub: Hub, count: int) -> None:
    for number in range(count):
        hub.enqueue("order.create", account=ACCOUNT, entity_id=str(number), payload={"n": number})


def _outage(report: Report, folder: Path) -> None:
    report.heading(f"an outage of {OUTAGE:.0f} s, 2,000 events of one account")
    met = _through_outage(folder, "outage", protected=True)
    plain = _through_outage(folder, "plain", protected=False)
    report.at_most("dead events", met["dead"], "", 0, f"{plain['dead']} without the circuit")
    report.note(f"{met['first']:.0f} calls had begun before it was known to be down")
    calls = f"{plain['calls'] - plain['first']:.0f} calls without it"
    report.at_most(
        "calls after that, one for each probe", met["calls"] - met["first"], "", OUTAGE / 120, calls
    )
    report.at_most("attempts without a call", met["attempts"] - met["all_calls"], "", 0)
    report.note(f"the probe that found it alive came {met['found']:.0f} s after its end")
    report.under("from that probe until all were done", met["drained"], "s", 60)


def _through_outage(folder: Path, name: str, *, protected: bool) -> dict[str, float]:
    provider = _hub(folder, name, Policy())
    hub = provider.hub
    _enqueue(hub, 2_000)
    if not protected:
        hub.force_breaker(ACCOUNT, "closed", actor="benchmark")
    begun = provider.now()
    provider.answer = lambda event: _down(provider.now() - begun)
    workers = Workers(provider, slots=16)
    workers.look()
    first = len(provider.calls)
    workers.run(OUTAGE, step=1)
    during = len(provider.calls)
    provider.answer = lambda event: None
    ended = provider.now()
    workers.run(300, until=lambda: len(provider.calls) > during)
    found = provider.now()
    workers.run(300 if protected else 4_000, until=lambda: not _open(hub), step=0.25 if protected else 2)
    kept = rows(hub.store)
    figures = {
        "dead": sum(row["status"] == "dead" for row in kept),
        "first": first,
        "calls": during,
        "all_calls": len(provider.calls),
        "attempts": sum(row["total_attempts"] for row in kept),
        "found": found - ended,
        "drained": provider.now() - found,
    }
    hub.close()
    return figures


def _down(passed: float) -> object:
    if passed < OUTAGE / 3:
        raise httpx.ConnectError("refused", request=REQUEST)
    if passed < 2 * OUTAGE / 3:
        raise httpx.ReadTimeout("timed out", request=REQUEST)
    raise _answer(503, {"error": "down"})


def _open(hub: Hub) -> bool:
    table = hub.store.tables.event
    with hub.store.read() as connection:
        waiting = table.select().where(table.c.status.in_(("pending", "failed", "running"))).limit(1)
        return connection.execute(waiting).first() is not None


def _block(report: Report, folder: Path) -> None:
    report.heading(f"a block of {BLOCK:.0f} s")
    provider = _hub(folder, "block", Policy(provider="omie"))
    _enqueue(provider.hub, 100)
    text = f"API bloqueada por consumo indevido, tente novamente em {BLOCK:.0f} segundos"
    provider.answer = lambda event: _raise(
        _answer(425, {"faultcode": "SOAP-ENV:Client-8020", "faultstring": text})
    )
    workers = Workers(provider)
    workers.run(2)
    begun, met = provider.calls[-1][0], len(provider.calls)
    provider.answer = lambda event: None
    workers.run(BLOCK + 30)
    later = [at for at, _ in provider.calls[met:]]
    report.at_most("calls while it is blocked", sum(at < begun + BLOCK for at in later), "", 0)
    report.at_most("back after its end", later[0] - begun - BLOCK, "s", 5)
    provider.hub.close()


def _backlog(report: Report, folder: Path, count: int) -> None:
    report.heading(f"a backlog of {count:,} events against {PER_MINUTE} calls a minute")
    provider = _hub(folder, "backlog", Policy(provider="omie", writes=False))
    _enqueue(provider.hub, count)
    window: deque[float] = deque()
    refused: list[float] = []

    def answer(event: Event) -> object:
        now = provider.now()
        while window and window[0] <= now - 60:
            window.popleft()
        if len(window) >= PER_MINUTE:
            refused.append(now)
            raise _answer(429, {"error": "too many requests"})
        window.append(now)
        return None

    provider.answer = answer
    begun = provider.now()
    Workers(provider).run(count, until=lambda: len(provider.calls) >= count)
    report.at_most("answers 429", len(refused), "", 0)
    rate = 60 * len(provider.calls) / (provider.now() - begun)
    report.at_least("used of what is allowed", 100 * rate / PER_MINUTE, "%", 85)
    provider.hub.close()


def _answer(status: int, body: dict[str, Any]) -> httpx.HTTPStatusError:
    return httpx.HTTPStatusError(
        str(status), request=REQUEST, response=httpx.Response(status, json=body, request=REQUEST)
    )


def _raise(error: Exception) -> object:
    raise error


if __name__ == "__main__":
    sys.exit(main())
