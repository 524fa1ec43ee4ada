"""What would a bulk run do? The page that is read before anything happens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from flask import make_response, render_template, request, url_for
from flask_babel import gettext, ngettext
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.errors import PayloadRefused
from dlq_console.hub.bulk import MOST_CHOSEN, Part, Preview, Refusal
from dlq_console.hub.bulk_terms import STAGES, dead_only, stages_of
from dlq_console.store.filters import EventFilter
from dlq_console.store.people import Permission
from dlq_console.store.states import Action, Status
from dlq_console.web import bulk_words, display
from dlq_console.web.auth import demand, person
from dlq_console.web.beside import beside, cut
from dlq_console.web.bulk_form import TYPED_ABOVE, Selected, TermsForm, needs_note, seal_of, suggested
from dlq_console.web.errors import Link, Problem, answer
from dlq_console.web.hub import hub
from dlq_console.web.lists import page_address
from dlq_console.web.rows import Row, list_rows

#: Characters of an error in the split by cause.
CAUSE = 160


@dataclass(frozen=True, slots=True)
class PartShown:
    """One sort of events: how many, what it is, and where they are; no address where there is no such list."""

    number: str
    label: str
    address: str


@dataclass(frozen=True, slots=True)
class Figures:
    """A preview in words.

    Attributes:
        number: how many would be let go, as far as that is known; it is typed where it is large.
        shown: the same as it is written.
        capped: whether there are that many or more.
        settled: whether all of them were counted and looked at.
        too_many: whether that was tried and took too long.
        total: how many there are, as it is written.
        refused: sentences about those that would not be let go.
        warned: sentences about those that would be let go and be late, or wait.
        note: how much of the selection the figures are about, where it is not all.
    """

    number: int
    shown: str
    capped: bool
    settled: bool
    too_many: bool
    total: str
    refused: list[str]
    warned: list[str]
    note: str
    splits: list[tuple[str, list[PartShown]]]
    rows: list[Row]
    token: str
    seal: str


def show(
    selected: Selected,
    action: str,
    *,
    form: TermsForm | None = None,
    exact: bool = False,
    token: str | None = None,
    status: int = 200,
    detail: str = "",
) -> AnyResponse:
    """The page.

    Args:
        selected: which events.
        action: what would be done.
        form: as somebody has filled it in, and what is wrong with that.
        exact: whether all are counted before the page is shown; else it asks for that itself.
        token: of the preview that is gone on with.
        status: of the answer.
        detail: an English sentence of the store.
    """
    figures = look(selected, action, exact=exact, token=token)
    if figures.capped and not figures.too_many and figures.number <= TYPED_ABOVE:
        # The first look gave up before it found many; which form there is depends on how many there are.
        figures = look(selected, action, exact=True)
    page = render_template(
        "bulk/preview.html",
        action=action,
        selected=selected,
        form=form or suggested(action, figures.number),
        detail=detail,
        needs_note=needs_note(action, figures.number),
        typed_above=TYPED_ABOVE,
        reprocesses=action == Action.REPROCESS,
        stages=", ".join(map(str, stages_of(figures.number) or STAGES[:1])),
        **_shown(figures, action),
    )
    return make_response(page, status)


def counted(selected: Selected, action: str, token: str | None) -> AnyResponse:
    """The parts of the page that are others once all are counted; what somebody is writing stays as it is."""
    figures = look(selected, action, exact=True, token=token)
    page = render_template(
        "bulk/_counted.html", in_fragment=True, types="typed" in request.form, **_shown(figures, action)
    )
    return make_response(page)


def _shown(figures: Figures, action: str) -> dict[str, Any]:
    return {
        "figures": figures,
        "heading": bulk_words.about_to(action, figures.number, figures.shown),
        "button": bulk_words.button(action, figures.number, figures.shown) if figures.number else "",
        "why_none": _why_none(figures),
        "told": _counted_told(figures),
    }


def look(selected: Selected, action: str, *, exact: bool = False, token: str | None = None) -> Figures:
    """The figures as they stand now; `exact` where they can be had, `token` as for `show`."""
    asking = demand(Permission.BULK)
    ask = partial(
        hub().bulk.preview,
        action,
        selected.flt,
        ids=selected.event_ids,
        selection_token=token,
        actor=asking.name,
        accounts=asking.accounts,
    )
    too_many = False
    try:
        preview = ask(exact=exact)
    except PayloadRefused as refused:
        if refused.cause != "too_many":
            raise
        preview, too_many = ask(), True
    number = _going(preview)
    shown = display.current()
    return Figures(
        number=number,
        shown=shown.number(number) + ("+" if preview.count.capped else ""),
        capped=preview.count.capped,
        settled=not preview.count.capped and preview.looked == preview.count.number,
        too_many=too_many,
        total=shown.count(preview.count),
        refused=_refused(preview),
        warned=_warned(preview),
        note=_looked_at(preview),
        splits=_splits(preview, selected),
        rows=_sample(preview),
        token=preview.selection_token or "",
        seal=seal_of(number, preview.selection_token or ""),
    )


def why_not(selected: Selected) -> AnyResponse | None:
    """What is answered where the selection cannot be acted upon at all; None where it can."""
    shown = display.current()
    if len(selected.event_ids) > MOST_CHOSEN:
        sentence = gettext(
            "At most %(most)s can be selected one by one. Narrow the list by its filter, and select all that match.",
            most=shown.number(MOST_CHOSEN),
        )
    elif selected.flt is not None and selected.flt.status and Status.DEAD not in selected.flt.status:
        sentence = gettext("This can be done to dead letters only, and the filter shows none.")
    else:
        return None
    return refused(gettext("This cannot be done to this selection"), sentence, selected.back)


def refused(title: str, sentence: str, back: str) -> AnyResponse:
    """A page that says why nothing was done, with the way back."""
    return answer(Problem(422, title, sentence, link=Link(back, gettext("Back to the list"))))


def _why_none(figures: Figures) -> str:
    """Where it is said why nothing can be done; or that itself."""
    if figures.refused:
        return gettext("Nothing has been done. Why not is written below.")
    return gettext("Nothing has been done. No dead letter matches any more.")


def _counted_told(figures: Figures) -> str:
    if figures.too_many:
        return gettext(
            "Counting them all takes too long here. Narrow the filter to see the exact number; else the page of the run shows it."
        )
    as_of = display.current().as_of()
    return gettext("Counted to the end: %(count)s, as of %(time)s.", count=figures.total, time=as_of)


def _going(preview: Preview) -> int:
    """How many would be let go; where not all were looked at, how many there are."""
    if preview.looked < preview.count.number or preview.count.capped or preview.close_look is not None:
        return preview.count.number
    refused = sum(number for cause, number in preview.refused.items() if cause != Refusal.GONE)
    return preview.count.number - refused


def _refused(preview: Preview) -> list[str]:
    shown = display.current()
    return [
        f"{shown.number(number)}: {bulk_words.refusal(cause)}" for cause, number in preview.refused.items()
    ]


def _warned(preview: Preview) -> list[str]:
    shown = display.current()
    sentences = []
    for cause, number in preview.warned.items():
        words = {"count": shown.number(number)}
        match cause:
            case "too_old":
                sentence = ngettext(
                    "%(count)s is older than its kind allows and will be sent all the same.",
                    "%(count)s are older than their kind allows and will be sent all the same.",
                    number,
                    **words,
                )
            case "blocked":
                sentence = ngettext(
                    "%(count)s will wait behind an earlier event of its lane.",
                    "%(count)s will wait behind an earlier event of their lane.",
                    number,
                    **words,
                )
            case _:
                sentence = ngettext(
                    "%(count)s will wait, because its account, kind of call or provider is closed.",
                    "%(count)s will wait, because their account, kind of call or provider is closed.",
                    number,
                    **words,
                )
        sentences.append(sentence)
    return sentences


def _looked_at(preview: Preview) -> str:
    shown = display.current()
    if preview.count.capped:
        return gettext(
            "There are more than can be counted at once: the figures are about the newest %(looked)s. The page of the run shows the exact number.",
            looked=shown.number(preview.looked),
        )
    parts = []
    if preview.looked < preview.count.number:
        parts.append(
            gettext(
                "The figures are about the newest %(looked)s of them.", looked=shown.number(preview.looked)
            )
        )
    if preview.close_look is not None:
        close = shown.number(preview.close_look)
        parts.append(
            gettext("Newer events and lanes were looked for among the newest %(looked)s only.", looked=close)
        )
    return " ".join(parts)


def _splits(preview: Preview, selected: Selected) -> list[tuple[str, list[PartShown]]]:
    """By kind, account and error, each with how many and where they are."""
    flt = None if selected.flt is None else replace(dead_only(selected.flt), status=())

    def parts(found: Iterable[Part], **narrowed: Any) -> list[PartShown]:
        shown = display.current()
        return [
            PartShown(
                shown.number(part.number), cut(part.label, CAUSE) or "–", _address(flt, part, **narrowed)
            )
            for part in found
        ]

    return [
        (gettext("By kind"), parts(preview.by_kind, field="kind")),
        (gettext("By account"), parts(preview.by_account, field="account")),
        (gettext("By error"), parts(preview.by_error, field="group")),
    ]


def _address(flt: EventFilter | None, part: Part, *, field: str) -> str:
    """Where those events of the selection are; of events that were chosen one by one, the page of their cause."""
    if not part.name:
        return ""
    if flt is None:
        return url_for("groups.show", fingerprint=part.name) if field == "group" else ""
    value: Any = part.name if field == "group" else (part.name,)
    narrowed: dict[str, Any] = {field: value}
    return page_address(url_for("triage.dead_letters"), replace(flt, **narrowed))


def _sample(preview: Preview) -> list[Row]:
    """The newest of them, without buttons."""
    rows = list_rows(preview.sample, person(), known=beside(preview.sample))
    return [row._replace(verb="") for row in rows]
