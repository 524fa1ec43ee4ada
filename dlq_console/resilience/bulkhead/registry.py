"""The bulkheads of a program."""

from __future__ import annotations

from collections.abc import Mapping

from dlq_console.resilience.bulkhead.bulkhead import Bulkhead
from dlq_console.resilience.bulkhead.config import BulkheadConfig
from dlq_console.resilience.registry import Registry
from dlq_console.resilience.state import MemoryState, SharedState


class BulkheadRegistry(Registry[Bulkhead, BulkheadConfig]):
    """The bulkheads of a program, one for each name.

    Args:
        configs: per name; any other name gets the default.
        state: where the slots are kept; None: in this process alone.
    """

    def __init__(
        self, configs: Mapping[str, BulkheadConfig] | None = None, *, state: SharedState | None = None
    ) -> None:
        kept_in = state if state is not None else MemoryState()

        def make(name: str, config: BulkheadConfig | None) -> Bulkhead:
            return Bulkhead(name, config, state=kept_in)

        super().__init__(make, configs)
