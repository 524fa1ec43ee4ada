"""What does one attempt tell? What was said, how it was understood, by which rule, and what it waited for: a sentence each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from flask_babel import gettext, lazy_gettext
from flask_babel.speaklater import LazyString

from dlq_console.hub.failures import BY_HANDLER
from dlq_console.store.events import Attempt, EventSummary
from dlq_console.store.queries import CircuitChange
from dlq_console.store.states import Outcome
from dlq_console.web import display

#: Names under which the hub itself tells of something; no error of a handler.
VERIFIED = "Verified"
_UNVERIFIED = "The verifier could not tell whether the outside system has it."
_OWN_NAMES = frozenset(
    {VERIFIED, "WorkerDied", "TimeLimitExceeded", "ResultNotStored", "NoHandler", "TooOld", "Expired"}
)

_CLASSES: dict[str, LazyString] = {
    "transient": lazy_gettext("It may pass by itself."),
    "rate_limited": lazy_gettext("The ERP asked for fewer calls."),
    "permanent": lazy_gettext("The ERP refused it: the same thing sent again would be refused again."),
    "auth": lazy_gettext("The ERP refused the log-in."),
    "duplicate": lazy_gettext("The ERP says that it has it already."),
    "benign": lazy_gettext("There was nothing to do."),
    "unknown": lazy_gettext("Nobody has said yet what this error means."),
}
_RENEWED = lazy_gettext("The session had lapsed: the next attempt logs in anew.")
_BY_NAME: dict[str, LazyString] = {
    "OutcomeUnknown": lazy_gettext("The answer never came, so it may have been applied or not."),
    "WorkerDied": lazy_gettext("The worker was lost while it ran, so it may have been applied or not."),
    "TimeLimitExceeded": lazy_gettext(
        "It was stopped at its time limit, so it may have been applied or not."
    ),
}
_EFFECTS: dict[str, LazyString] = {
    "not_applied": lazy_gettext("Nothing was changed in the ERP."),
    "applied": lazy_gettext("The ERP has it."),
    "unknown": lazy_gettext("It may have been applied or not."),
}
_REACHES: dict[str, LazyString] = {
    "account": lazy_gettext("It concerns the whole account."),
    "method": lazy_gettext("It concerns this kind of event in this account."),
    "provider": lazy_gettext("It concerns every account of this ERP."),
}
#: Verdicts by which a door was closed or its account paused.
_CLOSING = ("rate_limited", "auth")
_PHASES: dict[str, LazyString] = {
    "before_connect": lazy_gettext("No connection was made; nothing was sent."),
    "connected": lazy_gettext("The connection broke while it was being sent."),
    "sent": lazy_gettext("It was sent, but no answer came."),
}
_PLACES: dict[str, LazyString] = {
    "message": lazy_gettext("text of the answer"),
    "cost": lazy_gettext("cost of the query"),
    "next day": lazy_gettext("limit of the day"),
    "rule default": lazy_gettext("the rule"),
}
_DOORS: dict[str, LazyString] = {
    "account": lazy_gettext("the account"),
    "method": lazy_gettext("this kind of call in the account"),
    "provider": lazy_gettext("the ERP"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one attempt tells; empty where there is nothing to tell.

    Attributes:
        facts: status and code of the answer.
        said: what was said, by the ERP or by a program on the way.
        verdict: how it was understood: class, effect, reach.
        rule: which rule of which set decided.
        rule_id: that rule.
        wait: what came before the next attempt, how long, and who named that time.
        circuit: what the attempt did to a circuit.
        detail: the whole answer, or the error as the program told it, where the ERP's own words stand above.
    """

    facts: str = ""
    said: str = ""
    verdict: str = ""
    rule: str = ""
    rule_id: str = ""
    wait: str = ""
    circuit: str = ""
    detail: str = ""


def told(attempts: Sequence[Attempt], changes: Iterable[CircuitChange]) -> dict[int, Told]:
    """What each attempt tells, by its id; `attempts` and `changes` newest first."""
    known = list(changes)
    later: list[Attempt | None] = [None, *attempts[:-1]] if attempts else []
    return {
        attempt.id: _told(attempt, next_one, known) for attempt, next_one in zip(attempts, later, strict=True)
    }


def words_of_the_erp(attempt: Attempt) -> str:
    """What the ERP answered, in its own words; empty where it did not answer."""
    answer = attempt.answer or {}
    return str(answer.get("message") or _whole_answer(answer))


def _whole_answer(answer: dict[str, Any]) -> str:
    return str(answer.get("excerpt") or "") if answer.get("phase") == "response" else ""


def last_words(event: EventSummary, attempts: Sequence[Attempt]) -> str:
    """What the ERP answered to the attempt that the event's last error is from; empty where it did not answer."""
    if not attempts or attempts[0].error != event.last_error:
        return ""
    return words_of_the_erp(attempts[0])


def _told(attempt: Attempt, following: Attempt | None, changes: Sequence[CircuitChange]) -> Told:
    said = words_of_the_erp(attempt)
    return Told(
        facts=_facts(attempt.answer or {}),
        said=said or _own_words(attempt),
        verdict=_verdict(attempt),
        rule=_rule(attempt),
        rule_id="" if attempt.rule in (None, "none", BY_HANDLER) else attempt.rule,
        wait=_wait(attempt, following),
        circuit=_circuit(attempt, changes),
        detail=_detail(attempt, said),
    )


