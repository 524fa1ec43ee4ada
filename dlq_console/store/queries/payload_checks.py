"""Does a payload hold this value at this path? SQL that asks it of one row, and that no payload can make fail."""

from __future__ import annotations

from typing import Any

#: The text of a plain value at a path. Payloads are written by the store, so they are JSON without a NUL; whatever was
#: put into the table by other hands matches nothing.
_POSTGRES = r"""
CASE WHEN payload NOT LIKE '%\\u0000%' AND left(payload, 1) IN ('{{', '[')
    THEN CAST(payload AS json) #>> CAST(:PATH AS text[]) = :VALUE END
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
    WHEN 'text' THEN json_extract(payload, :PATH) = :VALUE
    WHEN 'integer' THEN json_extract(payload, :PATH, :PATH) = :VALUE_twice
    WHEN 'real' THEN json_extract(payload, :PATH, :PATH) = :VALUE_twice
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
        value: as text.
        sqlite: for which engine.
    """
    path_name, value_name = f"path_{number}", f"value_{number}"
    names = path.split(".")
    if not sqlite:
        template = _POSTGRES_PLAIN if value.startswith(("{", "[")) else _POSTGRES
        condition = template.replace("PATH", path_name).replace("VALUE", value_name)
        return condition.strip(), {path_name: names, value_name: value}
    parameters = {value_name: value, f"{value_name}_twice": f"[{value},{value}]"}
    conditions = []
    for variant, text in enumerate(_sqlite_paths(names)):
        name = f"{path_name}_{variant}"
        parameters[name] = text
        conditions.append(_SQLITE.strip().replace("PATH", name).replace("VALUE", value_name))
    return f"({' OR '.join(conditions)})", parameters


def _sqlite_paths(names: list[str]) -> list[str]:
    """The path as SQLite writes it; digits are a place in a list, or else a name."""
    as_names = "$" + "".join(f'."{name}"' for name in names)
    as_places = "$" + "".join(f"[{name}]" if name.isdecimal() else f'."{name}"' for name in names)
    return list(dict.fromkeys((as_places, as_names)))
