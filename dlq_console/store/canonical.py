"""How is a payload written down, and when do two payloads mean the same?

One walk over a payload writes two JSON texts: the stored one, which keeps keys in the order and numbers with the
digits they came with, and the canonical one, from which keys are made. Two payloads mean the same when their
canonical texts are equal:

* keys stand in code-point order; their order in the payload does not matter, the order of a list does;
* text is in Unicode form NFC; nothing else about it is changed;
* a number is written out in full with no needless zero, whatever its type: 10, 10.0, 1e1 and Decimal("10.00") are one
  number, and -0 is 0. A float counts as the shortest decimal that names it, so 0.1 is Decimal("0.1");
* an aware datetime is written in UTC (`2024-05-01T13:00:00Z`), a date and a time of day in ISO form, a UUID in lower
  case, an Enum as its value, a tuple as a list. Once written they are text and mean the same as that text;
* True is not 1, None is not a missing key, "1" is not 1.

Any of these values may be a payload, not only a dict. Everything else is refused, and the error names the path.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum
from functools import lru_cache
from hashlib import sha256
from typing import Any
from unicodedata import normalize

from dlq_console.errors import PayloadRefused
from dlq_console.store.canonical_scalars import (
    MAX_DIGITS,
    NOT_FINITE,
    SCALARS,
    TOO_MANY_DIGITS,
    Refused,
    Texts,
    a_type,
    advice,
    write_text,
)

#: How deep lists and dicts may lie in one another.
MAX_DEPTH = 100
#: Bytes of stored text where the caller gave no limit of its own.
LARGEST_PAYLOAD = 16 * 1024 * 1024

#: Characters of a path, and of one key within it, that an error shows.
_PATH_SHOWN = 200
_KEY_SHOWN = 40

#: The keys of payloads are the same few, again and again. A longer one is not worth the memory.
_KEY_KEPT = 40
_write_known = lru_cache(maxsize=2048)(write_text)


@dataclass(frozen=True, slots=True)
class PayloadText:
    """A payload as JSON: `stored` goes to the handler, keys are made of `canonical`, `digest` is its hash."""

    stored: str
    canonical: str
    digest: str


def read_payload(payload: object, *, max_bytes: int, name: str = "payload") -> PayloadText:
    """Write `payload` as stored and as canonical JSON in one walk.

    Args:
        payload: any value named in the module docstring.
        max_bytes: the most bytes the stored text may have in UTF-8.
        name: what error messages call it, for example `result`.

    Raises:
        PayloadRefused: it cannot be written; the message names the path and what to send instead.
    """
    stored, canonical = _write(payload, max_bytes, name)
    return PayloadText(stored, canonical, payload_hash(canonical))


def encode_payload(payload: object, *, max_bytes: int, name: str = "payload") -> str:
    """The stored text alone; arguments and errors are those of `read_payload`."""
    return _write(payload, max_bytes, name)[0]


def canonical_json(payload: object) -> str:
    """The canonical text alone, for payloads up to LARGEST_PAYLOAD; errors are those of `read_payload`."""
    return _write(payload, LARGEST_PAYLOAD, "payload")[1]


def payload_hash(payload_canonical: str) -> str:
    """64 hex digits of SHA-256 over a canonical text: equal for payloads that mean the same."""
    return sha256(payload_canonical.encode()).hexdigest()


def decode_payload(text: str, *, name: str = "payload", exact: bool = False) -> object:
    """Read JSON without losing a digit.

    An integer stays an int. Any other number becomes a float where the float names exactly the same number, else a
    Decimal. With `exact` it is always a Decimal, which also keeps the zeros of 12.50. Serves stored text and text from outside alike, so an object with the same key twice is refused too.

    Raises:
        PayloadRefused: the text is not JSON, or holds a number beyond what Python reads.
    """
    try:
        return (_exact_decoder if exact else _decoder).decode(text)
    except Refused as refused:
        # Not itself: it would hold this frame, and the text, by its traceback.
        found = Refused(str(refused), refused.cause, **refused.facts)
    except RecursionError:
        found = _too_deep()
    except json.JSONDecodeError as error:
        reason = f"this is not JSON: {error.msg} (line {error.lineno}, column {error.colno})"
        found = Refused(reason, "not_json", line=error.lineno, column=error.colno)
    except (ValueError, InvalidOperation):
        # Python reads no int of more than 4,300 digits, and no Decimal with an exponent of more than 18.
        found = Refused(TOO_MANY_DIGITS, limit=MAX_DIGITS)
    raise PayloadRefused(f"{name}: {found}.", cause=found.cause, **found.facts)


def too_large(max_bytes: int, name: str = "payload") -> PayloadRefused:
    """The refusal of a value that is larger than `max_bytes` of JSON."""
    refused = _too_large(max_bytes)
    return PayloadRefused(f"{name}: {refused}.", cause=refused.cause, **refused.facts, place=name)


def _write(payload: object, max_bytes: int, name: str) -> Texts:
    try:
        texts = _write_any(payload, 0, max_bytes)
        if len(texts[0].encode()) > max_bytes:
            raise _too_large(max_bytes)
    except Refused as refused:
        place = _path(name, refused.steps)
        raise PayloadRefused(
            f"{place}: {refused}.", cause=refused.cause, **refused.facts, place=place
        ) from None
    return texts


def _write_any(value: object, depth: int, limit: int) -> Texts:
    write = SCALARS.get(type(value))
    return write(value) if write else _write_other(value, depth, limit)


def _write_other(value: object, depth: int, limit: int) -> Texts:
    if isinstance(value, dict):
        return _write_dict(value, depth + 1, limit)
    if isinstance(value, (list, tuple)):
        return _write_list(value, depth + 1, limit)
    if isinstance(value, Enum):
        return _write_any(value.value, depth, limit)
    for known, write in SCALARS.items():
        if isinstance(value, known):
            return write(value)
    raise Refused(f"{a_type(value)} is not supported; {advice(value)}")


# The two loops below are the hot path of every enqueue. They hold on purpose what a reader would like to see shared:
# a call costs as much as all that is done for one member.


def _write_dict(members: dict[Any, Any], depth: int, limit: int) -> Texts:
    _check_depth(depth)
    stored: list[str] = []
    canonical: dict[str, str] = {}
    size = 1  # the braces, less the comma that the last member does without
    for given, value in members.items():
        key = given if type(given) is str else _exact_key(given)
        try:
            key_stored, key_canonical = _write_known(key) if len(key) <= _KEY_KEPT else write_text(key)
            write = SCALARS.get(type(value))
            texts = write(value) if write else _write_other(value, depth, limit)
        except Refused as refused:
            refused.steps.append(key)
            raise
        member = f"{key_stored}:{texts[0]}"
        stored.append(member)
        size += len(member) + 1
        if size > limit:
            raise _too_large(limit)
        normal = key if key_stored is key_canonical else normalize("NFC", key)
        if normal in canonical:
            raise Refused(
                f"the key {_shown(normal)} stands here twice, in two Unicode forms; keep one of them",
                "key_in_two_forms",
                key=_shown(normal),
            )
        canonical[normal] = f"{key_canonical}:{texts[1]}"
    in_order = ",".join([canonical[normal] for normal in sorted(canonical)])
    return f"{{{','.join(stored)}}}", f"{{{in_order}}}"


def _write_list(items: list[Any] | tuple[Any, ...], depth: int, limit: int) -> Texts:
    _check_depth(depth)
    stored: list[str] = []
    canonical: list[str] = []
    size = 1  # the brackets, less the comma that the last item does without
    for index, item in enumerate(items):
        try:
            write = SCALARS.get(type(item))
            texts = write(item) if write else _write_other(item, depth, limit)
        except Refused as refused:
            refused.steps.append(index)
            raise
        stored.append(texts[0])
        canonical.append(texts[1])
        size += len(texts[0]) + 1
        # While the text grows, not at its end: a list shared many times over would fill the memory first.
        if size > limit:
            raise _too_large(limit)
    return f"[{','.join(stored)}]", f"[{','.join(canonical)}]"


def _exact_key(key: object) -> str:
    if not isinstance(key, str):
        raise Refused(f"one of its keys is {a_type(key)}; keys must be text")
    # A subclass may compare and sort by rules of its own.
    return str.__str__(key)


def _check_depth(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise _too_deep()


def _too_deep() -> Refused:
    return Refused(
        f"lists and objects lie more than {MAX_DEPTH} levels deep, or one of them contains itself; send a flatter payload",
        "too_deep",
        limit=MAX_DEPTH,
    )


def _too_large(limit: int) -> Refused:
    reason = f"this is larger than the limit of {limit:,} bytes of JSON; send a reference (an id or a path) instead"
    return Refused(reason, "too_large", limit=limit)


def _path(name: str, steps: list[str | int]) -> str:
    path = name + "".join(_step(step) for step in reversed(steps))
    return path if len(path) <= _PATH_SHOWN else f"{path[:_PATH_SHOWN]}…"


def _step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if step.isidentifier() and len(step) <= _KEY_SHOWN else f"[{_shown(step)}]"


def _shown(key: str) -> str:
    """A key in quotes, cut, with everything that could not be printed as an escape."""
    return json.dumps(key if len(key) <= _KEY_SHOWN else f"{key[:_KEY_SHOWN]}...")


def _read_number(text: str) -> float | Decimal:
    value = float(text)
    shortest = float.__repr__(value)
    if shortest == text:
        return value
    exact = Decimal(text)
    return value if Decimal(shortest) == exact else exact


def _read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        shown = _shown(twice)
        raise Refused(f"an object has the key {shown} twice; keep one of them", "key_twice", key=shown)
    return members


def _read_constant(_: str) -> object:
    raise Refused(NOT_FINITE)


_decoder = json.JSONDecoder(
    object_pairs_hook=_read_object, parse_float=_read_number, parse_constant=_read_constant
)
_exact_decoder = json.JSONDecoder(
    object_pairs_hook=_read_object, parse_float=Decimal, parse_constant=_read_constant
)
