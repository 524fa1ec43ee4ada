"""How does a chart get its numbers without every viewer asking the database? Each process keeps them for a few seconds."""

from __future__ import annotations

from dataclasses import dataclass

from dlq_console.health.series import Range, Series
from dlq_console.store import series as kept
from dlq_console.store.store import Store
from dlq_console.web.hub import store
from dlq_console.web.keeping import Keeper, OfStore

#: Seconds for which numbers are shown as they were read; points are a minute long at least.
KEPT_FOR = 5.0
#: Charts of which numbers are kept.
MOST = 200


@dataclass(frozen=True, slots=True)
class Asked:
    """Which numbers: of one account and perhaps one kind of it, or of all accounts that somebody may see (None: of all)."""

    range: Range
    account: str = ""
    kind: str = ""
    accounts: tuple[str, ...] | None = None


def seen(asked: Asked) -> Series:
    """The numbers as they were read last; of those who ask at once, one reads.

    Raises:
        StoreUnavailable: the database is away, and these numbers were never read.
    """
    here = store()
    return _keepers.get(here).get(asked, lambda: _read(here, asked)).value


def _read(here: Store, asked: Asked) -> Series:
    return kept.read(here, asked.range, account=asked.account, kind=asked.kind, accounts=asked.accounts)


_keepers: OfStore[Keeper[Asked, Series]] = OfStore(lambda: Keeper(KEPT_FOR, most=MOST))
