"""How is a call made once, however often its caller is run again? By a claim before it and a result after it.

The claim stands in the shared state before anything is sent. Where that state cannot be reached nothing is sent: to
make a call without a claim is the one unsafe choice, so this layer has no local fall-back.
"""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from shlex import quote
from typing import Any

from dlq_console.errors import ConfigurationError, IdempotencyConflict, LeaseLost, PayloadRefused
from dlq_console.resilience import checks
from dlq_console.resilience.calls import (
    Replay,
    is_interrupt,
    no_awaitable,
    no_generator_made,
    off_the_loop,
    to_the_end,
)
from dlq_console.resilience.errors import StillRunningError, UndecidedError, VerifierFailedError
from dlq_console.resilience.idempotency.claims import Claims, Holder
from dlq_console.resilience.idempotency.doubt import leaves_doubt
from dlq_console.resilience.idempotency.rules import (
    Answer,
    Begin,
    Claim,
    Elsewhere,
    InDoubt,
    Repeat,
    Status,
)
from dlq_console.resilience.idempotency.undecided import kept_result
from dlq_console.resilience.idempotency.verifying import Verdict
from dlq_console.resilience.leases import new_token
from dlq_console.resilience.state import SharedState

logger = logging.getLogger(__name__)

#: A claim whose process shows no sign of life for so long is given up, in seconds.
LEASE = 35.0
#: A result is kept for a day, in seconds.
TTL = 86_400.0
#: A verifier is asked so many times at most about one call: each time that it left another doubt meanwhile.
_QUESTIONS = 3


