"""On what terms does a bulk run begin? What may be asked for, checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from dlq_console.errors import PayloadRefused
from dlq_console.hub.policy import is_number
from dlq_console.store.bulk.runs import ACTIONS
from dlq_console.store.bulk.selections import MOST_CHOSEN
from dlq_console.store.cursors import MAX_ID
from dlq_console.store.filters import EventFilter
from dlq_console.store.states import Action, Status

#: How many events may be let go and not ended at once where nothing else is asked for, and at most.
WINDOW, LARGEST_WINDOW = 100, 100_000
#: The stages that `canary=True` means.
STAGES = (1, 10, 100)
MOST_STAGES = 10
#: Share of ended items that died again above which a run stops by itself.
STOP_SHARE = 0.2
#: Items per second.
FASTEST = 10_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How fast and how carefully.

    Attributes:
        rate: items per second; None as fast as the window allows.
        canary: sizes of the first stages, True for STAGES, None or False for none. Their items get one attempt each, and
            a stage begins when all of the one before have ended.
        stop_share: share of ended items that died again, 0 to 1, above which the run stops; None for STOP_SHARE. With 1
            it never does.
        window: how many may be let go and not ended at once; None for WINDOW.
    """

    rate: float | None = None
    canary: Sequence[int] | bool | None = None
    stop_share: float | None = None
    window: int | None = None

    def columns(self, action: str) -> dict[str, Any]:
        """The columns of a run.

        Raises:
            PayloadRefused: one of them is beyond its limits.
        """
        window = WINDOW if self.window is None else self.window
        if not _is_whole(window) or not 1 <= window <= LARGEST_WINDOW:
            raise PayloadRefused(f"window: write a whole number from 1 to {LARGEST_WINDOW:,}.")
        if self.rate is not None and not (_is_finite(self.rate) and 0 < self.rate <= FASTEST):
            raise PayloadRefused(f"rate: write items per second, above 0 and at most {FASTEST:,.0f}.")
        stop_share = STOP_SHARE if self.stop_share is None else self.stop_share
        if not (_is_finite(stop_share) and 0 <= stop_share <= 1):
            raise PayloadRefused("stop_share: write a number from 0 to 1, such as 0.2.")
        stages = self._stages()
        # What is only put aside does not run, so there is nothing that could die again.
        again = {"stages": stages, "stop_share": stop_share} if action == Action.REPROCESS else {}
        return {"rate": self.rate, "window": window, "stages": (), "stop_share": None} | again

    def _stages(self) -> tuple[int, ...]:
        if self.canary is None or isinstance(self.canary, bool):
            return STAGES if self.canary else ()
        stages = tuple(self.canary) if isinstance(self.canary, (list, tuple)) else ()
        if (
            not 1 <= len(stages) <= MOST_STAGES
            or not all(_is_whole(size) for size in stages)
            or not all(1 <= size <= LARGEST_WINDOW for size in stages)
        ):
            raise PayloadRefused(
                f"canary: write true, or a list of 1 to {MOST_STAGES} sizes such as [1, 10, 100]."
            )
        return stages


def stages_of(number: int, stages: Sequence[int] = STAGES) -> tuple[int, ...]:
    """The first of `stages` that a run over `number` items has in full; the one after them is all the rest."""
    return tuple(size for size, so_far in zip(stages, accumulate(stages), strict=True) if so_far < number)


def check_action(action: str) -> None:
    """Refuse what cannot be done to many events at once.

    Raises:
        PayloadRefused: it cannot.
    """
    if action not in ACTIONS:
        raise PayloadRefused(f"action: write one of {', '.join(ACTIONS)}.")


def check_chosen(ids: Sequence[int]) -> tuple[int, ...]:
    """Ids that were chosen one by one, each once.

    Raises:
        PayloadRefused: there are none or too many, or one is no id.
    """
    if not 1 <= len(ids) <= MOST_CHOSEN:
        raise PayloadRefused(f"ids: choose 1 to {MOST_CHOSEN:,} events; for more, use a filter.")
    if not all(_is_whole(event_id) and 0 < event_id <= MAX_ID for event_id in ids):
        raise PayloadRefused("ids: write whole numbers.")
    return tuple(dict.fromkeys(ids))


def check_number(number: int) -> None:
    """Refuse what cannot be a number of events.

    Raises:
        PayloadRefused: it is none.
    """
    if not _is_whole(number) or number < 0:
        raise PayloadRefused("expected_count: write a whole number.")


def dead_only(flt: EventFilter) -> EventFilter:
    """The filter as a bulk run means it: of dead events, whatever their order.

    Raises:
        PayloadRefused: it asks for other events only.
    """
    if flt.status and Status.DEAD not in flt.status:
        raise PayloadRefused("status: a bulk run acts upon dead events; leave it out or write dead.")
    return replace(flt, status=(Status.DEAD,), sort="")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(value: object) -> bool:
    return is_number(value) and math.isfinite(value)
