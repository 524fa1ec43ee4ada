"""How much has happened since counting began? Sums that only grow, as programs that watch want them; made from the rollups.

The last minutes of the rollups are made anew again and again, so each sum has two parts: what cannot change any more, and
what the minutes since then say now. Both are written together with the moment that divides them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from dlq_console.store import snapshots
from dlq_console.store.health_tables import BINS
from dlq_console.store.internal import OWN_ACCOUNT
from dlq_console.store.rollups import REDONE, accounts_sql, rolled_until
from dlq_console.store.store import Store

#: The reading under which sums are kept: by account, each name behind OF; and the moment that divides them.
TOTALS, OF, UNTIL = "totals", "of ", "until"
#: Minutes younger than this may still change.
SETTLED = REDONE + timedelta(minutes=2)
#: What is summed up, in this order.
EVENTS = ("arrived", "done", "failed", "died", "superseded", "reopened", "resolved", "duplicates")
LAG = ("first_tried", "lag_ms", *(f"lag{place}" for place in range(BINS)))
COLUMNS = (*EVENTS, *LAG)

SINCE = f"""
SELECT r.account, r.bucket < :settled_at AS settled, {", ".join(f"sum(r.{name}) AS {name}" for name in COLUMNS)}
FROM ({accounts_sql(1)}) AS names JOIN {{rollup}} r ON r.account <> '' AND r.grain = 1 AND r.account = names.name AND r.kind = '' AND r.bucket >= :from_at
GROUP BY 1, 2
"""


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums of one account by the names of COLUMNS; times in milliseconds."""

    sums: Mapping[str, int]

    @property
    def lag_bins(self) -> tuple[int, ...]:
        """How many lags each bin of `health/histograms.py` has."""
        return tuple(self.sums[f"lag{place}"] for place in range(BINS))


def add_up(store: Store) -> int:
    """Bring the sums up to date; returns how many have changed. Of two who do it at once, either is right."""
    until = rolled_until(store)
    if until is None:
        return 0
    known = snapshots.look(store, TOTALS).values
    before = datetime.fromisoformat(known[UNTIL]) if UNTIL in known else until - SETTLED
    settled = max(before, until - SETTLED)
    with store.read() as connection:
        span = {"from_at": before, "settled_at": settled}
        rows = connection.execute(store.statement(SINCE), span).all()
    values: dict[str, Any] = {
        name: {"base": value["base"], "live": [0] * len(COLUMNS)}
        for name, value in known.items()
        if name != UNTIL
    }
    for row in rows:
        if row.account == OWN_ACCOUNT:
            continue
        one = values.setdefault(
            f"{OF}{row.account}", {"base": [0] * len(COLUMNS), "live": [0] * len(COLUMNS)}
        )
        sums = [int(getattr(row, name)) for name in COLUMNS]
        if row.settled:
            one["base"] = [old + new for old, new in zip(one["base"], sums, strict=True)]
        else:
            one["live"] = sums
    return snapshots.keep(store, TOTALS, values | {UNTIL: settled.isoformat()})


def totals(store: Store) -> tuple[dict[str, Totals], float]:
    """The sums of every account as they were made last, and how many seconds ago that was."""
    kept = snapshots.look(store, TOTALS)
    sums = {
        name.removeprefix(OF): Totals(
            dict(zip(COLUMNS, map(sum, zip(value["base"], value["live"], strict=True)), strict=True))
        )
        for name, value in kept.values.items()
        if name != UNTIL
    }
    return sums, kept.age