def _detail(attempt: Attempt, said: str) -> str:
    """The whole answer where its message stands above, else the error where the answer stands above."""
    whole = _whole_answer(attempt.answer or {})
    shown = whole if whole != said else attempt.error or ""
    return shown if said and shown != said else ""


def _own_words(attempt: Attempt) -> str:
    """The error as it was kept, unless a sentence of the console says the same."""
    if attempt.error_type == VERIFIED or attempt.error == _UNVERIFIED:
        return ""
    return attempt.error or ""


def _facts(answer: dict[str, Any]) -> str:
    facts = []
    if answer.get("status") is not None:
        facts.append(f"HTTP {answer['status']}")
    if answer.get("code"):
        facts.append(gettext("code %(code)s", code=answer["code"]))
    return " · ".join(facts)


def _verdict(attempt: Attempt) -> str:
    if attempt.outcome == Outcome.ASKED:
        return _asked(attempt)
    if attempt.error_type == VERIFIED:
        return gettext("The verifier found it in the ERP: taken over as done, not sent again.")
    if attempt.error_type in _BY_NAME:
        return str(_BY_NAME[attempt.error_type])
    if attempt.verdict is None:
        return ""
    phase = (attempt.answer or {}).get("phase", "")
    renewed = attempt.verdict == "auth" and attempt.outcome == Outcome.FAILED
    parts = [
        _PHASES.get(phase),
        _RENEWED if renewed else _CLASSES.get(attempt.verdict),
        # That nothing was sent says it already.
        _EFFECTS.get(attempt.effect or "") if phase != "before_connect" else None,
        # Other verdicts know a reach too, but leave the doors as they are.
        _REACHES.get(attempt.reach or "") if attempt.verdict in _CLOSING and not renewed else None,
    ]
    return " ".join(str(part) for part in parts if part is not None)


def _asked(attempt: Attempt) -> str:
    if attempt.error_type == VERIFIED:
        return gettext("The verifier did not find it in the ERP, so it is sent again, under a new key.")
    return gettext(
        "The verifier could not tell whether the ERP has it, so nothing was sent. No attempt is spent."
    )


def _rule(attempt: Attempt) -> str:
    if attempt.rule in (None, BY_HANDLER):
        own = attempt.error_type in _OWN_NAMES or attempt.outcome in (Outcome.ASKED, Outcome.DONE)
        if own or attempt.verdict is None:
            return ""
        return gettext("No rule was asked: the program that sends it said what it means.")
    words = {"rule": attempt.rule, "version": attempt.rules_version or "?"}
    if attempt.rule != "none":
        return gettext("Rule %(rule)s decided (rule set %(version)s).", **words)
    if attempt.verdict == "unknown":
        return gettext("No rule knows this answer (rule set %(version)s).", version=words["version"])
    return gettext(
        "No rule knows this answer (rule set %(version)s); the program that sends it said what it means.",
        version=words["version"],
    )


def _wait(attempt: Attempt, following: Attempt | None) -> str:
    shown = display.current()
    if attempt.outcome == Outcome.RELEASED and not attempt.wait_seconds:
        return _closed(attempt, following)
    if not attempt.wait_seconds or attempt.wait_seconds < 1:
        return ""
    words = {"span": shown.span(attempt.wait_seconds)}
    if attempt.outcome == Outcome.RELEASED:
        return gettext("No attempt is spent. Wait before the next one: %(span)s.", **words)
    if attempt.verdict == "auth":
        return ""
    if attempt.wait_source is None:
        return gettext("Wait before the next attempt: %(span)s, as the policy of its kind says.", **words)
    return gettext(
        "Wait before the next attempt: %(span)s, no less than the answer asked for (%(source)s).",
        source=_place(attempt.wait_source),
        **words,
    )


def _closed(attempt: Attempt, following: Attempt | None) -> str:
    """It was given back unspent, and its door was closed."""
    words = {
        "door": str(_DOORS.get(attempt.reach or "", _DOORS["account"])),
        "source": _place(attempt.wait_source)
        if attempt.wait_source
        else gettext("the program that sends it"),
    }
    if following is None:
        return gettext(
            "No attempt is spent: it waits for %(door)s to open, until the time that was named (%(source)s).",
            **words,
        )
    waited = (following.started_at - attempt.ended_at).total_seconds()
    return gettext(
        "No attempt is spent: it waited %(span)s for %(door)s to open; the time was named (%(source)s).",
        span=display.current().span(max(waited, 0)),
        **words,
    )


def _place(source: str) -> str:
    """Where a wait was found, in words."""
    what, _, name = source.partition(" ")
    if what == "header":
        return gettext("header %(name)s", name=name)
    if what == "path":
        return gettext("field %(name)s of the answer", name=name)
    return str(_PLACES.get(source, source))


def _circuit(attempt: Attempt, changes: Sequence[CircuitChange]) -> str:
    """What the run did to the circuit that heard it."""
    for place, change in enumerate(changes):
        if change.attempt_id != attempt.id:
            continue
        if (change.before, change.after) == ("closed", "open"):
            return gettext("With this failure the circuit opened (blocking calls).")
        if change.before == "half_open" and _began_in_test(attempt, changes[place + 1 :]):
            if change.after == "closed":
                return gettext("This was the probe: the circuit closed (normal).")
            return gettext("This was the probe: the circuit stays open (blocking calls).")
    return ""


def _began_in_test(attempt: Attempt, earlier: Sequence[CircuitChange]) -> bool:
    """Whether the run began after its circuit went into test; only probes do."""
    return any(change.after == "half_open" and change.at <= attempt.started_at for change in earlier[:1])
