"""Is the work done, by workers of one version, and does it get less?"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version

from dlq_console.health.findings import Finding, Level
from dlq_console.store import examining
from dlq_console.store.examining import Growth
from dlq_console.store.internal import OWN_ACCOUNT
from dlq_console.store.lanes import lanes
from dlq_console.watch.doctor.patient import Patient

#: Seconds that an event may have been due before somebody should have begun it.
WAITED = 120.0
#: Names of accounts that one finding has.
MOST_NAMED = 50
#: A step that has not run for so many seconds is not run any more; the rarest runs every hour.
STEP_SILENT = 10_800.0
#: The longest that all steps together may be silent, in seconds.
ALL_SILENT = 60.0
#: Events by which an account must grow in an hour before that is told, and the share of those that came.
FEW_MORE, SMALL_SHARE = 50, 0.1
#: A retention longer than this, in days, is none.
LONGEST_RETENTION = 3_650
#: Days that pruning may be behind.
BEHIND = 2.0


def steps(patient: Patient) -> Iterator[Finding]:
    """Whether the periodic steps run, and end well."""
    known = examining.steps(patient.store)
    ages = [age for _, _, age in known if age is not None]
    if ages and min(ages) > ALL_SILENT:
        figures = {"minutes": round(min(ages) / 60)}
        yield Finding(
            id="scheduler_dead", level=Level.FAULT, figures=figures, command="dlq-console scheduler"
        )
        return
    for name, error, age in known:
        if error:
            yield Finding(id="step_fails", level=Level.FAULT, figures={"step": name, "error": error})
        elif age is not None and age > STEP_SILENT:
            yield Finding(id="step_silent", figures={"step": name, "minutes": round(age / 60)})


def workers(patient: Patient) -> Iterator[Finding]:
    """Whether every account with due events has a living worker that serves it."""
    waiting = [name for name in examining.waiting_accounts(patient.store, WAITED) if name != OWN_ACCOUNT]
    if not waiting:
        return
    living = examining.living_workers(patient.store)
    if any(worker.accounts is None for worker in living):
        return
    served = {name for worker in living for name in worker.accounts or ()}
    unserved = tuple(name for name in waiting if name not in served)
    if unserved:
        yield Finding(
            id="accounts_unserved" if living else "no_worker",
            level=Level.FAULT,
            figures={"number": len(unserved)},
            accounts=unserved[:MOST_NAMED],
            command="dlq-console worker",
        )


def versions(patient: Patient) -> Iterator[Finding]:
    """Whether all workers, and this program, are of one version."""
    found = {worker.version for worker in examining.living_workers(patient.store)}
    if found - {version("dlq-console")} or len(found) > 1:
        told = ", ".join(sorted(found))
        yield Finding(id="worker_versions", figures={"versions": told, "own": version("dlq-console")})


def lanes_stopped(patient: Patient) -> Iterator[Finding]:
    """Whether lanes stand still behind a dead event."""
    stopped = [lane for lane in lanes(patient.store) if lane.status == "dead" and lane.waiting]
    if stopped:
        accounts = tuple(dict.fromkeys(lane.account for lane in stopped if lane.account))
        yield Finding(
            id="lanes_stopped",
            figures={"number": len(accounts)},
            accounts=accounts[:MOST_NAMED],
            command="dlq-console lanes list",
        )


def growth(patient: Patient) -> Iterator[Finding]:
    """Whether more has come than ended for an hour."""
    growing = [one for one in examining.growth(patient.store) if _grows(one)]
    if growing:
        yield Finding(
            id="growth",
            figures={
                "came": sum(sum(one.came) for one in growing),
                "ended": sum(sum(one.ended) for one in growing),
            },
            accounts=tuple(one.account for one in growing)[:MOST_NAMED],
        )


def _grows(one: Growth) -> bool:
    more = [came - ended for came, ended in zip(one.came, one.ended, strict=True)]
    return min(more) > 0 and sum(more) > max(FEW_MORE, SMALL_SHARE * sum(one.came))


def retention(patient: Patient) -> Iterator[Finding]:
    """Whether what is over is deleted one day."""
    days = patient.settings.retention_days
    if days > LONGEST_RETENTION:
        yield Finding(id="retention_off", figures={"days": days}, command="DLQ_RETENTION_DAYS=90")
        return
    oldest = examining.oldest_ended_days(patient.store)
    if oldest > days + BEHIND:
        yield Finding(id="prune_behind", figures={"days": days, "oldest": round(oldest)})
