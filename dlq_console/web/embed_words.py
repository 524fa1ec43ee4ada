"""How does a status frame say what it tells? In the language and zone of whoever asks; nothing is said that is not so."""

from __future__ import annotations

from dataclasses import dataclass

from flask_babel import gettext, lazy_gettext
from flask_babel.speaklater import LazyString

from dlq_console.health.ends import End, Kind
from dlq_console.health.values import Word
from dlq_console.web import display, formats, health_words
from dlq_console.web.display import Stamp
from dlq_console.web.embed_content import LAG_BANDS, Content, Figures, Part
from dlq_console.web.words import Look

#: Of a circuit that is closed nothing needs to be said.
_CIRCUITS: dict[str, LazyString] = {
    "half_open": lazy_gettext("circuit half-open"),
    "open": lazy_gettext("circuit open"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One account, or all of them, in words; `since` is None and `figures` are empty where there is nothing to say."""

    name: str
    look: Look
    since: Stamp | None
    figures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A frame in words.

    Attributes:
        head: under its own name.
        beside: the account that it tells of, where it is one and not called like the frame.
        lines: the accounts, where they are several.
        as_of: when it was so, with the zone; None where that was never known.
        before: what was known last, where it is not known any more.
    """

    head: Line
    beside: str
    lines: tuple[Line, ...]
    as_of: Stamp | None
    before: str


def shown(content: Content, *, compact: bool = False) -> Shown:
    """`content` in words; with `compact` only how all of it stands."""
    parts = content.parts
    one = parts[0].name if len(parts) == 1 and parts[0].name != content.head.name else ""
    return Shown(
        head=_line(content.head, content.doubtful, figures=not compact),
        beside="" if compact else one,
        lines=() if compact or len(parts) < 2 else tuple(_line(part, content.doubtful) for part in parts),
        as_of=None if content.as_of is None else display.current().stamp(content.as_of),
        before=_before(content),
    )


def _line(part: Part, doubtful: bool, *, figures: bool = True) -> Line:
    if doubtful:
        # What it was is told beside it, in words, and never as how things stand.
        return Line(part.name, health_words.look(Word.UNKNOWN), None, ())
    since = None if part.since is None else display.current().stamp(part.since)
    told = _told(part.figures) if figures and part.figures is not None else ()
    return Line(part.name, health_words.look(part.word), since, told)


def _before(content: Content) -> str:
    if not content.doubtful:
        return ""
    if content.as_of is None:
        return gettext("Nothing is known yet.")
    word = health_words.look(content.head.word).word
    return gettext("It was last seen as: %(word)s.", word=word)


def _told(figures: Figures) -> tuple[str, ...]:
    """Lag, time to drain, and the circuit where it is not closed."""
    circuit = _CIRCUITS.get(figures.circuit)
    told = (_lag(figures.band), _drain(figures.end), "" if circuit is None else str(circuit))
    return tuple(one for one in told if one)


def _lag(band: int) -> str:
    if band == 0:
        return gettext("lag under %(span)s", span=_span(LAG_BANDS[0]))
    if band == len(LAG_BANDS):
        return gettext("lag over %(span)s", span=_span(LAG_BANDS[-1]))
    return gettext("lag %(least)s to %(most)s", least=_span(LAG_BANDS[band - 1]), most=_span(LAG_BANDS[band]))


def _drain(end: End) -> str:
    if end.kind is Kind.NOTHING:
        return gettext("nothing waits")
    if end.seconds is None:
        return health_words.not_by_a_time(end)
    return gettext("through in about %(span)s", span=_span(end.seconds))


def _span(seconds: float) -> str:
    return formats.span(display.current().locale, seconds)
