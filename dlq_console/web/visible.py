"""Can a text from outside look like something else than it is? No: characters that nobody sees are shown as signs.

Marks that turn the direction of writing, codes that colour a terminal and the like reach us in errors, payloads, names
and notes. Whatever page they are on, they are shown in the open: `␛[31m`, `[U+202E]`.
"""

from __future__ import annotations

import re

from flask import Flask, Response

#: Controls but tab and line ends; marks of direction; spaces without width; ends of lines that only some programs know.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)
#: Unicode has a picture of each of the first controls, and one of DEL.
_PICTURES, _DEL, _PICTURE_OF_DEL = 0x2400, 0x7F, "␡"
_FIRST_PRINTABLE = 0x20


def install(app: Flask) -> None:
    """Show every page of `app` that way."""
    app.after_request(_show)


def visible(text: str) -> str:
    """`text` with a sign in the place of every character that nobody sees."""
    # Most texts have none, and this finds out five times as fast.
    if text.replace("\n", "").isprintable():
        return text
    return _UNSEEN.sub(lambda match: _sign(match[0]), text)


def escaped(json: str) -> str:
    """JSON with such characters written as escapes of JSON: seen, and still the same JSON."""
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", json)


def _sign(character: str) -> str:
    code = ord(character)
    if code < _FIRST_PRINTABLE:
        return chr(_PICTURES + code)
    return _PICTURE_OF_DEL if code == _DEL else f"[U+{code:04X}]"


def _show(response: Response) -> Response:
    if response.mimetype == "text/html" and not response.is_streamed:
        page = response.get_data(as_text=True)
        shown = visible(page)
        if shown is not page:
            response.set_data(shown)
    return response
