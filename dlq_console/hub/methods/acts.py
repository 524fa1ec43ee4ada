"""What may a person decide about an event: run it again, discard it, correct it, take that back?"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from dlq_console.errors import ActionNotAllowed
from dlq_console.hub import actions, editing, revealing
from dlq_console.hub.bulk import Bulk
from dlq_console.hub.editing import Edited
from dlq_console.hub.methods.base import HubBase, check_id
from dlq_console.store.events import Event
from dlq_console.store.states import Action


class ActMethods(HubBase):
    """Acts upon one event, upon the head of a lane, and upon many events."""

    def reprocess(
        self,
        event_id: int,
        *,
        actor: str = "operator",
        note: str | None = None,
        attempts: int | None = None,
        after: float = 0,
        at: datetime | None = None,
        seen_epoch: int | None = None,
        even_if_newer: bool = False,
    ) -> Event:
        """Let a dead event run again; returns it as it is then.

        Args:
            event_id: which event.
            actor: who asks for it.
            note: why.
            attempts: how many attempts it gets; None for what the policy says.
            after: seconds from now until it may run.
            at: the moment from which on it may run, with its zone, in place of `after`.
            seen_epoch: the `lease_epoch` that the person saw; refused when the event has moved on since.
            even_if_newer: run it although a newer event of its entity exists, where its kind has
                `replay_policy="ask"`.

        Raises:
            EventNotFound: there is no such event.
            ActionNotAllowed: its status does not allow it, `.status` says which it is; or a newer event stands in its
                way, `.newer` is that one's id.
            PayloadRefused: an argument is beyond its limits.
            TypeError: the id is no whole number.
        """
        check_id(event_id)
        policy = self.policy(self.get(event_id).kind)
        actions.reprocess(
            self.store,
            event_id,
            actor=actor,
            note=note,
            attempts=attempts,
            after=after,
            at=at,
            max_wait=policy.max_wait,
            seen_epoch=seen_epoch,
            replay_policy=policy.replay_policy,
            even_if_newer=even_if_newer,
        )
        # Nothing is sent from here: a click never waits for a broker, the relay of the workers sends it.
        return self.get(event_id)

    def discard(
        self, event_id: int, *, actor: str, note: str | None = None, seen_epoch: int | None = None
    ) -> Event:
        """Decide that an event shall not run; returns it as it is then.

        Raises:
            EventNotFound: there is no such event.
            ActionNotAllowed: its status does not allow it; `.status` says which it is.
            TypeError: the id is no whole number.
        """
        check_id(event_id)
        actions.discard(self.store, event_id, actor=actor, note=note, seen_epoch=seen_epoch)
        return self.get(event_id)

    def restore(
        self, event_id: int, *, actor: str, note: str | None = None, seen_epoch: int | None = None
    ) -> Event:
        """Take back a discard; returns the event as it is then: dead, or waiting to be sent in its place of its lane.

        Raises:
            EventNotFound: there is no such event.
            ActionNotAllowed: nobody has discarded it, or a later event of its lane has started since; `.status` says what
                it is.
            TypeError: the id is no whole number.
        """
        check_id(event_id)
        policy = self.policy(self.get(event_id).kind)
        actions.restore(
            self.store,
            event_id,
            actor=actor,
            note=note,
            max_wait=policy.max_wait,
            replay_policy=policy.replay_policy,
            seen_epoch=seen_epoch,
        )
        return self.get(event_id)

    def cancel_send(
        self, event_id: int, *, actor: str, note: str | None = None, seen_epoch: int | None = None
    ) -> Event:
        """Take back a reprocess that has not started; returns the event, dead as it was.

        Raises:
            EventNotFound: there is no such event.
            ActionNotAllowed: it has started, or nobody has put it back to work; `.status` says what it is.
            TypeError: the id is no whole number.
        """
        check_id(event_id)
        actions.cancel_send(self.store, event_id, actor=actor, note=note, seen_epoch=seen_epoch)
        return self.get(event_id)

    def edit(
        self,
        event_id: int,
        payload: Any,
        *,
        actor: str,
        note: str | None = None,
        seen_epoch: int | None = None,
        even_if_newer: bool = False,
    ) -> Event:
        """Correct the payload of a dead event and send it; returns the new event, which takes the place of the old one.

        Args:
            event_id: which event; it is discarded as `edited`.
            payload: the whole payload. A mask where the event's own is shown masked stands for the hidden value.
            actor: who.
            note: why.
            seen_epoch: the `lease_epoch` that the person saw; refused when the event has moved on since.
            even_if_newer: as for `reprocess`.

        Raises:
            EventNotFound: there is no such event.
            ActionNotAllowed: it is not dead, it is in doubt, or another event stands in its way (`.newer`).
            PayloadRefused: the payload cannot be saved: nothing was changed, it does not fit the schema of its kind, it is
                too large, or holds a mask where nothing was hidden.
            TypeError: the id is no whole number.
        """
        event = self.get(event_id)
        new = editing.edit(
            self.store,
            event,
            payload,
            self._edited_kind(event),
            actor=actor,
            note=note,
            seen_epoch=seen_epoch,
            even_if_newer=even_if_newer,
        )
        return self.get(new)

    def check_edit(self, event: Event, payload: Any, *, seen_epoch: int | None = None) -> Edited:
        """What an edit of an event would save; nothing is changed. Raises as `edit`."""
        editing.check_allowed(event, seen_epoch=seen_epoch)
        return self.edited(event, payload)

    def edited(self, event: Event, payload: Any) -> Edited:
        """What an edit makes of a payload, whether the event may be edited (any more) or not.

        Raises:
            PayloadRefused: it cannot be saved.
        """
        return editing.checked(event, payload, self._edited_kind(event))

    def _edited_kind(self, event: Event) -> editing.Kind:
        schema = self._kinds.schema(event.kind)
        return editing.Kind(self.policy(event.kind), schema, self.settings.payload_max_bytes)

    def has_precheck(self, kind: str) -> bool:
        """Whether somebody can ask the outside system if an event of a kind would pass now."""
        return self._kinds.has_precheck(kind)

    def ask_precheck(self, event_id: int, *, actor: str) -> int:
        """Let a worker ask the outside system whether a dead event would pass now; returns the id of the job.

        The job is an event; its result is `{"answer": ...}`: "likely", "unchanged", "gone" or "unknown".

        Raises:
            EventNotFound: there is no such event.
            ActionNotAllowed: it is not dead, or its kind has no precheck.
            TypeError: the id is no whole number.
        """
        event = self.get(event_id)
        if not self.has_precheck(event.kind):
            raise ActionNotAllowed(
                f'The kind {event.kind} has no precheck; write one with @hub.precheck("{event.kind}").',
                status=event.status,
                action=Action.PRECHECK,
            )
        return actions.precheck(self.store, event, actor=actor)

    def skip_lane(
        self, lane: str, *, actor: str, note: str | None = None, seen_head: int | None = None
    ) -> Event:
        """Let a lane go on without the dead or failing event it stands behind; returns that event, a dead letter now.

        Raises:
            EventNotFound: nothing waits in this lane.
            ActionNotAllowed: the event it stands behind may still run, or is not `seen_head`, the one that the person
                saw; `.status` says what it is.
        """
        head = actions.skip_lane(self.store, lane, actor=actor, note=note, seen_head=seen_head)
        return self.get(head)

    def reveal(self, event_id: int, pointer: str = "", *, actor: str, note: str) -> Any:
        """What stands at a place of the payload of an event, for somebody who may see what is masked elsewhere.

        Args:
            event_id: which event.
            pointer: the place as RFC 6901 writes it, such as "/customer/cpf"; empty for the whole payload.
            actor: who wants to see it; kept in the audit.
            note: why; kept in the audit.

        Raises:
            EventNotFound: there is no such event.
            PayloadRefused: there is nothing at that place, or no reason was given.
            TypeError: the id is no whole number.
        """
        check_id(event_id)
        return revealing.reveal(self.store, event_id, pointer, actor=actor, note=note)

    @property
    def bulk(self) -> Bulk:
        """One act upon many dead events: preview, start, watch, pause, resume, cancel."""
        return Bulk(self)
