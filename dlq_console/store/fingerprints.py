"""Which failures are the same? Those of one kind, one class and one message, whatever numbers and names it carries.

A fingerprint knows no account: a cause that strikes three accounts is one cause. It begins with the version of this
algorithm, so that a change of it makes new groups and never mixes them with old ones.
"""

from __future__ import annotations

import hashlib
import re
from unicodedata import combining, normalize

#: Version of the algorithm; every change of what makes two failures the same needs a new one.
VERSION = "f1"
#: Characters of a message that tell its cause.
READ_LIMIT = 2_000
#: A message that is nothing but a code of at most this many characters is told apart by it.
CODE_LIMIT = 12
#: What stands in the place of what differs from event to event, and how people read it.
GAP = "…"
SHOWN_GAP = "[…]"

_MONTHS = (
    r"(?:jan(?:uary|eiro)?|feb(?:ruary)?|fev(?:ereiro)?|mar(?:ch|ço)?|apr(?:il)?|abr(?:il)?|may|maio?|june?|junho"
    r"|july?|julho|aug(?:ust)?|ago(?:sto)?|sep(?:t(?:ember)?)?|set(?:embro)?|oct(?:ober)?|out(?:ubro)?|nov(?:ember|embro)?"
    r"|dec(?:ember)?|dez(?:embro)?)\b\.?"
)  # fmt: skip
_DAYS = (
    r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?"
    r"|(?:seg(?:unda)?|ter(?:ça)?|qua(?:rta)?|qui(?:nta)?|sex(?:ta)?)(?:-feira)?|s[aá]b(?:ado)?|dom(?:ingo)?)\b"
)  # fmt: skip
_ID_NAMES = (
    r"(?:request|req|trace|span|correlation|transaction|session|operation|activity|message|event|run|job|call"
    r"|requisi[cç][aã]o|transa[cç][aã]o|rastreio|opera[cç][aã]o|chamada)"
)  # fmt: skip
#: A field of JSON, or of Python's way of writing one, whose text says what happened.
_TELLING = r"(?:message|mensagem|msg|error|erro|fault|detail|detalhe|descri|reason|motivo|title|cause|causa)"

#: One after the other; what they find is not part of the cause. Every length is bounded, or what is found can begin at
#: one place only, so that no text makes the search slow.
_VARYING = (
    # What was taken out as a secret already.
    re.compile(r"•+"),
    # Addresses, and the person before the @.
    re.compile(r"[a-z][a-z0-9+.-]{1,15}://[^\s\"'<>)\]}]*", re.IGNORECASE),
    re.compile(r"(?<![\w.+•-])[\w.+•-]{0,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}"),
    re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE),
    # An id by its name: "request id: kqXz", "protocolo kqXz".
    re.compile(
        rf"\b{_ID_NAMES}[ _-]?(?:id|uuid|guid|ref)\b['\"]?[\s:=#]{{1,4}}['\"(\[]?[\w./+=-]+", re.IGNORECASE
    ),
    re.compile(r"\b(?:id|uuid|guid|protocolo)\b['\"]?\s{0,3}[:=#]\s{0,3}['\"(\[]?[\w./+=-]+", re.IGNORECASE),
    # Dates that are written in words.
    re.compile(
        rf"(?:\b{_DAYS},?\s{{1,3}})?\b\d{{1,2}}(?:º|st|nd|rd|th)?\s(?:de\s)?{_MONTHS}(?:\s(?:de\s)?\d{{4}}\b)?",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?:\b{_DAYS},?\s{{1,3}})?\b{_MONTHS}\s{{1,2}}\d{{1,2}}(?:st|nd|rd|th)?,?\s(?:\d{{4}}\b|(?=\d\d:))",
        re.IGNORECASE,
    ),
    re.compile(r"\d\s?(?:[ap]\.?m\b\.?(?:\s(?:UTC|GMT|BRT))?|(?:UTC|GMT|BRT)\b)", re.IGNORECASE),
    # What is encoded: a long word with a digit, of letters in both cases; or one that changes case all the time, as no
    # name made of words does.
    re.compile(r"(?<![\w+/])(?=[A-Za-z+/]*\d)(?=[a-z\d+/]*[A-Z])(?=[A-Z\d+/]*[a-z])[\w+/]{20,}={0,2}"),
    re.compile(r"(?<!\w)(?:[A-Z]{0,8}[a-z]{1,3}(?=[A-Z])){4}[A-Za-z]{4,}"),
    # Ids, codes, numbers, dates, hexadecimal: every word with a digit in it.
    re.compile(r"(?<![\w-])[^\W\d]{0,64}(?:-[^\W\d]{1,64}){0,8}-?\d[\w-]*(?:[.,:/]\d[\w-]*)*"),
    re.compile(r"\d[\w-]*"),
)
#: What somebody put in: names, codes, values. An apostrophe within a word is no quote.
_QUOTED = (
    re.compile(r'"[^"\n]{0,300}"'),
    re.compile(r"(?<!\w)'[^'\n]{0,300}'(?!\w)"),
    re.compile(r"“[^”\n]{0,300}”|«[^»\n]{0,300}»|`[^`\n]{0,300}`"),
    re.compile(r"\[[^\[\]\n]{0,300}\]"),
)
_FIELD = re.compile(r"""(["'])([\w .-]{1,60})\1\s{0,3}:\s{0,3}(["'])((?:\\.|(?!\3)[^\\\n]){0,600})\3""")
_TELLING_NAME = re.compile(_TELLING, re.IGNORECASE)
_WORDS = re.compile(r"[^\W\d_]+")
_SPACE = re.compile(r"\s+")
_GAPS = re.compile(r"…(?:[\s.,:;/-]{0,3}…)+")


