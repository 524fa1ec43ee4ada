"""Why is what somebody wrote or chose in a form not taken? In their language, where the store has a cause for it."""

from __future__ import annotations

from flask_babel import gettext, lazy_gettext
from flask_babel.speaklater import LazyString

from dlq_console.errors import PayloadRefused
from dlq_console.web import display

#: What the store calls a text -> what people call it.
_TEXTS: dict[str, LazyString] = {
    "note": lazy_gettext("The note"),
    "text": lazy_gettext("The note"),
    "tag": lazy_gettext("A tag"),
}


def sentence(refused: PayloadRefused) -> str:
    """The refusal as a sentence or two; empty where only the store has words for it."""
    facts = refused.facts
    match refused.cause:
        case "reason":
            return gettext("Say why: it is kept with the act. Blanks alone are no reason.")
        case "empty" if facts["name"] in ("note", "text"):
            return gettext("Write the note: blanks alone are none.")
        case "too_long" if facts["name"] in _TEXTS:
            return gettext(
                "%(what)s is longer than %(limit)s characters; shorten it.",
                what=str(_TEXTS[str(facts["name"])]),
                limit=display.current().number(int(str(facts["limit"]))),
            )
        case "characters" if facts["name"] in _TEXTS:
            return gettext(
                "%(what)s holds a character that is not shown and cannot be kept; remove it.",
                what=str(_TEXTS[str(facts["name"])]),
            )
        case "too_many_tags":
            return gettext("An event has at most %(limit)s tags; take some off first.", limit=facts["limit"])
        case "not_masked":
            return gettext("Nothing is hidden at this place; the page shows it.")
        case "no_place":
            return gettext("The payload has nothing at this place.")
    return _about_a_desk(refused)


def _about_a_desk(refused: PayloadRefused) -> str:
    """Why something cannot be assigned or put off like that."""
    facts = refused.facts
    match refused.cause:
        case "unknown_person":
            return gettext("There is nobody %(name)s who may log in and act; choose somebody else.", **facts)
        case "unseen_account":
            return gettext(
                "%(name)s may not see the account %(account)s; choose somebody else.",
                name=facts["name"],
                account=facts["account"],
            )
        case "due_past":
            return gettext("The time by which it is to be done must lie ahead.")
        case "due_far":
            return gettext("The time by which it is to be done is more than ten years away.")
        case "snooze_range":
            return gettext("Choose a time ahead of now, by %(days)s days at most.", days=facts["days"])
        case "until_range":
            return gettext("The time until which it is put off must lie ahead, by a year at most.")
    return ""
