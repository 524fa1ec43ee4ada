"""Which calls wait for somebody to say whether they had their effect, and how is that said?

Claims are many and short-lived and are found by name only. So each call that is open, which is under way or in doubt,
stands in a short list beside them, from before anything is sent until it has ended. The list only says where to look;
what counts is the claim.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from dlq_console.errors import StoreUnavailable
from dlq_console.redact import redact_text
from dlq_console.resilience.idempotency import rules
from dlq_console.resilience.idempotency.rules import CLAIMS, FOR_EVER, Claim
from dlq_console.resilience.state import Change, Kind, SharedState, unchanged

#: The longest result that is kept, in characters of JSON.
LARGEST_RESULT = 256_000
#: Characters of the words by which people know a call.
LONGEST_ABOUT = 120


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that may have to be decided about.

    Attributes:
        node: the name under which its effect happens once.
        key: of the call.
        about: by what people know it, such as `order=8841`; redacted.
        token: of its holder.
        ttl: how long its result is kept, in seconds.
    """

    node: str
    key: str
    about: str
    token: str
    ttl: float

    @property
    def record(self) -> str:
        """The name of its record, and of its claim."""
        return record_of(self.node, self.key)


@dataclass(frozen=True, slots=True)
class Undecided:
    """A call of unknown outcome.

    Attributes:
        call: which one.
        error: class of the error that left the doubt, or what became of its process.
        by: the process that made it.
        since: when it was begun or, where its process could still tell, ended; seconds since 1970.
        doubt: tells it from a later doubt about the same call.
    """

    call: OpenCall
    error: str
    by: str
    since: float
    doubt: str


def record_of(node: str, key: str) -> str:
    """The name of the record of a call."""
    return f"{node} {key}"


def in_short(about: str) -> str:
    """What a call is about, fit to be kept."""
    shown = redact_text(" ".join(about.split()))
    return shown if len(shown) <= LONGEST_ABOUT else f"{shown[: LONGEST_ABOUT - 1]}…"


def kept_result(result: Any) -> str | None:
    """A result as JSON; None when it is none or too long to be kept."""
    try:
        text = json.dumps(result, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None
    return text if len(text) <= LARGEST_RESULT else None


# The list


def put(_stands: OpenCall | None, _now: float, *, call: OpenCall) -> Change[OpenCall, None]:
    """A call is open."""
    return Change(None, call, FOR_EVER)


def take_away(stands: OpenCall | None, _now: float, *, token: str) -> Change[OpenCall, None]:
    """A holder's call has ended, or was decided about; the next holder's stays."""
    return Change(None, None) if stands is not None and stands.token == token else unchanged(None)


def _encode(call: OpenCall) -> str:
    return json.dumps(asdict(call), separators=(",", ":"))


def _decode(text: str) -> OpenCall | None:
    try:
        return OpenCall(**json.loads(text))
    except (TypeError, ValueError):
        return None


OPEN_CALLS = Kind("opencall", _encode, _decode, remembered=False)


# Looking and deciding


def undecided(state: SharedState) -> list[Undecided]:
    """The calls of unknown outcome, the oldest first.

    Raises:
        StoreUnavailable: the state cannot be reached.
    """
    calls, _ = state.read_all(OPEN_CALLS)
    found = (_doubt(state, call) for call in calls.values())
    return sorted((each for each in found if each is not None), key=lambda each: each.since)


def _doubt(state: SharedState, call: OpenCall) -> Undecided | None:
    reading = read_claim(state, call.record)
    claim, now = reading
    if claim is None or not rules.in_doubt(claim, now):
        return None
    return Undecided(call, claim.error or rules.PROCESS_DIED, claim.by, claim.at, claim.doubt)


def read_claim(state: SharedState, record: str) -> tuple[Claim | None, float]:
    """What is known of a call, and the state's time.

    Raises:
        StoreUnavailable: the state cannot be reached, or what stands there cannot be read.
    """
    try:
        reading = state.read(CLAIMS, record)
    except ValueError as error:
        raise damaged(record) from error
    return reading.record, reading.now


def damaged(record: str) -> StoreUnavailable:
    """The error for a claim that cannot be read: to call it absent would let the call be made twice."""
    return StoreUnavailable(f'What is known of the call "{record}" is damaged.')


def decide(
    state: SharedState,
    record: str,
    *,
    applied: bool,
    actor: str,
    result: str | None,
    ttl: float,
    doubt: str | None = None,
) -> bool:
    """Say whether a call of unknown outcome had its effect; False when there was nothing to decide.

    Args:
        state: where its claim stands.
        record: the name of its record.
        applied: whether the effect is there.
        actor: who says so.
        result: as JSON; what is given to whoever makes the call again, where it was applied.
        ttl: how long that is kept, in seconds.
        doubt: the one that is decided; None: the one that stands.

    Raises:
        StoreUnavailable: the state cannot be reached, or what stands there cannot be read.
    """
    claim, _ = read_claim(state, record)
    if claim is None or doubt not in (None, claim.doubt):
        return False
    # Compared once more when it is kept: the doubt may be decided meanwhile, and the call leave another one.
    change = partial(rules.decide, applied=applied, result=result, ttl=ttl, by=actor, doubt=claim.doubt)
    if not state.change(CLAIMS, record, change):
        return False
    state.change(OPEN_CALLS, record, partial(take_away, token=claim.lease.token))
    return True
