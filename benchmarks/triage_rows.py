"""How does a benchmark get a console full of dead letters? By SQL alone: 3 of 100 events dead, in thousands of groups.

Ids are in the order of time, and dead events lie anywhere among the others, as after months of work. A fiftieth of the dead
is on somebody's desk, a hundredth bears a tag, and each has a number in a configured field.
"""

from __future__ import annotations

from dataclasses import dataclass

from dlq_console.clock import monotonic
from dlq_console.store import groups, kinds
from dlq_console.store.kinds import PublishedKind
from dlq_console.store.store import Store

KINDS = ("order.create", "invoice.issue", "customer.update", "stock.move", "price.update", "payment.post")
ACCOUNTS = 40
PEOPLE = ("ana", "bruno", "carla", "davi", "elisa")
#: One dead event among so many.
ONE_DEAD_OF = 33
#: The configured field of the kinds.
COLUMN = ("Order", "number")
CHUNK = 1_000_000

_SERIES = {
    True: "(WITH RECURSIVE s(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM s WHERE n < {last}) SELECT n FROM s)",
    False: "(SELECT n FROM generate_series({first}, {last}) AS s(n))",
}
_KIND = "CASE {0} " + " ".join(f"WHEN {n} THEN '{kind}'" for n, kind in enumerate(KINDS)) + " END"
_ERROR = """CASE g % 4
    WHEN 0 THEN 'The ERP answered 422: customer ' || (1000 + n % 9000) || ' is not registered in company ' || g || '.'
    WHEN 1 THEN 'Product P-' || g || ' has no tax class (order ' || n || ').'
    WHEN 2 THEN 'The ERP answered 500 at step ' || g || ': deadlock victim, request ' || n
    ELSE 'Price list ' || g || ' is closed since 2026-01-31.' END"""
#: Braces are doubled because a statement is a template.
_PAYLOAD = """'{{"number": "' || n || '", "customer_code": "' || (1000 + n % 9000) || '",
 "lines": [{{"sku": "P-0031", "description": "Café torrado 500 g", "quantity": 4, "unit_price": 18.90, "amount": 75.60}},
 {{"sku": "P-0042", "description": "Estante de aço", "quantity": 1, "unit_price": 389.00, "amount": 389.00}}],
 "issued_on": "2026-03-02", "total": 464.60}}'"""

_EVENTS = f"""
INSERT INTO {{event}} (kind, account, entity_id, idempotency_key, payload_hash, effect_key, payload, status, reason,
    attempts, total_attempts, max_attempts, lease_epoch, due_at, next_run_at, created_at, updated_at, started_at,
    finished_at, error_type, last_error, verdict, fingerprint, died_with)
SELECT kind, account, CAST(n / 3 AS text), 'benchmark-' || n, '0', 'effect-' || n, payload, status,
    CASE WHEN dead THEN CASE g % 5 WHEN 0 THEN 'exhausted' WHEN 1 THEN 'auth' ELSE 'permanent' END END,
    tried, tried, 6, tried, at, at, at, at, at, CASE WHEN status <> 'pending' THEN at END,
    CASE WHEN dead THEN 'Refused' END, CASE WHEN dead THEN error END,
    CASE WHEN dead THEN CASE g % 3 WHEN 0 THEN 'transient' ELSE 'permanent' END END,
    CASE WHEN dead THEN 'f1-' || g END, CASE WHEN dead THEN 'f1-' || g END
FROM (
    SELECT n, g, n % {ONE_DEAD_OF} = 0 AS dead, {_KIND.format(f"g % {len(KINDS)}")} AS kind,
        'filial-' || (n / 7 % {ACCOUNTS}) AS account, {_PAYLOAD} AS payload, {_ERROR} AS error,
        CASE WHEN n % {ONE_DEAD_OF} = 0 THEN 6 ELSE 1 END AS tried,
        CASE WHEN n % {ONE_DEAD_OF} = 0 THEN 'dead' WHEN n > WAITS_FROM THEN 'pending' ELSE 'done' END AS status,
        {{now}} - CAST({{second}} * (LAST_ROW - n) / 4 AS {{duration}}) AS at
    FROM (SELECT n, n / {ONE_DEAD_OF} * 97 % GROUP_COUNT AS g FROM SERIES AS rows) AS numbered
) AS made
"""  # noqa: S608 - constants of this module
_DEAD = "FROM {event} WHERE status = 'dead'"
_ATTEMPTS = f"""
INSERT INTO {{attempt}} (event_id, cycle, number, lease_epoch, kind, account, due_at, started_at, ended_at, outcome, error_type,
    error, verdict, fingerprint)
SELECT id, 0, 6, 6, kind, account, due_at, started_at, finished_at, 'dead', error_type, last_error, verdict, fingerprint
{_DEAD}
"""
_DESK = f"""
INSERT INTO {{desk}} (event_id, assignee, snoozed_until, updated_at)
SELECT id, {" ".join(["CASE id / 50 % 5", *(f"WHEN {n} THEN '{name}'" for n, name in enumerate(PEOPLE)), "END"])},
    CASE WHEN id % 500 = 0 THEN {{now}} + {{interval[86400]}} END, {{now}}
{_DEAD} AND id % 50 = 0
"""
_TAGS = f"INSERT INTO {{tag}} (tag, event_id) SELECT 'tag-' || (id / 100 % 20), id {_DEAD} AND id % 100 = 0"
_FIELDS = f"INSERT INTO {{event_field}} (value, path, event_id) SELECT 'N-' || id, '{COLUMN[1]}', id {_DEAD}"
#: Every update leaves a dead row version behind, and most of them an entry in each index of dead events.
_BUSY = """
UPDATE {event} SET updated_at = {now}, lease_epoch = lease_epoch + 1,
    finished_at = finished_at + CAST({second} * 0.001 AS {duration})
WHERE id IN (SELECT id FROM {event} WHERE status = 'dead' ORDER BY finished_at DESC LIMIT MOST)
"""
_BUSY_DONE = "UPDATE {event} SET updated_at = {now} WHERE id BETWEEN 1 AND MOST AND status = 'done'"


