"""The SQL that every claim and the dispatcher share: what is ready, which doors are open, how much room there is."""

from __future__ import annotations

from dlq_console.store.events import DEFAULT_MAX_ATTEMPTS
from dlq_console.store.lanes import IS_FIRST as IS_FIRST
from dlq_console.store.scope_names import METHOD_NAME

#: Claimed in this order: live work, then retries, then bulk work.
LIVE, RETRY, BULK = 0, 1, 2
#: Time limit of a kind that no worker has published, in seconds.
DEFAULT_TIMEOUT = 60
#: A lease never outlasts the time limit by more than this, in seconds.
LEASE_GRACE = 5

READY = "e.status IN ('pending', 'failed')"
NOW_DUE = "e.next_run_at <= {now} AND (e.give_up_at IS NULL OR e.give_up_at > {now})"
ACCOUNT_OPEN = "(s.closed_until IS NULL OR s.closed_until <= {now})"
# Every running event has a lease; naming it leads SQLite to the index of running events instead of the account's whole.
RUNNING = (
    "(SELECT count(*) FROM {event} r WHERE r.status = 'running' AND r.account = a.account"
    " AND r.lease_until IS NOT NULL)"
)
#: Of an account whose circuit is not closed; what began before its last transition is no probe.
_PROBES = RUNNING.removesuffix(")") + " AND r.started_at >= s.updated_at)"


def room_sql(slots: str, *, without_workers: int, probing: bool = True) -> str:
    """SQL: how many more events of the account `a` with its scope `s` may run.

    Args:
        slots: SQL for how many events all workers together can run.
        without_workers: what an account without a set limit may take where that is 0.
        probing: whether an account of which the circuit is not closed has room for one probe only.
    """
    share = f"CASE WHEN {slots} = 0 THEN {without_workers} WHEN {slots} * 3 / 4 < 1 THEN 1 ELSE {slots} * 3 / 4 END"
    room = f"(coalesce(s.max_running, {share}) - {RUNNING})"
    return f"CASE WHEN s.guarded = 2 THEN 1 - {_PROBES} ELSE {room} END" if probing else room


#: Condition on `a`, an account: something of it is guarded, so that it must be claimed from with care.
GUARDED = "EXISTS (SELECT 1 FROM {scope} g WHERE g.account = a.account AND g.guarded > 0)"
#: Condition on `e`, an event row: its provider is not known to limit its kind.
UNLIMITED = "NOT EXISTS (SELECT 1 FROM {kind} u WHERE u.name = e.kind AND u.limits IS NOT NULL)"
#: Condition on `e`, an event row: no closed method and no closed provider stands in its way.
METHOD_AND_PROVIDER_OPEN = f"""
NOT EXISTS (
    SELECT 1 FROM {{scope}} m WHERE m.type = 'method' AND (m.closed_until > {{now}} OR m.paced_until > {{now}})
        AND m.name = {METHOD_NAME}
) AND NOT EXISTS (
    SELECT 1 FROM {{scope}} p JOIN {{kind}} k ON k.provider = p.name
    WHERE p.type = 'provider' AND (p.closed_until > {{now}} OR p.paced_until > {{now}}) AND k.name = e.kind
)
"""

#: For the event `e`: the longest that one run of it may hold its lease, in seconds.
LONGEST_RUN = f"""
(coalesce((SELECT k.timeout FROM {{kind}} k WHERE k.name = e.kind), {DEFAULT_TIMEOUT}) + {LEASE_GRACE})
"""
TAKE = f"""
    status = 'running', attempts = e.attempts + 1, total_attempts = e.total_attempts + 1,
    lease_epoch = e.lease_epoch + 1, lease_owner = :worker, started_at = {{now}}, updated_at = {{now}},
    dispatched_at = NULL, dispatch_count = 0,
    max_attempts = coalesce(
        e.max_attempts, (SELECT k.max_attempts FROM {{kind}} k WHERE k.name = e.kind), {DEFAULT_MAX_ATTEMPTS}
    ),
    lease_until = {{now}} + CAST({{second}} * {{least}}(:lease_seconds, {LONGEST_RUN}) AS {{duration}})
"""
