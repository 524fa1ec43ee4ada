"""How far has a bulk run come? A bar of five parts, its figures, its stages, and how to follow it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from flask import url_for
from flask_babel import gettext, ngettext

from dlq_console.hub import bulk_terms
from dlq_console.hub.bulk import BulkRun, ItemState, PaceOf, RunState, Verb
from dlq_console.store import people
from dlq_console.store.people import Permission
from dlq_console.web import bulk_words, display, formats
from dlq_console.web.auth import person
from dlq_console.web.follow import BRISK, SLOW, Follow
from dlq_console.web.hub import hub
from dlq_console.web.lists import page_address
from dlq_console.web.words import Look

#: Width of the bar in units of its own, what is left free between two parts, and the least width of a part.
WIDTH, GAP, LEAST = 1000, 3, 8
#: A pace below that is told in the next longer unit of time, or it would be rounded to nothing.
SLOWEST = 0.05

VERBS: tuple[Verb, ...] = ("pause", "resume", "cancel")
#: The parts of the bar that have come to an end, from left to right.
_ENDED = (ItemState.SUCCEEDED, ItemState.DIED_SAME, ItemState.DIED_DIFFERENT, ItemState.REFUSED)


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of the bar: what it stands for, how many, and where it is drawn."""

    look: Look
    number: int
    x: int
    width: int


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a canary: how it stands, what it is called, and whether the run is in it."""

    look: Look
    word: str
    now: bool


def context(run: BulkRun) -> dict[str, Any]:
    """What the part of the page shows that is asked for again and again."""
    bar = segments(run)
    workers = run.finished_at is not None or hub().bulk.has_workers()
    late = hub().bulk.late_filter(run) if run.late.number > run.died_same + run.died_different else None
    return {
        "run": run,
        "look": bulk_words.run_look(run.state),
        "standing": bulk_words.standing(run),
        "limit": bulk_words.limit(run, workers=workers),
        "segments": bar,
        "bar_in_words": in_words(bar),
        "speed": _speed(run) if workers else "",
        "stages": stages(run),
        "drift": _drift(run),
        "late": _late(run) if late else "",
        "late_address": page_address(url_for("triage.dead_letters"), replace(late, status=()))
        if late
        else "",
        "offered": offered(run),
        "follow": follow(run),
    }


def segments(run: BulkRun) -> list[Segment]:
    """The parts of the bar; what has not come to an end is the last."""
    to_go = Look("ring", "idle", gettext("to go"))
    parts = [(bulk_words.item_look(state), getattr(run, state)) for state in _ENDED]
    parts.append((to_go, run.remaining + run.released))
    widths = _widths([number for _, number in parts])
    found, x = [], 0
    for (look, number), width in zip(parts, widths, strict=True):
        found.append(Segment(look, number, x, max(width - GAP, 0)))
        x += width
    return found


def in_words(found: list[Segment]) -> str:
    """The same for who does not see the bar."""
    return ", ".join(f"{one.look.word} {display.current().number(one.number)}" for one in found)


def _widths(numbers: list[int]) -> list[int]:
    """What there is at all is seen, however small its share; together they are as wide as the bar."""
    total = sum(numbers)
    if not total:
        return [0] * (len(numbers) - 1) + [WIDTH]
    widths = [max(LEAST, round(WIDTH * number / total)) if number else 0 for number in numbers]
    widest = widths.index(max(widths))
    widths[widest] += WIDTH - sum(widths)
    return widths


def stages(run: BulkRun) -> list[Stage]:
    """The stages of the canary and what comes after them; none without a canary."""
    if not run.stages:
        return []
    shown = display.current()
    sizes = run.stages if run.frozen_at is None else bulk_terms.stages_of(run.total, run.stages)
    if not sizes:
        return []
    names = [shown.number(size) for size in sizes] + [gettext("the rest")]
    over = len(names) if run.state == RunState.DONE else run.stage if run.frozen_at else -1
    is_cancelled = run.state == RunState.CANCELLED
    looks = {
        -1: Look("disc", "ok", gettext("finished")),
        0: _of_present_stage(run),
        1: bulk_words.item_look(ItemState.WAITING)
        if is_cancelled
        else Look("ring", "idle", gettext("to come")),
    }
    return [
        Stage(looks[(n > over) - (n < over)], name, n == over and not is_cancelled)
        for n, name in enumerate(names)
    ]


def _of_present_stage(run: BulkRun) -> Look:
    """As the run itself stands where nothing moves any more."""
    if run.released or run.state == RunState.RUNNING:
        return Look("half", "info", gettext("under way"))
    return bulk_words.run_look(run.state)


def offered(run: BulkRun) -> list[Verb]:
    """What this person may do to the run now."""
    may = people.may(person(), Permission.BULK) and people.may(person(), run.action)
    return [verb for verb in VERBS if may and run.allows(verb)]


def follow(run: BulkRun) -> Follow | None:
    """How to follow it; None once it is over."""
    if run.finished_at is not None:
        return None
    moves = run.released or run.state in (RunState.FREEZING, RunState.RUNNING)
    address = url_for("bulk.progress", run_id=run.id, seen=version_of(run), state=run.state)
    return Follow(address, BRISK if moves else SLOW)


def version_of(run: BulkRun) -> str:
    """Changes whenever something worth showing changes."""
    return f"{run.state}.{run.total}.{run.done}.{run.released}.{run.stage}.{run.late.number}.{run.limited_by or ''}"


def _speed(run: BulkRun) -> str:
    """How fast it is, and when it will be over at that; empty where that says nothing."""
    if not run.pace:
        return ""
    shown, rate = display.current(), _pace(run.pace)
    if run.finished_at is not None:
        return _in_all(run, rate)
    if run.eta_seconds is None:
        return _without_end(run, rate)
    span = shown.span(run.eta_seconds)
    match run.pace_of:
        case PaceOf.RECENT:
            return gettext("%(rate)s now; over in about %(span)s", rate=rate, span=span)
        case PaceOf.SET:
            return gettext("Over in about %(span)s at the pace that is set", span=span)
    return gettext("%(rate)s so far; over in about %(span)s", rate=rate, span=span)


def _in_all(run: BulkRun, rate: str) -> str:
    moved = run.moved_seconds or 0
    span = display.current().span(moved)
    if run.finished_at and run.frozen_at and (run.finished_at - run.frozen_at).total_seconds() - moved >= 1:
        return gettext("%(rate)s, %(span)s in all without its pauses", rate=rate, span=span)
    return gettext("%(rate)s, %(span)s in all", rate=rate, span=span)


def _without_end(run: BulkRun, rate: str) -> str:
    if run.pace_of == PaceOf.RECENT:
        return gettext("%(rate)s now", rate=rate)
    return gettext("%(rate)s so far", rate=rate)


def _pace(each_second: float) -> str:
    """So many in the shortest unit of time in which that is a number worth reading."""
    locale = display.current().locale
    if each_second >= SLOWEST:
        return gettext("%(number)s per second", number=formats.one_decimal(locale, each_second))
    if each_second * 60 >= SLOWEST:
        return gettext("%(number)s per minute", number=formats.one_decimal(locale, each_second * 60))
    return gettext("%(number)s per hour", number=formats.one_decimal(locale, each_second * 3600))


def _late(run: BulkRun) -> str:
    """That others have died since; its own that died again match its filter like them, and cannot be told apart there."""
    told = ngettext(
        "%(count)s dead letter that matches has died since it was begun; this run does not let it go.",
        "%(count)s dead letters that match have died since it was begun; this run does not let them go.",
        run.late.number,
        count=display.current().count(run.late),
    )
    if not run.died_same + run.died_different:
        return told
    among = gettext("Those of its own that died again are among them.")
    return f"{told} {among}"


def _drift(run: BulkRun) -> str:
    """That it holds others than the preview counted."""
    if not run.drift or run.expected is None:
        return ""
    shown = display.current()
    words = {
        "expected": shown.number(run.expected),
        "count": shown.number(abs(run.drift)),
    }
    if run.drift > 0:
        return ngettext(
            "The preview counted %(expected)s; it is %(count)s more.",
            "The preview counted %(expected)s; they are %(count)s more.",
            run.drift,
            **words,
        )
    return ngettext(
        "The preview counted %(expected)s; it is %(count)s fewer.",
        "The preview counted %(expected)s; they are %(count)s fewer.",
        -run.drift,
        **words,
    )
