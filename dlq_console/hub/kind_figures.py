"""What may programs know of each kind of event? How it is run and shown, as workers have published it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dlq_console.hub.handlers import PRECHECK_FLAG
from dlq_console.store.kinds import PublishedKind

#: Of a policy, what is told as it is; the others are how a worker sees to it.
TOLD = (
    "base_delay", "max_delay", "order", "on_dead", "on_unknown", "replay_policy", "max_age", "max_wait", "max_running",
    "unique_at_provider", "writes", "open_url",
)  # fmt: skip


def kind_figures(kinds: Iterable[PublishedKind]) -> list[dict[str, Any]]:
    """The kinds by name; what the worker that published one did not know is None."""
    return [_figures(kind) for kind in sorted(kinds, key=lambda kind: kind.name)]


def _figures(kind: PublishedKind) -> dict[str, Any]:
    policy = kind.policy
    return {
        "name": kind.name,
        "provider": kind.provider,
        "max_attempts": kind.max_attempts,
        "timeout": kind.timeout,
        **{name: policy.get(name) for name in TOLD},
        "precheck": bool(policy.get(PRECHECK_FLAG)),
        "schema": policy.get("schema"),
        "columns": [{"label": label, "path": path} for label, path in policy.get("columns", {}).items()],
    }
