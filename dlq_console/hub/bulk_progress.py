"""How do bulk runs get on? Turn by turn: each writes down a part of its selection, looks how items ended, lets more go.

Safe to run anywhere and twice: every turn begins by holding the run, and does what is right as it stands then.
"""

from __future__ import annotations

import time

from dlq_console.clock import monotonic
from dlq_console.hub.bulk_rules import rule_of
from dlq_console.hub.core import HubCore
from dlq_console.store.bulk import freezing, releasing, runs, settling
from dlq_console.store.bulk.pace import allowance
from dlq_console.store.bulk.runs import BulkRun, RunState

#: Seconds between two looks at runs of which less than this is ready to be moved at once: a few items at a time would
#: cost a transaction each.
LOOK_EVERY, WORTH_MORE = 0.1, 50
#: Share of a turn's time for which SQLite is left to others: whoever waits for it polls, and would find it taken each time.
REST_SQLITE = 0.5

#: States in which time alone brings a run on.
_MOVES = (RunState.FREEZING, RunState.RUNNING)


def advance(hub: HubCore, *, seconds: float = 0) -> int:
    """Bring every live run on; returns how many of its items moved.

    Args:
        hub: whose runs.
        seconds: for how long to go on while there is something to do; 0 for one turn each.
    """
    until = monotonic() + seconds
    moved = 0
    while True:
        live = runs.live(hub.store)
        now = sum(turn(hub, run) for run in live)
        moved += now
        if monotonic() >= until or not any(run.state in _MOVES or run.released for run in live):
            return moved
        if now < WORTH_MORE:
            time.sleep(LOOK_EVERY)


def turn(hub: HubCore, run: BulkRun) -> int:
    """One turn of a run; returns how many items moved."""
    began = monotonic()
    if run.state == RunState.FREEZING:
        moved = freezing.freeze(hub.store, run.id)
    else:
        moved = settling.settle(hub.store, run)
        # What may be let go only because of what has just ended is for the next turn.
        if run.state == RunState.RUNNING and allowance(run, 1):
            moved += _release(hub, run)
    if hub.store.sqlite and moved:
        time.sleep(REST_SQLITE * (monotonic() - began))
    return moved


def _release(hub: HubCore, run: BulkRun) -> int:
    done = releasing.release(hub.store, run.id, lambda kind: rule_of(hub.policy(kind)))
    if done.accounts and hub.settings.broker_url:
        hub.send_due(done.accounts)
    return done.number + done.refused
