"""What is kept of an answer so that people can read it, and a new rule can be tried against it?"""

from __future__ import annotations

import re

from dlq_console.classify.rules import View
from dlq_console.redact import MASK, redact_text

EXCERPT_LIMIT = 500
#: Characters beyond those kept that are searched for secrets; one that begins among those kept ends here.
_MARGIN = 4_500
#: Characters of the beginning, where something has to be left out.
_HEAD = 300
#: Tax numbers as providers repeat them, without their dots: told by the words before them.
_TAX_NUMBER = re.compile(r"((?:cpf|cnpj|tax ?id)[^0-9]{1,40})[0-9]{11,14}\b", re.IGNORECASE)
_MARKUP = re.compile(r"<[^<>]{0,500}>|\s+")


def excerpt(view: View) -> str:
    """The body as it came, redacted; of a long one the message it holds."""
    body = view.reading.text
    if len(body) > EXCERPT_LIMIT:
        said = view.messages[0]
        # A page has no message of its own: of its markup nothing is worth keeping.
        body = (
            said if said and said != body[: len(said)] else _MARKUP.sub(" ", body[: EXCERPT_LIMIT + _MARGIN])
        )
    return _kept(body)


def sentence(view: View) -> str | None:
    """What the provider says is wrong, redacted; None where its answer does not say it."""
    return _kept(view.spoken) if view.spoken else None


def _kept(text: str) -> str:
    clean = _TAX_NUMBER.sub(rf"\1{MASK}", redact_text(text[: EXCERPT_LIMIT + _MARGIN]))
    clean = clean.replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")
    if len(clean) <= EXCERPT_LIMIT:
        return clean
    # What a traceback is about stands at its end.
    return f"{clean[:_HEAD]}…{clean[_HEAD + 1 - EXCERPT_LIMIT :]}"