def fingerprint(error_type: str, message: str, *, kind: str = "", verdict: str = "") -> str:
    """`f1-` and 32 hex digits, equal for failures of one cause.

    Args:
        error_type: class of the error.
        message: what it said; only the first READ_LIMIT characters are read.
        kind: of the event.
        verdict: class of the verdict, such as `transient`.
    """
    parts = (kind, verdict, error_type, normalise(message))
    told = "".join(f"{len(part)}:{part}" for part in parts)
    return f"{VERSION}-{hashlib.sha256(told.encode('utf-8', 'backslashreplace')).hexdigest()[:32]}"


def normalise(message: str) -> str:
    """The words of a message that tell its cause: small letters without accents, no numbers, names and punctuation."""
    folded = normalize("NFKD", _common(message))
    text = "".join(character for character in folded if not combining(character)).casefold()
    words = " ".join(_WORDS.findall(text))
    if words:
        return words
    bare = message.strip()
    # Nothing but a code is the cause itself; nothing but an id is none.
    return bare.casefold() if len(bare) <= CODE_LIMIT else ""


def general(message: str) -> str:
    """The message as people read it, with a gap where events of one cause differ: `Customer […] is not registered.`."""
    common = _common(message)
    return common.replace(GAP, SHOWN_GAP) if _WORDS.search(common) else message[:READ_LIMIT].strip()


def _common(message: str) -> str:
    text = _FIELD.sub(_field, normalize("NFC", message[:READ_LIMIT]))
    without = _gapped(text, (*_QUOTED, *_VARYING))
    # A message that stands in quotes as a whole is no value that somebody put in.
    return without if _WORDS.search(without) else _gapped(text, _VARYING)


def _field(field: re.Match[str]) -> str:
    """Of a field, the text where it says what happened; of any other its name alone."""
    name, text = field[2], field[4]
    return f"{name}: {text}" if _TELLING_NAME.search(name) else f"{name}: {GAP}"


def _gapped(text: str, patterns: tuple[re.Pattern[str], ...]) -> str:
    for pattern in patterns:
        text = pattern.sub(GAP, text)
    return _SPACE.sub(" ", _GAPS.sub(GAP, text)).strip()
