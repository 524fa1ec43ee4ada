"""By which rules are errors understood here, and what would one more rule have done? Nothing is saved from this page."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

from flask import Blueprint, render_template, request
from flask_babel import gettext, ngettext
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.errors import ConfigurationError
from dlq_console.hub.rules import DAYS, LONGEST_DRAFT, Preview, RuleInForce, draft_for, in_force, preview
from dlq_console.store import queries
from dlq_console.web import display, words
from dlq_console.web.auth import person, require_person
from dlq_console.web.events import found_event
from dlq_console.web.hub import hub, store

rules = Blueprint("rules", __name__)
rules.before_request(require_person)


@dataclass(frozen=True, slots=True)
class PackShown:
    """One file of rules; `open` where the reader has asked for it or came for a rule of it."""

    name: str
    rules: tuple[RuleInForce, ...]
    own: bool
    open: bool


@rules.get("/rules")
def index() -> str:
    """The rules in force, and a field to try one; filled in for the error of an event where the address names one."""
    return render_template("rules/rules.html", **_context(_prefilled()), tried=None)


@rules.post("/rules")
def try_out() -> AnyResponse | str:
    """Try a draft against the failures on record."""
    draft = request.form.get("draft", "").replace("\r\n", "\n")
    tried = _tried(draft)
    if "HX-Request" in request.headers:
        return render_template("rules/_preview.html", tried=tried)
    return render_template("rules/rules.html", **_context(draft), tried=tried)


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of a draft: what is wrong with it, or what it would have done."""

    wrong: str = ""
    sentence: str = ""
    found: Preview | None = None


def _tried(draft: str) -> Tried:
    if not draft.strip():
        return Tried(wrong=gettext("There is no rule in the field: paste one."))
    if len(draft) > LONGEST_DRAFT:
        limit = display.current().number(LONGEST_DRAFT)
        return Tried(wrong=gettext("The text is longer than %(limit)s characters.", limit=limit))
    try:
        found = preview(hub(), draft, accounts=person().accounts)
    except ConfigurationError as error:
        return Tried(wrong=error.message)
    if not found.rules:
        return Tried(wrong=gettext("It is understood, but there is no [[rule]] in it."))
    return Tried(sentence=_sentence(found), found=found)


def _sentence(found: Preview) -> str:
    """What the draft would have done, in words."""
    shown = display.current()
    looked = ngettext(
        "It was tried against %(count)s failure on record",
        "It was tried against %(count)s failures on record",
        found.looked_at,
        count=shown.number(found.looked_at),
    )
    of = gettext("of the last %(days)d days", days=DAYS)
    if not found.complete:
        of = gettext("the newest of the last %(days)d days", days=DAYS)
    if not found.matched:
        none = gettext("It matches none of them.")
        return f"{looked} ({of}). {none}"
    matched = ngettext(
        "It matches %(count)s of them and decides %(decided)s; %(changed)s would have had another class.",
        "It matches %(count)s of them and decides %(decided)s; %(changed)s would have had another class.",
        found.matched,
        count=shown.number(found.matched),
        decided=shown.number(found.decided),
        changed=shown.number(found.changed),
    )
    return f"{looked} ({of}). {matched}"


def _context(draft: str) -> dict[str, Any]:
    try:
        loaded = hub().registry.rules
    except ConfigurationError as error:
        return {"draft": draft, "packs": (), "wrong": error.message, "answer": _no_rules()}
    known = in_force(loaded)
    return {
        "draft": draft,
        "packs": _packs(known, rule=request.args.get("rule", ""), pack=request.args.get("pack", "")),
        "wrong": "",
        "answer": _answer(known, loaded.version),
    }


def _packs(known: tuple[RuleInForce, ...], *, rule: str, pack: str) -> tuple[PackShown, ...]:
    return tuple(
        PackShown(
            name, of_pack, own=of_pack[0].own, open=name == pack or any(each.id == rule for each in of_pack)
        )
        for name, found in groupby(known, key=lambda each: each.pack)
        if (of_pack := tuple(found))
    )


def _answer(known: tuple[RuleInForce, ...], version: str) -> str:
    shown = display.current()
    on = [rule for rule in known if rule.enabled]
    own = sum(rule.own for rule in on)
    in_use = ngettext(
        "%(count)s rule decides what an error means, %(own)s of it your own; rule set %(version)s.",
        "%(count)s rules decide what an error means, %(own)s of them your own; rule set %(version)s.",
        len(on),
        count=shown.number(len(on)),
        own=shown.number(own),
        version=version,
    )
    off = len(known) - len(on)
    if not off:
        return in_use
    switched_off = ngettext(
        "%(count)s is switched off.", "%(count)s are switched off.", off, count=shown.number(off)
    )
    return f"{in_use} {switched_off}"


def _no_rules() -> str:
    return gettext(
        "The rule files cannot be used; workers that run keep the rules they have, new ones do not start."
    )


def _prefilled() -> str:
    """A rule for the last error of an event, where the address names one that the person may see."""
    wanted = request.args.get("event", type=int)
    if wanted is None:
        return ""
    event = found_event(wanted)
    tried = [attempt for attempt in queries.attempts(store(), event.id) if attempt.error_type]
    if not tried:
        return ""
    hint = gettext("Choose the class:")
    classes = "".join(f"#   {name:13} {words.class_word(name)}\n" for name in words.CHOSEN_CLASSES)
    return f"# {hint}\n{classes}{draft_for(hub(), event, tried[0])}"
