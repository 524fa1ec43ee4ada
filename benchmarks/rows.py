"""How does a table get its many rows quickly? One INSERT ... SELECT per group of like events, on both engines.

What is invented looks like an order: about 300 bytes of payload. Accounts and kinds are spread evenly.
"""

from __future__ import annotations

from dataclasses import dataclass

from dlq_console.store.store import Store

ACCOUNTS = 10
KINDS = ("order.create", "invoice.issue", "customer.update", "stock.move")

#: The columns that differ between the groups, as SQL over `n`, the number of the row.
_COLUMNS = """
    kind, account, entity_id, idempotency_key, payload_hash, effect_key, payload, status, reason, priority, attempts,
    total_attempts, max_attempts, lease_epoch, due_at, next_run_at, created_at, updated_at, started_at, finished_at,
    error_type, last_error, verdict, fingerprint, lane, on_dead
"""
#: Braces are doubled because a statement is a template.
_PAYLOAD = """'{{"number": "' || n || '", "customer_code": "' || (1000 + n % 9000) || '",
 "lines": [{{"sku": "P-0031", "description": "Café torrado 500 g", "quantity": 4, "unit_price": 18.90, "amount": 75.60}},
 {{"sku": "P-0042", "description": "Estante de aço", "quantity": 1, "unit_price": 389.00, "amount": 389.00}}],
 "issued_on": "2026-03-02", "total": 464.60}}'"""
_SERIES = {
    True: "(WITH RECURSIVE s(n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM s WHERE n < {last}) SELECT n FROM s)",
    False: "(SELECT n FROM generate_series({first}, {last}) AS s(n))",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rows that are alike.

    Attributes:
        count: how many.
        status: of all of them.
        account: SQL for the account of row `n`.
        kind: SQL for its kind.
        lane: SQL for its lane; its death does not stop it.
        age: SQL for how many seconds ago it was created; it ended or is due a second later.
    """

    count: int
    status: str
    account: str = f"'filial-' || (n % {ACCOUNTS})"
    kind: str = "CASE (n / 10) % 4 " + " ".join(f"WHEN {i} THEN '{k}'" for i, k in enumerate(KINDS)) + " END"
    lane: str = "NULL"
    age: str = "(n % 2592000)"


def fill(store: Store, *groups: Group) -> None:
    """Insert the rows of every group, then let the database gather its statistics."""
    first = 1
    for group in groups:
        with store.write() as connection:
            connection.execute(store.statement(_insert(store, group, first)))
        first += group.count
    with store.single_statement() as connection:
        # In production autovacuum has done this long before a table is that large.
        connection.exec_driver_sql("ANALYZE" if store.sqlite else "VACUUM ANALYZE")


def _insert(store: Store, group: Group, first: int) -> str:
    dead, done = group.status == "dead", group.status == "done"
    tried = 6 if dead else int(done)
    created = f"{{now}} - CAST({{second}} * ({group.age} + 2) AS {{duration}})"
    later = f"{{now}} - CAST({{second}} * ({group.age} + 1) AS {{duration}})"
    ended = later if dead or done else "NULL"
    error = "'The ERP answered 500: customer ' || (1000 + n % 9000) || ' is not registered in this company.'"
    values = (
        group.kind, group.account, "CAST(n AS text)", "'benchmark-' || n", "'0'", "'effect-' || n",
        _PAYLOAD, f"'{group.status}'", "'exhausted'" if dead else "NULL", "0", f"{tried}",
        f"{tried}", "6", f"{tried}", later, later, created, later, ended, ended,
        "'TransientError'" if dead else "NULL", error if dead else "NULL", "'transient'" if dead else "NULL",
        "'group-' || (n % 97)" if dead else "NULL", group.lane, "'skip'",
    )  # fmt: skip
    series = _SERIES[store.sqlite].format(first=first, last=first + group.count - 1)
    return f"INSERT INTO {{event}} ({_COLUMNS}) SELECT {', '.join(values)} FROM {series} AS rows"  # noqa: S608 - constants of this module
