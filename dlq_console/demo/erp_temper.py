"""How does an account of the simulated ERP behave? A `Temper` is its script; `erp_mood.py` plays it.

All times are seconds, all rates are shares from 0 to 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from enum import StrEnum


class Fate(StrEnum):
    """What happens to one call."""

    #: It is answered properly.
    ANSWERED = "answered"
    #: It is answered properly, but during a slow spell.
    SLOW = "slow"
    #: The ERP is out of service: HTTP 503, nothing done.
    UNAVAILABLE = "unavailable"
    #: Too many calls: HTTP 429 with the time to wait, nothing done.
    LIMITED = "limited"
    #: A gateway in between broke: HTTP 502 with a page of HTML, nothing done.
    GLITCH = "glitch"
    #: It hangs past every patience, and nothing is done.
    HUNG = "hung"
    #: It is done at once, and the answer comes when the caller has gone.
    LATE = "late"
    #: The account has refused too much of this kind: HTTP 425 with the time to wait, nothing done.
    BLOCKED = "blocked"
    #: The same, for a caller who knew: the block begins anew.
    WHILE_BLOCKED = "while_blocked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Temper:
    """The script of one account; the defaults are an account without faults."""

    #: The usual time to answer.
    latency: float = 0.02
    #: Share of calls that end in Fate.GLITCH.
    glitch_rate: float = 0.0
    #: Share of calls that end in Fate.HUNG, and how long they hang.
    hang_rate: float = 0.0
    hang: float = 12.0
    #: Share of calls that end in Fate.LATE, and how late the answer is.
    late_rate: float = 0.0
    late: float = 12.0
    #: Fate.LATE too: the first writing call and every so many-th after it; 0 means never.
    late_every: int = 0
    #: Most calls taken within any `window` seconds; 0 sets no limit.
    calls_per_window: int = 0
    window: float = 10.0
    #: So many refusals of one kind of call within `block_window` block that kind for `block_lasts`; 0 means never.
    block_after: int = 0
    block_window: float = 600.0
    block_lasts: float = 45.0
    #: The last `slow_lasts` of every `slow_every` take `slow_by` longer; 0 means never.
    slow_every: float = 0.0
    slow_lasts: float = 0.0
    slow_by: float = 3.0
    #: `outage_lasts` of every `outage_every` are out of service, from `outage_after` on, or its last; 0 means never.
    outage_every: float = 0.0
    outage_lasts: float = 0.0
    outage_after: float = 0.0
    #: Whether a repeat with the same effect key is recognised. If not, it is a second effect.
    deduplicates: bool = True
    #: Whether a recognised repeat is answered with a fault instead of `duplicate: true`.
    repeat_is_fault: bool = False

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"{field.name} of a temper is {value}; write a number from 0 up.")
        if self.glitch_rate + self.hang_rate + self.late_rate > 1:
            raise ValueError("the rates of a temper add up to more than 1; lower one of them.")


#: The accounts of the demo. Hanging and late calls outlast the patience of the sample handlers (8 s).
TEMPERS: dict[str, Temper] = {
    "filial-sp": Temper(latency=0.05),
    "filial-rj": Temper(calls_per_window=12, window=10.0),
    "filial-mg": Temper(hang_rate=0.06),
    "filial-pr": Temper(slow_every=90.0, slow_lasts=30.0, slow_by=2.5, glitch_rate=0.02),
    # Long enough to open the circuit of the account, and over before its probe.
    "filial-ba": Temper(outage_every=300.0, outage_lasts=35.0, outage_after=30.0),
    "filial-rs": Temper(late_every=12),
    "filial-go": Temper(block_after=4),
}
