"""How many events per second do four workers claim and complete, and what does a closed account cost the others?

PostgreSQL with fsync on and otherwise its own defaults, 200,000 finished events in the table. Each worker is a process
that does what the table runner does without a handler: it reads which accounts have something due as often as the
runner, claims for its free slots, and completes. Every claim is one committed transaction and so is every completion
(one by one) or batch of completions. Slots are announced so that the fair share of an account is no limit.

Compared with: the same statements sent by bare psycopg, without the hub around them.
"""

from __future__ import annotations

import json
import statistics
import sys
from dataclasses import dataclass

from benchmarks.bare import bare_connection
from benchmarks.processes import Start, in_processes
from benchmarks.report import Report, arguments, load, milliseconds, percentile
from benchmarks.rows import ACCOUNTS, Group, fill
from dlq_console.clock import monotonic
from dlq_console.store import claims, presence, transitions
from dlq_console.store.claims import ReadyAccount
from dlq_console.store.events import EVENT_COLUMNS, Event
from dlq_console.store.migrate import upgrade
from dlq_console.store.store import Store
from dlq_console.workers.runner import READY_USED
from tests.services.postgres import DURABLE, PostgresServer
from tests.store import closing

WORKERS = 4
BATCH = 50
FINISHED = 200_000
BEHIND_A_CLOSED_DOOR = 100_000
CLOSED = "filial-fechada"
DONE = transitions.completed(None)
_ID, _EPOCH = EVENT_COLUMNS.index("id"), EVENT_COLUMNS.index("lease_epoch")


@dataclass(frozen=True, slots=True)
class Seen:
    """What one worker did: events completed, seconds it took, seconds per claim."""

    completed: int
    seconds: float
    claims: list[float]


def work(start: Start, url: str, batch: int, seconds: float) -> Seen:
    """Claim and complete through the store for some seconds."""
    store = Store(url)
    worker = presence.new_worker_id()
    # A single account may take three quarters of all slots: of twice as many as are used.
    presence.announce(store, worker, mode="table", slots=2 * batch)
    accounts = claims.ReadyRound(store)
    ready: list[ReadyAccount] = []
    completed, took, ready_until = 0, [], 0.0
    start()
    began = monotonic()
    while (now := monotonic()) < began + seconds:
        if now >= ready_until:
            ready = accounts.look()
            ready_until = now + READY_USED
        events = claims.claim(store, ready, worker=worker, limit=batch)
        took.append(monotonic() - now)
        completed += _complete(store, events)
        if not events:
            ready_until = 0.0
    return Seen(completed, monotonic() - began, took)


def _complete(store: Store, events: list[Event]) -> int:
    if len(events) == 1:
        return int(transitions.end(store, events[0], DONE))
    return sum(transitions.end_many(store, [(event, DONE) for event in events]))


