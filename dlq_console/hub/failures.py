"""What is kept of an error: its type, a message a person can read, where it happened. Redacted and cut to size."""

from __future__ import annotations

import json
import traceback
from dataclasses import asdict, replace

from dlq_console.classify import Verdict
from dlq_console.redact import redact_text
from dlq_console.store.transitions import Failure, Judgement

#: Stands in the place of a rule where the handler has said what an error means.
BY_HANDLER = "handler"
#: Characters of a message and of a traceback that are kept.
MESSAGE_LIMIT = 2_000
TRACEBACK_LIMIT = 8_000
#: Characters beyond those kept that are searched for secrets; one that begins among those kept ends here.
_MARGIN = 10_000


def failure(type_: str, message: str, *, verdict: str | None = None, trace: str | None = None) -> Failure:
    """A failure told by the hub itself."""
    text = _storable(message, MESSAGE_LIMIT)
    kept_trace = None if trace is None else _storable(trace, TRACEBACK_LIMIT, keep_end=True)
    return Failure(type=type_, message=text, traceback=kept_trace, verdict=verdict)


def judged(failure: Failure, verdict: Verdict) -> Failure:
    """The same failure with how its verdict came about."""
    judgement = Judgement(
        effect=verdict.effect,
        reach=verdict.reach,
        wait_source=verdict.wait_source,
        rule=verdict.rule,
        rules_version=verdict.rules_version,
        answer=_answer(verdict),
    )
    return replace(failure, message=_in_its_words(failure, verdict), judgement=judgement)


def _in_its_words(failure: Failure, verdict: Verdict) -> str:
    """What the provider said, where its answer says it; "500 Internal Server Error for url" tells nobody anything."""
    said = verdict.answer.message if verdict.answer else None
    return _storable(said, MESSAGE_LIMIT) if said else failure.message


def said_by_handler(failure: Failure, verdict: Verdict, *, effect: str) -> Failure:
    """The same failure, of which the handler itself has said what it means; what its provider answered is kept with it."""
    return replace(failure, judgement=Judgement(effect=effect, rule=BY_HANDLER, answer=_answer(verdict)))


def _answer(verdict: Verdict) -> str | None:
    return None if verdict.answer is None else json.dumps(asdict(verdict.answer), ensure_ascii=False)


def failure_of(error: BaseException, *, verdict: str) -> Failure:
    """A failure as a handler raised it."""
    type_ = type(error).__name__
    trace = "".join(traceback.format_exception(error))
    return failure(type_, _message(error), verdict=verdict, trace=trace)


def _message(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"The handler ended its process with sys.exit({error.code!r}); raise an error instead."
    try:
        text = str(error).strip()
    except Exception:  # noqa: BLE001 - a broken __str__ of user code must not cost the result
        text = ""
    return text or f"{type(error).__name__} without a message"


def _storable(text: str, limit: int, *, keep_end: bool = False) -> str:
    """Redacted, without characters that PostgreSQL refuses, cut to `limit` characters."""
    searched = text[-limit - _MARGIN :] if keep_end else text[: limit + _MARGIN]
    clean = redact_text(searched).replace("\x00", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")
    if len(clean) <= limit and len(searched) == len(text):
        return clean
    return "…" + clean[-limit + 1 :] if keep_end else clean[: limit - 1] + "…"
