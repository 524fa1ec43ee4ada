"""What are states, reasons and roles called? The glossary of the console, one word or sentence per name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from flask_babel import gettext, lazy_gettext, ngettext
from flask_babel.speaklater import LazyString

from dlq_console.store.people import Permission
from dlq_console.store.states import Action, Outcome, Reason, Status


@dataclass(frozen=True, slots=True)
class Look:
    """How a state is shown: a shape, a tone (colour) and a word. Never the colour alone."""

    shape: str
    tone: str
    word: str


#: A state that no status names: due, but something holds it up.
WAITING = "waiting"

_LOOKS: dict[str, tuple[str, str, LazyString]] = {
    Status.DONE: ("disc", "ok", lazy_gettext("done")),
    Status.FAILED: ("triangle", "warn", lazy_gettext("will retry")),
    Status.DEAD: ("square", "fail", lazy_gettext("dead letter")),
    WAITING: ("diamond", "info", lazy_gettext("waiting")),
    Status.BLOCKED: ("diamond", "info", lazy_gettext("blocked behind")),
    Status.PENDING: ("ring", "idle", lazy_gettext("queued")),
    Status.RUNNING: ("half", "info", lazy_gettext("running")),
    Status.DISCARDED: ("dash", "idle", lazy_gettext("discarded")),
}

_OUTCOMES: dict[str, tuple[str, str, LazyString]] = {
    Outcome.DONE: ("disc", "ok", lazy_gettext("done")),
    Outcome.FAILED: ("triangle", "warn", lazy_gettext("failed")),
    Outcome.DEAD: ("square", "fail", lazy_gettext("failed for good")),
    Outcome.LOST: ("square", "fail", lazy_gettext("the worker died")),
    Outcome.ASKED: ("ring", "info", lazy_gettext("verifier asked")),
    Outcome.RELEASED: ("ring", "idle", lazy_gettext("given back, not counted")),
}

_REASONS: dict[str, LazyString] = {
    Reason.PERMANENT: lazy_gettext("refused for good"),
    Reason.EXHAUSTED: lazy_gettext("attempts used up"),
    Reason.UNCLASSIFIED: lazy_gettext("unknown error"),
    Reason.ORPHANED: lazy_gettext("killed its workers"),
    Reason.QUEUE_FULL: lazy_gettext("no room in its queue"),
    Reason.EXPIRED: lazy_gettext("not started in time"),
    Reason.TOO_OLD: lazy_gettext("too old to send"),
    Reason.IN_DOUBT: lazy_gettext("in doubt"),
    Reason.AUTH: lazy_gettext("log-in refused"),
    Reason.NO_HANDLER: lazy_gettext("nobody handles this kind"),
    Reason.OPERATOR: lazy_gettext("discarded by a person"),
    Reason.SUPERSEDED: lazy_gettext("replaced by a newer event"),
    Reason.EDITED: lazy_gettext("corrected in another event"),
}

_WAITS: dict[str, LazyString] = {
    "account_closed": lazy_gettext("the account is closed"),
    "method_closed": lazy_gettext("this kind of call is closed"),
    "provider_closed": lazy_gettext("provider block"),
    "pace": lazy_gettext("its turn among the calls that the ERP allows"),
    "probe": lazy_gettext("the result of a probe: the circuit lets one event through at a time"),
    "reserve": lazy_gettext(
        "room for a retry (the failing answers that the ERP still puts up with are kept for new events)"
    ),
    "limit": lazy_gettext("a higher limit (the account may run 0 events at once)"),
    "no_handler": lazy_gettext("no worker handles this kind"),
    "no_worker": lazy_gettext("no worker serves this account"),
}

#: What a failure was taken for.
_CLASSES: dict[str, LazyString] = {
    "transient": lazy_gettext("may pass by itself"),
    "rate_limited": lazy_gettext("too many calls"),
    "permanent": lazy_gettext("refused"),
    "auth": lazy_gettext("access denied"),
    "duplicate": lazy_gettext("there already"),
    "benign": lazy_gettext("nothing to do"),
    "unknown": lazy_gettext("not known"),
}

#: Those that a rule is written for.
CHOSEN_CLASSES = ("permanent", "transient", "rate_limited", "auth", "duplicate", "benign")

#: What keeps a door closed.
_CAUSES: dict[str, LazyString] = {
    "auth": lazy_gettext("log-in refused"),
    "pause": lazy_gettext("paused"),
    "circuit": lazy_gettext("circuit open (blocking calls)"),
    "provider": lazy_gettext("provider block"),
}

_ROLES: dict[str, LazyString] = {
    "viewer": lazy_gettext("viewer"),
    "operator": lazy_gettext("operator"),
    "editor": lazy_gettext("editor"),
    "admin": lazy_gettext("administrator"),
}


#: What people and the hub did, as sentences.
_ACTS: dict[str, LazyString] = {
    Action.REPROCESS: lazy_gettext("%(who)s reprocessed it."),
    Action.DISCARD: lazy_gettext("%(who)s discarded it."),
    Action.EDIT: lazy_gettext("%(who)s corrected the payload."),
    Action.RESTORE: lazy_gettext("%(who)s took the discard back."),
    Action.CANCEL_SEND: lazy_gettext("%(who)s cancelled the sending."),
    Action.PRECHECK: lazy_gettext("%(who)s asked the ERP whether it would pass now."),
    Permission.SKIP_LANE: lazy_gettext("%(who)s let its lane go on without it."),
    Permission.REVEAL: lazy_gettext("%(who)s looked at what is hidden:"),
    "supersede": lazy_gettext("It was not sent, because a newer event of the same number took its place."),
    "refresh": lazy_gettext("Its payload was rebuilt before it was sent again."),
}


def will_retry(number: int) -> str:
    """What stands beside the number of events that are tried again by themselves."""
    return ngettext("will retry by itself", "will retry by themselves", number)


@lru_cache(maxsize=256)
def look(locale: str, state: str) -> Look:
    """The look of a status or of `WAITING`. `locale` is that of the request and serves as part of the cache's key."""
    return _look(_LOOKS, state)


