"""What does it cost to know how the installation stands, with millions of events and a thousand accounts?

On PostgreSQL: 10,000,000 events with `--full`, of which 150,000 are open, in 1,000 accounts (a fiftieth of the events, and a
tenth of the accounts and of what is open, without; `--events` and `--accounts` for other sizes), and 30 days of hours of
each account. `--kept URL` measures in a database of its own that stays: filled when it is empty, else taken as it is.

The time of the database is what its statements take until their rows are read, on the same machine. What goes to the
write-ahead log is counted over rounds in which every account moves before each count, which is the worst that can happen.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial

from sqlalchemy import Engine, event

from benchmarks.report import Report, argument_parser, load, percentile
from dlq_console.clock import utc_now
from dlq_console.health.series import RANGES
from dlq_console.runtime import Hub
from dlq_console.settings import Settings
from dlq_console.store import coarsening, rollups, sampling, series
from dlq_console.store.store import Store
from dlq_console.watch import looking
from tests.services.postgres import DURABLE, PostgresServer

FULL_EVENTS, FULL_ACCOUNTS, OPEN_OF = 10_000_000, 1_000, 66
LOOK_MS, COUNT_MS, CHART_MS, DAY_GB = 20, 250, 50, 1.0
TIMES = 20
#: Seconds between two looks and between two counts, as in `workers/steps.py`.
LOOK_EVERY, COUNT_EVERY = 2, 15
#: Counts over which the log is measured: five minutes of them.
ROUNDS = 20
CHUNK = 500_000

_EVENTS = """
INSERT INTO {event} (kind, account, entity_id, idempotency_key, payload_hash, effect_key, payload, status, reason, lane, on_dead,
    attempts, total_attempts, due_at, next_run_at, created_at, updated_at, started_at, finished_at, lease_until)
SELECT 'order.create', 'filial-' || (n % CAST(:accounts AS bigint)), CAST(n AS text), 'key-' || n, '0', '0',
    '{{"number": ' || n || ', "customer_code": "' || n % 9000 || '", "total": 464.60}}', status,
    CASE WHEN status = 'dead' THEN 'permanent' END, CASE WHEN status = 'blocked' THEN 'lane|' || n % 5000 END, 'skip',
    1, 1, at, at, at, at, at, CASE WHEN status IN ('done', 'dead') THEN at END, CASE WHEN status = 'running' THEN at END
FROM (
    SELECT n, {now} - CAST({second} * (CAST(:all AS bigint) - n) / 4 AS {duration}) AS at,
        CASE WHEN n > CAST(:all AS bigint) - CAST(:open AS bigint) THEN
            CASE n % 20 WHEN 0 THEN 'blocked' WHEN 1 THEN 'failed' ELSE 'pending' END
            WHEN n % 33 = 0 THEN 'dead' ELSE 'done' END AS status
    FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) AS s(n)
) AS made
"""
_DOORS = """
INSERT INTO {scope} (type, name, account, created_at, updated_at, closed_until, closed_since, provider_until, provider_reason)
SELECT 'account', 'filial-' || n, 'filial-' || n, {now}, {now}, {now} + {interval[86400]}, {now}, {now} + {interval[86400]}, 'busy'
FROM generate_series(0, CAST(:accounts AS bigint) / 20) AS s(n)
"""
_HOURS = """
INSERT INTO {rollup} (grain, account, kind, bucket, arrived, tried, first_tried, done, lag_ms, lag3, run4, lag_max_ms)
SELECT 60, account, kind, CAST(:from_at AS {time}) + CAST({second} * 3600 * h AS {duration}), 100, 100, 100, 99, 9000, 100, 100, 900
FROM (SELECT 'filial-' || n AS account FROM generate_series(1, CAST(:accounts AS bigint)) AS a(n) UNION ALL SELECT '') AS accounts
    CROSS JOIN (VALUES (''), ('order.create')) AS k(kind) CROSS JOIN generate_series(0, 719) AS h
