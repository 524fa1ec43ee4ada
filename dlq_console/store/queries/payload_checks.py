"""Does a payload hold this value at this path? SQL that asks it of one row, and that no payload can make fail."""

from __future__ import annotations

from typing import Any

from dlq_console.store.amounts import spellings_of_amount

#: The text of a plain value at a path. Payloads are written by the store, so they are JSON without a NUL; whatever was
#: put into the table by other hands matches nothing.
_POSTGRES = r"""
CASE WHEN payload NOT LIKE '%\\u0000%' AND left(payload, 1) IN ('{{', '[')
    THEN CAST(payload AS json) #>> CAST(:PATH AS text[]) IN (SPELLED) END
"""
#: The same for a value that could be the text of an object or a list: these are no plain values.
_POSTGRES_PLAIN = r"""
CASE WHEN payload NOT LIKE '%\\u0000%' AND left(payload, 1) IN ('{{', '[')
    THEN CAST(payload AS json) #>> CAST(:PATH AS text[]) = :VALUE
        AND json_typeof(CAST(payload AS json) #> CAST(:PATH AS text[])) = 'string' END
"""
#: A number is compared as it is written, not as SQLite reads it. Asked for twice, values come as a list of their texts.
_SQLITE = """
CASE WHEN NOT json_valid(payload) THEN 0 ELSE CASE json_type(payload, :PATH)
    WHEN 'text' THEN json_extract(payload, :PATH) IN (SPELLED)
    WHEN 'integer' THEN json_extract(payload, :PATH, :PATH) IN (TWICE)
    WHEN 'real' THEN json_extract(payload, :PATH, :PATH) IN (TWICE)
    WHEN 'true' THEN :VALUE = 'true'
    WHEN 'false' THEN :VALUE = 'false'
    ELSE 0
END END
"""


def payload_check(number: int, path: str, value: str, *, sqlite: bool) -> tuple[str, dict[str, Any]]:
    """SQL for one condition on `payload`, and its parameters.

    Args:
        number: tells the parameters of several conditions apart.
        path: names of fields and places in lists, joined by dots.
        value: as text; an amount is compared in all its spellings.
        sqlite: for which engine.
    """
    path_name, value_name = f"path_{number}", f"value_{number}_0"
    spelled = {f"value_{number}_{place}": one for place, one in enumerate(spellings_of_amount(value))}
    names = path.split(".")
    if not sqlite:
        template = _POSTGRES_PLAIN if value.startswith(("{", "[")) else _POSTGRES
        condition = template.replace("PATH", path_name).replace("SPELLED", _listed(spelled))
        condition = condition.replace("VALUE", value_name)
        return condition.strip(), {path_name: names} | spelled
    twice = {f"{name}_twice": f"[{one},{one}]" for name, one in spelled.items()}
    template = _SQLITE.replace("SPELLED", _listed(spelled)).replace("TWICE", _listed(twice))
    parameters = spelled | twice
    conditions = []
    for variant, text in enumerate(_sqlite_paths(names)):
        name = f"{path_name}_{variant}"
        parameters[name] = text
        conditions.append(template.strip().replace("PATH", name).replace("VALUE", value_name))
    return f"({' OR '.join(conditions)})", parameters


def _listed(parameters: dict[str, str]) -> str:
    return ", ".join(f":{name}" for name in parameters)


def _sqlite_paths(names: list[str]) -> list[str]:
    """The path as SQLite writes it; digits are a place in a list, or else a name."""
    as_names = "$" + "".join(f'."{name}"' for name in names)
    as_places = "$" + "".join(f"[{name}]" if name.isdecimal() else f'."{name}"' for name in names)
    return list(dict.fromkeys((as_places, as_names)))
