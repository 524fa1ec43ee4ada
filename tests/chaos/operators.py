"""What do the people do during the storm? They reprocess, discard and skip, through the hub, whatever they find."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from queue import SimpleQueue
from random import Random
from typing import Any

from dlq_console import ActionNotAllowed, EventNotFound, Hub
from dlq_console.errors import StoreUnavailable
from dlq_console.store.lanes import lanes

#: Statuses of events that somebody discards, with how often each is looked for.
_DISCARDED = ("dead", "failed", "pending", "blocked")
#: Seconds that a call to the ERP may take.
_PATIENCE = 2


class Operators:
    """People who act one after the other, in a thread of their own: an act may have to wait for the database.

    Args:
        hub: their hub.
        erp_url: where they register documents.
    """

    def __init__(self, hub: Hub, erp_url: str) -> None:
        self._hub = hub
        self._erp_url = erp_url
        self._orders: SimpleQueue[tuple[str, Random] | None] = SimpleQueue()
        #: (action, event id) of what they were told that they have done.
        self.done: list[tuple[str, int]] = []
        self.counts: Counter[str] = Counter()
        self._thread = threading.Thread(target=self._work, name="operators", daemon=True)
        self._thread.start()

    def ask(self, action: str, choice: Random) -> None:
        """Have somebody do that, to whatever it can be done to then."""
        self._orders.put((action, choice))

    def leave(self, timeout: float) -> None:
        """Wait until all that was asked for has been tried.

        Raises:
            TimeoutError: it has not.
        """
        self._orders.put(None)
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise TimeoutError(f"The operators were still at it after {timeout:g} s.")

    def settle_stopped_lanes(self, choice: Random) -> None:
        """Do something about every lane that a dead event has stopped. Called once the operators have left."""
        for lane in lanes(self._hub.store):
            if lane.head is not None and lane.status == "dead":
                action = choice.choice(("reprocess", "reprocess", "discard", "skip_lane"))
                self._act(action, lane.lane if action == "skip_lane" else lane.head, choice)

    def _work(self) -> None:
        while (order := self._orders.get()) is not None:
            action, choice = order
            try:
                candidates = self._candidates(action, choice)
                if candidates:
                    self._act(action, choice.choice(candidates), choice)
            except StoreUnavailable:
                self.counts["the database was away"] += 1

    def _candidates(self, action: str, choice: Random) -> Sequence[int | str]:
        if action == "skip_lane":
            return [lane.lane for lane in lanes(self._hub.store)]
        status = choice.choice(_DISCARDED) if action == "discard" else "dead"
        statement = self._hub.store.statement("SELECT id FROM {event} WHERE status = :status ORDER BY id")
        with self._hub.store.read() as connection:
            return list(connection.execute(statement, {"status": status}).scalars())

    def _act(self, action: str, target: Any, choice: Random) -> None:
        try:
            if action == "skip_lane":
                target = self._hub.skip_lane(target, actor="storm").id
            elif action == "discard":
                self._hub.discard(target, actor="storm")
            else:
                # Whoever does not correct the record sees it die again.
                if choice.random() < 0.7:
                    self._register(self._hub.get(target).entity_id)
                self._hub.reprocess(target, actor="storm")
        except (ActionNotAllowed, EventNotFound):
            self.counts[f"{action} came too late"] += 1
        else:
            self.counts[action] += 1
            self.done.append((action, target))

    def _register(self, entity: str) -> None:
        order = json.dumps({"entity": entity}).encode()
        with suppress(OSError):  # the ERP is away: it dies again
            urllib.request.urlopen(f"{self._erp_url}/_register", order, timeout=_PATIENCE).close()
