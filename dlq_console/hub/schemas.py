"""Does a payload fit the JSON Schema that its kind declares? Asked before a person's edit is saved.

Numbers are compared as they are written, so that 19.99 is a multiple of 0.01. A schema that refers to another document
is refused: nothing is ever fetched.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from dlq_console.errors import ConfigurationError, PayloadRefused

#: Characters of a schema as JSON.
LARGEST_SCHEMA = 64_000
#: Characters of what a refusal quotes.
_QUOTED = 200
#: Rule of a schema -> what must hold.
RULES = {
    "required": "{} is missing",
    "type": "it must be of the type {}",
    "enum": "it must be one of {}",
    "const": "it must be {}",
    "pattern": "it must match {}",
    "format": "it must have the format {}",
    "minimum": "it must be at least {}",
    "exclusiveMinimum": "it must be more than {}",
    "maximum": "it must be at most {}",
    "exclusiveMaximum": "it must be less than {}",
    "multipleOf": "it must be a multiple of {}",
    "minLength": "it must have at least {} characters",
    "maxLength": "it must have at most {} characters",
    "minItems": "it must have at least {} items",
    "maxItems": "it must have at most {} items",
    "uniqueItems": "its items must differ",
    "additionalProperties": "it has a field that the schema does not know",
}


def check_schema(schema: object, name: str) -> dict[str, Any]:
    """A schema, known to be one.

    Raises:
        ConfigurationError: it is none; `name` is what the message calls it.
    """
    # Loaded where a schema is used only: it takes longer than the rest of the package.
    from jsonschema.exceptions import SchemaError

    if not isinstance(schema, dict):
        raise ConfigurationError(f"{name} is wrong: write a JSON Schema as a dict.")
    try:
        text = json.dumps(schema)
    except (TypeError, ValueError, RecursionError):
        raise ConfigurationError(f"{name} is wrong: it cannot be written as JSON.") from None
    if len(text) > LARGEST_SCHEMA:
        raise ConfigurationError(f"{name} is wrong: it is longer than {LARGEST_SCHEMA:,} characters of JSON.")
    outside = next((ref for ref in _references(schema) if not ref.startswith("#")), None)
    if outside is not None:
        raise ConfigurationError(
            f"{name} is wrong: it refers to {outside:.{_QUOTED}}; write that part into it, nothing is fetched."
        )
    try:
        _validator_class(schema).check_schema(schema)
    except SchemaError as error:
        place = error.json_path.removeprefix("$").lstrip(".") or "its outermost level"
        raise ConfigurationError(f"{name} is wrong at {place}: {error.message:.{_QUOTED}}.") from None
    return schema


def check_payload(payload: Any, schema: dict[str, Any], kind: str) -> None:
    """Refuse a payload that does not fit.

    Args:
        payload: a JSON value with its numbers as int and Decimal.
        schema: one that `check_schema` has passed.
        kind: for the message.

    Raises:
        PayloadRefused: it does not fit; the message names the place that is deepest wrong, and why.
    """
    from jsonschema.exceptions import best_match
    from referencing import Registry

    # A registry of its own: the usual one would fetch what it does not know.
    validator = _validator_class(schema)(_exact(schema), registry=Registry())
    error = best_match(validator.iter_errors(payload))
    if error is None:
        return
    place = f"payload{error.json_path.removeprefix('$')}"
    rule, wanted = str(error.validator), _wanted(error)
    # In words of our own: those of the library quote the payload, which may hold secrets.
    why = RULES[rule].format(wanted) if rule in RULES else f"it does not fit the rule {rule}"
    raise PayloadRefused(
        f"{place:.{_QUOTED}}: {why} (schema of {kind}).",
        cause="schema",
        place=place[:_QUOTED],
        rule=rule,
        wanted=wanted,
    )


def _wanted(error: Any) -> str:
    """What the rule asks for."""
    wanted = error.validator_value
    if error.validator == "required":
        wanted = ", ".join(name for name in wanted if name not in error.instance)
    return str(wanted)[:_QUOTED]


def _validator_class(schema: dict[str, Any]) -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend, validator_for

    named = validator_for(schema, default=Draft202012Validator)
    checker = named.TYPE_CHECKER.redefine("integer", _is_whole)
    return extend(named, type_checker=checker)  # type: ignore[no-untyped-call]  # its stub leaves it so


def _is_whole(_checker: object, value: object) -> bool:
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool)


def _exact(value: Any) -> Any:
    """The schema with its numbers as they are written."""
    if isinstance(value, dict):
        return {name: _exact(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_exact(one) for one in value]
    return Decimal(repr(value)) if isinstance(value, float) else value


def _references(value: Any) -> Iterable[str]:
    if isinstance(value, dict):
        for name, one in value.items():
            if name in ("$ref", "$dynamicRef") and isinstance(one, str):
                yield one
            else:
                yield from _references(one)
    elif isinstance(value, list):
        for one in value:
            yield from _references(one)