def work_bare(start: Start, url: str, batch: int, seconds: float) -> Seen:
    """The same statements by bare psycopg: no hub, no SQLAlchemy, rows left as they come."""
    store = Store(url)
    connection = bare_connection(store)
    claim = store.driver_statement(claims.CLAIM_POSTGRES)
    one, many = (
        store.driver_statement(each) for each in (transitions.COMPLETE_ONE, transitions.COMPLETE_MANY)
    )
    names = [f"filial-{number}" for number in range(ACCOUNTS)]
    always = {"limit": batch, "slots": 0, "locked": "[]", "worker": "bare", "lease_seconds": 30}
    completed, took = 0, []
    start()
    began = monotonic()
    while (now := monotonic()) < began + seconds:
        asked = names[:batch]
        names = names[1:] + names[:1]
        values = always | {"accounts": json.dumps(asked), "share": -(-batch // len(asked))}
        rows = connection.execute(claim, values).fetchall()
        took.append(monotonic() - now)
        runs = [{"id": row[_ID], "epoch": row[_EPOCH], "result": None} for row in rows]
        if len(runs) == 1:
            completed += connection.execute(one, runs[0] | {"worker": "bare"}).rowcount
        else:
            completed += connection.execute(many, {"runs": json.dumps(runs)}).rowcount
    return Seen(completed, monotonic() - began, took)


def throughput(report: Report, url: str, store: Store, *, full: bool) -> None:
    """Claim and complete, one by one and in batches, over ten accounts and from a single one."""
    seconds = 20.0 if full else 6.0
    for batch, bar in ((1, 1_000), (BATCH, 5_000)):
        words = "one by one" if batch == 1 else f"in batches of {batch}"
        bare = _rate(in_processes(WORKERS, work_bare, url, batch, seconds))
        seen = in_processes(WORKERS, work, url, batch, seconds)
        report.at_least(
            f"claim + complete {words}, {ACCOUNTS} accounts", _rate(seen), "events/s", bar, _beside(bare)
        )
        report.note(f"one claim: {milliseconds([one for each in seen for one in each.claims])}")
    with store.write() as connection:
        table = store.tables.event
        connection.execute(table.update().where(table.c.status == "pending").values(account="filial-0"))
    for batch, bar in ((1, 1_000), (BATCH, 5_000)):
        words = "one by one" if batch == 1 else f"in batches of {batch}"
        seen = in_processes(WORKERS, work, url, batch, seconds)
        report.at_least(f"claim + complete {words}, a single account", _rate(seen), "events/s", bar)


def _rate(seen: list[Seen]) -> float:
    return sum(each.completed for each in seen) / statistics.mean(each.seconds for each in seen)


def _beside(bare: float) -> str:
    return f"bare psycopg: {bare:,.0f}"


def closed_account(report: Report, url: str, store: Store) -> None:
    """Claims of others while 100,000 due events wait at a closed door."""
    with store.write() as connection:
        closing.close(store, connection, "account", CLOSED, 3_600, "closed for the benchmark")
    for workers in (1, WORKERS):
        seen = in_processes(workers, look_and_claim, url, 2_000 // workers)
        looks = [look for each in seen for look, _ in each]
        both = [look + claim for each in seen for look, claim in each]
        busy = "a lone worker" if workers == 1 else f"{workers} workers at once"
        report.under(
            f"claim beside {BEHIND_A_CLOSED_DOOR:,} due events of a closed account, {busy}, p95",
            1000 * percentile(both, 95), "ms", 10,
            f"the naive claim, oldest first: {1000 * _naive(store):,.0f} ms",
        )  # fmt: skip
        report.note(f"both looks together: {milliseconds(both)}")
        report.note(f"which accounts are ready: {milliseconds(looks)}")


def look_and_claim(start: Start, url: str, times: int) -> list[tuple[float, float]]:
    """Seconds for `ready_accounts` and for `claim`, with a completion after each."""
    store = Store(url)
    worker = presence.new_worker_id()
    took = []
    for warming in range(times + 20):
        if warming == 20:
            start()
        began = monotonic()
        ready = claims.ready_accounts(store)
        looked = monotonic()
        events = claims.claim(store, ready, worker=worker, limit=1)
        took.append((looked - began, monotonic() - looked))
        assert [event.account for event in events] != [CLOSED]
        _complete(store, events)
    return took[20:]


NAIVE = """
SELECT e.id FROM {event} e LEFT JOIN {scope} s ON s.type = 'account' AND s.name = e.account
WHERE e.status IN ('pending', 'failed') AND e.next_run_at <= {now}
    AND (s.closed_until IS NULL OR s.closed_until <= {now})
ORDER BY e.next_run_at LIMIT 1 FOR UPDATE OF e SKIP LOCKED
"""


def _naive(store: Store) -> float:
    took = []
    for _ in range(5):
        began = monotonic()
        with store.read() as connection:
            connection.execute(store.statement(NAIVE)).all()
        took.append(monotonic() - began)
    return statistics.median(took)


def main() -> int:
    """Measure, print, and say by the exit status whether every bar was reached."""
    options = arguments(__doc__)
    report = Report()
    with PostgresServer(DURABLE) as server:
        report.heading(f"claims: PostgreSQL, fsync on, {WORKERS} worker processes; {load()}")
        url = server.create_database("throughput")
        upgrade(url)
        store = Store(url)
        # Enough for every turn: what runs out would be measured as slow.
        waiting = 1_000_000 if options.full else 400_000
        fill(store, Group(count=FINISHED, status="done"), Group(count=waiting, status="pending"))
        throughput(report, url, store, full=options.full)
        store.engines.dispose()
        url = server.create_database("closed")
        upgrade(url)
        store = Store(url)
        fill(
            store,
            Group(count=FINISHED, status="done"),
            Group(count=BEHIND_A_CLOSED_DOOR, status="pending", account=f"'{CLOSED}'", age="2592000 - n"),
            Group(count=20_000, status="pending"),
        )
        closed_account(report, url, store)
        store.engines.dispose()
    return report.status


if __name__ == "__main__":
    sys.exit(main())
