"""How is written down who makes a call, that it is still being made, and how it ended?

An end that cannot be said while the state is away is said in the background. Where the state came back empty, what a
holder says is written anew: the effect was made, and nobody else has said anything about it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.resilience.calls import owner
from dlq_console.resilience.forks import forget_in_child
from dlq_console.resilience.idempotency import rules, undecided
from dlq_console.resilience.idempotency.rules import CLAIMS, Answer, Begin, Claim, InDoubt, Kept, Status
from dlq_console.resilience.idempotency.undecided import OPEN_CALLS, OpenCall
from dlq_console.resilience.leases import new_token
from dlq_console.resilience.link import link_to
from dlq_console.resilience.state import Change, SharedState

logger = logging.getLogger(__name__)

Saying = Callable[[Claim | None, float], Change[Claim, Kept]]


@dataclass(frozen=True, slots=True)
class Holder:
    """Who asks to make a call.

    Attributes:
        key: of the call.
        fingerprint: of its whole input.
        token: of the holder, the same for its own retries.
        about: by what people know the call.
        attempt: the name of this one; a retry of the same holder has another one.
    """

    key: str
    fingerprint: str
    token: str
    about: str = ""
    attempt: str = field(default_factory=new_token, compare=False)


class Claims:
    """The claims of one node in a shared state, and what this process still has to say about its own."""

    def __init__(self, node: str, state: SharedState, *, ttl: float, lease: float) -> None:
        self._node = node
        self._state = state
        self._link = link_to(state)
        self._ttl = ttl
        self._lease = lease
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        """Have nothing to say about any call, as in a forked child: the calls of its parent are not its own."""
        self._lock = threading.Lock()
        #: Held while something is said late, so that it is never said of the holder's next attempt.
        self._saying = threading.Lock()
        self._running: dict[Holder, float] = {}
        self._unsaid: dict[Holder, Saying] = {}

    def record(self, key: str) -> str:
        """The name of the record of a call."""
        return undecided.record_of(self._node, key)

    def look(self, key: str) -> Claim | None:
        """What is known of a call.

        Raises:
            StoreUnavailable: the state is away, or what stands there cannot be read.
        """
        return undecided.read_claim(self._state, self.record(key))[0]

    def begin(self, holder: Holder) -> Answer:
        """Ask to make a call. It is in the list of open ones before this says `Begin`.

        Raises:
            StoreUnavailable: the state is away, or what stands there cannot be read; nothing may be sent.
        """
        self._say_first(holder)
        change = partial(
            rules.begin,
            token=holder.token,
            fingerprint=holder.fingerprint,
            lease=self._lease,
            by=owner(),
            attempt=holder.attempt,
        )
        try:
            answer = self._state.change(CLAIMS, self.record(holder.key), change)
        except ValueError as error:
            raise undecided.damaged(self.record(holder.key)) from error
        match answer:
            case Begin():
                self._begun(holder)
            case InDoubt():
                self._list_doubt(holder)
        return answer

    def end(
        self,
        holder: Holder,
        status: Literal[Status.DONE, Status.FAILED, Status.UNKNOWN],
        *,
        result: str | None = None,
        error: str = "",
    ) -> bool:
        """Say how a call ended; False when somebody else has decided about it or holds it by now.

        True also when it will be said in the background, because the state is away now.
        """
        change = partial(
            rules.end,
            token=holder.token,
            fingerprint=holder.fingerprint,
            by=owner(),
            status=status,
            ttl=self._ttl,
            result=result,
            error=error,
            attempt=holder.attempt,
        )
        try:
            kept = self._state.change(CLAIMS, self.record(holder.key), change)
        except StoreUnavailable as away:
            logger.warning('"%s" has ended, but that cannot be kept yet: %s', self.record(holder.key), away)
            with self._lock:
                self._unsaid[holder] = change
            self._link.keep(self)
            return True
        except ValueError:
            logger.exception('"%s" has ended, but what stands about it is damaged.', self.record(holder.key))
            return False
        finally:
            with self._lock:
                self._running.pop(holder, None)
        self._list(holder, kept)
        return kept.status is not None

    def decide(
        self, key: str, *, applied: bool, actor: str, result: str | None, doubt: str | None = None
    ) -> bool:
        """Say whether a call of unknown outcome had its effect; see `undecided.decide`."""
        return undecided.decide(
            self._state,
            self.record(key),
            applied=applied,
            actor=actor,
            result=result,
            ttl=self._ttl,
            doubt=doubt,
        )

    def tick(self) -> bool:
        """Show signs of life of the calls under way, and say what could not be said; in the background."""
        with self._lock:
            late = [held for held, at in self._running.items() if monotonic() - at > self._lease / 3]
            unsaid = list(self._unsaid)
        if not all(self._say_late(holder) for holder in unsaid):
            return True
        if not all(self._renew(holder) for holder in late):
            return True
        with self._lock:
            return bool(self._running or self._unsaid)

    # Begin

    def _say_first(self, holder: Holder) -> None:
        """What could not be said of the holder's attempt before is said before the next one, never during it."""
        with self._lock:
            waits = holder in self._unsaid
        if not waits:
            return
        with self._saying:
            with self._lock:
                change = self._unsaid.get(holder)
            if change is not None:
                self._state.change(CLAIMS, self.record(holder.key), change)
                with self._lock:
                    self._unsaid.pop(holder, None)

    def _begun(self, holder: Holder) -> None:
        try:
            self._put(holder)
        except StoreUnavailable:
            self.end(holder, Status.FAILED, error="not listed, not begun")
            raise
        with self._lock:
            self._running[holder] = monotonic()
        self._link.keep(self)

    def _list_doubt(self, holder: Holder) -> None:
        """Whoever meets a doubt sees to it that people are shown it."""
        try:
            claim = self.look(holder.key)
            if claim is not None and claim.status is Status.UNKNOWN:
                self._put(Holder(holder.key, claim.fingerprint, claim.lease.token, holder.about))
        except StoreUnavailable as away:
            logger.info('"%s" is not listed as undecided yet: %s', self.record(holder.key), away)

    def _put(self, holder: Holder) -> None:
        about = undecided.in_short(holder.about)
        call = OpenCall(self._node, holder.key, about, holder.token, self._ttl)
        self._state.change(OPEN_CALLS, call.record, partial(undecided.put, call=call))

    # What was said

    def _list(self, holder: Holder, kept: Kept) -> None:
        """Bring the list of open calls to what was kept; what it lacks is put right by whoever meets the doubt."""
        record = self.record(holder.key)
        if kept.anew:
            logger.warning('The claim of "%s" was gone from the shared state; it was written anew.', record)
        try:
            if kept.status in (Status.DONE, Status.FAILED):
                self._state.change(OPEN_CALLS, record, partial(undecided.take_away, token=holder.token))
            elif kept.anew:
                self._put(holder)
        except StoreUnavailable:
            logger.info('"%s" stands in the list of open calls as before: the state is away.', record)

    def _say_late(self, holder: Holder) -> bool:
        """Say what could not be said of a call; False when the state is still away."""
        with self._saying:
            with self._lock:
                change = self._unsaid.get(holder)
            if change is None:
                return True
            kept = self._told(holder, change)
            if kept is None:
                return False
            with self._lock:
                self._unsaid.pop(holder, None)
        if kept.status is None:
            logger.warning(
                '"%s" has ended, but somebody else had decided about it before that could be kept.',
                self.record(holder.key),
            )
        self._list(holder, kept)
        return True

    def _renew(self, holder: Holder) -> bool:
        """A sign of life; False when the state is away."""
        change = partial(
            rules.renew,
            token=holder.token,
            fingerprint=holder.fingerprint,
            lease=self._lease,
            by=owner(),
            attempt=holder.attempt,
        )
        with self._saying:
            with self._lock:
                if holder not in self._running:
                    return True
            kept = self._told(holder, change)
            if kept is None:
                return False
            with self._lock:
                if holder in self._running:
                    self._running[holder] = monotonic()
        if kept.anew:
            self._list(holder, kept)
        return True

    def _told(self, holder: Holder, change: Saying) -> Kept | None:
        """What became of a change; None when the state is away."""
        answers: list[Kept] = []

        def noting(claim: Claim | None, now: float) -> Change[Claim, Kept]:
            outcome = change(claim, now)
            answers.append(outcome.answer)
            return outcome

        done = self._link.done_unless_away(CLAIMS, self.record(holder.key), noting)
        return answers[-1] if done else None
