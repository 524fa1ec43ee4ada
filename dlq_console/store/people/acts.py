"""How does the audit hear of what was done to people and tokens? In the transaction that does it."""

from __future__ import annotations

from sqlalchemy import Connection

from dlq_console.store.acts import MAX_ACTOR, record
from dlq_console.store.keys import check_text
from dlq_console.store.people.roles import Role
from dlq_console.store.people.rows import read_accounts
from dlq_console.store.store import Store

#: Who it was where the caller does not say.
SOMEBODY = "operator"


def note_act(
    store: Store, connection: Connection, actor: str, action: str, subject: str, after: str | None = None
) -> None:
    """Write down who did what to whom; never anything secret.

    Args:
        store: the store.
        connection: its transaction.
        actor: who did it.
        action: what was done, such as `add_user`.
        subject: to whom: `user:<name>` or `token:<name>`.
        after: what the subject may do from now on.

    Raises:
        PayloadRefused: the actor is no name.
    """
    name = check_text(actor, "actor", max_length=MAX_ACTOR)
    record(store, connection, actor=name, action=action, subject=subject, after=after)


def rights(role: Role, cell: str | None) -> str:
    """What somebody may do, in one line for the audit; `cell` are the accounts as the tables hold them."""
    accounts = read_accounts(cell)
    return f"{role} of {'all accounts' if accounts is None else ', '.join(accounts)}"
