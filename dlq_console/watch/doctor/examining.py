"""How are the checks run? One after the other, each for a bounded time; what is away is told once and the rest goes on."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any

from dlq_console.errors import StoreUnavailable
from dlq_console.health.findings import Finding, Level, ordered
from dlq_console.hub.core import HubCore
from dlq_console.hub.dispatch import VISIBILITY_TIMEOUT
from dlq_console.redact import redact_text
from dlq_console.store.store import Store
from dlq_console.watch.doctor.checks import CHECKS, DATABASE, Check
from dlq_console.watch.doctor.patient import Patient, impatient_store

#: The longest that one check may take, in seconds: an attempt to connect and an answer.
LONGEST = 5.0


class _TooLong(Exception):
    """A check has not ended in time."""


def examine(
    hub: HubCore,
    *,
    visibility_timeout: float = VISIBILITY_TIMEOUT,
    store: Store | None = None,
    environ: Mapping[str, str] | None = None,
    checks: tuple[Check, ...] = CHECKS,
) -> tuple[Finding, ...]:
    """Run every check; returns what was found, the worst first.

    Args:
        hub: of which installation.
        visibility_timeout: seconds after which a Redis broker hands a message out again.
        store: asked instead of one that is made for this and waits no longer than it must.
        environ: the variables of this process, unless they are others.
        checks: which ones.
    """
    made = store or impatient_store(hub)
    patient = Patient(hub, visibility_timeout, made, os.environ if environ is None else environ)
    found: list[Finding] = []
    database_is_there = True
    try:
        for check in checks:
            if database_is_there or not check.needs_database:
                found += _findings(check, patient)
                database_is_there &= not any(finding.id in DATABASE for finding in found)
    finally:
        if store is None:
            made.engines.dispose()
    return ordered(found)


def _findings(check: Check, patient: Patient) -> list[Finding]:
    try:
        return _within(LONGEST, check, patient)
    except StoreUnavailable as error:
        # Without what the driver says, which names the place and may name more.
        return [
            Finding(id="database_away", level=Level.FAULT, figures={"reason": redact_text(error.message)})
        ]
    except _TooLong:
        reason = f"no answer within {LONGEST:g} seconds"
    except Exception as error:  # noqa: BLE001 - one check must not keep the others from being made
        reason = redact_text(f"{type(error).__name__}: {error}"[:500])
    return [Finding(id="check_failed", figures={"check": check.name, "reason": reason})]


def _within(seconds: float, check: Check, patient: Patient) -> list[Finding]:
    """The findings of a check. A thread that hangs is left behind; it ends with what it waits for."""
    ended: dict[str, Any] = {}

    def work() -> None:
        try:
            ended["found"] = list(check.run(patient))
        except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
            ended["error"] = error

    thread = threading.Thread(target=work, name=f"dlq-console-doctor-{check.name}", daemon=True)
    thread.start()
    thread.join(seconds)
    if "error" in ended:
        raise ended["error"]
    if "found" not in ended:
        raise _TooLong
    found: list[Finding] = ended["found"]
    return found
