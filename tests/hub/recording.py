"""A publisher that hands nothing to a broker but notes what it was given, and whether that was committed by then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Engine, select

from dlq_console import Hub
from dlq_console.hub.dispatch import Message
from dlq_console.store.session import make_engine


@dataclass
class Recorder:
    """Notes messages; looks each event up on a connection of its own at the moment of publishing."""

    hub: Hub
    #: Ids that the broker does not take.
    refuses: set[int] = field(default_factory=set)
    sent: list[Message] = field(default_factory=list)
    not_yet_committed: list[int] = field(default_factory=list)
    closed: int = 0

    def __post_init__(self) -> None:
        self._engine: Engine = make_engine(self.hub.settings.database_url)

    @property
    def ids(self) -> list[int]:
        """The events of which the broker was told."""
        return [message.event_id for message in self.sent]

    def publish(self, messages: Sequence[Message]) -> list[int]:
        """Note the messages; returns the ids that were not refused."""
        table = self.hub.store.tables.event
        with self._engine.connect() as connection:
            for message in messages:
                if (
                    connection.execute(select(table.c.id).where(table.c.id == message.event_id)).first()
                    is None
                ):
                    self.not_yet_committed.append(message.event_id)
        taken = [message for message in messages if message.event_id not in self.refuses]
        self.sent += taken
        return [message.event_id for message in taken]

    def close(self) -> None:
        """As a publisher lets go of its connections."""
        self.closed += 1

    def dispose(self) -> None:
        """Let go of the connection for looking up."""
        self._engine.dispose()
