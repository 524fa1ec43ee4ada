"""What a person may do with one event. Each is a guarded write with its audit row; the table is `store/states.py`."""

from __future__ import annotations

from datetime import datetime, timedelta

from dlq_console.clock import utc_now
from dlq_console.errors import ActionNotAllowed, EventNotFound, PayloadRefused
from dlq_console.hub.policy import DEFAULT_POLICY, ReplayPolicy
from dlq_console.hub.staleness import in_the_way, refusal
from dlq_console.redact import redact_text
from dlq_console.store import acts, lanes, prechecks, succession, taking_back
from dlq_console.store.events import Event
from dlq_console.store.keys import check_text
from dlq_console.store.states import SKIPPABLE, Action, Reason, Status, allows
from dlq_console.store.store import Store

#: Characters of a note that are kept.
NOTE_LIMIT = 2_000
#: Characters of the name of a lane.
LANE_LIMIT = 1_000
MOST_ATTEMPTS = 100
#: The longest that a reprocess may be put off, in seconds.
DAY = 86_400
LONGEST_AFTER = 30 * DAY


def reprocess(
    store: Store,
    event_id: int,
    *,
    actor: str,
    note: str | None = None,
    attempts: int | None = None,
    after: float = 0,
    at: datetime | None = None,
    max_wait: float = DEFAULT_POLICY.max_wait,
    seen_epoch: int | None = None,
    replay_policy: ReplayPolicy = DEFAULT_POLICY.replay_policy,
    even_if_newer: bool = False,
) -> int:
    """Let a dead event run again, with fresh attempts; returns its new epoch.

    Args:
        store: the store.
        event_id: which event.
        actor: who asks for it.
        note: why; kept in the audit.
        attempts: how many attempts it gets; None for what its kind's policy says.
        after: seconds from now until it may run.
        at: the moment from which on it may run, in place of `after`.
        max_wait: how long it may wait to be started, in seconds.
        seen_epoch: the epoch that the person saw; refused when the event has moved on since.
        replay_policy: of its kind.
        even_if_newer: the person knows of the newer event.

    Raises:
        EventNotFound: there is no such event.
        ActionNotAllowed: its status does not allow it, it is not as the person saw it, or a newer event stands in its
            way.
        PayloadRefused: an argument is beyond its limits.
    """
    if attempts is not None and not (type(attempts) is int and 1 <= attempts <= MOST_ATTEMPTS):
        raise PayloadRefused(f"attempts: write a whole number from 1 to {MOST_ATTEMPTS}.")
    if not _is_time_ahead(after):
        raise PayloadRefused(f"after: write a number of seconds from 0 to {LONGEST_AFTER}.")
    if at is not None and not (at.tzinfo and at <= utc_now() + timedelta(seconds=LONGEST_AFTER)):
        raise PayloadRefused(f"at: write a time with a zone, in the next {LONGEST_AFTER // DAY} days.")
    with store.write() as connection:
        epoch = acts.reprocess(
            store,
            connection,
            event_id,
            actor=clean_actor(actor),
            note=clean_note(note),
            max_attempts=attempts,
            after=after,
            at=at,
            max_wait=max_wait,
            seen_epoch=seen_epoch,
        )
        if epoch is None:
            raise refused(acts.status_of(store, connection, event_id), Action.REPROCESS)
        # Looked at last, so that it is said of a dead event only; a refusal takes the write back.
        statuses = in_the_way(replay_policy, even_if_newer=even_if_newer)
        newer = succession.newer_in(store, connection, event_id, statuses) if statuses else None
        if newer is not None:
            raise refusal(newer, replay_policy)
    return epoch


def _is_time_ahead(seconds: object) -> bool:
    return isinstance(seconds, int | float) and 0 <= seconds <= LONGEST_AFTER


def discard(
    store: Store, event_id: int, *, actor: str, note: str | None = None, seen_epoch: int | None = None
) -> None:
    """Decide that an event shall not run.

    Raises:
        EventNotFound: there is no such event.
        ActionNotAllowed: its status does not allow it, or it is not as the person saw it.
    """
    with store.write() as connection:
        epoch = acts.discard(
            store,
            connection,
            event_id,
            actor=clean_actor(actor),
            note=clean_note(note),
            seen_epoch=seen_epoch,
        )
        if epoch is None:
            raise refused(acts.status_of(store, connection, event_id), Action.DISCARD)


def cancel_send(
    store: Store, event_id: int, *, actor: str, note: str | None = None, seen_epoch: int | None = None
) -> None:
    """Take back a reprocess that has not started: the event is dead as it was, where it stood.

    Raises:
        EventNotFound: there is no such event.
        ActionNotAllowed: it has started, nobody has put it back to work, or it is not as the person saw it.
    """
    with store.write() as connection:
        epoch = taking_back.cancel_send(
            store,
            connection,
            event_id,
            actor=clean_actor(actor),
            note=clean_note(note),
            seen_epoch=seen_epoch,
        )
        if epoch is None:
            status = acts.status_of(store, connection, event_id)
            if status is None or not allows(Action.CANCEL_SEND, status):
                raise refused(status, Action.CANCEL_SEND)
            message = f"The event is {status}, but no reprocess of it waits to be sent for the first time."
            raise ActionNotAllowed(message, status=status, action=Action.CANCEL_SEND)


