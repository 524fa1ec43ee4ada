"""Are kinds of events run in a way that ends, doubles nothing, and shows nobody a secret?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dlq_console.health.findings import Finding, Level
from dlq_console.redact import is_secret
from dlq_console.store import examining
from dlq_console.store.internal import PREFIX
from dlq_console.store.kinds import PublishedKind
from dlq_console.watch.doctor.patient import Patient

#: Attempts above which trying again is no way to success any more.
MOST_ATTEMPTS = 50
#: Seconds above which a time limit is none.
LONGEST_TIMEOUT = 6 * 3_600.0
#: Fields that one finding names, and how deep payloads are looked into.
MOST_FIELDS, DEEPEST = 10, 6


def handlers(patient: Patient) -> Iterator[Finding]:
    """Whether every kind of which events wait is one that workers have published."""
    if not patient.kinds:
        # No worker has ever started; that is told where events wait for one.
        return
    for kind in examining.waiting_kinds(patient.store):
        if kind not in patient.kinds and not kind.startswith(PREFIX):
            yield Finding(
                id="kind_unhandled", level=Level.FAULT, figures={"kind": kind}, command="dlq-console worker"
            )


def policies(patient: Patient) -> Iterator[Finding]:
    """Whether each kind ends one day, and does nothing twice."""
    for kind in patient.kinds.values():
        if kind.name.startswith(PREFIX):
            continue
        if kind.max_attempts > MOST_ATTEMPTS:
            figures: dict[str, str | int] = {"kind": kind.name, "attempts": kind.max_attempts}
            yield Finding(id="kind_retries", figures=figures)
        if kind.timeout > LONGEST_TIMEOUT:
            yield Finding(
                id="kind_unlimited", figures={"kind": kind.name, "hours": round(kind.timeout / 3_600)}
            )
        if _may_double(kind):
            yield Finding(id="kind_doubles", figures={"kind": kind.name})


def _may_double(kind: PublishedKind) -> bool:
    """Whether it is tried again where nobody knows whether the provider has it; None is that without a verifier."""
    policy = kind.policy
    repeats = policy.get("on_unknown") in (None, "retry")
    return bool(repeats and policy.get("writes", True) and not policy.get("unique_at_provider", False))


def secrets(patient: Patient) -> Iterator[Finding]:
    """Whether fields of recent payloads are called like secrets; their values are looked at by nobody."""
    found: dict[str, set[str]] = {}
    for kind, payload in examining.newest_payloads(patient.store):
        found.setdefault(kind, set()).update(_secret_fields(payload))
    for kind, fields in sorted(found.items()):
        if fields:
            told = ", ".join(sorted(fields)[:MOST_FIELDS])
            yield Finding(id="payload_secrets", figures={"kind": kind, "fields": told})


def _secret_fields(value: Any, path: str = "", depth: int = 0) -> Iterator[str]:
    if depth > DEEPEST:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            here = f"{path}.{name}" if path else str(name)
            if is_secret(str(name)) and inner not in (None, ""):
                yield here[:80]
            yield from _secret_fields(inner, here, depth + 1)
    elif isinstance(value, list):
        for inner in value[:20]:
            yield from _secret_fields(inner, path, depth + 1)
