"""On which queue does the message of an event travel?

Each account has a queue of its own, up to a number of accounts: a worker asks Redis for all of its queues each time it
looks for work, and declares them one by one at each new connection to RabbitMQ. From then on the first accounts by name
keep theirs, and the others share a fixed number of queues. Fairness and order come from the claim, so sharing one costs
an account nothing but the name.
"""

from __future__ import annotations

from zlib import crc32

from dlq_console.clock import monotonic
from dlq_console.store.accounts import last_with_own_queue
from dlq_console.store.store import Store

#: Queues that accounts share.
SHARDS = 16
#: How long the last account with a queue of its own is believed, in seconds. A message for a queue that nobody serves by
#: then is lost, and sent again.
BELIEVED = 10.0


class Routes:
    """Which queue an account has.

    Args:
        store: knows the accounts.
        max_queues: how many of them have a queue of their own.
    """

    def __init__(self, store: Store, max_queues: int) -> None:
        self._store = store
        self._max_queues = max_queues
        self._last: str | None = None
        self._until = 0.0

    def queue(self, account: str, lane: str | None = None) -> str:
        """The queue of events of `account` in `lane`.

        Raises:
            StoreUnavailable: the database cannot be reached.
        """
        if monotonic() >= self._until:
            self._last = last_with_own_queue(self._store, self._max_queues)
            self._until = monotonic() + BELIEVED
        if self._last is None or account <= self._last:
            return self._store.queue(account, lane)
        return f"{_shared(self._store.queue_prefix)}{crc32(account.encode()) % SHARDS}"


def is_shared(prefix: str, queue: str) -> bool:
    """Whether accounts share that queue."""
    return queue.startswith(_shared(prefix))


def _shared(prefix: str) -> str:
    return f"{prefix}.shard."
