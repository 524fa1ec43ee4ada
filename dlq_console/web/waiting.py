"""What does an event wait for, and until when? The sentence of its page, and those of closed doors."""

from __future__ import annotations

from flask_babel import gettext, lazy_gettext
from flask_babel.speaklater import LazyString

from dlq_console.store.events import EventSummary
from dlq_console.store.states import Status
from dlq_console.web import display, words

#: What a closed door lets nothing into, by what the event waits for.
_DOORS: dict[str, LazyString] = {
    "account_closed": lazy_gettext("account"),
    "method_closed": lazy_gettext("this kind of call"),
    "provider_closed": lazy_gettext("every account of this ERP"),
}


def waiting(event: EventSummary) -> str:
    """What an event waits for and until when; empty where nothing holds it up."""
    if event.status == Status.BLOCKED or event.waiting_for is None:
        return ""  # `history.behind` tells of the one before
    shown, until = display.current(), event.waiting_until
    if event.waiting_for == "time":
        if until is None:
            return ""
        return gettext(
            "The next attempt is at %(time)s (%(ago)s).", time=shown.full(until), ago=shown.ago(until)
        )
    if event.waiting_cause is not None:
        unspent = gettext("No attempt is spent.")
        return f"{_closed(event)} {unspent}"
    cause = words.wait_word(event.waiting_for)
    if until is None:
        return gettext("Waiting for: %(cause)s.", cause=cause)
    return gettext(
        "Waiting for: %(cause)s until %(time)s. No attempt is spent.", cause=cause, time=shown.full(until)
    )


def _closed(event: EventSummary) -> str:
    """By what the door is closed, and until when."""
    until = None if event.waiting_until is None else display.current().full(event.waiting_until)
    told = {
        "who": event.waiting_by or "?",
        "time": until,
        "door": str(_DOORS.get(event.waiting_for or "", "")),
    }
    match event.waiting_cause:
        case "auth":
            return gettext(
                "Waiting for: account paused until a person resumes it, because the ERP refused the log-in."
            )
        case "pause" if until is None:
            return gettext("Waiting for: account paused by %(who)s until a person resumes it.", **told)
        case "pause":
            return gettext("Waiting for: account paused by %(who)s until %(time)s.", **told)
        case "provider":
            return gettext("Waiting for: provider block (%(door)s) until %(time)s.", **told)
    if event.waiting_by is None:
        if event.waiting_for == "account_closed":
            return gettext("Waiting for: account closed until %(time)s, probe next.", **told)
        return gettext("Waiting for: this kind of call closed until %(time)s, probe next.", **told)
    if until is None:
        return gettext("Waiting for: circuit held open by %(who)s until a person resets it.", **told)
    return gettext("Waiting for: circuit held open by %(who)s until %(time)s.", **told)


def spoken_by(cause: str | None) -> str:
    """What to call the reason of a closed door: a person's is a note."""
    return gettext("Reason:") if cause in ("auth", "provider") else gettext("Note:")


def reason_shown(event: EventSummary) -> str:
    """The reason of the door that an event waits for, in the words of whoever gave it."""
    # A circuit tells why in the words of the program; the sentence says that already.
    circuit = event.waiting_cause == "circuit" and event.waiting_by is None
    return "" if circuit else event.waiting_reason or ""
