"""How do messages of alerts leave, also where no worker lives? Each channel in a thread, so that none waits for another.

A channel that hangs keeps its thread; the step comes back all the same, and its next turns pass over that channel until the
thread has ended. Within a channel one message goes at a time, so none of them outlasts its lease while it waits.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.hub.core import HubCore
from dlq_console.hub.execution import run_claimed
from dlq_console.store import alert_messages, claims

logger = logging.getLogger(__name__)

#: For how long the step waits for its channels, and for how long one of them goes on while there is something to bring.
PATIENCE, LONGEST_TURN = 5.0, 20.0
#: For how long a message is held, in seconds.
LEASE = 60.0

_busy: WeakKeyDictionary[HubCore, set[str]] = WeakKeyDictionary()
_lock = threading.Lock()


@dataclass
class _Turn:
    """What one channel has done, and what ended it early."""

    tried: int = 0
    problem: Exception | None = None
    thread: threading.Thread | None = field(default=None, repr=False)


def send(hub: HubCore) -> int:
    """Bring what waits to every channel that is not at it already; returns how many messages were tried so far.

    Raises:
        StoreUnavailable: the database is away.
    """
    turns = [_begun(hub, channel) for channel in alert_messages.due(hub.store) if _take(hub, channel)]
    deadline = monotonic() + PATIENCE
    for turn in turns:
        if turn.thread is not None:
            turn.thread.join(max(0.0, deadline - monotonic()))
    for turn in turns:
        if turn.problem is not None:
            raise turn.problem
    return sum(turn.tried for turn in turns)


def busy(hub: HubCore) -> frozenset[str]:
    """The channels that are brought something right now."""
    with _lock:
        return frozenset(_busy.get(hub, ()))


def _take(hub: HubCore, channel: str) -> bool:
    with _lock:
        at_it = _busy.setdefault(hub, set())
        if channel in at_it:
            return False
        at_it.add(channel)
        return True


def _begun(hub: HubCore, channel: str) -> _Turn:
    turn = _Turn()
    turn.thread = threading.Thread(
        target=_bring, args=(hub, channel, turn), name=f"dlq-console-alerts-{channel}", daemon=True
    )
    turn.thread.start()
    return turn


def _bring(hub: HubCore, channel: str, turn: _Turn) -> None:
    deadline = monotonic() + LONGEST_TURN
    try:
        while monotonic() < deadline and _bring_due(hub, channel, turn, lambda: monotonic() < deadline):
            pass
    except StoreUnavailable as error:
        turn.problem = error
    except Exception as error:
        # The step may have gone on without this thread, and nobody would be told.
        logger.exception("messages of alerts to %s wait", channel)
        turn.problem = error
    finally:
        with _lock:
            _busy.get(hub, set()).discard(channel)


def _bring_due(hub: HubCore, channel: str, turn: _Turn, may_go_on: Callable[[], bool]) -> bool:
    """Bring what is due to a channel; whether anything was, so that more may have become due behind it."""
    before = turn.tried
    for event_id in alert_messages.due(hub.store).get(channel, ()):
        if not may_go_on():
            break
        event = claims.claim_one(hub.store, event_id, worker=hub.worker, lease_seconds=LEASE)
        if event is not None:
            turn.tried += 1
            run_claimed(hub.store, hub.registry, event)
    return turn.tried > before
