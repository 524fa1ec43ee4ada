"""Which fields hold a secret? Those whose name says so, those of DLQ_REDACT, and texts with a secret inside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from dlq_console.redact.text import MASK, without_personal_numbers, without_secrets

#: A field is a secret when one of these stands in its name as a whole word.
SECRET_WORDS = frozenset(
    {
        "authorization", "bearer", "cnpj", "cookie", "cookies", "cpf", "credential", "credentials", "cvc", "cvv",
        "jwt", "passphrase", "passwd", "password", "passwords", "pwd", "secret", "secrets", "segredo", "senha",
        "senhas", "signature", "token", "tokens",
    }
)  # fmt: skip
#: The same for names of two words, however they are joined.
SECRET_PAIRS = frozenset(
    {
        "accesskey", "accountkey", "apikey", "appkey", "appsecret", "cardnumber", "clientkey", "clientsecret",
        "encryptionkey", "privatekey", "secretkey", "sessionid", "sharedkey", "signingkey", "subscriptionkey",
    }
)  # fmt: skip
#: Words of numbers that are masked for the sake of people; a number like that can be searched for by who has it at hand.
PERSONAL_WORDS = frozenset({"cnpj", "cpf"})
#: In `{"name": "app_secret", "value": "..."}`: where the name stands, and where the secret.
_NAMED_BY = ("name", "key", "nome", "chave", "header")
_VALUES = ("value", "valor")

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

#: The names from a field of an object inwards; `*` is any one name. Lists do not count.
Path = tuple[str, ...]
#: Parts of one path, and characters of one part.
LONGEST_PATH, LONGEST_NAME = 10, 100


@dataclass
class _Also:
    """What this process keeps secret beyond what names tell. It only grows: nothing becomes public by a second hub."""

    paths: frozenset[Path] = frozenset()
    names: frozenset[str] = frozenset()


_also = _Also()


def read_paths(text: str) -> frozenset[Path]:
    """Paths as DLQ_REDACT writes them, by commas: `phone, customer.address.*`.

    Raises:
        ValueError: a path is empty, or too long to be one.
    """
    paths = frozenset(
        tuple(name.strip().casefold() for name in one.split(".")) for one in text.split(",") if one.strip()
    )
    for path in paths:
        if not all(0 < len(name) <= LONGEST_NAME for name in path) or len(path) > LONGEST_PATH:
            raise ValueError(
                "write names of fields, or paths to them, by commas, such as phone,customer.address.street"
            )
        if set(path) == {"*"}:
            raise ValueError("* alone would mask every field; name at least one")
    return paths


def also_secret(paths: Iterable[Path]) -> None:
    """From now on also mask the fields at `paths`, in this whole process.

    A path matches the innermost names: `phone` is any field of that name, `customer.phone` one within `customer`. In
    free text, what follows its last name is masked.
    """
    _also.paths |= frozenset(paths)
    _also.names = frozenset(path[-1] for path in _also.paths if path[-1] != "*")


def is_secret(name: str) -> bool:
    """Whether a field of this name (`access_token`, `clientSecret`, `CPF`) holds what should not be shown."""
    # Long names are no names of people's making; remembering them would cost memory.
    return _known_secret(name) if len(name) <= LONGEST_NAME else _is_secret(name)


def is_never_shown(name: str) -> bool:
    """Whether a field of this name holds a secret that opens something, such as a password: no number of a person."""
    return is_secret(name) and not _is_personal(name)


def is_masked_path(path: str) -> bool:
    """Whether what stands at `path` (`customer.phone`, `items.0.cpf`) is masked, whatever else its payload holds."""
    here: Path = ()
    for name in path.split("."):
        if name.isdecimal():  # a place in a list, which does not count; see `Path`
            continue
        deeper = _inside(name, here, ())
        if deeper is None:
            return True
        here = deeper
    return False


def _is_personal(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name)]
    return not _is_secret(" ".join(word for word in words if word not in PERSONAL_WORDS))


@lru_cache(maxsize=4096)
def _known_secret(name: str) -> bool:
    return _is_secret(name)


def _is_secret(name: str) -> bool:
    words = [word.lower() for word in _WORD.findall(name)]
    pairs = {first + second for first, second in pairwise(words)}
    return not SECRET_WORDS.isdisjoint(words) or not SECRET_PAIRS.isdisjoint(pairs | set(words))


def masked(value: Any) -> Any:
    """A copy of `value`, any JSON value, in which every secret-looking field that holds something shows `MASK`.

    Texts lose the secrets that are written inside them, such as a password in an address.
    """
    return _masked(value, ())


def redact_text(text: str) -> str:
    """`text` without the secrets and personal numbers that are written in one of the usual ways."""
    return without_personal_numbers(text, _also.names)


def _masked(value: Any, path: Path) -> Any:
    if isinstance(value, Mapping):
        hidden = _VALUES if _names_a_secret(value) else ()
        return {name: _masked_field(str(name), one, path, hidden) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_masked(one, path) for one in value]
    return masked_text(value) if isinstance(value, str) else value


def _masked_field(name: str, value: Any, path: Path, hidden: tuple[str, ...]) -> Any:
    here = _inside(name, path, hidden)
    if here is not None:
        return _masked(value, here)
    # That a secret is missing is worth knowing, and no secret.
    return value if value is None or value == "" else MASK


def inside(fields: Mapping[Any, Any], name: str, path: Path = ()) -> Path | None:
    """The path to give for what is inside the field `name` of an object; None where that field is masked.

    For whoever shows a part of a large value and does not want all of it masked first. `path` is that of the object
    itself: () for the outermost, what this returned for an inner one.
    """
    return _inside(name, path, _VALUES if _names_a_secret(fields) else ())


def masked_text(text: str) -> str:
    """A text of a payload without the secrets that are written in it."""
    return without_secrets(text, _also.names)


def _inside(name: str, path: Path, hidden: tuple[str, ...]) -> Path | None:
    here = (*path, name.casefold())[-LONGEST_PATH:] if _also.paths else path
    return None if is_secret(name) or name.lower() in hidden or _is_listed(here) else here


def _names_a_secret(fields: Mapping[Any, Any]) -> bool:
    names = (fields.get(field) for field in _NAMED_BY)
    return any(isinstance(name, str) and is_secret(name) for name in names)


def _is_listed(here: Path) -> bool:
    return any(
        len(path) <= len(here)
        and all(want in ("*", name) for want, name in zip(path, here[-len(path) :], strict=True))
        for path in _also.paths
    )
