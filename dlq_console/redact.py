"""What does nobody need to read: passwords, keys, tax numbers? Everything that leaves or is kept passes here.

Fields of a payload are masked by their names when they are shown. Free text, such as the message of an error, is
searched for the usual spellings of a secret before it is kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

#: What stands in the place of a secret.
MASK = "•••"

#: A field is a secret when one of these stands in its name as a whole word.
SECRET_WORDS = frozenset(
    {
        "authorization", "bearer", "cnpj", "cookie", "cpf", "credential", "credentials", "cvc", "cvv", "jwt",
        "passphrase", "passwd", "password", "pwd", "secret", "secrets", "senha", "signature", "token", "tokens",
    }
)  # fmt: skip
#: The same for names of two words, however they are joined.
SECRET_PAIRS = frozenset(
    {"accesskey", "apikey", "appkey", "appsecret", "cardnumber", "clientsecret", "privatekey", "secretkey"}
)

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

#: Applied one after the other. The lengths are bounded so that no text can make the search slow.
_TEXT_RULES = (
    # A login in an address: scheme://user:password@host
    (re.compile(r"(://)[^\s/@:]{1,200}:[^\s/@]{1,200}@"), rf"\1{MASK}@"),
    (re.compile(r"\b(Bearer|Basic)\s{1,5}[A-Za-z0-9+/=._~-]{8,4000}", re.IGNORECASE), rf"\1 {MASK}"),
    # name=value, "name": "value", name: value
    (
        re.compile(
            r"""\b([\w-]{0,40}(?:authorization|cookie|credential|passphrase|passw(?:or)?d|pwd|secret|senha|token"""
            r"""|(?:access|api|app|private)[_-]?key)[\w-]{0,20}["']?\s{0,5}[=:]\s{0,5})"""
            r"""("[^"\n]{1,4000}"|'[^'\n]{1,4000}'|[^\s,;&"'<>{}\[\]()]{1,4000})""",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
    # CNPJ and CPF as they are written; bare digits may be any number.
    (re.compile(r"\b[0-9]{2}\.[0-9]{3}\.[0-9]{3}/[0-9]{4}-[0-9]{2}\b"), MASK),
    (re.compile(r"\b[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}\b"), MASK),
    # The domain of a mail address helps to find the fault, the person's part does not.
    (re.compile(r"[\w.+-]{1,64}@(?=[\w-]{1,63}\.)"), f"{MASK}@"),
)


def is_secret(name: str) -> bool:
    """Whether a field of this name (`access_token`, `clientSecret`, `CPF`) holds what should not be shown."""
    words = [word.lower() for word in _WORD.findall(name)]
    pairs = {first + second for first, second in pairwise(words)}
    return not SECRET_WORDS.isdisjoint(words) or not SECRET_PAIRS.isdisjoint(pairs | set(words))


def masked(value: Any) -> Any:
    """A copy of `value`, any JSON value, in which every secret-looking field that holds something shows `MASK`."""
    if isinstance(value, Mapping):
        return {name: _masked_field(str(name), one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked(one) for one in value]
    return value


def _masked_field(name: str, value: Any) -> Any:
    if not is_secret(name):
        return masked(value)
    # That a secret is missing is worth knowing, and no secret.
    return value if value is None or value == "" else MASK


def redact_text(text: str) -> str:
    """`text` without the secrets and personal numbers that are written in one of the usual ways."""
    for pattern, replacement in _TEXT_RULES:
        text = pattern.sub(replacement, text)
    return text
