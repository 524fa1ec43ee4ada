"""What does a failure mean, and what does a person do about it? Two sentences for each reason and each class of error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from flask_babel import gettext, lazy_gettext, ngettext
from flask_babel.speaklater import LazyString

from dlq_console.store.events import EventSummary
from dlq_console.store.queries import Listed
from dlq_console.store.states import Reason, Status

ErrorClass = Literal["timeout", "unreachable", "busy", "unknown_outcome", "crash", "other"]


@dataclass(frozen=True, slots=True)
class Advice:
    """What it means, and what to do."""

    meaning: str
    remedy: str


_Pair = tuple[LazyString, LazyString]

_BY_REASON: dict[str, _Pair] = {
    Reason.PERMANENT: (
        lazy_gettext("The ERP refused it for good; the same thing sent again would be refused again."),
        lazy_gettext("Correct in the ERP what it complains about, then reprocess."),
    ),
    Reason.EXHAUSTED: (
        lazy_gettext("Every attempt failed, although the cause may pass by itself."),
        lazy_gettext("Once the ERP works again, reprocess; nothing in the event needs to be corrected."),
    ),
    Reason.UNCLASSIFIED: (
        lazy_gettext("The program that sends this failed in a way that nobody foresaw."),
        lazy_gettext("Show the technical details of the last attempt to a developer, then reprocess."),
    ),
    Reason.ORPHANED: (
        lazy_gettext("Every worker that ran it died while running it."),
        lazy_gettext(
            "Let a developer look at it first: reprocessed as it is, it may kill the next worker as well."
        ),
    ),
    Reason.QUEUE_FULL: (
        lazy_gettext("The recovery queue it was meant for was full, so it never began."),
        lazy_gettext("Reprocess it once the queue has room again."),
    ),
    Reason.EXPIRED: (
        lazy_gettext("It was not started in time: its account was closed, or no worker was free."),
        lazy_gettext(
            "See that the account is open and workers are running, then reprocess it if it is still wanted."
        ),
    ),
    Reason.TOO_OLD: (
        lazy_gettext("It was older than this kind of event may be when its turn came."),
        lazy_gettext("Reprocess it only if the ERP still needs it; otherwise discard it."),
    ),
    Reason.IN_DOUBT: (
        lazy_gettext("The answer of the ERP never came, so it may have been applied or not."),
        lazy_gettext(
            "Look in the ERP: if the record is there, discard this event; if it is not, reprocess it."
        ),
    ),
    Reason.AUTH: (
        lazy_gettext(
            "The ERP refused the log-in of this account, so the account was paused; its other events wait."
        ),
        lazy_gettext("Correct the credentials, resume the account, then reprocess."),
    ),
    Reason.NO_HANDLER: (
        lazy_gettext("No worker knows how to handle this kind of event."),
        lazy_gettext("Start or update the worker that handles this kind, then reprocess."),
    ),
    Reason.OPERATOR: (
        lazy_gettext("A person decided that it shall not be sent."),
        lazy_gettext("There is nothing to do; the history says who did it and why."),
    ),
    Reason.EDITED: (
        lazy_gettext(
            "Its payload was corrected; another event holds the corrected one and stands in its place."
        ),
        lazy_gettext("There is nothing to do here; look at that event."),
    ),
    Reason.SUPERSEDED: (
        lazy_gettext("Sent after the newer one, it would have undone what that one did."),
        lazy_gettext(
            "There is nothing to do, unless the newer one is a dead letter: then reprocess that one."
        ),
    ),
}

#: What is better known where the rules have said what the last error was.
_BY_VERDICT: dict[tuple[str, str], _Pair] = {
    (Reason.EXHAUSTED, "rate_limited"): (
        lazy_gettext("Each time the ERP asked for fewer calls."),
        lazy_gettext("Reprocess it at a quieter time; nothing needs to be corrected."),
    ),
    (Reason.EXHAUSTED, "auth"): (
        lazy_gettext("The ERP refused the log-in of this account each time."),
        lazy_gettext("Correct the credentials, then reprocess."),
    ),
    (Reason.PERMANENT, "auth"): (
        lazy_gettext("The ERP does not let this account do it."),
        lazy_gettext("Give the account the right to it in the ERP, then reprocess."),
    ),
    (Reason.PERMANENT, "duplicate"): (
        lazy_gettext("The ERP says that it has it already."),
        lazy_gettext(
            "Look in the ERP: if it is the same record, discard this event; if it is another one, correct it there, then reprocess."
        ),
    ),
}
#: The same for one that will be tried again.
_RETRIED: dict[str, LazyString] = {
    "rate_limited": lazy_gettext("The ERP asked for fewer calls."),
    "auth": lazy_gettext("The session at the ERP had lapsed; the next attempt logs in anew."),
}

#: What a class of error means, whatever follows from it.
_MEANING: dict[ErrorClass, LazyString] = {
    "timeout": lazy_gettext("The ERP did not answer in time."),
    "unreachable": lazy_gettext("The ERP could not be reached."),
    "busy": lazy_gettext("The ERP asked for fewer calls."),
    "unknown_outcome": lazy_gettext("The answer of the ERP never came, so it may have been applied or not."),
    "crash": lazy_gettext("The worker died while running it."),
    "other": lazy_gettext("The ERP could not do it just then."),
}

#: What to do about it once all attempts are used up.
_REMEDY: dict[ErrorClass, LazyString] = {
    "timeout": lazy_gettext(
        "See in the ERP whether the record is there all the same; once it answers again, reprocess."
    ),
    "unreachable": lazy_gettext(
        "Once the ERP can be reached again, reprocess; nothing needs to be corrected."
    ),
    "busy": lazy_gettext("Reprocess it at a quieter time; nothing needs to be corrected."),
    "unknown_outcome": lazy_gettext("See in the ERP whether the record is there; if it is not, reprocess."),
    "crash": lazy_gettext("Let a developer look at the worker before you reprocess."),
    "other": lazy_gettext("Once the ERP works again, reprocess; nothing in the event needs to be corrected."),
}

_BY_NAME: dict[str, ErrorClass] = {
    "RateLimited": "busy",
    "OutcomeUnknown": "unknown_outcome",
    "LeaseLost": "crash",
    "WorkerDied": "crash",
}


def error_class(error_type: str | None) -> ErrorClass:
    """The class of an error by the name of its type."""
    name = error_type or ""
    if name in _BY_NAME:
        return _BY_NAME[name]
    if "Timeout" in name or "TimeLimit" in name:
        return "timeout"
    return "unreachable" if "Connect" in name else "other"


def advice(event: Listed) -> Advice | None:
    """What the state of an event means and what to do; None where nothing went wrong."""
    kind = error_class(event.error_type)
    if event.status == Status.FAILED:
        return Advice(
            str(_MEANING[kind]), gettext("There is nothing to do: the next attempt comes by itself.")
        )
    if event.status not in (Status.DEAD, Status.DISCARDED) or event.reason is None:
        return None
    if event.reason == Reason.EXHAUSTED and kind != "other":
        every = gettext("It was tried %(number)d times.", number=event.attempts)
        return Advice(f"{_MEANING[kind]} {every}", str(_REMEDY[kind]))
    pair = _BY_REASON.get(event.reason)
    return Advice(str(pair[0]), str(pair[1])) if pair else None


def advice_on_page(event: EventSummary, *, answered: bool, asks: bool) -> Advice | None:
    """The same where everything about the event is known: also why it is in doubt, and who will find out.

    Args:
        event: which event.
        answered: whether its last error is an answer of the ERP.
        asks: whether a verifier is asked before it is sent again.
    """
    said = advice(event)
    if said is None:
        return None
    if event.status == Status.FAILED and event.doubts and asks:
        return Advice(
            gettext("It is not known whether the ERP has it."),
            gettext("There is nothing to do: the verifier asks the ERP before anything is sent again."),
        )
    if event.reason == Reason.UNCLASSIFIED and answered:
        return Advice(
            gettext("The ERP answered something that no rule knows."),
            gettext(
                "Look in the ERP whether the record is there; if it is not, make a rule for such answers and reprocess."
            ),
        )
    if event.reason != Reason.IN_DOUBT or event.status != Status.DEAD:
        return _by_verdict(event) or said
    if event.verdict == "duplicate":
        meaning = gettext(
            "The ERP says that it has it already; whether that is this one, nobody has checked."
        )
        return Advice(meaning, said.remedy)
    if event.doubts > 1:
        meaning = ngettext(
            "The verifier was asked %(num)d time and could not tell whether the ERP has it.",
            "The verifier was asked %(num)d times and could not tell whether the ERP has it.",
            event.doubts,
        )
        return Advice(meaning, said.remedy)
    return said


def _by_verdict(event: EventSummary) -> Advice | None:
    """What the rules have said of the last error, where that tells more than the reason does."""
    verdict = event.verdict or ""
    if event.status == Status.FAILED and verdict in _RETRIED:
        return Advice(
            str(_RETRIED[verdict]), gettext("There is nothing to do: the next attempt comes by itself.")
        )
    known = event.status == Status.DEAD and (event.reason or "", verdict)
    if not known or known not in _BY_VERDICT:
        return None
    meaning, remedy = _BY_VERDICT[known]
    return Advice(str(meaning), str(remedy))


def in_short(event: Listed) -> str:
    """What happened, in the words of the ERP where it spoke, else in those of the console; empty where all is well."""
    if event.last_error is None or event.status not in (Status.FAILED, Status.DEAD, Status.DISCARDED):
        return ""
    if erp_spoke(event) or event.status == Status.DISCARDED:
        return event.last_error
    if event.reason == Reason.UNCLASSIFIED:
        return gettext("Unknown error: %(type)s %(text)s", type=event.error_type, text=event.last_error)
    said = advice(event)
    return said.meaning if said else event.last_error


def erp_spoke(event: Listed) -> bool:
    """Whether the last error is what the ERP answered, rather than what a program met on the way."""
    if event.reason in (Reason.PERMANENT, Reason.AUTH):
        return True
    retried = event.reason == Reason.EXHAUSTED or event.status == Status.FAILED
    return retried and error_class(event.error_type) in ("busy", "other")
