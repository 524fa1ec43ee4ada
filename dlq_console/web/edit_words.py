"""Why can a corrected payload not be saved? In the language of whoever corrects it."""

from __future__ import annotations

from flask_babel import gettext, lazy_gettext
from flask_babel.speaklater import LazyString

from dlq_console.errors import PayloadRefused
from dlq_console.redact import MASK, Misplaced
from dlq_console.web import refused_words
from dlq_console.web.carried import size_in_words

#: What the store calls a payload as a whole.
_WHOLE = "payload"

#: Rule of a schema -> what must hold.
RULES: dict[str, LazyString] = {
    "required": lazy_gettext("%(wanted)s is missing"),
    "type": lazy_gettext("it must be of the type %(wanted)s"),
    "enum": lazy_gettext("it must be one of %(wanted)s"),
    "const": lazy_gettext("it must be %(wanted)s"),
    "pattern": lazy_gettext("it must match %(wanted)s"),
    "format": lazy_gettext("it must have the format %(wanted)s"),
    "minimum": lazy_gettext("it must be at least %(wanted)s"),
    "exclusiveMinimum": lazy_gettext("it must be more than %(wanted)s"),
    "maximum": lazy_gettext("it must be at most %(wanted)s"),
    "exclusiveMaximum": lazy_gettext("it must be less than %(wanted)s"),
    "multipleOf": lazy_gettext("it must be a multiple of %(wanted)s"),
    "minLength": lazy_gettext("it must have at least %(wanted)s characters"),
    "maxLength": lazy_gettext("it must have at most %(wanted)s characters"),
    "minItems": lazy_gettext("it must have at least %(wanted)s items"),
    "maxItems": lazy_gettext("it must have at most %(wanted)s items"),
    "uniqueItems": lazy_gettext("its items must differ"),
    "additionalProperties": lazy_gettext("it has a field that the schema does not know"),
}

#: Why no hidden value can take the place of a mask -> the sentence.
MISPLACED: dict[str, LazyString] = {
    Misplaced.NOTHING_HIDDEN: lazy_gettext(
        "%(place)s: %(mask)s stands for no hidden value here; write the value itself."
    ),
    Misplaced.UNCERTAIN: lazy_gettext(
        "%(place)s: it is not certain which hidden value of the list %(mask)s stands for; write the value out or reveal it."
    ),
    Misplaced.WOULD_SHOW: lazy_gettext(
        "%(place)s: the value behind %(mask)s would not be hidden here any more; write the value out or reveal it."
    ),
}

#: What a JSON text may hold and the store does not take -> the sentence.
UNREADABLE: dict[str, LazyString] = {
    "not_finite": lazy_gettext(
        "NaN and infinity are no numbers of JSON; write another number, a text or null."
    ),
    "digits": lazy_gettext(
        "A number has more than %(limit)s digits when written out in full; write it as a text."
    ),
    "nul": lazy_gettext("A NUL character (\\u0000) cannot be kept; remove it."),
    "half_character": lazy_gettext("Half a character (a lone surrogate) cannot be kept; remove it."),
    "too_deep": lazy_gettext("Lists and objects lie more than %(limit)s levels deep; make it flatter."),
    "key_twice": lazy_gettext("An object has the key %(key)s twice; keep one of them."),
    "key_in_two_forms": lazy_gettext(
        "The key %(key)s stands there twice, in two Unicode forms; keep one of them."
    ),
}


def why_not_saved(refused: PayloadRefused) -> str:
    """The refusal as a sentence; empty where only the store has words for it."""
    facts = refused.facts
    match refused.cause:
        case "unchanged":
            return gettext("Nothing was changed. To send it again as it is, reprocess it.")
        case "not_json":
            return gettext(
                "This is not JSON: something is wrong at line %(line)s, column %(column)s.",
                line=facts["line"],
                column=facts["column"],
            )
        case cause if cause in UNREADABLE:
            said = str(UNREADABLE[cause]) % facts
            place = str(facts.get("place", _WHOLE))
            # Where it becomes too deep is a row of brackets that nobody can count.
            return said if cause == "too_deep" or place == _WHOLE else f"{place}: {said}"
        case cause if cause in MISPLACED:
            return str(MISPLACED[cause]) % {"place": facts["place"], "mask": MASK}
        case "too_large":
            limit = size_in_words(int(str(facts["limit"])))
            return gettext("The payload is larger than %(limit)s of JSON, which is the limit.", limit=limit)
        case "schema" if facts["rule"] in RULES:
            why = str(RULES[str(facts["rule"])]) % {"wanted": facts["wanted"]}
            return gettext("%(place)s: %(why)s, as its kind declares.", place=facts["place"], why=why)
    return refused_words.sentence(refused)
