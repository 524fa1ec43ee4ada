"""How does a team share the work? Somebody sees to an event or a cause, tags it, writes notes, puts it off."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timedelta
from hashlib import sha256

from dlq_console.clock import utc_now
from dlq_console.errors import ActionNotAllowed, EventNotFound, PayloadRefused
from dlq_console.hub.actions import clean_actor, clean_note
from dlq_console.store import acts, desk
from dlq_console.store.desk import Assignment, Change, GroupMarks
from dlq_console.store.keys import check_text
from dlq_console.store.people.roles import Permission
from dlq_console.store.store import Store

#: How far away a due time may be.
FURTHEST_DUE = timedelta(days=3_660)
#: How long an event may be out of sight.
LONGEST_SNOOZE = timedelta(days=366)
#: Characters of the token of a form.
MAX_FORM = 80

_FINGERPRINT = re.compile(r"[0-9A-Za-z-]{1,80}")


def assign(
    store: Store,
    event_id: int,
    to: str | None,
    *,
    due: datetime | None = None,
    actor: str,
    seen: str | None = None,
) -> Change[Assignment]:
    """Let somebody see to an event, or nobody.

    Args:
        store: the store.
        event_id: which event.
        to: name of the person; None for nobody.
        due: until when.
        actor: who decides it.
        seen: who saw to it as the actor saw it, "" for nobody; refused when that has changed since.

    Raises:
        EventNotFound: there is no such event.
        ActionNotAllowed: somebody else was assigned meanwhile.
        PayloadRefused: there is no such person, or the person may not see the account, or the time is none.
    """
    who, wanted = clean_actor(actor), wanted_assignment(to, due)

    account = desk.account_of(store, event_id)
    if account is not None:
        check_sight(store, wanted.assignee, account)
    with store.write() as connection:
        change = desk.assign(store, connection, [event_id], wanted, actor=who).get(event_id)
        if change is None:
            raise EventNotFound
        _check_seen(change, seen)
        check_due(wanted.due_at, kept=change.before.due_at)
    return change


def tag(
    store: Store, event_id: int, tags: Iterable[str], *, actor: str, seen: Iterable[str] | None = None
) -> Change[tuple[str, ...]]:
    """Give an event these tags and no others.

    With `seen`, the tags as the actor saw them, only the difference is applied: what others added or took off meanwhile
    stays.

    Raises:
        EventNotFound: there is no such event.
        PayloadRefused: one is no tag, or there are more than an event may have.
    """
    who, wanted = clean_actor(actor), desk.clean_tags(tags)
    were = None if seen is None else desk.clean_tags(seen)
    add = wanted if were is None else sorted({*wanted} - {*were})
    remove = None if were is None else sorted({*were} - {*wanted})
    with store.write() as connection:
        changes = desk.change_tags(store, connection, [event_id], add=add, remove=remove, actor=who)
    change = changes.get(event_id)
    if change is None:
        raise EventNotFound
    return change


def add_note(store: Store, event_id: int, text: str, *, actor: str, form: str | None = None) -> bool:
    """Write a note about an event; it is redacted like everything that is kept.

    Args:
        store: the store.
        event_id: which event.
        text: of the note.
        actor: who writes it.
        form: any text that is different for each form: the same note from the same form again is no second one.

    Returns:
        False where the note was there already.

    Raises:
        EventNotFound: there is no such event.
        PayloadRefused: it is empty or too long.
    """
    who, note = clean_actor(actor), clean_note(text, name="text", limit=desk.MAX_NOTE)
    if note is None:
        raise PayloadRefused("text: it is empty; write the note.", cause="empty", name="text")
    # The event is part of it, so that nobody's form can stand in the way of a note elsewhere; so is the text, because who
    # comes back to a form and writes something else means a second note.
    key = f"{event_id}:{who}:{form[:MAX_FORM]}:{sha256(note.encode()).hexdigest()}" if form else None
    with store.write() as connection:
        made = desk.add_note(store, connection, event_id, note, actor=who, form=key)
        if made is None and acts.status_of(store, connection, event_id) is None:
            raise EventNotFound
    return made is not None


def snooze(store: Store, event_id: int, until: datetime | None, *, actor: str) -> Change[datetime | None]:
    """Keep a dead event out of sight until a moment, when it comes back by itself; None brings it back now.

    Raises:
        EventNotFound: there is no such event.
        ActionNotAllowed: it is not dead; `.status` says what it is.
        PayloadRefused: the moment lies behind, or too far ahead.
    """
    who = clean_actor(actor)
    check_snooze(until)
    with store.write() as connection:
        change = desk.snooze(store, connection, [event_id], until, actor=who).get(event_id)
        if change is None:
            status = acts.status_of(store, connection, event_id)
            if status is None:
                raise EventNotFound
            raise ActionNotAllowed(
                f"The event is {status}; only a dead letter can be snoozed.",
                status=status,
                action=Permission.SNOOZE,
            )
    return change


def assign_group(
    store: Store,
    fingerprint: str,
    to: str | None,
    *,
    due: datetime | None = None,
    actor: str,
    seen: str | None = None,
) -> Change[Assignment]:
    """Let somebody see to a cause, or nobody; as `assign`.

    Raises:
        EventNotFound: there is no such cause.
        ActionNotAllowed: somebody else was assigned meanwhile.
        PayloadRefused: there is no such person, or the time is none.
    """
    who, wanted = clean_actor(actor), wanted_assignment(to, due)

    with store.write() as connection:
        change = desk.assign_group(store, connection, _known(fingerprint), wanted, actor=who)
        if change is None:
            raise _no_group(fingerprint)
        _check_seen(change, seen)
        check_due(wanted.due_at, kept=change.before.due_at)
    return change


def set_playbook(
    store: Store, fingerprint: str, text: str | None, *, actor: str, seen: str | None = None
) -> Change[GroupMarks]:
    """Write down how a cause is fixed; empty takes it away. It stays whatever becomes of the events.

    Args:
        store: the store.
        fingerprint: of the cause.
        text: plain text; it is redacted like everything that is kept.
        actor: who writes it.
        seen: the `version` of the marks as the actor saw them; refused when somebody has written since.

    Raises:
        EventNotFound: there is no such cause.
        ActionNotAllowed: somebody has written since.
        PayloadRefused: it is too long.
    """
    who, note = clean_actor(actor), clean_note(text, name="text", limit=desk.MAX_NOTE)

    with store.write() as connection:
        change = desk.set_playbook(store, connection, _known(fingerprint), note, actor=who)
        if change is None:
            raise _no_group(fingerprint)
        # Who sends the same text once more has written it already.
        if seen not in (None, change.before.version) and change.before.playbook != note:
            raise ActionNotAllowed(
                f"{change.before.playbook_by} has written this since you saw it; look at it again.",
                action="playbook",
            )
    return change


def wanted_assignment(to: str | None, due: datetime | None) -> Assignment:
    """Somebody, until when; checked as far as that can be done without the database.

    Raises:
        PayloadRefused: it is no name, or the time is none.
    """
    if to is None:
        return Assignment()
    name = check_text(to, "to", max_length=acts.MAX_ACTOR).casefold()
    if due is not None and abs(_aware(due, "due") - utc_now()) > FURTHEST_DUE:
        raise PayloadRefused("due: it is more than ten years away.", cause="due_far", name="due")
    return Assignment(name, due)


def check_sight(store: Store, name: str | None, account: str) -> None:
    """Refuse somebody who would not see what is assigned. An account never changes, and what one may see seldom does.

    Raises:
        PayloadRefused: that person may not see the account.
    """
    if name is not None and not desk.sees_account(store, name, account):
        raise PayloadRefused(
            f"to: {name} may not see the account {account}; choose another person.",
            cause="unseen_account",
            name=name,
            account=account,
        )


def check_due(due: datetime | None, *, kept: datetime | None = None) -> None:
    """Refuse a time to be done by that has passed already. One that stands there anyway may be kept, to the minute.

    Raises:
        PayloadRefused: it lies behind.
    """
    if due is None or due > utc_now():
        return
    if kept is None or abs(due - kept) >= timedelta(minutes=1):
        raise PayloadRefused("due: it must lie ahead.", cause="due_past", name="due")


def check_snooze(until: datetime | None) -> None:
    """Refuse a moment until which nothing can be out of sight.

    Raises:
        PayloadRefused: it lies behind, or too far ahead.
    """
    if until is not None and not timedelta(0) < _aware(until, "until") - utc_now() <= LONGEST_SNOOZE:
        raise PayloadRefused("until: it must lie ahead, by a year at most.", cause="until_range")


def _aware(moment: object, name: str) -> datetime:
    if not isinstance(moment, datetime):
        raise PayloadRefused(f"{name}: write an aware datetime, not {type(moment).__name__}.")
    if moment.tzinfo is None:
        raise PayloadRefused(f"{name}: it has no time zone; use an aware datetime.")
    return moment


def _check_seen(change: Change[Assignment], seen: str | None) -> None:
    """Looked at after the write, which a refusal takes back: by then nobody can change it any more."""
    now = change.before.assignee
    if seen in (None, now or "") or change.after == change.before:
        return
    message = (
        f"{now} sees to it by now; look at it again."
        if now
        else "Nobody sees to it any more; look at it again."
    )
    raise ActionNotAllowed(message, action=Permission.ASSIGN)


def _known(fingerprint: str) -> str:
    if not _FINGERPRINT.fullmatch(fingerprint):
        raise _no_group(fingerprint)
    return fingerprint


def _no_group(fingerprint: str) -> EventNotFound:
    return EventNotFound(
        f"There is no group {fingerprint:.80}; the list of groups shows those that there are."
    )
