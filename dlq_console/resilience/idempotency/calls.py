"""How is a call made once, however often its caller is run again? By a claim before it and a result after it.

The claim stands in the shared state before anything is sent. Where that state cannot be reached nothing is sent: to
make a call without a claim is the one unsafe choice, so this layer has no local fall-back.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Literal

from dlq_console.clock import monotonic
from dlq_console.errors import (
    ConfigurationError,
    DLQError,
    IdempotencyConflict,
    LeaseLost,
    OutcomeUnknown,
    PayloadRefused,
    StoreUnavailable,
)
from dlq_console.resilience import checks
from dlq_console.resilience.calls import Replay, is_interrupt, is_local, off_the_loop, owner, to_the_end
from dlq_console.resilience.errors import BudgetExceededError, BulkheadTimeoutError, StillRunningError
from dlq_console.resilience.idempotency import rules
from dlq_console.resilience.idempotency.rules import (
    CLAIMS,
    Answer,
    Begin,
    Claim,
    Elsewhere,
    InDoubt,
    Repeat,
    Status,
)
from dlq_console.resilience.leases import new_token
from dlq_console.resilience.link import link_to
from dlq_console.resilience.state import SharedState

logger = logging.getLogger(__name__)

#: A claim whose process shows no sign of life for so long is given up, in seconds.
LEASE = 35.0
#: A result is kept for a day, in seconds.
TTL = 86_400.0
#: The longest result that is kept, in characters of JSON.
LARGEST_RESULT = 256_000

#: After these the service may have done what it was asked.
_UNKNOWN = (OutcomeUnknown, TimeoutError, ConnectionResetError, ConnectionAbortedError, BrokenPipeError)
#: The same of common clients, known by name so that none of them is needed.
_UNKNOWN_NAMES = frozenset(
    {
        "ReadTimeout", "WriteTimeout", "ReadError", "WriteError", "RemoteProtocolError", "ChunkedEncodingError",
        "ServerDisconnectedError", "ServerTimeoutError",
    }
)  # fmt: skip

#: What a verifier answers: whether the service holds the effect; a dict is the result of a call that has it.
Verdict = Literal["applied", "not_applied", "unknown"] | dict[str, Any]


def leaves_doubt(error: BaseException) -> bool:
    """Whether a call that ended with this error may have had its effect."""
    if is_interrupt(error) or isinstance(error, (BulkheadTimeoutError, *_UNKNOWN)):
        return True
    if isinstance(error, BudgetExceededError):
        return error.during_call
    return not isinstance(error, DLQError) and any(
        cls.__name__ in _UNKNOWN_NAMES for cls in type(error).__mro__
    )


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
        checks.number(ttl, "ttl", above=0)
        if lease is not None:
            checks.number(lease, "lease", at_least=1)
        self._state = state
        self._link = link_to(state)
        self._ttl = ttl
        self._lease = LEASE if lease is None else lease
        self._lock = threading.Lock()
        self._running: dict[tuple[str, str], float] = {}
        self._unsaid: dict[tuple[str, str], Callable[[Claim | None, float], Any]] = {}

    def run(
        self,
        key: str,
        fingerprint: str,
        call: Callable[[], Any],
        *,
        token: str | None = None,
        verify: Callable[[], Verdict] | None = None,
    ) -> Any:
        """Make the call unless it was made; a `Replay` holds the result of an earlier one.

        Args:
            key: of the call; the same for all its repetitions.
            fingerprint: of its whole input; the same key with another one is refused.
            call: makes it.
            token: of a holder that retries its own call.
            verify: decides where the outcome is unknown.

        Raises:
            StillRunningError: another process makes it now.
            IdempotencyConflict: the same key came with another input before.
            OutcomeUnknown: it may have been made; a person must decide (see `decide`).
            StoreUnavailable: the state is away; it was not made.
            LeaseLost: somebody else decided about it while it was made.
        """
        token = token or new_token()
        answer = self._begin(key, fingerprint, token)
        if isinstance(answer, InDoubt) and verify is not None:
            answer = self._verified(key, fingerprint, token, verify())
        if not isinstance(answer, Begin):
            return self._refused(answer, key)
        try:
            result = call()
        except BaseException as error:
            self._failed(key, token, error)
            raise
        self._succeeded(key, token, result)
        return result

    async def arun(
        self,
        key: str,
        fingerprint: str,
        call: Callable[[], Awaitable[Any]],
        *,
        token: str | None = None,
        verify: Callable[[], Awaitable[Verdict]] | None = None,
    ) -> Any:
        """As `run`, for async code."""
        token = token or new_token()
        begin = partial(self._begin, key, fingerprint, token)
        answer = await off_the_loop(self._state, begin, undo=lambda _: self._not_begun(key, token))
        if isinstance(answer, InDoubt) and verify is not None:
            verdict = await verify()
            answer = await off_the_loop(
                self._state,
                partial(self._verified, key, fingerprint, token, verdict),
                undo=lambda _: self._not_begun(key, token),
            )
        if not isinstance(answer, Begin):
            return self._refused(answer, key)
        try:
            result = await call()
        except BaseException as error:
            await to_the_end(self._state, partial(self._failed, key, token, error))
            raise
        await to_the_end(self._state, partial(self._succeeded, key, token, result))
        return result

    def look(self, key: str) -> Claim | None:
        """What is known of a call."""
        return self._state.read(CLAIMS, self._record(key)).record

    def decide(self, key: str, *, applied: bool, actor: str, result: Any = None) -> bool:
        """Say whether a call of unknown outcome had its effect; False when there was nothing to decide."""
        change = partial(rules.decide, applied=applied, result=_kept(result), ttl=self._ttl, by=actor)
        return self._state.change(CLAIMS, self._record(key), change)

    def tick(self) -> bool:
        """Show signs of life of the calls under way, and say what could not be said; in the background."""
        with self._lock:
            late = [held for held, at in self._running.items() if monotonic() - at > self._lease / 3]
            unsaid = dict(self._unsaid)
        for (key, token), change in unsaid.items():
            if not self._link.done_unless_away(CLAIMS, self._record(key), change):
                return True
            with self._lock:
                self._unsaid.pop((key, token), None)
        for key, token in late:
            renew = partial(rules.renew, token=token)
            if not self._link.done_unless_away(CLAIMS, self._record(key), renew):
                return True
            with self._lock:
                if (key, token) in self._running:
                    self._running[key, token] = monotonic()
        return bool(self._running or self._unsaid)

    # Begin

    def _record(self, key: str) -> str:
        return f"{self.name} {key}"

    def _begin(self, key: str, fingerprint: str, token: str) -> Answer:
        change = partial(rules.begin, token=token, fingerprint=fingerprint, lease=self._lease, by=owner())
        try:
            answer = self._state.change(CLAIMS, self._record(key), change)
        except ValueError as error:
            raise StoreUnavailable(f'What is known of the call "{self._record(key)}" is damaged.') from error
        if isinstance(answer, Begin):
            with self._lock:
                self._running[key, token] = monotonic()
            self._link.keep(self)
        return answer

    def _verified(self, key: str, fingerprint: str, token: str, verdict: Verdict) -> Answer:
        """Decide by what the service itself says."""
        if verdict == "unknown":
            return InDoubt("the service cannot tell")
        if verdict != "not_applied" and verdict != "applied" and not isinstance(verdict, dict):
            raise ConfigurationError(
                f'The verifier of "{self.name}" gave {verdict!r}; it gives "applied", "not_applied", "unknown" or a dict.'
            )
        result = verdict if isinstance(verdict, dict) else None
        self.decide(key, applied=verdict != "not_applied", actor="verifier", result=result)
        return self._begin(key, fingerprint, token)

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
                raise OutcomeUnknown(
                    f'Nobody knows whether "{self.name}" was done ({error}). Look at the other side, then say so'
                    f" with decide({key!r}, applied=...)."
                )
        raise IdempotencyConflict(f'"{self.name}" was begun before under the same key with another input.')

    # End

    def _not_begun(self, key: str, token: str) -> None:
        """The task was cancelled while it claimed the call: nothing was sent."""
        self._end(key, token, Status.FAILED, error="cancelled before it began")

    def _failed(self, key: str, token: str, error: BaseException) -> None:
        doubt = leaves_doubt(error) and not is_local(error)
        self._end(key, token, Status.UNKNOWN if doubt else Status.FAILED, error=type(error).__name__)

    def _succeeded(self, key: str, token: str, result: Any) -> None:
        if not self._end(key, token, Status.DONE, result=_kept(result)):
            raise LeaseLost(
                f'"{self.name}" was done, but somebody else had decided about it meanwhile; it may be done twice.'
            )

    def _end(
        self,
        key: str,
        token: str,
        status: Literal[Status.DONE, Status.FAILED, Status.UNKNOWN],
        *,
        result: str | None = None,
        error: str = "",
    ) -> bool:
        """Say how the call ended; said in the background when the state is away now."""
        change = partial(rules.end, token=token, status=status, ttl=self._ttl, result=result, error=error)
        try:
            return self._state.change(CLAIMS, self._record(key), change)
        except StoreUnavailable as away:
            logger.warning('"%s" has ended, but that cannot be kept yet: %s', self._record(key), away)
            with self._lock:
                self._unsaid[key, token] = change
            self._link.keep(self)
            return True
        finally:
            with self._lock:
                self._running.pop((key, token), None)


def _kept(result: Any) -> str | None:
    """The result as JSON; None when it is none or too long, because its effect has happened all the same."""
    try:
        text = json.dumps(result, allow_nan=False)
    except (TypeError, ValueError):
        return None
    return text if len(text) <= LARGEST_RESULT else None
