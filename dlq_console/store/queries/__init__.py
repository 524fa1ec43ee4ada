"""What may be read from the event store: pages of events, counts, one event, the overview.

Everything here only reads, and never reads more than a bounded number of rows. `accounts` is always the accounts that
the asking person may see: None for all, else a tuple; an event of any other account is treated as if it did not exist.
"""

from dlq_console.store.lanes import Lane, lane
from dlq_console.store.prechecks import Precheck, last_precheck
from dlq_console.store.queries.counts import CAP, Count, added_up, count
from dlq_console.store.queries.dead_letters import TOTAL_CAP, Cause, DeadLetters, dead_letters
from dlq_console.store.queries.doors import (
    CircuitChange,
    ClosedDoor,
    circuit_changes,
    closed_doors,
    concerns,
    paused_account,
)
from dlq_console.store.queries.events import attempts, audit, get_event, payload_json, summaries
from dlq_console.store.queries.failures import MAX_FAILURES, Recorded, RecordedFailure, recorded_failures
from dlq_console.store.queries.groups import (
    MAX_GROUPS,
    CountedGroup,
    Group,
    GroupPart,
    Groups,
    biggest_group,
    cause_of,
    group,
    group_parts,
    groups,
    is_counted,
)
from dlq_console.store.queries.lines import EventLine, Listed
from dlq_console.store.queries.neighbours import (
    LONGEST_PAYLOAD,
    Correction,
    LastSuccess,
    Neighbour,
    Neighbours,
    behind,
    corrections,
    last_success,
    same_entity,
)
from dlq_console.store.queries.overview import AccountFigures, KindFigures, Overview, overview
from dlq_console.store.queries.pages import MAX_LIMIT, Page, event_lines, events_page
from dlq_console.store.queries.readiness import revision, standing, why_not_ready
from dlq_console.store.queries.still import still_matching
from dlq_console.store.queries.trends import HOURS, counted_in, trends
from dlq_console.store.taking_back import may_cancel_send

__all__ = [
    "CAP",
    "HOURS",
    "LONGEST_PAYLOAD",
    "MAX_FAILURES",
    "MAX_GROUPS",
    "MAX_LIMIT",
    "TOTAL_CAP",
    "AccountFigures",
    "Cause",
    "CircuitChange",
    "ClosedDoor",
    "Correction",
    "Count",
    "CountedGroup",
    "DeadLetters",
    "EventLine",
    "Group",
    "GroupPart",
    "Groups",
    "KindFigures",
    "Lane",
    "LastSuccess",
    "Listed",
    "Neighbour",
    "Neighbours",
    "Overview",
    "Page",
    "Precheck",
    "Recorded",
    "RecordedFailure",
    "added_up",
    "attempts",
    "audit",
    "behind",
    "biggest_group",
    "cause_of",
    "circuit_changes",
    "closed_doors",
    "concerns",
    "corrections",
    "count",
    "counted_in",
    "dead_letters",
    "event_lines",
    "events_page",
    "get_event",
    "group",
    "group_parts",
    "groups",
    "is_counted",
    "lane",
    "last_precheck",
    "last_success",
    "may_cancel_send",
    "overview",
    "paused_account",
    "payload_json",
    "recorded_failures",
    "revision",
    "same_entity",
    "standing",
    "still_matching",
    "summaries",
    "trends",
    "why_not_ready",
]
