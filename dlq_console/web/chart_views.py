"""How does a chart look to whoever cannot see it, and to the script that draws it? A caption, a legend, a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask_babel import gettext

from dlq_console.health.series import Series
from dlq_console.web import display, formats
from dlq_console.web.chart_subjects import Line, Subject, Unit

#: How many points of each range a row of the table stands for: a page has many tables, and every point is in the file.
POINTS_PER_ROW = {"1h": 2, "6h": 15, "24h": 12, "7d": 6, "30d": 24}
#: How each further line of a chart is dashed, in pixels; the first is solid.
DASHES = ("", "6 3", "2 3", "9 3 2 3")
#: What stands where nothing is known.
NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Legend:
    """A line of the chart: its name, its look, and its last number that is known."""

    column: str
    label: str
    tone: str
    dash: str
    now: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartView:
    """A chart as its template needs it.

    Attributes:
        name: in ids and addresses.
        title: with the span of a point, where its numbers are events of one.
        unit: how the script writes its numbers.
        caption: one sentence: now, smallest, largest and when.
        legend: its lines.
        rows: of the table: when, and a text per line; made as the table is written.
        row_span: how much time a row stands for.
        adds_up: whether a row is the sum of its points; else it is the largest.
        is_empty: nothing was measured.
    """

    name: str
    title: str
    unit: str
    caption: str
    legend: tuple[Legend, ...]
    rows: tuple[tuple[str, ...], ...]
    row_span: str
    adds_up: bool
    is_empty: bool

    @property
    def spec(self) -> dict[str, Any]:
        """What the script needs to know."""
        lines = [{"column": one.column, "label": one.label, "dash": one.dash} for one in self.legend]
        return {"unit": self.unit, "lines": lines}


def chart_view(subject: Subject, series: Series) -> ChartView:
    """One chart of a series."""
    columns = [series.columns.get(line.column, ()) for line in subject.lines]
    per_row = POINTS_PER_ROW[series.range.name]
    return ChartView(
        name=subject.name,
        title=_title(subject, series),
        unit=subject.unit,
        caption=caption(subject, series),
        legend=tuple(_legend(subject, columns)),
        rows=tuple(_rows(subject, series, columns, per_row)),
        row_span=display.current().span(per_row * series.range.step),
        adds_up=subject.unit.adds_up,
        is_empty=not any(number is not None for column in columns for number in column),
    )


def written(unit: Unit, number: float | None) -> str:
    """A number of a chart as a person reads it."""
    shown = display.current()
    if number is None:
        return NOTHING
    if unit in (Unit.SECONDS, Unit.LOST):
        return shown.span(number)
    return formats.one_decimal(shown.locale, number) if unit is Unit.RATIO else shown.number(round(number))


def moment_of(moment: datetime, *, exact: bool = False) -> str:
    """When a point begins: the time today, with its day before that; to the second with `exact`."""
    shown = display.current()
    local = moment.astimezone(shown.zone)
    clock = formats.clock_time(local) if exact else f"{local:%H:%M}"
    return (
        clock if local.date() == shown.today else f"{formats.short_date(shown.locale, local.date())} {clock}"
    )


def _title(subject: Subject, series: Series) -> str:
    if not subject.unit.adds_up:
        return str(subject.title)
    span = display.current().span(series.range.step)
    return gettext("%(title)s, per %(span)s", title=subject.title, span=span)


def _legend(subject: Subject, columns: Sequence[Sequence[float | None]]) -> Iterator[Legend]:
    for line, dash, column in zip(subject.lines, DASHES, columns, strict=False):
        yield Legend(line.column, str(line.label), line.tone, dash, written(subject.unit, last_of(column)))


def last_of(column: Sequence[float | None]) -> float | None:
    """The last number that is known."""
    return next((number for number in reversed(column) if number is not None), None)


def caption(subject: Subject, series: Series) -> str:
    """One sentence: now, smallest, largest and when."""
    line: Line = subject.lines[subject.told]
    known = [
        (number, at)
        for number, at in zip(series.columns.get(line.column, ()), series.times, strict=False)
        if number is not None
    ]
    if not known:
        return gettext("Nothing was measured in this time.")
    unit = subject.unit
    least, most = min(known), max(known, key=lambda pair: pair[0])
    values = {
        "line": str(line.label),
        "now": written(unit, known[-1][0]),
        "least": written(unit, least[0]),
        "most": written(unit, most[0]),
        "when": moment_of(most[1]),
    }
    if not unit.adds_up:
        return gettext("%(line)s: now %(now)s, smallest %(least)s, largest %(most)s (%(when)s).", **values)
    total = written(unit, sum(number for number, _ in known))
    return gettext(
        "%(line)s: %(total)s in all; now %(now)s, smallest %(least)s, largest %(most)s (%(when)s).",
        total=total,
        **values,
    )


def _rows(
    subject: Subject, series: Series, columns: Sequence[Sequence[float | None]], per_row: int
) -> Iterator[tuple[str, ...]]:
    """The newest first: whoever opens the table wants to know how it is."""
    for start in reversed(range(0, len(series.times), per_row)):
        parts = (
            [number for number in column[start : start + per_row] if number is not None] for column in columns
        )
        numbers = ((sum(part) if subject.unit.adds_up else max(part)) if part else None for part in parts)
        yield (moment_of(series.times[start]), *(written(subject.unit, number) for number in numbers))
