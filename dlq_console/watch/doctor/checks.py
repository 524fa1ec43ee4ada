"""Which checks are there, in which order?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dlq_console.health.findings import Finding
from dlq_console.watch.doctor import (
    broker_checks,
    database_checks,
    kind_checks,
    redis_checks,
    settings_checks,
    work_checks,
)
from dlq_console.watch.doctor.patient import Patient

#: Findings after which nothing else that needs the database is asked.
DATABASE = frozenset({"database_away", "tables_missing", "tables_old"})


@dataclass(frozen=True, slots=True)
class Check:
    """One question; `run` yields what is wrong."""

    name: str
    run: Callable[[Patient], Iterable[Finding]]
    needs_database: bool = True


CHECKS = (
    Check("database", database_checks.reachable, needs_database=False),
    Check("clock", database_checks.clock),
    Check("autovacuum", database_checks.autovacuum),
    Check("transactions", database_checks.transactions),
    Check("sqlite", database_checks.sqlite),
    Check("redis", redis_checks.redis, needs_database=False),
    Check("visibility", redis_checks.visibility),
    Check("rabbitmq", broker_checks.rabbitmq),
    Check("queues", broker_checks.queues),
    Check("difference", broker_checks.difference),
    Check("steps", work_checks.steps),
    Check("workers", work_checks.workers),
    Check("versions", work_checks.versions),
    Check("lanes", work_checks.lanes_stopped),
    Check("growth", work_checks.growth),
    Check("retention", work_checks.retention),
    Check("handlers", kind_checks.handlers),
    Check("policies", kind_checks.policies),
    Check("secrets", kind_checks.secrets),
    Check("alerts", settings_checks.alerts, needs_database=False),
    Check("embeds", settings_checks.embeds),
    Check("public_url", settings_checks.public_url),
    Check("secret_key", settings_checks.secret_key, needs_database=False),
    Check("debug", settings_checks.debug, needs_database=False),
)
