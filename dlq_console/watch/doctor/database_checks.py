"""Is the database there, current and well?"""

from __future__ import annotations

from collections.abc import Iterator

from dlq_console.clock import utc_now
from dlq_console.health.findings import Finding, Level
from dlq_console.store import examining, migrate
from dlq_console.store.compatibility import works_with
from dlq_console.store.queries.readiness import exists, revision
from dlq_console.watch.doctor.patient import Patient

#: Seconds that the clocks of this machine and of the database may differ.
MOST_DIFFERENCE = 2.0
#: Seconds that a transaction may be open.
LONGEST_TRANSACTION = 600.0
#: Dead rows of a table that are nothing, whatever their share, and the share of all above that.
FEW_DEAD, LARGEST_SHARE = 100_000, 0.3
#: Milliseconds that a SQLite writer must at least wait for its turn.
SHORTEST_BUSY = 1_000

_UPGRADE = "dlq-console db upgrade"


def reachable(patient: Patient) -> Iterator[Finding]:
    """Whether there is a database with the tables of this program; being away is told by whoever runs this."""
    place = patient.store.engines.place
    found = revision(patient.store) if exists(patient.store) else None
    if found is None:
        yield Finding(id="tables_missing", level=Level.FAULT, figures={"place": place}, command=_UPGRADE)
    elif not works_with(found, migrate.head()):
        figures = {"found": found, "own": migrate.head()}
        yield Finding(id="tables_old", level=Level.FAULT, figures=figures, command=_UPGRADE)


def clock(patient: Patient) -> Iterator[Finding]:
    """Whether this machine and the database agree what time it is."""
    before = utc_now()
    told = examining.now(patient.store)
    after = utc_now()
    # However long the question took, the answer was given between the two looks.
    difference = max((before - told).total_seconds(), (told - after).total_seconds())
    if difference > MOST_DIFFERENCE:
        yield Finding(id="clock", figures={"seconds": round(difference, 1)}, command="timedatectl status")


def autovacuum(patient: Patient) -> Iterator[Finding]:
    """Whether PostgreSQL tidies up the tables that change most."""
    if patient.store.sqlite:
        return
    if not examining.autovacuum_is_on(patient.store):
        command = "ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf();"
        yield Finding(id="autovacuum_off", level=Level.FAULT, command=command)
    for table, is_off, dead, living in examining.vacuumed(patient.store):
        if is_off:
            command = f"ALTER TABLE {table} RESET (autovacuum_enabled);"
            yield Finding(
                id="autovacuum_off_table", level=Level.FAULT, figures={"table": table}, command=command
            )
        elif dead > FEW_DEAD and dead > LARGEST_SHARE * (dead + living):
            yield Finding(
                id="autovacuum_behind",
                figures={"table": table, "dead": dead},
                command=f"VACUUM (VERBOSE, ANALYZE) {table};",
            )


def transactions(patient: Patient) -> Iterator[Finding]:
    """Whether a transaction has been open for so long that nothing can be tidied up."""
    if patient.store.sqlite:
        return
    for process, seconds, state in examining.long_transactions(patient.store, LONGEST_TRANSACTION):
        yield Finding(
            id="long_transaction",
            figures={"process": process, "minutes": round(seconds / 60), "state": state},
            command=f"SELECT pg_terminate_backend({process});",
        )


def sqlite(patient: Patient) -> Iterator[Finding]:
    """Whether SQLite works as it must where several processes write."""
    if not patient.store.sqlite:
        return
    mode = examining.pragma(patient.store, "journal_mode")
    if mode != "wal":
        yield Finding(id="sqlite_journal", level=Level.FAULT, figures={"mode": mode})
    busy = int(examining.pragma(patient.store, "busy_timeout"))
    if busy < SHORTEST_BUSY:
        yield Finding(id="sqlite_busy", figures={"milliseconds": busy})
    for kind, number in examining.locked_out(patient.store):
        yield Finding(id="sqlite_deferred", figures={"kind": kind, "number": number})
