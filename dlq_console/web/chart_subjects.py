"""What is drawn over time: which figures share a chart, what each is called, and how its numbers are to be read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from flask_babel import lazy_gettext
from flask_babel.speaklater import LazyString


class Unit(StrEnum):
    """What the numbers of a chart are. Those of EVENTS and LOST add up over time; of the others the largest tells most."""

    #: Events within each point.
    EVENTS = "events"
    #: Events at that look within each point at which they were most.
    STANDING = "standing"
    SECONDS = "seconds"
    #: Seconds that all events of a point have lost together.
    LOST = "lost"
    RATIO = "ratio"

    @property
    def adds_up(self) -> bool:
        """Whether the numbers of several points together are their sum."""
        return self in (Unit.EVENTS, Unit.LOST)


@dataclass(frozen=True, slots=True)
class Line:
    """One figure: its column of a `Series`, its name, and the tone in which it is drawn."""

    column: str
    label: LazyString
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What one chart shows.

    Attributes:
        name: in addresses and ids.
        lines: the first is drawn solid, each further one with dashes of its own: colour alone tells nothing apart.
        told: place of the line that the caption is about.
        of_kinds: whether it is known of a single kind too.
    """

    name: str
    title: LazyString
    unit: Unit
    lines: tuple[Line, ...]
    told: int = 0
    of_kinds: bool = True


_HALF, _NEARLY_ALL = lazy_gettext("half of them (p50)"), lazy_gettext("95 of 100 (p95)")

SUBJECTS = (
    Subject(
        name="lag",
        title=lazy_gettext("Lag: how late first attempts start"),
        unit=Unit.SECONDS,
        lines=(Line("lag_p95", _NEARLY_ALL, "info"), Line("lag_p50", _HALF, "idle")),
    ),
    Subject(
        name="wait",
        title=lazy_gettext("Wait of every attempt, retries too, from being due"),
        unit=Unit.SECONDS,
        lines=(Line("wait_p95", _NEARLY_ALL, "info"), Line("wait_p50", _HALF, "idle")),
    ),
    Subject(
        name="run",
        title=lazy_gettext("Run time: how long one attempt takes"),
        unit=Unit.SECONDS,
        lines=(Line("run_p95", _NEARLY_ALL, "info"), Line("run_p50", _HALF, "idle")),
    ),
    Subject(
        name="oldest",
        title=lazy_gettext("Oldest waiting"),
        unit=Unit.SECONDS,
        lines=(Line("oldest_due", lazy_gettext("oldest due event"), "warn"),),
        of_kinds=False,
    ),
    Subject(
        name="flow",
        title=lazy_gettext("Arrivals and completions"),
        unit=Unit.EVENTS,
        lines=(
            Line("arrived", lazy_gettext("arrived"), "idle"),
            Line("done", lazy_gettext("ended well"), "ok"),
            Line("failed", lazy_gettext("failed, will retry"), "warn"),
        ),
    ),
    Subject(
        name="dead",
        title=lazy_gettext("Dead letters in and out"),
        unit=Unit.EVENTS,
        lines=(
            Line("died", lazy_gettext("died"), "fail"),
            Line("resolved", lazy_gettext("resolved"), "ok"),
            Line("reopened", lazy_gettext("reopened"), "warn"),
        ),
    ),
    Subject(
        name="standing",
        title=lazy_gettext("What stands in the queue"),
        unit=Unit.STANDING,
        lines=(
            Line("due", lazy_gettext("due"), "info"),
            Line("scheduled", lazy_gettext("scheduled"), "idle"),
            Line("paused", lazy_gettext("behind a closed door"), "fail"),
            Line("blocked", lazy_gettext("blocked behind another"), "warn"),
        ),
        of_kinds=False,
    ),
    Subject(
        name="end-to-end",
        title=lazy_gettext("From coming in to done, retries included"),
        unit=Unit.SECONDS,
        lines=(Line("end_to_end", lazy_gettext("on average"), "info"),),
    ),
    Subject(
        name="tries",
        title=lazy_gettext("Attempts per success"),
        unit=Unit.RATIO,
        lines=(Line("tries_per_done", lazy_gettext("on average"), "info"),),
    ),
    Subject(
        name="lost",
        title=lazy_gettext("Time lost, by cause"),
        unit=Unit.LOST,
        lines=(
            Line("lost_closed", lazy_gettext("closed door"), "fail"),
            Line("lost_retry", lazy_gettext("waiting for a retry"), "warn"),
            Line("lost_limit", lazy_gettext("limit of the ERP"), "info"),
            Line("lost_order", lazy_gettext("order of a lane"), "idle"),
        ),
    ),
    Subject(
        name="guards",
        title=lazy_gettext("What the guards caught"),
        unit=Unit.EVENTS,
        lines=(
            Line("duplicates", lazy_gettext("duplicates folded"), "info"),
            Line("superseded", lazy_gettext("superseded"), "idle"),
            Line("in_doubt", lazy_gettext("in doubt"), "warn"),
        ),
    ),
)

#: What the page of one account draws above each other, so that spike, cause and cure are seen together.
OF_AN_ACCOUNT = ("lag", "run", "flow", "dead", "standing")


def subjects(kind: str = "", *, names: tuple[str, ...] = ()) -> tuple[Subject, ...]:
    """What can be drawn of one kind, or of everything; only these, where they are named."""
    return tuple(one for one in SUBJECTS if (one.of_kinds or not kind) and (not names or one.name in names))
