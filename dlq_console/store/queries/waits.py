"""How long had the oldest due event of each account waited, hour by hour? For the few accounts that a list shows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from dlq_console.store.buckets import HOUR, MINUTE, bucket_of
from dlq_console.store.events import read_time
from dlq_console.store.present import present
from dlq_console.store.store import Store

#: Hours that are told; the present one is the last.
HOURS = 24
#: An hour is made some minutes after it is over; until then every tenth minute of it tells, and the last one: a wait
#: grows as long as it lasts.
EVERY, _LAST = timedelta(minutes=10), timedelta(minutes=1)
_AN_HOUR = timedelta(hours=1)

# Each sample by its key, which begins with the time; the joins are in the order in which SQLite is to do them.
LONGEST = {
    True: """
SELECT s.account, s.bucket, s.oldest_due_ms FROM json_each(:looks) AS looks CROSS JOIN json_each(:names) AS names CROSS JOIN {sample} s
WHERE s.grain = json_extract(looks.value, '$[0]') AND s.bucket = json_extract(looks.value, '$[1]') * 1000000
    AND s.account = names.value AND s.oldest_due_ms > 0
""",
    False: """
SELECT s.account, s.bucket, s.oldest_due_ms FROM jsonb_array_elements(CAST(:looks AS jsonb)) AS looks(value)
    CROSS JOIN LATERAL (SELECT s.* FROM {sample} s WHERE s.grain = CAST(looks.value->>0 AS smallint)
        AND s.bucket = to_timestamp(CAST(looks.value->>1 AS double precision))
        AND s.account = ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:names AS jsonb)))) OFFSET 0) AS s
WHERE s.oldest_due_ms > 0
""",
}


def longest_waits(store: Store, accounts: Sequence[str]) -> Mapping[str, tuple[float, ...]]:
    """The longest wait in seconds in each of the last HOURS hours; an account without any is left out."""
    with store.read() as connection:
        now = present(store, connection)
        this_hour = bucket_of(now, round(_AN_HOUR.total_seconds()))
        asked = {"looks": json.dumps(_looks(this_hour, now)), "names": json.dumps(list(accounts))}
        rows = connection.execute(store.statement(LONGEST[store.sqlite]), asked).all()
    found: dict[str, list[float]] = {}
    for row in rows:
        at = read_time(row.bucket)
        if at is not None:
            hours = found.setdefault(row.account, [0.0] * HOURS)
            place = HOURS - 1 + (at - this_hour) // _AN_HOUR
            hours[place] = max(hours[place], row.oldest_due_ms / 1000)
    return {account: tuple(hours) for account, hours in found.items()}


def _looks(this_hour: datetime, now: datetime) -> list[tuple[int, int]]:
    """Grain and beginning of every sample that is looked at: the hours that are made, and minutes of the last two."""
    hours = [(HOUR, this_hour - ago * _AN_HOUR) for ago in range(1, HOURS)]
    begin, minutes = this_hour - _AN_HOUR, [(MINUTE, bucket_of(now, 60) - _LAST)]
    while begin < now:
        minutes.append((MINUTE, begin))
        begin += EVERY
    return [(grain, round(at.timestamp())) for grain, at in hours + minutes]
