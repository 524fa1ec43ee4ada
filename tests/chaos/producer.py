"""How does a shop hand its documents over, and how does it know what it was promised?

    python -m tests.chaos.producer --shop 0 --seed 7 --events 300 --seconds 20 --ledger shop-0.jsonl

It keeps a ledger of its own: one line per chunk whose commit came back, on the disk before the next chunk is begun. A shop
that was killed goes on behind its last line and so hands over once more what may have been committed without being
written down: that must be recognised and not become a second event. It ends with exit status 0 once all is handed over.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import Engine, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from dlq_console import Enqueued, Hub, NewEvent
from dlq_console.errors import StoreUnavailable
from tests.chaos.documents import Chunk, Document, chunks

#: Seconds between two tries while the database is away.
PAUSE = 0.2


class ChangedItsMindError(Exception):
    """The shop's transaction failed for a reason of its own."""


class Ledger:
    """What the shop was promised, one line per chunk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # The last line may have been cut off by a crash: that chunk is handed over again.
        with path.open("ab+") as file:
            file.seek(0)
            whole = file.read().rpartition(b"\n")[:2]
            file.truncate(sum(map(len, whole)))
        self.chunks = whole[0].count(b"\n") + len(whole[1])

    def write(self, documents: Sequence[Document], made: Sequence[Enqueued]) -> None:
        """Keep the ids of one chunk that was committed just now, for good."""
        at = time.monotonic()
        promises = [
            {
                "id": one.id,
                "entity": document.entity_id,
                "kind": document.kind,
                "account": document.account,
                "lane": document.lane,
                "stops": document.stops,
                "at": at,
            }
            for document, one in zip(documents, made, strict=True)
        ]
        with self._path.open("a") as file:
            file.write(json.dumps(promises) + "\n")
            file.flush()
            os.fsync(file.fileno())


def main() -> None:
    """Hand everything over, evenly spread over the time given."""
    parser = argparse.ArgumentParser()
    for name in ("shop", "seed", "events"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--ledger", type=Path, required=True)
    options = parser.parse_args()
    ledger, hub = Ledger(options.ledger), Hub()
    engine = create_engine(hub.settings.database_url)
    pause = options.seconds / options.events
    for chunk in list(chunks(options.seed, options.shop, options.events))[ledger.chunks :]:
        made = hand_over_patiently(hub, engine, chunk)
        ledger.write(chunk.documents[: len(made)], made)
        time.sleep(pause * len(made))


def hand_over_patiently(hub: Hub, engine: Engine, chunk: Chunk) -> list[Enqueued]:
    """Hand a chunk over; once more, whole, whenever nobody can say whether it was committed."""
    while True:
        try:
            return hand_over(hub, engine, chunk)
        except (StoreUnavailable, DBAPIError):
            time.sleep(PAUSE)


def hand_over(hub: Hub, engine: Engine, chunk: Chunk) -> list[Enqueued]:
    """Hand a chunk over in its own way; returns what was promised, which is nothing where it was rolled back."""
    news = [_event(document) for document in chunk.documents]
    if chunk.way == "many":
        return hub.enqueue_many(news)
    if chunk.way == "alone":
        return [_enqueue(hub, new, None) for new in news]
    try:
        with Session(engine) as session, session.begin():
            made = [_enqueue(hub, new, session) for new in news]
            if chunk.way == "regretted":
                raise ChangedItsMindError
    except ChangedItsMindError:
        return []
    return made


def _event(document: Document) -> NewEvent:
    return NewEvent(
        kind=document.kind,
        account=document.account,
        entity_id=document.entity_id,
        payload={"refused": document.refused},
        ordering_key=document.ordering_key,
    )


def _enqueue(hub: Hub, new: NewEvent, session: Session | None) -> Enqueued:
    return hub.enqueue(
        new.kind,
        account=new.account,
        entity_id=new.entity_id,
        payload=new.payload,
        ordering_key=new.ordering_key,
        session=session,
    )


if __name__ == "__main__":
    main()
