"""Which queues does a Celery worker serve?

One for each account in which something waits, and a second one for its serial lane where there is something in it:
on Redis every look for work names all queues, so none is served that nobody uses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dlq_console.hub.core import HubCore
from dlq_console.store.accounts import waiting_accounts
from dlq_console.store.lane_names import SERIAL_LANE
from dlq_console.store.queues import account_of


def served_queues(hub: HubCore, accounts: Sequence[str] | None) -> list[str]:
    """The queues of the accounts that a worker was given, or of all in which something waits.

    Args:
        hub: the hub.
        accounts: those it was given; None for all.
    """
    waiting = [each for each in waiting_accounts(hub.store) if accounts is None or each.name in accounts]
    plain = [each.name for each in waiting] if accounts is None else list(accounts)
    serial = [each.name for each in waiting if each.serial]
    queues = [*map(hub.routes.queue, plain), *(hub.routes.queue(name, SERIAL_LANE) for name in serial)]
    # Accounts may share one.
    return list(dict.fromkeys(queues))


def named_accounts(hub: HubCore, queues: Iterable[str]) -> list[str] | None:
    """The accounts whose queues were named; None when some of them are shared, so that nobody can tell."""
    prefix = hub.settings.queue_prefix
    ours = [name for name in queues if name.startswith(f"{prefix}.")]
    accounts = {account_of(prefix, name) for name in ours}
    return None if None in accounts else sorted(name for name in accounts if name is not None)