class IdempotentCalls:
    """Calls of one kind, each of which has its effect once for each key.

    Args:
        name: of the kind.
        state: shared by all processes that may make the calls.
        ttl: how long a result is kept, in seconds; afterwards the same call would be made again.
        lease: how long a holder may be without a sign of life, in seconds; None for the default.

    Raises:
        ConfigurationError: an argument is not fit.
    """

    def __init__(
        self, name: str, state: SharedState, *, ttl: float = TTL, lease: float | None = None
    ) -> None:
        self.name = checks.name(name, "idempotent call")
        checks.seconds(ttl, "ttl", above=0)
        if lease is not None:
            checks.seconds(lease, "lease", at_least=1)
        self._state = state
        self._claims = Claims(name, state, ttl=ttl, lease=LEASE if lease is None else lease)

    def run(
        self,
        key: str,
        fingerprint: str,
        call: Callable[[], Any],
        *,
        token: str | None = None,
        about: str = "",
        verify: Callable[[], Verdict] | None = None,
    ) -> Any:
        """Make the call unless it was made; a `Replay` holds the result of an earlier one.

        A result is kept as JSON: a repetition is given lists for tuples and text for the keys of a dict. One that is no
        JSON, such as a set, or is longer than LARGEST_RESULT is given to the first caller alone; repetitions are
        refused, for the effect is there.

        How an error of `call` ends it, `leaves_doubt` decides: with "unknown" unless it shows that nothing was done. A
        function that knows better says so with TransientError, PermanentError or OutcomeUnknown.

        Args:
            key: of the call; the same for all its repetitions.
            fingerprint: of its whole input; the same key with another one is refused.
            call: makes it.
            token: of a holder that retries its own call; after an attempt that left a doubt it is asked first as well.
            about: by what people know it, such as `order=8841`; kept in short and redacted.
            verify: decides where the outcome is unknown.

        Raises:
            StillRunningError: another process makes it now.
            IdempotencyConflict: the same key came with another input before.
            UndecidedError: it may have been made, an `OutcomeUnknown`; a person must decide (see `decide`).
                VerifierFailedError where the verifier raised, whose error is its cause.
            StoreUnavailable: the state is away; it was not made.
            LeaseLost: somebody else decided about it while it was made.
            PayloadRefused: it was made before, but its result could not be kept.
            ConfigurationError: `call` gave an awaitable or a generator, or `verify` no verdict.
        """
        holder = Holder(key, fingerprint, token or new_token(), about)
        answer = self._begun(holder, verify)
        if not isinstance(answer, Begin):
            return self._refused(answer, key)
        try:
            result = call()
        except BaseException as error:
            self._failed(holder, error)
            raise
        self._succeeded(holder, self._finished(holder, result))
        return result

    async def arun(
        self,
        key: str,
        fingerprint: str,
        call: Callable[[], Awaitable[Any]],
        *,
        token: str | None = None,
        about: str = "",
        verify: Callable[[], Awaitable[Verdict]] | None = None,
    ) -> Any:
        """As `run`, for async code."""
        holder = Holder(key, fingerprint, token or new_token(), about)
        answer = await self._abegun(holder, verify)
        if not isinstance(answer, Begin):
            return self._refused(answer, key)
        try:
            result = no_generator_made(await call(), self.name)
        except BaseException as error:
            await to_the_end(self._state, partial(self._failed, holder, error))
            raise
        await to_the_end(self._state, partial(self._succeeded, holder, result))
        return result

    def look(self, key: str) -> Claim | None:
        """What is known of a call."""
        return self._claims.look(key)

    def decide(
        self, key: str, *, applied: bool, actor: str, result: Any = None, doubt: str | None = None
    ) -> bool:
        """Say whether a call of unknown outcome had its effect; False when there was nothing to decide.

        With `doubt`, of a claim that was looked at before, no later doubt about the same call is decided.
        """
        return self._claims.decide(key, applied=applied, actor=actor, result=kept_result(result), doubt=doubt)

    # Begin

    def _begun(self, holder: Holder, verify: Callable[[], Verdict] | None) -> Answer:
        """Ask to make the call, and the service where its outcome is unknown."""
        answer = self._claims.begin(holder)
        for _ in range(_QUESTIONS):
            if verify is None or not isinstance(answer, InDoubt):
                break
            with self._asking(holder, answer):
                verdict = verify()
            if verdict == "unknown":
                return InDoubt("the service cannot tell")
            answer = self._verified(holder, answer.doubt, verdict)
        return answer

    async def _abegun(self, holder: Holder, verify: Callable[[], Awaitable[Verdict]] | None) -> Answer:
        """As `_begun`, for async code."""
        answer = await self._undone_if_cancelled(holder, partial(self._claims.begin, holder))
        for _ in range(_QUESTIONS):
            if verify is None or not isinstance(answer, InDoubt):
                break
            with self._asking(holder, answer):
                verdict = await verify()
            if verdict == "unknown":
                return InDoubt("the service cannot tell")
            decide = partial(self._verified, holder, answer.doubt, verdict)
            answer = await self._undone_if_cancelled(holder, decide)
        return answer

    async def _undone_if_cancelled(self, holder: Holder, begin: Callable[[], Answer]) -> Answer:
        return await off_the_loop(self._state, begin, undo=lambda _: self._not_begun(holder))

    @contextmanager
    def _asking(self, holder: Holder, doubt: InDoubt) -> Iterator[None]:
        """A verifier that raises has said nothing about the call, and its error nothing about the service."""
        try:
            yield
        except ConfigurationError:
            raise
        except Exception as error:
            if is_interrupt(error):
                raise
            failed = type(error).__name__
            logger.warning('The verifier of "%s" failed with %s.', self.name, failed)
            raise VerifierFailedError(
                self._in_doubt(f"{doubt.error}, and its verifier failed with {failed}", holder.key)
            ) from error

    def _verified(self, holder: Holder, doubt: str, verdict: Verdict) -> Answer:
        """Decide by what the service itself says, unless the doubt it was asked about is no more, and begin."""
        if verdict != "not_applied" and verdict != "applied" and not isinstance(verdict, dict):
            raise ConfigurationError(
                f'The verifier of "{self.name}" gave {verdict!r}; it gives "applied", "not_applied", "unknown" or a dict.'
            )
        result = verdict if isinstance(verdict, dict) else None
        self.decide(
            holder.key, applied=verdict != "not_applied", actor="verifier", result=result, doubt=doubt
        )
        return self._claims.begin(holder)

    def _refused(self, answer: Answer, key: str) -> Replay:
        match answer:
            case Repeat(result):
                if result is None:
                    raise PayloadRefused(
                        f'"{self.name}" was done before, but its result could not be kept: it was no JSON, or too long.'
                    )
                return Replay(json.loads(result))
            case Elsewhere(seconds):
                raise StillRunningError(
                    f'"{self.name}" is being done by another process right now.',
                    name=self.name,
                    retry_after=seconds,
                )
            case InDoubt(error):
                raise UndecidedError(self._in_doubt(error, key))
        raise IdempotencyConflict(
            f'"{self.name}" was begun before under the same key with another input, or by another function; give'
            " what is not the same call a key of its own."
        )

    def _in_doubt(self, error: str, key: str) -> str:
        return (
            f'Nobody knows whether "{self.name}" was done ({error}). Look at the other side, then say so with:'
            f" dlq-console nodes decide {quote(key)} --applied (or --not-applied)."
        )

    # End

    def _not_begun(self, holder: Holder) -> None:
        """The task was cancelled while it claimed the call: nothing was sent."""
        self._claims.end(holder, Status.FAILED, error="cancelled before it began")

    def _failed(self, holder: Holder, error: BaseException) -> None:
        self._ended_badly(holder, type(error).__name__, doubt=leaves_doubt(error))

    def _finished(self, holder: Holder, result: Any) -> Any:
        """The result, unless it has yet to be awaited or read: a coroutine has not begun, anything else may have."""
        try:
            return no_awaitable(result, self.name)
        except ConfigurationError:
            self._ended_badly(holder, "it gave no result", doubt=not inspect.iscoroutine(result))
            raise

    def _ended_badly(self, holder: Holder, error: str, *, doubt: bool) -> None:
        self._claims.end(holder, Status.UNKNOWN if doubt else Status.FAILED, error=error)

    def _succeeded(self, holder: Holder, result: Any) -> None:
        kept = kept_result(result)
        if kept is None:
            logger.warning('The result of "%s" cannot be kept: it is no JSON, or too long.', self.name)
        if not self._claims.end(holder, Status.DONE, result=kept):
            raise LeaseLost(
                f'"{self.name}" was done, but somebody else had decided about it meanwhile; it may be done twice.'
            )
