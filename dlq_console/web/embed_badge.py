"""A badge: how things stand as a small picture, for places that take no frames. Text, shape and colour; never broken."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from unicodedata import east_asian_width

from flask import current_app, render_template
from markupsafe import Markup

from dlq_console.web.words import Look

#: Width of a letter of the badge's type and size: narrow ones, wide ones, those of East Asia, and all others.
_NARROW, _WIDE, _FULL, _USUAL = 4.2, 9.6, 12.0, 7.1
_NARROW_ONES = frozenset("!'(),.:;I[]fijlrt|· ")
_WIDE_ONES = frozenset("%@GMOQWmw–—")
#: How much wider letters in bold type are.
_BOLD = 1.12
#: Letters of a name; the rest stands in its title.
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class Colours:
    """What a badge is drawn in."""

    ground: str
    ink: str
    edge: str
    tint: str
    tone: str


#: The colours of `tokens.css`, which a picture cannot load: tint and tone of each.
_LIGHT = {"ok": ("#e6f4ec", "#1b7a4b"), "warn": ("#fbf1da", "#8f5f00"), "fail": ("#fce9e7", "#b3261e"), "idle": ("#eef0f2", "#5c6370")}  # fmt: skip
_DARK = {"ok": ("#173527", "#5fcf93"), "warn": ("#3a2e12", "#e0b04a"), "fail": ("#43201d", "#ff8a80"), "idle": ("#2a2f38", "#a3a9b5")}  # fmt: skip


def badge(name: str, look: Look, *, theme: str = "auto", as_of: str = "") -> str:
    """The picture as SVG.

    Args:
        name: what it tells of.
        look: how that stands.
        theme: `light`, `dark`, or `auto` for what the reader's system is set to.
        as_of: when it was so, for its title.
    """
    light = Colours("#ffffff", "#1d2129", "#8a8f99", *_LIGHT[look.tone])
    dark = Colours("#1b1e25", "#e8e9ec", "#6b7280", *_DARK[look.tone])
    shown = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    split = 16 + round(_width(shown))
    return render_template(
        "embed/badge.svg",
        name=shown,
        look=look,
        as_of=as_of,
        split=split,
        width=split + 31 + round(_width(look.word) * _BOLD),
        light=dark if theme == "dark" else light,
        dark=dark if theme == "auto" else None,
        drawing=_drawing(look.shape),
    )


def _width(text: str) -> float:
    return sum(_letter(one) for one in text)


@cache
def _letter(one: str) -> float:
    if east_asian_width(one) in "WF":
        return _FULL
    if one in _NARROW_ONES:
        return _NARROW
    return _WIDE if one in _WIDE_ONES else _USUAL


def _drawing(shape: str) -> Markup:
    """The shape that the pages draw."""
    marks = current_app.jinja_env.get_template("shared/marks.html").module
    drawings: dict[str, str] = marks.drawings  # type: ignore[attr-defined]  # the names that a template sets
    return Markup(drawings[shape])  # noqa: S704 - our own drawings
