"""What does a status frame tell? Only what is named here; nothing else that is known of an account can get out.

No ids, no errors, no numbers of events, no names of people: how things stand, since when, and coarsely how far behind.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime

from dlq_console.health import ends
from dlq_console.health.ends import NO_WAIT, End
from dlq_console.health.spelling import badness
from dlq_console.health.values import REMEMBERED, AccountHealth, Word
from dlq_console.store.embeds import Detail, Embed
from dlq_console.web.health_seen import Seen

_CIRCUITS = ("closed", "half_open", "open")
#: Where one band of lag ends and the next begins, in seconds.
LAG_BANDS = (60, 300, 900, 3_600, 14_400)
#: Steps to which the time to drain is rounded up, in seconds, and up to which time each is used.
_STEPS = ((60, 300), (300, 3_600), (3_600, 86_400), (86_400, math.inf))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """How far behind, coarsely.

    Attributes:
        band: which part of LAG_BANDS the lag is in; 0 for the least.
        end: until when work waits, as on every page; seconds rounded up.
        circuit: `closed`, `half_open` or `open`.
    """

    band: int = 0
    end: End = NO_WAIT
    circuit: str = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One account, or all of them together; `figures` are None where they are not to be told, or not known.

    `left` is not told: it says since when all of them together can have stood as they do.
    """

    name: str
    word: Word
    since: datetime | None = None
    figures: Figures | None = None
    left: tuple[tuple[Word, datetime], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """Everything that a frame tells.

    Attributes:
        head: all that it tells of, under its own name.
        parts: each account, in the order in which they were named; empty for all accounts together.
        as_of: when it was so; None: that was never known.
        doubtful: whether it may not be shown as how things stand now.
    """

    head: Part
    parts: tuple[Part, ...] = ()
    as_of: datetime | None = None
    doubtful: bool = True


def content(embed: Embed, seen: Seen, idle: Collection[str], wanted: Collection[str] = ()) -> Content:
    """What `embed` tells.

    Args:
        embed: what may be told, and of which accounts.
        seen: what is known of all accounts.
        idle: accounts that exist; such a one of which nothing else is known has nothing to do.
        wanted: only these accounts of it; names that are none of its own ask for nothing.
    """
    with_figures = embed.detail == Detail.FIGURES
    as_of = seen.health.as_of
    chosen = _chosen(embed, wanted)
    names = seen.by_name if chosen is None else chosen
    parts = tuple(_part(name, seen.by_name.get(name), name in idle, as_of, with_figures) for name in names)
    return Content(
        head=_together(
            embed.name, parts, as_of, complete=chosen is not None and set(names) <= seen.by_name.keys()
        ),
        parts=() if chosen is None else parts,
        as_of=as_of,
        doubtful=as_of is None or seen.is_doubtful,
    )


def _chosen(embed: Embed, wanted: Collection[str]) -> tuple[str, ...] | None:
    if embed.accounts is None:
        return None
    return tuple(name for name in embed.accounts if name in wanted) or embed.accounts


def _part(
    name: str, account: AccountHealth | None, idle: bool, as_of: datetime | None, with_figures: bool
) -> Part:
    if account is None:
        # What nobody has ever heard of is no account that is well.
        word = Word.OK if idle else Word.UNKNOWN
        return Part(name=name, word=word, figures=Figures() if with_figures and idle else None)
    if account.word == Word.UNKNOWN:
        return Part(name=name, word=Word.UNKNOWN, left=account.left)
    figures = _figures(account, as_of) if with_figures else None
    return Part(name=name, word=account.word, since=account.since, figures=figures, left=account.left)


def _figures(account: AccountHealth, as_of: datetime | None) -> Figures:
    oldest = account.counts.oldest_due_at
    waited = (as_of - oldest).total_seconds() if as_of and oldest else 0.0
    end = ends.end(account, as_of) if as_of else NO_WAIT
    return Figures(
        band=bisect_left(LAG_BANDS, max(account.flow.lag_p95 or 0.0, waited)),
        end=replace(end, seconds=_coarse(end.seconds)),
        circuit=account.circuit if account.circuit in _CIRCUITS else "open",
    )


def _coarse(seconds: float | None) -> int | None:
    if seconds is None or not math.isfinite(seconds):
        return None
    step = next(step for step, up_to in _STEPS if seconds <= up_to)
    return max(1, math.ceil(seconds / step)) * step


def _together(name: str, parts: Collection[Part], as_of: datetime | None, *, complete: bool) -> Part:
    """How all of them stand: as the worst of them does.

    Args:
        name: of the frame.
        parts: each of them.
        as_of: when they stood so.
        complete: whether it is known of all of them, however long ago, when they stood worse.
    """
    if not parts:
        return Part(name=name, word=Word.OK)
    worst = max(parts, key=lambda part: badness(part.word))
    since = _since(worst.word, parts)
    if since and as_of and not complete and as_of - since > REMEMBERED:
        since = None
    return Part(
        name=name,
        word=worst.word,
        since=since,
        figures=_worst([part.figures for part in parts if part.figures is not None]),
    )


def _since(word: Word, parts: Collection[Part]) -> datetime | None:
    """Since when one of them stands so and none has stood worse."""
    began = min((part.since for part in parts if part.word == word and part.since), default=None)
    worse = [at for part in parts for left, at in part.left if badness(left) > badness(word)]
    return began and max([began, *worse])


def _worst(figures: Collection[Figures]) -> Figures | None:
    if not figures:
        return None
    return Figures(
        band=max(one.band for one in figures),
        end=max((one.end for one in figures), key=lambda end: end.badness),
        circuit=max((one.circuit for one in figures), key=_CIRCUITS.index),
    )
