"""What is said of a circuit: how it stands, why it changed, how it is set. The program's own words, in the reader's language."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from flask_babel import gettext, lazy_gettext, ngettext
from flask_babel.speaklater import LazyString

from dlq_console.web import display
from dlq_console.web.words import Look, last

_LOOKS: dict[str, tuple[str, str, LazyString]] = {
    "open": ("square", "fail", lazy_gettext("circuit open (blocking calls)")),
    "half_open": ("half", "warn", lazy_gettext("half-open")),
    "closed": ("disc", "ok", lazy_gettext("circuit closed (normal)")),
    "unknown": ("ring", "idle", lazy_gettext("not known")),
}
_SCOPES: dict[str, LazyString] = {
    "account": lazy_gettext("account"),
    "method": lazy_gettext("one kind of an account"),
    "provider": lazy_gettext("every account of this ERP"),
    "service": lazy_gettext("service"),
}
_STATES: dict[str, LazyString] = {
    "open": lazy_gettext("circuit open"),
    "half_open": lazy_gettext("circuit half-open"),
    "closed": lazy_gettext("circuit closed"),
}


def look(state: str) -> Look:
    """Word, shape and tone of a state."""
    shape, tone, word = _LOOKS[state]
    return Look(shape, tone, str(word))


def scope_word(scope: str) -> str:
    """Whose circuit it is, in few words."""
    return str(_SCOPES.get(scope, scope))


def state_word(state: str) -> str:
    """A state in few words, for logs and beside a person's decision."""
    return str(_STATES.get(state, state))


def _in_a_row(found: re.Match[str]) -> str:
    number = int(found[1])
    return ngettext(
        "%(num)d failure in a row, the last one: %(error)s",
        "%(num)d failures in a row, the last one: %(error)s",
        number,
        error=found[2],
    )


def _of_window(found: re.Match[str]) -> str:
    words = {"bad": found[1], "calls": found[2]}
    if found[3] == "failed":
        return gettext("%(bad)s of the last %(calls)s calls failed", **words)
    return gettext("%(bad)s of the last %(calls)s calls were slow", **words)


def _noted(sentence: str, note: str | None) -> str:
    return f"{sentence}: {note}" if note else sentence


_WHYS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"(\d{1,9}) failures in a row, the last: (.*)", re.DOTALL), _in_a_row),
    (re.compile(r"(\d{1,9}) of the last (\d{1,9}) calls (failed|were slow)"), _of_window),
    (
        re.compile(r"the probe failed: (.*)", re.DOTALL),
        lambda m: gettext("the probe failed: %(error)s", error=m[1]),
    ),
    (re.compile(r"its open time is over"), lambda _: gettext("its open time is over")),
    (
        re.compile(r"(\d{1,9}) probes succeeded"),
        lambda m: ngettext("%(num)d probe succeeded", "%(num)d probes succeeded", int(m[1])),
    ),
    (re.compile(r"forced open(?:: (.*))?", re.DOTALL), lambda m: _noted(gettext("held open"), m[1])),
    (re.compile(r"forced closed(?:: (.*))?", re.DOTALL), lambda m: _noted(gettext("held closed"), m[1])),
    (re.compile(r"reset(?:: (.*))?", re.DOTALL), lambda m: _noted(gettext("reset"), m[1])),
)


def why(text: str) -> str:
    """Why a circuit changed; what is not known to be the program's own stays as it is."""
    for pattern, told in _WHYS:
        found = pattern.fullmatch(text)
        if found:
            return told(found)
    return text


def settings(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How a circuit is set, as rows of a table."""
    shown, window = display.current(), values["window"]
    rows = []
    if window is None:
        rows.append((gettext("Opens after"), _failures(values["failure_threshold"])))
    else:
        rows.append((gettext("Opens by"), _window(window)))
    rows += [
        (gettext("Open for"), shown.span(values["recovery_timeout"])),
        (gettext("Open at most"), shown.span(values["max_recovery_timeout"])),
        (gettext("Probes at once"), shown.number(values["half_open_max_calls"])),
        (gettext("Successes to close"), shown.number(values["success_threshold"])),
    ]
    if values["recovery_multiplier"] > 1:
        rows.insert(2, (gettext("Longer each time by"), f"× {shown.decimal(values['recovery_multiplier'])}"))
    return rows


def _failures(number: int) -> str:
    return ngettext("%(num)d failure in a row", "%(num)d failures in a row", number)


def _window(window: Mapping[str, Any]) -> str:
    shown = display.current()
    parts = []
    if window["failure_rate"] is not None:
        parts.append(gettext("%(share)s failed", share=shown.percent(window["failure_rate"])))
    if window["slow_rate"] is not None:
        parts.append(
            gettext(
                "%(share)s slower than %(span)s",
                share=shown.percent(window["slow_rate"]),
                span=shown.span(window["slow_after"]),
            )
        )
    least = ngettext("at least %(num)d call", "at least %(num)d calls", window["minimum_calls"])
    return f"{' / '.join(parts)} ({span_of(window['calls'], window['seconds'])}, {least})"


def span_of(calls: int | None, seconds: float | None) -> str:
    """How long a window is."""
    if calls is not None:
        return ngettext("last %(num)d call", "last %(num)d calls", calls)
    if seconds and seconds == int(seconds):
        return last(int(seconds))
    return gettext("last %(span)s", span=display.current().span(seconds or 0))
