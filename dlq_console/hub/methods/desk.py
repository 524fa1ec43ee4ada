"""What does a team put on events and causes: who sees to it, until when, tags, notes, how it is fixed?"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from dlq_console.hub import desk
from dlq_console.hub.methods.base import HubBase, check_id
from dlq_console.store.desk import Assignment, Change, GroupMarks


class DeskMethods(HubBase):
    """What a team does with events and causes."""

    def assign(
        self,
        event_id: int,
        to: str | None,
        due: datetime | None = None,
        *,
        actor: str,
        seen: str | None = None,
    ) -> Change[Assignment]:
        """Let a person see to an event, or nobody; returns what it was before and is since.

        Args:
            event_id: which event.
            to: name of the person; None for nobody.
            due: until when (aware).
            actor: who decides it.
            seen: who saw to it as the actor saw it, "" for nobody; refused when that has changed since.

        Raises:
            EventNotFound: there is no such event.
            ActionNotAllowed: somebody else was assigned meanwhile.
            PayloadRefused: there is no such person, or the person may not see the account, or the time is none.
            TypeError: the id is no whole number.
        """
        check_id(event_id)
        return desk.assign(self.store, event_id, to, due=due, actor=actor, seen=seen)

    def tag(
        self, event_id: int, tags: Iterable[str], *, actor: str, seen: Iterable[str] | None = None
    ) -> Change[tuple[str, ...]]:
        """Give an event these tags and no others; with `seen`, the tags as the actor saw them, only the difference.

        Raises:
            EventNotFound: there is no such event.
            PayloadRefused: one is no tag, or there are more than an event may have.
            TypeError: the id is no whole number.
        """
        check_id(event_id)
        return desk.tag(self.store, event_id, tags, actor=actor, seen=seen)

    def add_note(self, event_id: int, text: str, *, actor: str, form: str | None = None) -> bool:
        """Write a note about an event; False where the note of this `form` is there already.

        Raises:
            EventNotFound: there is no such event.
            PayloadRefused: it is empty or too long.
            TypeError: the id is no whole number.
        """
        check_id(event_id)
        return desk.add_note(self.store, event_id, text, actor=actor, form=form)

    def snooze(self, event_id: int, until: datetime | None, *, actor: str) -> Change[datetime | None]:
        """Keep a dead event out of sight until a moment, when it comes back by itself; None brings it back now.

        Raises:
            EventNotFound: there is no such event.
            ActionNotAllowed: it is not dead; `.status` says what it is.
            PayloadRefused: the moment lies behind, or too far ahead.
            TypeError: the id is no whole number.
        """
        check_id(event_id)
        return desk.snooze(self.store, event_id, until, actor=actor)

    def assign_group(
        self,
        fingerprint: str,
        to: str | None,
        due: datetime | None = None,
        *,
        actor: str,
        seen: str | None = None,
    ) -> Change[Assignment]:
        """Let a person see to a cause, or nobody; as `assign`.

        Raises:
            EventNotFound: there is no such cause.
            ActionNotAllowed: somebody else was assigned meanwhile.
            PayloadRefused: there is no such person, or the time is none.
        """
        return desk.assign_group(self.store, fingerprint, to, due=due, actor=actor, seen=seen)

    def set_playbook(
        self, fingerprint: str, text: str | None, *, actor: str, seen: str | None = None
    ) -> Change[GroupMarks]:
        """Write down how a cause is fixed; it is shown with every event of it, and stays. Empty takes it away.

        Args:
            fingerprint: of the cause.
            text: plain text.
            actor: who writes it.
            seen: `version` of the marks as the actor saw them; refused when somebody has written since.

        Raises:
            EventNotFound: there is no such cause.
            ActionNotAllowed: somebody has written since.
            PayloadRefused: it is too long.
        """
        return desk.set_playbook(self.store, fingerprint, text, actor=actor, seen=seen)
