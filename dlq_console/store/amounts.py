"""In which other spellings may an amount stand that somebody typed as a page shows it?

Pages write `957.60` as `957,60` to whoever reads Portuguese, and people copy what they see. What is a number beyond doubt
is looked for as Brazilians and as others write it. Anything else stays as it was typed: a number that begins with zeros is
a code, and so is one of more digits than amounts have.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from unicodedata import normalize

_CURRENCY = r"(?:R\$|US\$|[$€£]|BRL|USD|EUR)"
_TYPED = re.compile(rf"(-?)({_CURRENCY})?\s*(-?)([0-9][0-9.,]*?)\s*({_CURRENCY})?", re.IGNORECASE)
_PLAIN = re.compile(r"(0|[1-9][0-9]{0,14})(?:[.,]([0-9]{1,6}))?")
#: With separators of thousands, of which one alone could also begin a fraction.
_GROUPED = tuple(
    re.compile(rf"([1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}}){{1,4}})(?:{point}([0-9]{{1,6}}))?")
    for group, point in ((r"\.", ","), (",", r"\."))
)
_THOUSAND = 3


class _Amount(NamedTuple):
    minus: str
    whole: str
    fraction: str
    #: Whether it is money or has a fraction; else it is rather a number of something.
    is_money: bool


def spellings_of_amount(text: str) -> tuple[str, ...]:
    """The text as it was typed, then the other spellings of the same amount, ten at most in all."""
    found = _read(text)
    if found is None:
        return (text,)
    short = found.fraction.rstrip("0")
    tenths, cents = short.ljust(1, "0"), short.ljust(2, "0")
    spelled = [_joined(found.whole, ".", places) for places in (short, tenths, cents, found.fraction)]
    if found.is_money:
        spelled += [_joined(found.whole, ",", places) for places in (short, cents, found.fraction)]
        grouped = f"{int(found.whole):,}"
        spelled += [f"{grouped}.{cents}", f"{grouped.replace(',', '.')},{cents}"]
    return tuple(dict.fromkeys([text, *(found.minus + one for one in spelled)]))


def _joined(whole: str, point: str, places: str) -> str:
    return f"{whole}{point}{places}" if places else whole


def _read(text: str) -> _Amount | None:
    typed = _TYPED.fullmatch(normalize("NFC", text).strip())
    if typed is None or (typed[1] and typed[3]) or (typed[2] and typed[5]):
        return None
    digits, has_currency = typed[4], bool(typed[2] or typed[5])
    found = _PLAIN.fullmatch(digits)
    # 1.240 alone is shown for a fraction; of money, it is a thousand.
    thousands = has_currency and found is not None and found[1] != "0" and len(found[2] or "") == _THOUSAND
    if found is None or thousands:
        found = next(filter(None, (form.fullmatch(digits) for form in _GROUPED)), None)
    if found is None:
        return None
    whole, fraction = re.sub(r"[.,]", "", found[1]), found[2] or ""
    return _Amount(typed[1] or typed[3], whole, fraction, has_currency or found[0] != whole)
