"""What does the console know of the state of an installation at a moment? Plain values that can be kept as JSON.

A step writes them down (`store/health_states.py`); pages, API, frames, alerts and metrics read the same ones, so that no
two places ever say something else and no viewer causes a look.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum


class Word(StrEnum):
    """How an account stands, from best to worst; what nobody knows is never good."""

    OK = "ok"
    DEGRADED = "degraded"
    BLOCKED = "blocked"
    DOWN = "down"
    UNKNOWN = "unknown"


class Why(StrEnum):
    """The one reason that is told, the worst of those that hold."""

    FINE = "fine"
    #: Nobody has looked for too long: the scheduler or the database is away.
    NOT_SEEN = "not_seen"
    #: Events are due and no living worker serves the account.
    NO_WORKER = "no_worker"
    #: Events are due, the door is open, and nothing has ended for minutes.
    NOTHING_COMPLETES = "nothing_completes"
    #: Its log-in was refused; a person must act.
    AUTH = "auth"
    #: Its circuit is open.
    CIRCUIT = "circuit"
    #: The provider wants to be left alone until then.
    PROVIDER = "provider"
    #: A person has paused it.
    PAUSE = "pause"
    #: A lane stands still behind a dead event.
    LANE_STOPPED = "lane_stopped"
    #: What is due waits longer than it should.
    BEHIND = "behind"
    #: Its circuit tries whether it may close.
    PROBING = "probing"
    #: More of its events die than should.
    DYING = "dying"
    #: Dead letters wait for a person.
    DEAD_LETTERS = "dead_letters"
    #: More than four fifths of its slots are in use while events wait.
    CROWDED = "crowded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """What keeps the door of an account closed, the longest cause.

    Attributes:
        cause: `provider`, `circuit`, `pause` or `auth`.
        since: None where that is not known.
        until: None where it does not end by itself.
        reason: in the words of the provider or of a person, redacted.
        by: the person, or the hub itself.
    """

    cause: str
    since: datetime | None = None
    until: datetime | None = None
    reason: str | None = None
    by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How many events of an account stood where at the last count; what is capped says so.

    Attributes:
        due: could start if its door is open.
        scheduled: will be due later: a retry, or a `run_at`.
        paused: due, but behind a closed door.
        blocked: behind an earlier one of their lanes.
        running: right now.
        dead: for a person.
        oldest_due_at: since when the first of `due` and `paused` has waited.
        stopped_lanes: lanes whose head is dead and blocks the rest.
        capped: which of these names were counted up to a cap only.
    """

    due: int = 0
    scheduled: int = 0
    paused: int = 0
    blocked: int = 0
    running: int = 0
    dead: int = 0
    oldest_due_at: datetime | None = None
    stopped_lanes: int = 0
    capped: tuple[str, ...] = ()

    @property
    def waiting(self) -> int:
        """How many are due, whatever holds them up."""
        return self.due + self.paused


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """What came and went in the last minutes, from the rollups; seconds, and events per minute.

    Attributes:
        minutes: how many whole minutes it tells of.
        arrivals: events that came, per minute.
        completions: events that ended well or died, per minute.
        done: ended well, in all these minutes.
        died: became dead letters, in all these minutes.
        lag_p50, lag_p95: between being due for the first time and the first start.
        last_done_at: when one last ended well; None: not in this time.
    """

    minutes: int = 0
    arrivals: float = 0.0
    completions: float = 0.0
    done: int = 0
    died: int = 0
    lag_p50: float | None = None
    lag_p95: float | None = None
    last_done_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """When what is due will be through.

    Attributes:
        seconds: from now; None: not at the present pace, or not known.
        bound: what limits it: `pace` (arrivals against completions), `provider` (its limit), `door` (closed until then),
            `opening` (the door opened too short ago for a pace), `nothing` (there is nothing to drain).
    """

    seconds: float | None = None
    bound: str = "nothing"


@dataclass(frozen=True, slots=True)
class Former:
    """How an account was judged last, as far as the next judgement asks: it stands so since then while the word stays.

    Attributes:
        closed: whether a door of it was closed, or no worker served what waited.
        opened_at, opened_with, left: as in `AccountHealth`.
    """

    word: Word
    since: datetime
    closed: bool = False
    opened_at: datetime | None = None
    opened_with: int | None = None
    left: tuple[tuple[Word, datetime], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountHealth:
    """One account, judged.

    Attributes:
        word: how it stands; since when it has stood so.
        why: the one reason that is told.
        figure: the number of that reason: dead letters, minutes without a completion, seconds of lag, percent of slots.
        slots: how many of its events may run at once; None where nothing is known.
        circuit: `closed`, `open`, `half_open`; forced ones by their effect.
        circuit_forced: whether a person has forced it.
        opened_at: when its doors were first seen open after one was closed, or a worker was first seen after there was none;
            None until then, or where nothing held it up.
        opened_with: how many events waited then; None where that is not known.
        left: when it last ceased to stand as each of the other words says, as far as that was seen.
    """

    account: str
    word: Word
    since: datetime
    why: Why
    figure: float | None = None
    closing: Closing | None = None
    counts: Counts = Counts()
    flow: Flow = Flow()
    drain: Drain = Drain()
    slots: int | None = None
    circuit: str = "closed"
    circuit_forced: bool = False
    opened_at: datetime | None = None
    opened_with: int | None = None
    left: tuple[tuple[Word, datetime], ...] = ()

    @property
    def needs_person(self) -> bool:
        """Whether it will not become well by itself: dead letters do not, whatever else is told."""
        return self.why in _FOR_A_PERSON or self.counts.dead > 0

    @property
    def is_closed(self) -> bool:
        """Whether a door holds up all of its work, and not that of one kind only."""
        return self.why in BY_DOOR and self.word in (Word.BLOCKED, Word.DOWN)


#: Reasons that are a door.
BY_DOOR = frozenset({Why.AUTH, Why.PAUSE, Why.PROVIDER, Why.CIRCUIT})
_FOR_A_PERSON = frozenset(
    {
        Why.NO_WORKER, Why.NOTHING_COMPLETES, Why.AUTH, Why.LANE_STOPPED, Why.DYING, Why.DEAD_LETTERS, Why.PAUSE,
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerState:
    """One worker, as it told last.

    Attributes:
        alive: whether its heartbeat is not older than it may be.
        running: how many events it runs now.
    """

    worker: str
    mode: str
    host: str
    pid: int
    version: str
    slots: int
    accounts: tuple[str, ...] | None
    state: str
    started_at: datetime
    heartbeat_at: datetime
    alive: bool
    running: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Everything, as of a moment of the database's clock.

    Attributes:
        as_of: when the states were read last; None: never.
        counted_at: when events were counted last.
        age: seconds since `as_of`, by the database's clock.
        accounts: all that have work, a door or dead letters; the worst first, see `spelling.urgency`.
        workers: all that have not been forgotten.
    """

    as_of: datetime | None = None
    counted_at: datetime | None = None
    age: float = 0.0
    accounts: tuple[AccountHealth, ...] = ()
    workers: tuple[WorkerState, ...] = ()

    @property
    def is_stale(self) -> bool:
        """Whether more has probably changed than is known."""
        return self.as_of is None or self.age > STALE_AFTER


#: For so long an account that has nothing to do any more is still told of once it has not been well.
REMEMBERED = timedelta(days=1)
#: States are read every two seconds; what is older than this, in seconds, is not shown as current.
STALE_AFTER = 10.0
