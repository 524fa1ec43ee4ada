"""What does somebody ask to be done to many events at once? The selection of a list, and the terms they write down."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any

from flask import request, url_for
from flask_babel import gettext

from dlq_console.errors import PayloadRefused
from dlq_console.hub.actions import NOTE_LIMIT
from dlq_console.hub.bulk import NOTE_ABOVE
from dlq_console.hub.bulk_terms import FASTEST, LARGEST_WINDOW, STOP_SHARE, WINDOW
from dlq_console.hub.desk_many import MOST
from dlq_console.hub.selection_tokens import is_sealed, seal
from dlq_console.store.filters import EventFilter
from dlq_console.store.states import Action
from dlq_console.web import display
from dlq_console.web.asking import DEAD_LETTERS, asked, for_page
from dlq_console.web.hub import hub
from dlq_console.web.lists import page_address
from dlq_console.web.surroundings import PAGES

#: From so many events on, whoever acts types their number, and a canary is suggested.
TYPED_ABOVE = 100

#: What the forms of a selection write beside its filter.
_BESIDE = frozenset(
    {
        "action", "add", "all", "canary", "counted", "csrf_token", "event", "events", "exact", "first", "last", "list", "note", "number",
        "person", "rate", "reassign", "remove", "seal", "selection_token", "stop_share", "typed", "until", "window",
    }
)  # fmt: skip

_ID = re.compile(r"[0-9]{1,19}")
_PERCENT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """What was selected in a list: everything that its filter shows, or events one by one.

    Attributes:
        page: the list.
        shown: the filter of the list, as its address has it.
        everything: whether all that match are meant.
        event_ids: which were chosen, else.
        counted: of everything, those that a form has counted: nothing else is acted upon.
    """

    page: str
    shown: EventFilter
    everything: bool
    event_ids: tuple[int, ...] = ()
    counted: tuple[int, ...] = ()

    @property
    def flt(self) -> EventFilter | None:
        """The filter that is meant; None where events were chosen one by one."""
        return for_page(self.page, self.shown) if self.everything else None

    @property
    def back(self) -> str:
        """The address of the list, as it was."""
        return page_address(url_for(PAGES[self.page]), self.shown)

    @property
    def fields(self) -> list[tuple[str, str]]:
        """The same as fields of a form."""
        pairs = [("list", self.page), *self.shown.query()]
        if self.everything:
            return [*pairs, ("all", "1")]
        # One field: a thousand of them would be the largest part of the page.
        return [*pairs, ("events", ",".join(map(str, self.event_ids)))]


def read_selected() -> Selected | None:
    """What the form of this request has selected; None for nothing.

    Raises:
        FilterError: the filter cannot be understood, or something in the form is no filter.
        PayloadRefused: something is no id.
    """
    page, shown = _list()
    if request.form.get("all") == "1":
        counted = _ids(_parts("counted"))
        if len(counted) > MOST:
            raise PayloadRefused(f"counted: a form counts at most {MOST:,} events.")
        return Selected(page=page, shown=shown, everything=True, counted=counted)
    ids = _ids([*request.form.getlist("event"), *_parts("events")])
    return Selected(page=page, shown=shown, everything=False, event_ids=ids) if ids else None


def _parts(name: str) -> list[str]:
    return [part for part in request.form.get(name, "").split(",") if part]


def _ids(texts: list[str]) -> tuple[int, ...]:
    if not all(_ID.fullmatch(text) for text in texts):
        raise PayloadRefused("event: write ids of events.")
    return tuple(dict.fromkeys(int(text) for text in texts))


def list_as_it_was() -> str:
    """The address of the list from which the form of this request came, with its filter.

    Raises:
        FilterError: as `read_selected`.
    """
    page, shown = _list()
    return page_address(url_for(PAGES[page]), shown)


def _list() -> tuple[str, EventFilter]:
    page = request.form.get("list", DEAD_LETTERS)
    return page if page in PAGES else DEAD_LETTERS, asked(request.form, beside=_BESIDE)


def back_to_list() -> str:
    """The list from which the form of this request came, without what was selected there."""
    page = request.form.get("list", DEAD_LETTERS)
    return url_for(PAGES.get(page, PAGES[DEAD_LETTERS]))


@dataclass(slots=True, kw_only=True)
class TermsForm:
    """The fields as they were written, and what is wrong with each."""

    note: str = ""
    typed: str = ""
    canary: bool = False
    stop_share: str = f"{STOP_SHARE * _PERCENT:.0f}"
    rate: str = ""
    window: str = str(WINDOW)
    wrong: dict[str, str] = field(default_factory=dict)

    def about(self, name: str) -> str:
        """What is wrong with a field; empty for nothing."""
        return self.wrong.get(name, "")

    @property
    def opens_terms(self) -> bool:
        """Whether something is wrong among the terms that are folded away."""
        return bool(self.wrong.keys() & {"stop_share", "rate", "window"})


def suggested(action: str, number: int) -> TermsForm:
    """What the form holds before anybody has written into it."""
    return TermsForm(canary=action == Action.REPROCESS and number > TYPED_ABOVE)


def written() -> TermsForm:
    """What somebody has written."""
    sent = request.form
    return TermsForm(
        note=sent.get("note", "").replace("\r\n", "\n"),
        typed=sent.get("typed", ""),
        canary=sent.get("canary") == "1",
        stop_share=sent.get("stop_share", ""),
        rate=sent.get("rate", ""),
        window=sent.get("window", ""),
    )


def seen_number() -> int | None:
    """How many the page showed that this form came from; None where the page has shown another number or none.

    The number is what has to be typed, so one that a form makes up must not count.
    """
    text, token = request.form.get("number", ""), request.form.get("selection_token", "")
    if not _ID.fullmatch(text):
        return None
    sealed = request.form.get("seal", "")
    return int(text) if is_sealed(_secret_key(), token, int(text), sealed) else None


def seal_of(number: int, token: str) -> str:
    """What the form sends along so that `seen_number` believes it."""
    return seal(_secret_key(), token, number)


def _secret_key() -> str:
    return hub().settings.secret_key or "none"


def needs_note(action: str, number: int) -> bool:
    """Whether whoever does that to so many events says why."""
    return action == Action.DISCARD or number > NOTE_ABOVE


def check(form: TermsForm, action: str, number: int) -> dict[str, Any]:
    """The terms as `hub.bulk.start` takes them; what is wrong is written into the form.

    Args:
        form: as it was written.
        action: what is to be done.
        number: to how many, as the person saw it.
    """
    if needs_note(action, number) and not form.note.strip():
        form.wrong["note"] = gettext("Say why; the note stays with each of them in the audit.")
    if len(form.note) > NOTE_LIMIT:
        form.wrong["note"] = gettext(
            "The note is longer than %(most)s characters.", most=display.current().number(NOTE_LIMIT)
        )
    if number > TYPED_ABOVE and re.sub(r"\D", "", form.typed) != str(number):
        form.wrong["typed"] = gettext("This is not the number that stands above.")
    terms: dict[str, Any] = {"note": form.note.strip() or None, "window": _window(form)}
    if action == Action.REPROCESS:
        terms |= {"canary": form.canary, "stop_share": _stop_share(form)}
    return terms | {"rate": _rate(form)}


def _window(form: TermsForm) -> int | None:
    if not form.window.strip():
        return None
    value = _number(form.window)
    if value is None or value != int(value) or not 1 <= value <= LARGEST_WINDOW:
        most = display.current().number(LARGEST_WINDOW)
        form.wrong["window"] = gettext("Write a whole number from 1 to %(most)s.", most=most)
        return None
    return int(value)


def _stop_share(form: TermsForm) -> float | None:
    if not form.stop_share.strip():
        return None
    value = _number(form.stop_share.replace("%", ""))
    if value is None or not 0 <= value <= _PERCENT:
        form.wrong["stop_share"] = gettext("Write a percentage from 0 to 100.")
        return None
    return value / _PERCENT


def _rate(form: TermsForm) -> float | None:
    if not form.rate.strip():
        return None
    value = _number(form.rate)
    if value is None or not 0 < value <= FASTEST:
        most = display.current().number(int(FASTEST))
        form.wrong["rate"] = gettext("Write how many per second, above 0 and at most %(most)s.", most=most)
        return None
    return value


def _number(text: str) -> float | None:
    """A number as people write it here or there: `0,5` or `0.5`."""
    try:
        value = float(text.strip().replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
