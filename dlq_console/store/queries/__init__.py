"""What may be read from the event store: pages of events, counts, one event, the overview.

Everything here only reads, and never reads more than a bounded number of rows. `accounts` is always the accounts that
the asking person may see: None for all, else a tuple; an event of any other account is treated as if it did not exist.
"""

from dlq_console.store.lanes import Lane, lane
from dlq_console.store.queries.counts import CAP, Count, count
from dlq_console.store.queries.dead_letters import Cause, DeadLetters, dead_letters
from dlq_console.store.queries.events import attempts, audit, get_event, summaries
from dlq_console.store.queries.lines import EventLine, Listed
from dlq_console.store.queries.overview import AccountFigures, KindFigures, Overview, overview
from dlq_console.store.queries.pages import MAX_LIMIT, Page, event_lines, events_page
from dlq_console.store.queries.readiness import revision, standing, why_not_ready

__all__ = [
    "CAP",
    "MAX_LIMIT",
    "AccountFigures",
    "Cause",
    "Count",
    "DeadLetters",
    "EventLine",
    "KindFigures",
    "Lane",
    "Listed",
    "Overview",
    "Page",
    "attempts",
    "audit",
    "count",
    "dead_letters",
    "event_lines",
    "events_page",
    "get_event",
    "lane",
    "overview",
    "revision",
    "standing",
    "summaries",
    "why_not_ready",
]
