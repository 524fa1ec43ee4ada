"""Is a bare row of digits a Brazilian tax number? Its two check digits tell."""

from __future__ import annotations

_CPF_WEIGHTS = (11, 10, 9, 8, 7, 6, 5, 4, 3, 2)
_CNPJ_WEIGHTS = (6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)


def is_tax_number(text: str) -> bool:
    """Whether `text` is a CPF (11 digits) or a CNPJ (12 digits or capital letters, then 2 digits) without punctuation.

    One in a hundred other numbers of that length looks like one.
    """
    if len(set(text)) == 1:
        return False  # 000… and its like pass the sum, and nobody has them
    weights = {11: _CPF_WEIGHTS, 14: _CNPJ_WEIGHTS}.get(len(text))
    if weights is None:
        return False
    first = _check_digit(text[:-2], weights[1:])
    return text[-2:] == first + _check_digit(text[:-1], weights)


def _check_digit(text: str, weights: tuple[int, ...]) -> str:
    # A letter counts as its place in ASCII less that of 0, as the rule for the newer CNPJ says.
    total = sum((ord(character) - 48) * weight for character, weight in zip(text, weights, strict=True))
    rest = total % 11
    return "0" if rest < 2 else str(11 - rest)