WHERE account <> '' OR kind = ''
"""
_SAMPLES = """
INSERT INTO {sample} (grain, account, bucket, due)
SELECT DISTINCT 60, account, bucket, 7 FROM {rollup} WHERE grain = 60 AND kind = ''
"""
#: The minutes of two days, so that those of each account lie on pages of their own, as they do in time.
_SAMPLED_MINUTES = """
INSERT INTO {sample} (grain, account, bucket, due)
SELECT 1, account, date_trunc('minute', {now}) - CAST({second} * 60 * m AS {duration}), 7 FROM generate_series(2879, 1, -1) AS m
    CROSS JOIN (SELECT DISTINCT account FROM {rollup} WHERE grain = 60 AND kind = '') AS accounts
"""
_MINUTES = """
INSERT INTO {attempt} (event_id, number, lease_epoch, kind, account, due_at, started_at, ended_at, outcome)
SELECT id, 1, 1, kind, account, finished_at, finished_at, {now} - CAST({second} * (id % 600) AS {duration}), 'done'
FROM {event} WHERE status = 'done' ORDER BY finished_at DESC, id DESC LIMIT 60000
"""
#: One event more or less of each account.
_MOVE = """
UPDATE {event} SET status = CASE status WHEN 'pending' THEN 'failed' ELSE 'pending' END,
    due_at = {now} + CAST({second} * CASE status WHEN 'pending' THEN 3600 ELSE 0 END AS {duration}),
    next_run_at = {now} + CAST({second} * CASE status WHEN 'pending' THEN 3600 ELSE 0 END AS {duration})
