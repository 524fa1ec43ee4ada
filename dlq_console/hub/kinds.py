"""What is known about the kinds of events here: from the handlers of this process, else as workers published it."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

from dlq_console.clock import monotonic
from dlq_console.hub.handlers import PRECHECK_FLAG, Registry
from dlq_console.hub.policy import DEFAULT_POLICY, Policy
from dlq_console.store import kinds
from dlq_console.store.kinds import PublishedKind
from dlq_console.store.store import Store

#: How long a process believes what it has read about the published kinds, in seconds.
BELIEVED = 15

#: Fields of a policy that producers and steps need where they do not have the handler.
_PUBLISHED = (
    "base_delay",
    "max_delay",
    "jitter",
    "max_wait",
    "max_age",
    "order",
    "on_dead",
    "on_unknown",
    "unique_at_provider",
    "writes",
    "replay_policy",
    "open_url",
    "columns",
)


class KnownKinds:
    """The kinds as this process knows them."""

    def __init__(self, store: Store, registry: Registry) -> None:
        self._store = store
        self._registry = registry
        self.after_fork()

    def after_fork(self) -> None:
        """Forget what belongs to the parent process."""
        # A signal handler may ask while its thread is asking.
        self._lock = threading.RLock()
        self._known: dict[str, PublishedKind] = {}
        self._known_until = 0.0
        self._policies: dict[str, tuple[PublishedKind, Policy]] = {}
        self._told: list[PublishedKind] = []

    def publish(self, worker: str) -> None:
        """Tell producers and the console what this process can run."""
        told = self._registry.kinds()
        kinds.publish(self._store, told, worker)
        self._told = told

    def publish_new(self, worker: str) -> None:
        """The same, if there is anything new to tell.

        The claim reads attempts, time limit and provider of a kind where workers have published them.
        """
        if self._registry.kinds() != self._told:
            self.publish(worker)

    def published(self) -> dict[str, PublishedKind]:
        """The kinds that workers have published; may be some seconds old."""
        with self._lock:
            if monotonic() >= self._known_until:
                self._known = kinds.published(self._store)
                self._known_until = monotonic() + BELIEVED
            return self._known

    def policy(self, kind: str) -> Policy:
        """How a kind is run: by its handler here, else as workers have published it, else the defaults."""
        handler = self._registry.get(kind)
        if handler is not None:
            return handler.policy
        known = self.published().get(kind)
        if known is None:
            return DEFAULT_POLICY
        # Asked for at every enqueue and for every row of a list, so it is made once for what was published.
        made = self._policies.get(kind)
        if made is None or made[0] is not known:
            made = self._policies[kind] = (known, _policy_of(known))
        return made[1]

    def schema(self, kind: str) -> dict[str, Any] | None:
        """The JSON Schema of a kind's payloads; not part of `policy`, which is asked for at every enqueue."""
        handler = self._registry.get(kind)
        if handler is not None:
            return handler.policy.schema
        known = self.published().get(kind)
        return None if known is None else known.policy.get("schema")

    def has_precheck(self, kind: str) -> bool:
        """Whether somebody can ask the outside system if an event of a kind would pass now."""
        if self._registry.precheck(kind) is not None:
            return True
        known = self.published().get(kind)
        return known is not None and bool(known.policy.get(PRECHECK_FLAG))


def _policy_of(known: PublishedKind) -> Policy:
    # A worker of an earlier version publishes less.
    values = {name: known.policy[name] for name in _PUBLISHED if name in known.policy}
    return replace(DEFAULT_POLICY, max_attempts=known.max_attempts, timeout=known.timeout, **values)
