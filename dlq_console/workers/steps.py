"""What has to be done from time to time, whoever does it. Each step is safe to run twice and anywhere."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from dlq_console.hub import bulk_progress, doors, expiry, services
from dlq_console.hub.core import HubCore
from dlq_console.hub.endings import died
from dlq_console.store import alerts as kept_alerts
from dlq_console.store import (
    claims,
    closings,
    coarsening,
    dispatching,
    field_filling,
    groups,
    holding,
    lanes,
    once,
    presence,
    pruning,
    totals,
    transitions,
)
from dlq_console.store.bulk import forgetting
from dlq_console.store.shared_state import SqlState
from dlq_console.watch import alerts, doctor, looking
from dlq_console.workers import alert_sending

logger = logging.getLogger(__name__)

#: For how long one turn of the bulk step goes on while there is something to do, in seconds.
BULK_SECONDS = 2.0
#: Chunks that one prune step deletes at most; what is left is for the next one.
PRUNE_CHUNKS = 50


def rescue(hub: HubCore) -> int:
    """End the runs whose worker died or froze: their lease has lapsed. Returns how many."""
    rescued = 0
    for event in holding.lapsed(hub.store):
        ending = died(event, hub.policy(event.kind), how="died or stopped answering")
        rescued += transitions.end(hub.store, event, ending, lapsed_only=True)
    return rescued


def expire(hub: HubCore) -> int:
    """Bury what was not started in time. Returns how many."""
    return expiry.bury_overdue(hub.store)


def relay(hub: HubCore) -> int:
    """Tell the broker of due events that it does not know or has lost. Returns how many were sent."""
    if not hub.settings.broker_url:
        return 0
    accounts = [ready.account for ready in claims.ready_accounts(hub.store) if ready.room]
    sent = 0
    while (now := hub.send_due(accounts)) == dispatching.MOST_AT_ONCE:
        sent += now
    return sent + now


def promote(hub: HubCore) -> int:
    """Let go the events that nothing of their lane stands before any more. Returns how many."""
    return lanes.promote_waiting(hub.store)


def settle_doors(hub: HubCore) -> int:
    """Write doors anew that time has opened, or that a clock which was set back keeps closed. Returns how many."""
    return doors.settle(hub.store)


def count_groups(hub: HubCore) -> int:
    """Count the dead events of every cause. Returns how many counts have changed."""
    return groups.sample(hub.store)


def fill_fields(hub: HubCore) -> int:
    """Give dead letters the values of fields that their kind has configured since. Returns how many were looked at."""
    return field_filling.fill(hub.store)


def prune(hub: HubCore) -> int:
    """Delete old done and discarded events, and what is of no use without them. Returns how many events, marks and items.

    Those are marks of `once` that no event left can need, groups that have had no dead event for as long, and bulk runs
    that were over for as long with their items.
    """
    days = hub.settings.retention_days
    groups.forget(hub.store, days=days)
    kept_alerts.forget(hub.store, days=days)
    events = _in_chunks(lambda: pruning.prune(hub.store, days=days), pruning.CHUNK)
    items = _in_chunks(lambda: forgetting.forget(hub.store, days=days), forgetting.CHUNK)
    return events + items + _in_chunks(lambda: once.prune(hub.store, days=days), once.CHUNK)


def _in_chunks(delete: Callable[[], int], size: int) -> int:
    deleted = 0
    for _ in range(PRUNE_CHUNKS):
        chunk = delete()
        deleted += chunk
        if chunk < size:
            break
    return deleted


def take_snapshot(hub: HubCore) -> int:
    """Read circuits and bulkheads of services from where guards keep them, for the pages. Returns how many changed."""
    return services.take_snapshot(hub.store, hub.state, hub.services.breakers)


def prune_shared(hub: HubCore) -> int:
    """Delete records of guards whose time is over; Redis does so by itself. Returns how many."""
    # Also with Redis: the database may hold what was shared before.
    return SqlState(hub.store).prune()


def forget_workers(hub: HubCore) -> int:
    """Delete the rows of workers that have been silent for a day. Returns how many."""
    return presence.forget_dead(hub.store)


def advance_bulk(hub: HubCore) -> int:
    """Bring bulk runs on: freeze, let go, settle. Returns how many of their items moved."""
    return bulk_progress.advance(hub, seconds=BULK_SECONDS)


def read_broker(hub: HubCore) -> int:
    """Read how much lies in the broker's queues, beside what the table says. Returns how many figures changed."""
    if not hub.settings.broker_url:
        return 0
    from dlq_console.watch import broker_figures  # loads the broker's client

    return broker_figures.take_snapshot(hub)


def examine(hub: HubCore) -> int:
    """Let the doctor look every five minutes, or when somebody asks. Returns how many findings there are."""
    return doctor.keep_examined(hub)


def coarsen(hub: HubCore) -> int:
    """Make hours of minutes and days of hours, once they are over. Returns how many rows were written."""
    return coarsening.coarsen(hub.store)


def prune_figures(hub: HubCore) -> int:
    """Delete minutes, hours, days and closings that have been kept long enough. Returns how many rows."""
    return coarsening.prune(hub.store) + _in_chunks(lambda: closings.forget(hub.store), closings.CHUNK)


def add_up(hub: HubCore) -> int:
    """Bring the sums up to date that programs watch. Returns how many changed."""
    return totals.add_up(hub.store)


def check_alerts(hub: HubCore) -> int:
    """Look at every rule of alerts once. Returns how many notices were told."""
    return alerts.check(hub)


def send_alerts(hub: HubCore) -> int:
    """Bring messages of alerts to their channels, also where no worker lives. Returns how many were tried."""
    return alert_sending.send(hub)


@dataclass(frozen=True, slots=True)
class Step:
    """A periodic step.

    Attributes:
        every: seconds between two turns.
        apart: whether its turns take long, so that no other may wait for it.
        quiet: whether what it did is no news: it only writes down how things stand.
    """

    name: str
    run: Callable[[HubCore], int]
    every: float
    apart: bool = False
    quiet: bool = False


STEPS = (
    Step("rescue", rescue, 3),
    Step("relay", relay, 1),
    Step("promote", promote, 2),
    Step("bulk", advance_bulk, 1, apart=True),
    Step("expire", expire, 15),
    Step("settle_doors", settle_doors, 30),
    Step("take_snapshot", take_snapshot, 2, quiet=True),
    Step("look", looking.look, 2, quiet=True),
    Step("count_events", looking.count, 15, apart=True, quiet=True),
    Step("roll_up", looking.roll_up, 15, apart=True, quiet=True),
    Step("coarsen", coarsen, 300, apart=True, quiet=True),
    Step("prune_figures", prune_figures, 3_600, apart=True, quiet=True),
    Step("count_groups", count_groups, 15, apart=True, quiet=True),
    Step("fill_fields", fill_fields, 5),
    Step("read_broker", read_broker, 15, apart=True, quiet=True),
    Step("add_up", add_up, 15, quiet=True),
    Step("examine", examine, 5, apart=True, quiet=True),
    Step("check_alerts", check_alerts, 15, apart=True),
    Step("send_alerts", send_alerts, 2, apart=True),
    Step("prune_shared", prune_shared, 60),
    Step("forget_workers", forget_workers, 300),
    Step("prune", prune, 600),
)