WHERE id IN (SELECT DISTINCT ON (account) id FROM {event} WHERE status IN ('pending', 'failed') ORDER BY account, id)
"""
_LOG = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')"


def main() -> int:
    """Measure, print, and tell by the exit status whether every bar was reached."""
    parser = argument_parser(__doc__)
    parser.add_argument("--events", type=int)
    parser.add_argument("--accounts", type=int)
    parser.add_argument("--kept", metavar="URL")
    options = parser.parse_args()
    events = options.events or (FULL_EVENTS if options.full else FULL_EVENTS // 50)
    accounts = options.accounts or (FULL_ACCOUNTS if options.full else FULL_ACCOUNTS // 10)
    report = Report()
    report.heading(f"{load()}; {events:,} events, {accounts:,} accounts")
    if options.kept:
        on(report, options.kept, events, accounts)
        return report.status
    with PostgresServer(DURABLE | {"shared_buffers": "2GB", "max_wal_size": "4GB"}) as server:
        on(report, server.create_database("health"), events, accounts)
    return report.status


def on(report: Report, url: str, events: int, accounts: int) -> None:
    """Fill a database, unless it is filled, and look."""
    hub = Hub(Settings(database_url=url, secret_key="only-for-this-benchmark-" + 16 * "0", broker_url=""))
    hub.migrate()
    _fill(report, hub.store, events, accounts)
    looking.count(hub)
    looking.roll_up(hub)
    looking.look(hub)
    _looks(report, hub)
    _charts(report, hub.store)
    _log(report, hub)
    hub.close()


def _fill(report: Report, store: Store, events: int, accounts: int) -> None:
    with store.read() as connection:
        if connection.execute(store.statement("SELECT 1 FROM {event} LIMIT 1")).first():
            return
    began = time.monotonic()
    size = {"all": events, "open": events // OPEN_OF, "accounts": accounts}
    for first in range(1, events + 1, CHUNK):
        with store.write() as connection:
            span = {"first": first, "last": min(events, first + CHUNK - 1)}
            connection.execute(store.statement(_EVENTS), size | span)
    with store.write() as connection:
        connection.execute(store.statement(_DOORS), {"accounts": accounts})
        hour = utc_now().replace(minute=0, second=0, microsecond=0)
        month = {"accounts": accounts, "from_at": hour - timedelta(days=30)}
        connection.execute(store.statement(_HOURS), month)
        connection.execute(store.statement(_SAMPLES))
        connection.execute(store.statement(_SAMPLED_MINUTES))
        connection.execute(store.statement(_MINUTES))
    with store.single_statement() as connection:
        connection.exec_driver_sql("VACUUM ANALYZE")
    report.note(f"filled in {time.monotonic() - began:.0f} s")


@contextmanager
def _in_database() -> Iterator[list[float]]:
    """Collects how many seconds each statement took."""
    took: list[float] = []
    began = [0.0]

    def before(*_: object) -> None:
        began[0] = time.perf_counter()

    def after(*_: object) -> None:
        took.append(time.perf_counter() - began[0])

    # On all engines at once: those of a store hear each other's statements.
    event.listen(Engine, "before_cursor_execute", before)
    event.listen(Engine, "after_cursor_execute", after)
    try:
        yield took
    finally:
        event.remove(Engine, "before_cursor_execute", before)
        event.remove(Engine, "after_cursor_execute", after)


def _timed(report: Report, name: str, act: Callable[[], object], bar: float) -> None:
    """Do it again and again; judged is what its statements take."""
    act()
    in_database, all_of_it = [], []
    for _ in range(TIMES):
        began = time.perf_counter()
        with _in_database() as took:
            act()
        all_of_it.append(1000 * (time.perf_counter() - began))
        in_database.append(1000 * sum(took))
    beside = f"{percentile(all_of_it, 95):.0f} ms with everything"
    report.under(f"{name}, p95", percentile(in_database, 95), "ms", bar, beside)


def _looks(report: Report, hub: Hub) -> None:
    report.heading("looks")
    _timed(report, "a snapshot of all states", lambda: looking.look(hub), LOOK_MS)
    _timed(report, "a count of all events", lambda: sampling.look(hub.store), COUNT_MS)
    steps: dict[str, Callable[[Store], int]] = {
        "the last minutes": rollups.roll_up,
        "hours and days": coarsening.coarsen,
    }
    for name, step in steps.items():
        began = time.perf_counter()
        written = step(hub.store)
        report.note(f"{name}: {1000 * (time.perf_counter() - began):.0f} ms, {written} rows written")


def _charts(report: Report, store: Store) -> None:
    report.heading("charts of 30 days")
    some = tuple(f"filial-{number}" for number in range(1, 11))
    month = RANGES["30d"]
    _timed(report, "all accounts", lambda: series.read(store, month), CHART_MS)
    _timed(report, "one account", lambda: series.read(store, month, account="filial-7"), CHART_MS)
    _timed(report, "ten accounts", lambda: series.read(store, month, accounts=some), CHART_MS)


def _log(report: Report, hub: Hub) -> None:
    """Bytes of the write-ahead log that a day of looks and counts takes; what moves the events is not counted.

    Five minutes, as many as lie between two checkpoints: the first write to a page after one takes its image too.
    """
    store, written, samples = hub.store, 0, 0
    report.heading(f"write-ahead log of {ROUNDS} counts with the looks between them, every account moving")
    with store.single_statement() as connection:
        connection.exec_driver_sql("CHECKPOINT")
    start = utc_now().replace(second=0, microsecond=0)
    for turn in range(ROUNDS):
        with store.write() as connection:
            connection.execute(store.statement(_MOVE))
        found = sampling.look(store)
        at = start + timedelta(seconds=turn * COUNT_EVERY)
        samples += _growth(store, partial(_keep_samples, store, found, at))
        written += _growth(store, partial(looking.keep_counts, store, found))
        for _ in range(COUNT_EVERY // LOOK_EVERY):
            written += _growth(store, partial(looking.look, hub))
    a_day = 86_400 / COUNT_EVERY / ROUNDS / 1e9
    report.under("snapshots of states and counts, a day", written * a_day, "GB", DAY_GB)
    report.note(f"samples, a row of each account every minute: {samples * a_day:.2f} GB more")


def _keep_samples(store: Store, found: Mapping[str, sampling.Sampled], at: datetime) -> None:
    store.transact(lambda connection: sampling.keep(store, connection, found, at))


def _growth(store: Store, act: Callable[[], object]) -> int:
    """By how much the log grows."""
    before = _written(store)
    act()
    return _written(store) - before


def _written(store: Store) -> int:
    with store.read() as connection:
        return int(connection.exec_driver_sql(_LOG).scalar_one())


if __name__ == "__main__":
    sys.exit(main())
