"""How did the accounts of a page fare in the last hours? The longest wait of each hour, small enough for a row of a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flask_babel import gettext

from dlq_console.errors import StoreUnavailable
from dlq_console.health.evaluate import LAG_TARGET
from dlq_console.store.queries.waits import HOURS, longest_waits
from dlq_console.web import display
from dlq_console.web.hub import store
from dlq_console.web.keeping import Keeper, OfStore
from dlq_console.web.sparklines import Sparkline, sparkline

#: Seconds for which hours are shown as they were read, and pages of which they are kept.
KEPT_FOR, MOST = 60.0, 200
#: Pixels of a step, and of the highest.
STEP, HEIGHT = 3, 12
_MINUTE = 60

Longest = Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Trend:
    """The steps of an account, and what they show in words."""

    line: Sparkline
    words: str


def trends(accounts: Sequence[str]) -> Mapping[str, Trend]:
    """Those of the accounts for which anything waited a minute or more; none at all while nobody can look."""
    here, names = store(), tuple(accounts)
    try:
        longest = _keepers.get(here).get(names, lambda: longest_waits(here, names)).value
    except StoreUnavailable:
        return {}
    return {name: told for name, seconds in longest.items() if (told := _trend(seconds)) is not None}


def _trend(seconds: Sequence[float]) -> Trend | None:
    line = sparkline(
        [int(one) // _MINUTE for one in seconds], step=STEP, height=HEIGHT, scale=int(LAG_TARGET) // _MINUTE
    )
    if line is None:
        return None
    words = gettext(
        "Longest wait in the last %(hours)s hours: %(span)s",
        hours=HOURS,
        span=display.current().span(max(seconds)),
    )
    return Trend(line, words)


_keepers: OfStore[Keeper[tuple[str, ...], Longest]] = OfStore(lambda: Keeper(KEPT_FOR, most=MOST))
