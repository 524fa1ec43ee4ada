"""How many calls of one service may be under way at once, and how long may they take?"""

from __future__ import annotations

from dataclasses import dataclass

from dlq_console.resilience import checks


@dataclass(frozen=True, slots=True)
class BulkheadConfig:
    """Limits of one service; times in seconds. Waiting for a slot and running in it are limited apart.

    Attributes:
        max_concurrent: calls at once, of all processes that share the state; 0 lets none through.
        timeout: the longest a call may take; None: as long as it takes.
        acquire_timeout: the longest wait for a slot.
        lease: a slot whose process died is free again after so long.
        local_max_concurrent: calls at once in this process while the shared state is away; None: as max_concurrent.
    """

    max_concurrent: int = 10
    timeout: float | None = 30.0
    acquire_timeout: float = 2.0
    lease: float = 30.0
    local_max_concurrent: int | None = None

    def __post_init__(self) -> None:
        checks.count(self.max_concurrent, "max_concurrent", at_least=0)
        checks.seconds(self.acquire_timeout, "acquire_timeout")
        checks.seconds(self.lease, "lease", at_least=1)
        if self.timeout is not None:
            checks.seconds(self.timeout, "timeout", above=0)
        if self.local_max_concurrent is not None:
            checks.count(self.local_max_concurrent, "local_max_concurrent", at_least=0)
