"""What is known of one failed call, whatever client library told it? The facts that rules match on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dlq_console.classify.bodies import BODY_LIMIT, parse
from dlq_console.classify.verdicts import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The normalised facts of one failed call.

    Attributes:
        phase: how far the call had come.
        status: HTTP status.
        code: a code that the exception itself carries, as an XML-RPC fault does.
        message: a message that the exception itself carries.
        content_type: lower case, without parameters.
        headers: by names in lower case.
        text: the body as text, or the text of the error where there was no body; at most 64 Ki characters.
        tree: the body as dicts and lists, where it is JSON or XML.
        exceptions: class names with the top name of their package ("httpx.ReadTimeout"), bases included, outermost
            error first.
    """

    phase: Phase = Phase.LOCAL
    status: int | None = None
    code: str | None = None
    message: str | None = None
    content_type: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    text: str = ""
    tree: Any = field(default=None, repr=False, compare=False)
    exceptions: tuple[str, ...] = ()

    @classmethod
    def of_text(
        cls,
        text: str,
        *,
        phase: Phase = Phase.RESPONSE,
        status: int | None = None,
        code: str | None = None,
        content_type: str | None = None,
        headers: Mapping[str, str] | None = None,
        exceptions: Sequence[str] = (),
    ) -> Reading:
        """A reading of an answer whose body is at hand as text."""
        given = {name.lower(): value for name, value in (headers or {}).items()}
        text = text[:BODY_LIMIT]
        return cls(
            phase=phase,
            status=status,
            code=code,
            content_type=short_content_type(content_type or given.get("content-type")),
            headers=given,
            text=text,
            tree=parse(text),
            exceptions=tuple(exceptions),
        )

    @classmethod
    def from_attempt(
        cls,
        *,
        status: int | None,
        code: str | None,
        content_type: str | None,
        excerpt: str,
        phase: Phase,
        exceptions: Sequence[str] = (),
    ) -> Reading:
        """The reading that a stored attempt still allows, so that a new rule can be tried against it.

        What was not stored cannot match any more: headers, and what an excerpt of 500 characters leaves out.
        """
        return cls.of_text(
            excerpt, phase=phase, status=status, code=code, content_type=content_type, exceptions=exceptions
        )


def short_content_type(value: str | None) -> str | None:
    """A content type without its parameters, in lower case."""
    return (value[:200].partition(";")[0].strip().lower() or None) if value else None
