"""How does a shop put its documents in? Each in a transaction of its own together with the event; some are rolled back.

    python -m tests.acceptance.producer --first-number 10000 --events 1000

Prints one line of JSON at the end: how many events were new, how many repeats, how many transactions rolled back.
"""

from __future__ import annotations

import argparse
import json
from datetime import date
from random import Random

from sqlalchemy import Column, Engine, Integer, MetaData, Table, create_engine
from sqlalchemy.orm import Session

from dlq_console import Enqueued, Hub, NewEvent
from dlq_console.demo import data
from dlq_console.demo.producers import Producer
from tests.acceptance.erp import ACCOUNTS, SEED

#: One transaction is rolled back after so many that were committed.
ROLLED_BACK_EVERY = 5
#: The first letters of the business number of what was rolled back, so that any trace of it would show.
NEVER = "never-"
TODAY = date(2026, 3, 9)

_metadata = MetaData()
#: The shop's own table: one row per document that it believes to have handed over.
document = Table("shop_document", _metadata, Column("event_id", Integer, primary_key=True))


class ChangedItsMindError(Exception):
    """The shop's transaction failed for a reason of its own."""


def main() -> None:
    """Send until so many events are new."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--first-number", type=int, required=True)
    parser.add_argument("--events", type=int, required=True)
    options = parser.parse_args()
    hub = Hub()
    engine = shop_engine(hub.settings.database_url)
    stream = Producer(SEED, ACCOUNTS, first_number=options.first_number, today=TODAY)
    random = Random(options.first_number)
    created = folded = rolled_back = 0
    while created < options.events:
        if commit(hub, engine, stream.next_event()):
            created += 1
        else:
            folded += 1
        if (created + folded) % ROLLED_BACK_EVERY == 0:
            roll_back(hub, engine, _never(random, f"{NEVER}{options.first_number}-{rolled_back}"))
            rolled_back += 1
    hub.close()
    print(json.dumps({"created": created, "folded": folded, "rolled_back": rolled_back}))  # noqa: T201 - its answer


def shop_engine(database_url: str) -> Engine:
    """The shop's own connections to the database that it shares with the hub."""
    patience = {"timeout": 30} if database_url.startswith("sqlite") else {}
    return create_engine(database_url, connect_args=patience)


def create_shop_table(database_url: str) -> None:
    """Make the shop's own table, once for all shops."""
    engine = shop_engine(database_url)
    _metadata.create_all(engine)
    engine.dispose()


def commit(hub: Hub, engine: Engine, event: NewEvent) -> bool:
    """Hand over one document; tells whether its event is a new one."""
    with Session(engine) as session, session.begin():
        made = _enqueue(hub, session, event)
        if made.created:
            session.execute(document.insert().values(event_id=made.id))
        return made.created


def roll_back(hub: Hub, engine: Engine, event: NewEvent) -> None:
    """Hand one over in a transaction that fails afterwards."""
    try:
        with Session(engine) as session, session.begin():
            made = _enqueue(hub, session, event)
            session.execute(document.insert().values(event_id=made.id))
            raise ChangedItsMindError
    except ChangedItsMindError:
        pass


def _enqueue(hub: Hub, session: Session, event: NewEvent) -> Enqueued:
    return hub.enqueue(
        event.kind,
        account=event.account,
        entity_id=event.entity_id,
        payload=event.payload,
        version=event.version,
        session=session,
    )


def _never(random: Random, entity_id: str) -> NewEvent:
    payload = data.stock_move(random, TODAY)
    return NewEvent(kind="stock.move", account=random.choice(ACCOUNTS), entity_id=entity_id, payload=payload)


if __name__ == "__main__":
    main()
