"""Which events are the hub's own? Small jobs that workers run like any other event, and that no list of people's work shows."""

from __future__ import annotations

from dlq_console.errors import PayloadRefused
from dlq_console.store.keys import MAX_ACCOUNT, MAX_KIND, check_text

#: With what the names of such kinds begin; nobody else may use one.
PREFIX = "dlq."
#: Asks the outside system whether a dead event would pass now.
PRECHECK = f"{PREFIX}precheck"
#: Brings a message of an alert to a channel.
ALERT = f"{PREFIX}alert"
#: All of them.
INTERNAL = (PRECHECK, ALERT)
#: SQL: a condition on rows of events that leaves them out. Compared by whole names, so that it costs next to nothing.
NOT_INTERNAL = f"kind NOT IN ({', '.join(repr(kind) for kind in INTERNAL)})"
#: The account of those that belong to nobody's; no list of accounts shows it, and nobody else may use it.
OWN_ACCOUNT = f"{PREFIX}alerts"


def check_kind_name(kind: object) -> str:
    """The name of a kind as it is stored.

    Raises:
        PayloadRefused: it is no name, or one of the hub's own.
    """
    name = check_text(kind, "kind", max_length=MAX_KIND)
    if name.startswith(PREFIX):
        raise PayloadRefused(
            f"kind: names that begin with {PREFIX} are kept for the hub itself; choose another."
        )
    return name


def check_account_name(account: object) -> str:
    """The name of an account as it is stored.

    Raises:
        PayloadRefused: it is no name, or the hub's own.
    """
    name = check_text(account, "account", max_length=MAX_ACCOUNT)
    if name == OWN_ACCOUNT:
        raise PayloadRefused(f"account: {OWN_ACCOUNT} is kept for the hub itself; choose another name.")
    return name
