"""What does a caller hold between being let through and knowing what came of it?"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dlq_console.clock import monotonic
from dlq_console.resilience.breaker.window import GOOD, Evidence
from dlq_console.resilience.calls import to_the_end

if TYPE_CHECKING:
    from dlq_console.resilience.breaker.breaker import CircuitBreaker


class Admission:
    """Leave to make one call, and the duty to say what came of it.

    Each attempt of a retry is reported. After the result of a probe, or `given_back`, nothing that comes later counts.

    Attributes:
        epoch: of the link when it was given.
        generation: of the circuit when it was given.
        token: holds the permit of a probe; empty for an ordinary call.
    """

    __slots__ = ("_began", "_breaker", "_over", "epoch", "generation", "token")

    def __init__(self, breaker: CircuitBreaker, epoch: int, generation: int, token: str) -> None:
        self._breaker = breaker
        self.epoch = epoch
        self.generation = generation
        self.token = token
        self._over = False
        self._began = monotonic()

    @property
    def probe(self) -> bool:
        """Whether the call decides about a half-open circuit: one attempt and no more."""
        return self.token != ""

    @property
    def stands(self) -> bool:
        """Whether the circuit is as it was when it admitted the call, so that another attempt may be made."""
        return not self._over and not self.probe and self._breaker.stands(self)

    def begin(self) -> None:
        """An attempt begins now: its duration counts, without the waits before it."""
        self._began = monotonic()

    def succeeded(self) -> None:
        """The call succeeded."""
        self._tell(self._note(GOOD))

    def failed(self, error: BaseException) -> None:
        """The call failed; what the error proves is the breaker's to judge."""
        self._tell(self._note(self._breaker.weigh(error)))

    def given_back(self) -> None:
        """Nothing was proved, and nothing that comes later counts."""
        self._tell(self._end())

    async def asucceeded(self) -> None:
        """As `succeeded`, for async code; told also when the task is being cancelled."""
        await self._atell(self._note(GOOD))

    async def afailed(self, error: BaseException) -> None:
        """As `failed`, for async code; told also when the task is being cancelled."""
        await self._atell(self._note(self._breaker.weigh(error)))

    async def agiven_back(self) -> None:
        """As `given_back`, for async code; told also when the task is being cancelled."""
        await self._atell(self._end())

    def _note(self, evidence: Evidence | None) -> Evidence | None:
        if self._over:
            return None
        self._over = self.probe
        return self._breaker.note(self, evidence, monotonic() - self._began)

    def _end(self) -> Evidence | None:
        """A permit that was not used goes back; other calls hold nothing."""
        held = self.probe and not self._over
        self._over = True
        return Evidence() if held else None

    def _tell(self, evidence: Evidence | None) -> None:
        if evidence is not None:
            self._breaker.tell(self, evidence)

    async def _atell(self, evidence: Evidence | None) -> None:
        if evidence is not None:
            await to_the_end(self._breaker.shared_state, partial(self._breaker.tell, self, evidence))
