"""What does a process know of a shared state without asking, and what does it do while the state is away?

One link per state and process. It keeps what was last seen of each record that is in use, looks again in the
background, and renews leases. While the state cannot be reached it lets the same rules run on a local state, begun
with what was last seen, and says so; whether it is back is tried in the background, so that no call waits for that,
and by a write: one that is full, or that only a copy answers for, can still be read.
Nothing is asked of a state that nobody has used for a while.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dlq_console.clock import monotonic
from dlq_console.errors import StoreUnavailable
from dlq_console.resilience.background import Background, Job
from dlq_console.resilience.forks import forget_in_child
from dlq_console.resilience.leases import new_token
from dlq_console.resilience.state import (
    AS_IT_IS,
    Answer,
    Change,
    Changing,
    Contended,
    Kind,
    MemoryState,
    Record,
    SharedState,
    checked_state,
)
from dlq_console.resilience.trials import TRIALS, tried

logger = logging.getLogger(__name__)

#: What was seen longer ago is not believed, in seconds; it is only reached when the background thread is held up.
BELIEVED = 1.0
#: Records that nobody used for so long are left alone, in seconds.
IN_USE = 10.0
#: A state that was away is tried again after so many seconds; the wait doubles up to the second number.
FIRST_RETRY, LAST_RETRY = 0.5, 5.0
#: Records that are gone within so many seconds of the first one are gone for the same reason, which is told once; a
#: state that is lost again so soon after it came back is tried no more often than before.
ONE_REASON = 10.0


@dataclass(frozen=True, slots=True)
class Away:
    """A shared state that cannot be reached: since when (the host's monotonic seconds) and why."""

    since: float
    reason: str


@dataclass(slots=True)
class Seen:
    """What was last seen of a record, when (monotonic seconds), and when somebody last cared."""

    record: Any
    at: float
    used: float


#: Before any moment of the monotonic clock.
_NEVER = -1e9


def _as_it_was(record: Any) -> Any:
    return record


class Link:
    """One process's link to one shared state; take it from `link_to`."""

    def __init__(self, state: SharedState) -> None:
        self.state = state
        self.forget()
        forget_in_child(self)
        state.when_closed(self.stop)

    def forget(self) -> None:
        """Begin anew, as in a forked child."""
        self._lock = threading.Lock()
        self._seen: dict[tuple[str, str], Seen] = {}
        self._kinds: dict[str, Kind[Any]] = {}
        self._background = Background(self.state.refresh_every, self._refresh)
        self._away: Away | None = None
        self._retry_at = 0.0
        self._retry_after = FIRST_RETRY
        self._found_at = _NEVER
        self._trial = new_token()
        self._told_of_gone = _NEVER
        self._local = MemoryState(clock=self.state.now)
        #: Goes up each time the state is lost or found again: what was admitted by one is no evidence for the other.
        self.epoch = 0

    @property
    def away(self) -> Away | None:
        """Set while the state cannot be reached and local limits apply."""
        return self._away

    @property
    def is_stopping(self) -> bool:
        """Whether the state is being closed: what waits for a better moment is done now or not at all."""
        return self._background.is_stopping

    def change(
        self,
        kind: Kind[Record],
        name: str,
        change: Changing[Record, Answer],
        local_change: Changing[Record, Answer] | None = None,
        begin_local: Callable[[Record], Record | None] = _as_it_was,
    ) -> Answer:
        """Change a record; in the local state while the shared one is away.

        Args:
            kind: of the record.
            name: of the record.
            change: computes the change.
            local_change: computes it in the local state, where other limits apply there.
            begin_local: what of the record last seen still holds for this process alone.

        Raises:
            Contended: the shared state is well, but others were faster each time; nothing was changed.
        """
        if self._is_near(kind, name):
            try:
                return self.insist(kind, name, change)
            except Contended:
                raise
            except StoreUnavailable as error:
                self._lost(error)
                self._use(kind, name)
        return self._change_local(kind, name, local_change or change, begin_local)

    def insist(self, kind: Kind[Record], name: str, change: Changing[Record, Answer]) -> Answer:
        """Change a record of the shared state itself.

        Raises:
            StoreUnavailable: it is away.
            Contended: others were faster each time; nothing was changed.
        """
        if self.state.local:
            return self.state.change(kind, name, change)
        stood: Record | None = None
        kept: Record | None = None

        def noting(record: Record | None, now: float) -> Change[Record, Answer]:
            nonlocal stood, kept
            outcome = change(record, now)
            stood, kept = record, record if outcome.record is AS_IT_IS else outcome.record
            return outcome

        answer = self.state.change(kind, name, noting)
        # A full store still reads and deletes.
        if kept is not None and kept != stood:
            self._found()
        if kind.remembered:
            self._learn(kind, name, kept, monotonic())
        return answer

    def done_unless_away(self, kind: Kind[Record], name: str, change: Changing[Record, Any]) -> bool:
        """Change a record of the shared state itself; False when that must be tried again later.

        For the background: while the state is away it does not wait each time, and tells of the loss once.
        """
        if not self._may_ask():
            return False
        try:
            self.state.change(kind, name, change)
        except Contended:
            return False
        except StoreUnavailable as error:
            self._lost(error)
            return False
        self._found()
        return True

    def at_hand(self, kind: Kind[Record], name: str) -> Seen | None:
        """What is known of a record without waiting; None where the state must be asked (see `look`)."""
        if self.state.local:
            return Seen(self.state.read(kind, name).record, 0.0, 0.0)
        seen = self._seen.get((kind.name, name))
        if seen is None:
            return None
        now = monotonic()
        seen.used = now
        self._background.start()
        if self._away is not None:
            return Seen(self._last_seen(kind, name), now, now)
        return seen if now - seen.at < BELIEVED else None

    def look(self, kind: Kind[Record], name: str) -> Record | None:
        """A record as it stands; may wait. What was last seen, while the state is away."""
        if self.state.local:
            return self.state.read(kind, name).record
        if self._is_near(kind, name):
            began = monotonic()
            try:
                reading = self.state.read(kind, name)
            except StoreUnavailable as error:
                self._lost(error)
                self._use(kind, name)
            else:
                self._learn(kind, name, reading.record, began)
                return reading.record
        return self._last_seen(kind, name)

    def now(self) -> float:
        """The state's time; goes on while it is away."""
        return self.state.now()

    def keep(self, job: Job) -> None:
        """Do a job in the background until its `tick` says that nothing is left."""
        self._background.keep(job)

    def stop(self) -> None:
        """End the background work after doing it once more; the next use begins it again."""
        self._background.stop()

    def tell_of_gone(self, kind: Kind[Any], name: str) -> None:
        """Say that the state does not hold any more what it was given; once for all that is gone at the same time."""
        with self._lock:
            now = monotonic()
            told, self._told_of_gone = now - self._told_of_gone < ONE_REASON, now
        if not told:
            logger.warning(
                "The shared state has forgotten records, the %s %s among them: it was emptied, restarted without its"
                " data, or nobody changed them for a week. Their circuits are closed and their slots are free.",
                kind.name,
                name,
            )

    def _learn(self, kind: Kind[Any], name: str, record: Any, at: float) -> None:
        """Note what was seen at a moment, unless something later is known."""
        gone = False
        with self._lock:
            seen = self._seen.get((kind.name, name))
            if seen is None:
                self._kinds[kind.name] = kind
                self._seen[kind.name, name] = Seen(record, at, at)
            elif seen.at <= at:
                gone = seen.record is not None and record is None
                seen.record, seen.at = record, at
        if gone:
            self.tell_of_gone(kind, name)
        self._background.start()

    # The local state while it is away

    def _change_local(
        self,
        kind: Kind[Record],
        name: str,
        change: Changing[Record, Answer],
        begin_local: Callable[[Record], Record | None],
    ) -> Answer:
        with self._lock:
            seen = self._seen.get((kind.name, name))
            begun = begin_local(seen.record) if seen is not None and seen.record is not None else None
            if begun is not None and self._local.read(kind, name).record is None:
                self._local.change(kind, name, lambda _record, _now: Change(None, begun))
        return self._local.change(kind, name, change)

    def _last_seen(self, kind: Kind[Record], name: str) -> Record | None:
        local = self._local.read(kind, name).record
        if local is not None:
            return local
        seen = self._seen.get((kind.name, name))
        return None if seen is None else seen.record

    def _is_near(self, kind: Kind[Any], name: str) -> bool:
        """Whether a caller asks the state itself; while it is away, that is left to the background."""
        if self._away is None:
            return True
        self._use(kind, name)
        return False

    def _use(self, kind: Kind[Any], name: str) -> None:
        """Have the background look at a record, by which it finds out whether the state is back."""
        now = monotonic()
        with self._lock:
            self._kinds[kind.name] = kind
            self._seen.setdefault((kind.name, name), Seen(None, _NEVER, now)).used = now
        self._background.start()

    def _may_ask(self) -> bool:
        """Whether the background asks the state: while it is away, only after it has taken a change."""
        if self._away is None:
            return True
        if not self._is_due():
            return False
        try:
            self.state.change(TRIALS, self._trial, tried)
        except Contended:
            return True
        except StoreUnavailable as error:
            self._lost(error)
            return False
        return True

    def _is_due(self) -> bool:
        """Whether it is time to try a state that is away."""
        with self._lock:
            now = monotonic()
            if now < self._retry_at:
                return False
            self._retry_at = now + self._retry_after
            self._retry_after = min(self._retry_after * 2, LAST_RETRY)
            return True

    def _lost(self, error: StoreUnavailable) -> None:
        with self._lock:
            now = monotonic()
            first = self._away is None
            self._away = Away(now if self._away is None else self._away.since, str(error))
            if first:
                if now - self._found_at > ONE_REASON:
                    self._retry_after = FIRST_RETRY
                self._retry_at = now + self._retry_after
                self.epoch += 1
                self._local.forget()
        if first:
            logger.warning("%s Limits are kept by this process alone until it is back.", error)

    def _found(self) -> None:
        if self._away is None:
            return
        with self._lock:
            away, self._away = self._away, None
            self._found_at = monotonic()
            self.epoch += 1
        if away is not None:
            logger.info("The shared state is back after %.1f s.", monotonic() - away.since)

    # The background

    def _refresh(self) -> bool:
        """Look at every record in use again; False when none is."""
        began = monotonic()
        with self._lock:
            used = [key for key, seen in self._seen.items() if began - seen.used < IN_USE]
        if self.state.local or not used or not self._may_ask():
            return bool(used)
        for kind_name in {key[0] for key in used}:
            names = [name for kind, name in used if kind == kind_name]
            try:
                records, _ = self.state.read_all(self._kinds[kind_name], names)
            except StoreUnavailable as error:
                self._lost(error)
                break
            for name in names:
                self._learn(self._kinds[kind_name], name, records.get(name), began)
        else:
            self._found()
        return True


#: The attribute of a state that holds its link, so that both are gone together.
_ATTRIBUTE = "dlq_console_link"


class _Making:
    """Lets one thread at a time make a link."""

    def __init__(self) -> None:
        self.forget()
        forget_in_child(self)

    def forget(self) -> None:
        self.lock = threading.Lock()


_making = _Making()


def link_to(state: SharedState) -> Link:
    """The one link of this process to a state.

    Raises:
        ConfigurationError: it is no state.
    """
    checked_state(state)
    link: Link | None = getattr(state, _ATTRIBUTE, None)
    if link is not None:
        return link
    with _making.lock:
        link = getattr(state, _ATTRIBUTE, None)
        if link is None:
            link = Link(state)
            setattr(state, _ATTRIBUTE, link)
        return link