@lru_cache(maxsize=256)
def outcome_look(locale: str, outcome: str) -> Look:
    """How an attempt ended."""
    return _look(_OUTCOMES, outcome)


def _look(looks: dict[str, tuple[str, str, LazyString]], name: str) -> Look:
    shape, tone, word = looks.get(name, ("ring", "idle", name))
    return Look(shape, tone, str(word))


@lru_cache(maxsize=256)
def reason_word(locale: str, reason: str) -> str:
    """Why an event is dead or discarded, in few words."""
    return str(_REASONS.get(reason, reason))


@lru_cache(maxsize=1024)
def distance(locale: str, number: int, unit: str, *, ahead: bool) -> str:
    """How far away a moment is: "3 min ago", "in 2 h"."""
    if number == 0:
        return gettext("now")
    span = f"{number} {unit}"
    return gettext("in %(span)s", span=span) if ahead else gettext("%(span)s ago", span=span)


def last(seconds: int) -> str:
    """A stretch of time up to now, in the largest unit that fits: "last hour", "last 90 minutes"."""
    for size, sentence in ((86_400, _days), (3_600, _hours), (60, _minutes)):
        if seconds >= size and seconds % size == 0:
            return sentence(seconds // size)
    return ngettext("last second", "last %(num)d seconds", seconds)


def _days(number: int) -> str:
    return ngettext("last day", "last %(num)d days", number)


def _hours(number: int) -> str:
    return ngettext("last hour", "last %(num)d hours", number)


def _minutes(number: int) -> str:
    return ngettext("last minute", "last %(num)d minutes", number)


def act_sentence(action: str, actor: str) -> str:
    """Who did what, as a sentence."""
    sentence = _ACTS.get(action)
    if sentence is None:
        return gettext("%(who)s: %(action)s.", who=actor, action=action)
    return str(sentence) % {"who": actor}


def wait_word(cause: str) -> str:
    """What a due event waits for."""
    return str(_WAITS.get(cause, cause))


def cause_word(cause: str) -> str:
    """What keeps a door closed, in few words."""
    return str(_CAUSES.get(cause, cause))


def class_word(verdict: str | None) -> str:
    """What a failure was taken for, in few words; a dash where nobody said."""
    return str(_CLASSES.get(verdict, verdict)) if verdict else "–"


def role_word(role: str) -> str:
    """What somebody may do here, in one word."""
    return str(_ROLES.get(role, role))