def restore(
    store: Store,
    event_id: int,
    *,
    actor: str,
    note: str | None = None,
    max_wait: float = DEFAULT_POLICY.max_wait,
    replay_policy: ReplayPolicy = DEFAULT_POLICY.replay_policy,
    seen_epoch: int | None = None,
) -> None:
    """Take back a discard: the event is what it was before, in its place of its lane.

    What a newer event has replaced stays so: it would undo that one, or be discarded again at once. What was edited stays
    so: its payload lives on in another event, and both would be sent.

    Raises:
        EventNotFound: there is no such event.
        ActionNotAllowed: nobody has discarded it, a later event of its lane has started since, a newer one stands in
            its way, or it is not as the person saw it.
    """
    with store.write() as connection:
        epoch = taking_back.restore(
            store,
            connection,
            event_id,
            actor=clean_actor(actor),
            note=clean_note(note),
            max_wait=max_wait,
            seen_epoch=seen_epoch,
        )
        if epoch is None:
            raise _not_restored(taking_back.discarded(store, connection, event_id), seen_epoch)
        # A dead one waits for a person anyway, who is told then.
        waits = acts.status_of(store, connection, event_id) != Status.DEAD
        statuses = in_the_way(replay_policy, even_if_newer=True) if waits else ()
        newer = succession.newer_in(store, connection, event_id, statuses) if statuses else None
        if newer is not None:
            raise refusal(newer, replay_policy, action=Action.RESTORE)


def _not_restored(
    found: taking_back.Discarded | None, seen_epoch: int | None
) -> EventNotFound | ActionNotAllowed:
    if found is None or found.status != Status.DISCARDED or seen_epoch not in (None, found.lease_epoch):
        return refused(None if found is None else found.status, Action.RESTORE)
    if found.reason == Reason.EDITED:
        message = f"Its edited payload is event {found.superseded_by}; go on with that one."
    elif found.reason == Reason.SUPERSEDED:
        message = f"Event {found.superseded_by}, a newer one of the same number, took its place; it is not sent after that."
    elif found.started_behind:
        message = "A later event of its lane has been started since it was discarded; sent now, it would come out of order."
    else:
        message = "Nobody knows what it was before it was discarded; enqueue it again with a version."
    return ActionNotAllowed(message, status=found.status, action=Action.RESTORE, newer=found.superseded_by)


def precheck(store: Store, event: Event, *, actor: str) -> int:
    """Ask the outside system, by a job that a worker runs, whether a dead event would pass now; returns the job's id.

    Raises:
        EventNotFound: there is no such event any more.
        ActionNotAllowed: it is not dead, or not any more.
    """
    who = clean_actor(actor)
    with store.write() as connection:
        status = acts.lock(store, connection, event.id)
        if status is None or not allows(Action.PRECHECK, status):
            raise refused(status, Action.PRECHECK)
        return prechecks.ask(store, connection, event, actor=who)


def skip_lane(
    store: Store, lane: str, *, actor: str, note: str | None = None, seen_head: int | None = None
) -> int:
    """Let a lane go on without the event it stands behind, which is then a dead letter; returns the id of that event.

    `seen_head` is the id of the event that the person saw there; refused when it is another one by now.

    Raises:
        EventNotFound: nothing stands in this lane.
        ActionNotAllowed: its head is neither dead nor between two attempts, so it may still come to its end.
    """
    lane = check_text(lane, "lane", max_length=LANE_LIMIT, allow_empty=True)
    with store.write() as connection:
        stands = lanes.lane_in(store, connection, lane)
        if stands.head is None:
            raise EventNotFound(
                f"Nothing waits in the lane {lane}; `lanes list` shows those in which something does."
            )
        status = str(stands.status)
        if seen_head not in (None, stands.head):
            raise ActionNotAllowed(
                f"The lane stands behind event {stands.head} by now; look at it again.",
                status=status,
                action="skip_lane",
            )
        passed = lanes.let_go(store, connection, lane, stands.head, status) if status in SKIPPABLE else []
        if not passed:
            message = f"The lane stands behind event {stands.head}, which is {status}; only a dead or failed one is skipped."
            raise ActionNotAllowed(message, status=status, action="skip_lane")
        who, why = clean_actor(actor), clean_note(note)
        for event_id in passed:
            acts.record(
                store,
                connection,
                actor=who,
                action="skip_lane",
                event_id=event_id,
                subject=lane,
                note=why,
                before=status,
                after=Status.DEAD,
            )
    return stands.head


def clean_actor(actor: str) -> str:
    """The name of whoever acts, as it is kept.

    Raises:
        PayloadRefused: that is no name.
    """
    return check_text(actor, "actor", max_length=acts.MAX_ACTOR)


def clean_note(note: str | None, *, name: str = "note", limit: int = NOTE_LIMIT) -> str | None:
    """A note as it is kept: redacted, in plain characters, None when empty.

    Args:
        note: what was written.
        name: what error messages call it.
        limit: in characters.

    Raises:
        PayloadRefused: it is too long.
    """
    if note is not None and not isinstance(note, str):
        raise PayloadRefused(f"{name}: write text, not {type(note).__name__}.")
    if note is None or not note.strip():
        return None
    lines = note.expandtabs(4).splitlines()
    lines = [check_text(line, name, max_length=limit, allow_empty=True) for line in lines]
    text = redact_text("\n".join(lines).strip())
    if len(text) > limit:
        raise PayloadRefused(
            f"{name}: it is longer than {limit} characters; shorten it.",
            cause="too_long",
            name=name,
            limit=limit,
        )
    return text


def refused(status: str | None, action: Action) -> EventNotFound | ActionNotAllowed:
    """What somebody is told whose act was refused; `status` is that of the event, None where there is none."""
    if status is None:
        return EventNotFound()
    if allows(action, status):
        message = "The event has changed since you saw it; look at it again."
    else:
        message = f"The event is {status}; {action} is not allowed now."
    return ActionNotAllowed(message, status=status, action=action)