@dataclass(frozen=True, slots=True)
class Size:
    """How many events there are in all; the rest follows from that."""

    events: int

    @property
    def dead(self) -> int:
        """Dead events."""
        return self.events // ONE_DEAD_OF

    @property
    def groups(self) -> int:
        """Their causes: a hundred events each."""
        return max(1, min(3_000, self.dead // 100))

    @property
    def updates(self) -> int:
        """Updates that no vacuum has cleaned up after."""
        return self.events // 20


def fill(store: Store, size: Size) -> float:
    """Write everything; returns in how many seconds."""
    began = monotonic()
    for first in range(1, size.events + 1, CHUNK):
        last = min(first + CHUNK - 1, size.events)
        series = _SERIES[store.sqlite].format(first=first, last=last)
        template = _EVENTS.replace("SERIES", series).replace("GROUP_COUNT", str(size.groups))
        template = template.replace("LAST_ROW", str(size.events)).replace(
            "WAITS_FROM", str(size.events - 2_000)
        )
        _run(store, template)
    for template in (_ATTEMPTS, _DESK, _TAGS, _FIELDS):
        _run(store, template)
    policy = {"columns": {COLUMN[0]: COLUMN[1]}}
    kinds.publish(store, [PublishedKind(kind, 6, 60.0, None, policy) for kind in KINDS], "benchmark")
    with store.single_statement() as connection:
        connection.exec_driver_sql("ANALYZE" if store.sqlite else "VACUUM ANALYZE")
    groups.sample(store)
    return monotonic() - began


def update_without_vacuum(store: Store, size: Size) -> None:
    """As many updates as a busy day leaves behind when no vacuum comes around."""
    most_dead = min(size.dead, size.updates)
    _run(store, _BUSY.replace("MOST", str(most_dead)))
    _run(store, _BUSY_DONE.replace("MOST", str(size.updates - most_dead)))


def _run(store: Store, template: str) -> None:
    with store.write() as connection:
        connection.execute(store.statement(template))


def sample_of(store: Store, number: int) -> list[tuple[int, str, str, str]]:
    """Some dead events as `(id, account, entity_id, fingerprint)`, from all over the table."""
    template = f"SELECT id, account, entity_id, fingerprint {_DEAD} ORDER BY fingerprint, account, finished_at, id LIMIT {number}"
    with store.read() as connection:
        return [tuple(row) for row in connection.execute(store.statement(template))]
