"""Was this call made before, and how did it end? Pure functions over the record of one call.

    absent    nobody has made it: whoever asks first holds it
    running   its holder makes it now and shows signs of life
    done      it was made; its result is given to whoever asks again
    failed    it was made and had no effect: it may be made again
    unknown   its holder died, or cannot tell whether there was an effect: only a person or a verifier may decide

A result is kept only for the holder's token, so that a process that was given up cannot overwrite what came later.
Where the record itself is gone, as after a state was emptied, what a holder says is written anew: its effect is there.

What somebody found out at the other side is true of the attempt he asked about: said of a later one, it could have the
effect made twice. So each attempt has a name of its own, and a decision may say which doubt it is about.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Literal

from dlq_console.resilience.leases import Lease
from dlq_console.resilience.state import Change, Kind, unchanged

#: A call that is under way, or whose outcome nobody knows, is never forgotten by itself (seconds).
FOR_EVER = 10 * 365 * 86_400.0
#: What is said of a call whose holder has shown no sign of life for too long.
PROCESS_DIED = "its process died"


class Status(StrEnum):
    """Where a call stands; see above."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Claim:
    """What is written down about one call.

    Attributes:
        status: where it stands.
        lease: of its holder.
        fingerprint: of its whole input.
        result: as JSON; None while there is none, or where it could not be kept.
        error: class of the error that ended it badly.
        by: the process that holds it, or the person who decided.
        at: of the last change, in the state's seconds.
        attempt: the one that was made last; a holder that makes another one of its own gives it another name.
    """

    status: Status
    lease: Lease
    fingerprint: str
    result: str | None = None
    error: str = ""
    by: str = ""
    at: float = 0.0
    attempt: str = ""

    @property
    def doubt(self) -> str:
        """By what a doubt about this attempt is told from one about another."""
        return self.attempt or self.lease.token


@dataclass(frozen=True, slots=True)
class Begin:
    """The call is to be made now, by whoever asked."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """The call was made; `result` is what it gave, as JSON (None: it could not be kept)."""

    result: str | None


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Somebody else makes the call now, for at most so many seconds unless it shows more signs of life."""

    seconds: float


@dataclass(frozen=True, slots=True)
class OtherInput:
    """The same key came with another input."""


@dataclass(frozen=True, slots=True)
class InDoubt:
    """Nobody knows whether the call had an effect; `doubt` tells this doubt from a later one about the same call."""

    error: str
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of something that a holder said.

    Attributes:
        status: where the call stands by it; None where somebody else has decided about it or holds it by now.
        anew: whether the record was gone and is written anew.
    """

    status: Status | None
    anew: bool = False


Answer = Begin | Repeat | Elsewhere | OtherInput | InDoubt


def begin(
    claim: Claim | None,
    now: float,
    *,
    token: str,
    fingerprint: str,
    lease: float,
    by: str,
    attempt: str = "",
) -> Change[Claim, Answer]:
    """Ask to make the call; its holder may ask again, for a retry of its own, but not after it left a doubt."""
    mine = _running(now, token, fingerprint, lease, by, attempt)
    if claim is None or claim.status is Status.FAILED:
        return Change(Begin(), mine, FOR_EVER)
    if claim.fingerprint != fingerprint:
        return unchanged(OtherInput())
    if claim.status is Status.DONE:
        return unchanged(Repeat(claim.result))
    if claim.status is Status.RUNNING and claim.lease.token == token:
        return Change(Begin(), mine, FOR_EVER)
    if claim.status is Status.RUNNING and claim.lease.expires > now:
        return unchanged(Elsewhere(min(claim.lease.expires - now, claim.lease.length)))
    doubted = replace(claim, status=Status.UNKNOWN, error=claim.error or PROCESS_DIED)
    return Change(InDoubt(doubted.error, doubted.doubt), doubted, FOR_EVER)


def _running(now: float, token: str, fingerprint: str, lease: float, by: str, attempt: str) -> Claim:
    holding = Lease(token, now + lease, lease)
    return Claim(Status.RUNNING, holding, fingerprint, by=by, at=now, attempt=attempt)


def end(
    claim: Claim | None,
    now: float,
    *,
    token: str,
    status: Literal[Status.DONE, Status.FAILED, Status.UNKNOWN],
    fingerprint: str,
    by: str,
    ttl: float,
    result: str | None = None,
    error: str = "",
    attempt: str = "",
) -> Change[Claim, Kept]:
    """Say how the call ended; a failure after an attempt that left a doubt does not end the doubt."""
    if claim is None:
        return _ended(
            Claim(status, Lease(token, now, 0.0), fingerprint, result, error, by, now, attempt),
            ttl,
            anew=True,
        )
    if claim.lease.token != token or claim.status in (Status.DONE, Status.FAILED):
        return unchanged(Kept(None))
    if status is Status.FAILED and claim.error:
        status, error = Status.UNKNOWN, claim.error
    return _ended(replace(claim, status=status, result=result, error=error, at=now), ttl)


def _ended(claim: Claim, ttl: float, *, anew: bool = False) -> Change[Claim, Kept]:
    return Change(Kept(claim.status, anew), claim, FOR_EVER if claim.status is Status.UNKNOWN else ttl)


def renew(
    claim: Claim | None,
    now: float,
    *,
    token: str,
    fingerprint: str,
    lease: float,
    by: str,
    attempt: str = "",
) -> Change[Claim, Kept]:
    """A sign of life of the holder."""
    if claim is None:
        held = _running(now, token, fingerprint, lease, by, attempt)
        return Change(Kept(Status.RUNNING, anew=True), held, FOR_EVER)
    if claim.status is not Status.RUNNING or claim.lease.token != token:
        return unchanged(Kept(None))
    renewed = replace(claim, lease=replace(claim.lease, expires=now + claim.lease.length))
    return Change(Kept(Status.RUNNING), renewed, FOR_EVER)


def in_doubt(claim: Claim, now: float) -> bool:
    """Whether somebody must decide: its holder cannot tell how it ended, or has shown no sign of life for too long."""
    return claim.status is Status.UNKNOWN or (claim.status is Status.RUNNING and claim.lease.expires <= now)


def decide(
    claim: Claim | None,
    now: float,
    *,
    applied: bool,
    result: str | None,
    ttl: float,
    by: str,
    doubt: str | None = None,
) -> Change[Claim, bool]:
    """A person or a verifier says whether there was an effect; False when there is nothing to decide.

    With `doubt`, only that one is decided, and no later one about the same call.
    """
    if claim is None or not in_doubt(claim, now) or doubt not in (None, claim.doubt):
        return unchanged(False)
    # The token goes with the doubt: the former holder has nothing to say any more.
    nobody = replace(claim.lease, token="")
    status = Status.DONE if applied else Status.FAILED
    return Change(True, replace(claim, status=status, lease=nobody, result=result, by=by, at=now), ttl)


def encode(claim: Claim) -> str:
    """The record as JSON."""
    return json.dumps(asdict(claim), separators=(",", ":"))


def decode(text: str) -> Claim | None:
    """The inverse of `encode`.

    Raises:
        ValueError: the text is damaged; to call that "absent" would let the call be made twice.
    """
    try:
        values = json.loads(text)
        return Claim(**{**values, "status": Status(values["status"]), "lease": Lease(**values["lease"])})
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError("the record of a call is damaged") from error


CLAIMS = Kind("claim", encode, decode, listed=False, remembered=False)
