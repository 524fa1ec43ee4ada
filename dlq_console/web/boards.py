"""How do charts come onto a page? As a board: charts of one span of time above each other, and what happened in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask import url_for

from dlq_console.health.series import RANGES, Series
from dlq_console.web import display, series_seen
from dlq_console.web.axes import Happened, happened
from dlq_console.web.chart_subjects import OF_AN_ACCOUNT, Subject, subjects
from dlq_console.web.chart_views import ChartView, chart_view
from dlq_console.web.hub import store
from dlq_console.web.keeping import Keeper, OfStore
from dlq_console.web.series_seen import KEPT_FOR, MOST, Asked


@dataclass(frozen=True, slots=True)
class RangeLink:
    """A span of time that may be chosen."""

    word: str
    address: str
    here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """Charts as `shared/graphs.html` draws them.

    Attributes:
        charts: in their order.
        ranges: the spans to choose from.
        series: where the script finds the numbers.
        csv: where each chart is as a file, by its name.
        step: seconds of a point.
        zone: in which times are shown.
        happened: spans and marks, of one account only.
        as_of: up to when everything is counted; empty where nobody has ever counted.
        is_stale: whether that is too long ago to be shown as current.
    """

    charts: tuple[ChartView, ...]
    ranges: tuple[RangeLink, ...]
    series: str
    csv: dict[str, str]
    step: int
    zone: str
    happened: Happened
    as_of: str
    is_stale: bool


def account_board(what: Asked) -> Board:
    """What the page of an account shows: all layers on one axis of time. `what` comes from `chart_asking.asked`."""
    shown = series_seen.seen(what)
    return board(
        what, shown, subjects(what.kind, names=OF_AN_ACCOUNT), endpoint="health_pages.account", in_path=True
    )


def board(
    what: Asked, shown: Series, drawn: Sequence[Subject], *, endpoint: str, in_path: bool = False
) -> Board:
    """The charts of some subjects.

    Args:
        what: what was asked for.
        shown: its numbers.
        drawn: the subjects, in their order.
        endpoint: the page, to which the choice of ranges leads.
        in_path: whether the account stands in its path; else it is a parameter.
    """
    query: dict[str, Any] = {"account": what.account or None, "kind": what.kind or None}
    of_page = query | {"account": what.account} if in_path else query
    return Board(
        charts=tuple(chart_view(subject, shown) for subject in drawn),
        ranges=tuple(
            RangeLink(_word(name), url_for(endpoint, **of_page, range=name), name == what.range.name)
            for name in RANGES
        ),
        series=url_for("charts.series_json", **query, range=what.range.name),
        csv={
            one.name: url_for("charts.series_csv", **query, range=what.range.name, chart=one.name)
            for one in drawn
        },
        step=what.range.step,
        zone=display.current().zone.key,
        happened=happened_to(what, shown),
        as_of=counted_until(shown),
        is_stale=shown.is_stale,
    )


def counted_until(shown: Series) -> str:
    """Up to when everything is counted, as people read it; empty where nobody has ever counted."""
    return display.current().to_the_second(shown.as_of) if shown.as_of else ""


def happened_to(what: Asked, shown: Series) -> Happened:
    """What happened to the account that was asked for while these numbers came about; kept as long as they are."""
    if not (what.account and shown.times):
        return Happened()
    key = (what.account, what.range.name, display.current().locale)
    return _keepers.get(store()).get(key, lambda: _read(what, shown.times[0])).value


def _read(what: Asked, since: datetime) -> Happened:
    return happened(what.account, since, step=what.range.step)


def _word(name: str) -> str:
    """`24 h`, the same in every language here."""
    return f"{name[:-1]} {name[-1]}"


_keepers: OfStore[Keeper[tuple[str, str, str], Happened]] = OfStore(lambda: Keeper(KEPT_FOR, most=MOST))
