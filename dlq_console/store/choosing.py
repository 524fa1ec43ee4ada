"""Which of the due events of a guarded account may start now? A pure function of its doors, limits and what runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dlq_console.resilience import pacing
from dlq_console.resilience.breaker import CircuitState
from dlq_console.store.claim_sql import LIVE
from dlq_console.store.door_acts import admitted, probe_token
from dlq_console.store.doors import RAMP, Door
from dlq_console.store.limits import NO_LIMITS, KindLimits
from dlq_console.store.scope_names import Scope, method_scope, provider_scope

#: After a closing of so many seconds a scope comes back slowly: much may have gathered behind it.
WORTH_A_RAMP = 30.0
#: A probe's permit outlives the time limit of its event by so much, in seconds.
PERMIT_GRACE = 10.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A due event, as far as it matters here."""

    id: int
    kind: str
    priority: int
    attempts: int
    total_attempts: int
    lease_epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What one account looks like while its doors are locked.

    Attributes:
        account: the account's scope.
        room: how many may start at most.
        doors: of the account, its methods and its providers, where a row says something.
        limits: of each kind.
        running: events of the account that run, by kind.
        now: the database's time in seconds since 1970.
    """

    account: Scope
    room: int
    doors: Mapping[Scope, Door]
    limits: Mapping[str, KindLimits]
    running: Mapping[str, int]
    now: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The events that may start, in order, and the doors that changed with them: (before, after)."""

    ids: tuple[int, ...]
    changed: tuple[tuple[Door, Door], ...]
    now: float


def refused_kinds(situation: Situation) -> list[str]:
    """Kinds of which nothing may start now, so that their backlog does not stand in the way of others."""
    choice = _Choice(situation, "")
    return [kind for kind in situation.limits if choice.after(_fresh(kind)) is None]


def _fresh(kind: str) -> Candidate:
    """An event of a kind against which nothing speaks by itself."""
    return Candidate(id=0, kind=kind, priority=LIVE, attempts=0, total_attempts=0, lease_epoch=0)


def choose(due: Sequence[Candidate], situation: Situation, *, by: str) -> Chosen:
    """Choose as many as there is room for, in the order given; where probes are let through, the least tried first."""
    choice = _Choice(situation, by)
    account = choice.door(situation.account)
    if account.circuit.state is not CircuitState.CLOSED:
        due = sorted(due, key=lambda one: one.attempts)
    ids: list[int] = []
    for candidate in due:
        if len(ids) >= situation.room:
            break
        if choice.let_through(candidate):
            ids.append(candidate.id)
    return Chosen(ids=tuple(ids), changed=choice.changed(), now=situation.now)


@dataclass
class _Choice:
    situation: Situation
    by: str
    doors: dict[Scope, Door] = field(default_factory=dict)
    running: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.running = Counter(self.situation.running)

    def door(self, scope: Scope) -> Door:
        return self.doors.get(scope) or self.situation.doors.get(scope) or Door(scope=scope)

    def limits(self, kind: str) -> KindLimits:
        return self.situation.limits.get(kind, NO_LIMITS)

    def let_through(self, candidate: Candidate) -> bool:
        """Whether a candidate may start; then every door has counted it."""
        after = self.after(candidate)
        if after is None:
            return False
        self.doors |= {door.scope: door for door in after}
        self.running[candidate.kind] += 1
        return True

    def after(self, candidate: Candidate) -> list[Door] | None:
        """The doors as they would be once it has started; None where it may not."""
        limits = self.limits(candidate.kind)
        if not (self._has_room(candidate.kind, limits) and self._may_fail(candidate, limits)):
            return None
        return self._through_all(candidate, limits)

    def changed(self) -> tuple[tuple[Door, Door], ...]:
        found = self.situation.doors
        pairs = ((found.get(scope) or Door(scope=scope), after) for scope, after in self.doors.items())
        changed = [(before, after) for before, after in pairs if before != after]
        return tuple(sorted(changed, key=lambda pair: (pair[1].scope.type, pair[1].scope.name)))

    def _has_room(self, kind: str, limits: KindLimits) -> bool:
        if limits.method.at_once is not None and self.running[kind] >= limits.method.at_once:
            return False
        if limits.account.at_once is not None and self.running.total() >= limits.account.at_once:
            return False
        if not self._comes_back(kind):
            return False
        if limits.writes_at_once is None or not limits.writes:
            return True
        writing = sum(count for name, count in self.running.items() if self.limits(name).writes)
        return writing < limits.writes_at_once

    def _comes_back(self, kind: str) -> bool:
        """Whether it is not too early for one more, where a provider's closing has just ended: one more each second."""
        account = self.situation.account
        for scope, running in (
            (account, self.running.total()),
            (method_scope(account.name, kind), self.running[kind]),
        ):
            most = _most_after_closing(self.door(scope), self.situation.now)
            if most is not None and running >= most:
                return False
        return True

    def _may_fail(self, candidate: Candidate, limits: KindLimits) -> bool:
        """Whether the provider would put up with it, if it and all that run already failed."""
        account, now = self.situation.account, self.situation.now
        fresh = candidate.priority == LIVE and candidate.total_attempts == 0
        method = self.door(method_scope(account.name, candidate.kind))
        left = pacing.failures_left(method.pace, limits.method, now, fresh=fresh)
        if left is not None and left <= self.running[candidate.kind]:
            return False
        left = pacing.failures_left(self.door(account).pace, limits.account, now, fresh=fresh)
        return left is None or left > self.running.total()

    def _through_all(self, candidate: Candidate, limits: KindLimits) -> list[Door] | None:
        """The doors after it has gone through every one of them; None where one refuses."""
        account = self.situation.account
        method = self._paced(method_scope(account.name, candidate.kind), limits.method)
        after = [method and self._admitted(method, candidate, limits)]
        if limits.provider is not None:
            after.append(self._paced(provider_scope(limits.provider), limits.shared))
        whole = self._paced(account, limits.account)
        # A kind with a circuit of its own proves nothing about the account's, so it is no probe of that.
        if whole is not None and not limits.own_circuit:
            whole = self._admitted(whole, candidate, limits)
        after.append(whole)
        passed = [door for door in after if door is not None]
        return passed if len(passed) == len(after) else None

    def _paced(self, scope: Scope, limits: pacing.Limits) -> Door | None:
        door, now = self.door(scope), self.situation.now
        if pacing.starts_left(door.pace, limits, now) == 0:
            return None
        pace = pacing.started(door.pace, limits, now)
        opens = pacing.opens_at(pace, limits, now)
        return replace(
            door,
            limited=door.limited or limits != pacing.UNLIMITED,
            pace=pace,
            paced_until=opens if opens > now else None,
        )

    def _admitted(self, door: Door, candidate: Candidate, limits: KindLimits) -> Door | None:
        token = probe_token(candidate.id, candidate.lease_epoch + 1)
        return admitted(
            door, self.situation.now, token=token, lease=limits.timeout + PERMIT_GRACE, by=self.by
        )


def _most_after_closing(door: Door, now: float) -> int | None:
    if door.provider_until is None or not 0 <= now - door.provider_until < RAMP:
        return None
    closed_for = door.provider_until - (door.closed_since or door.provider_until)
    return None if closed_for < WORTH_A_RAMP else 1 + int(now - door.provider_until)
