"""How is something that was put on the desk of many events taken back? Where nobody has changed it since, and only there."""

from __future__ import annotations

from dataclasses import dataclass

from dlq_console.hub.actions import clean_actor
from dlq_console.hub.desk_many import MOST, chosen
from dlq_console.store import desk
from dlq_console.store.cursors import MAX_ID
from dlq_console.store.desk import Act
from dlq_console.store.queries.routes import Accounts
from dlq_console.store.store import Store


@dataclass(frozen=True, slots=True)
class TakenBack:
    """How many events are as they were before, and how many stay because they have been changed since."""

    done: int
    stayed: int


def take_back(store: Store, act: Act, *, action: str, actor: str, accounts: Accounts = None) -> TakenBack:
    """Put the desks of many events back as they were before an act of the same person.

    Left as they are: events that are not as the act has left them, that the person may not see any more, that would go
    back to somebody who may not see to them any more, and those that would be out of sight again and are no longer dead.
    A time that has passed meanwhile is not set again.

    Args:
        store: the store.
        act: as `desk_many` has told it.
        action: ASSIGN, TAG or SNOOZE.
        actor: who takes it back, who must be the one who did it.
        accounts: what that person may see; None for all.
    """
    if not 0 < act.first <= act.last <= MAX_ID:
        return TakenBack(0, 0)
    who = clean_actor(actor)
    changes = desk.changes_of(store, act, actor=who, action=action, most=MOST)
    seen = chosen(store, list(changes), accounts=accounts).events
    owners = {event.id: event.account for event in seen}
    with store.write() as connection:
        done = desk.put_back(store, connection, action, changes, owners, actor=who)
    return TakenBack(done, len(changes) - done)
