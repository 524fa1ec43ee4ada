"""Enqueue from asyncio: in a transaction of its own beside the loop, or in the caller's, and told after its commit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import (
    AsyncEngine,
    AsyncSession,
    async_scoped_session,
    async_sessionmaker,
    create_async_engine,
)
from sqlalchemy.orm import Session

from dlq_console import Hub, IdempotencyConflict, PayloadRefused, StoreUnavailable
from tests.hub.recording import Recorder
from tests.services.process import wait_until
from tests.store.making import row, rows

pytestmark = pytest.mark.usefixtures("recorder")

#: Name of the driver and the fixture that gives its database.
DRIVERS = {
    "sqlite+aiosqlite": "sqlite_url",
    "postgresql+asyncpg": "postgres_url",
    "postgresql+psycopg": "postgres_url",
}


@pytest.fixture(params=list(DRIVERS))
def driver(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def database_url(driver: str, request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(DRIVERS[driver])
    return url


@asynccontextmanager
async def engine(hub: Hub, driver: str) -> AsyncIterator[AsyncEngine]:
    engine = create_async_engine(f"{driver}:{hub.settings.database_url.partition(':')[2]}")
    yield engine
    await engine.dispose()


def order(number: object = 1, **values: Any) -> dict[str, Any]:
    fields = {
        "kind": "order.create",
        "account": "filial-sp",
        "entity_id": str(number),
        "payload": {"number": number},
    }
    return fields | values


def numbers(hub: Hub) -> list[str]:
    return [kept["entity_id"] for kept in rows(hub.store)]


def told(recorder: Recorder, *ids: int) -> None:
    """Wait until the broker has been told of exactly these; that happens in threads beside the loop."""
    wait_until(lambda: sorted(recorder.ids) == list(ids), 10, f"the broker to be told of {ids}")


def test_an_async_session_takes_the_event_along(hub: Hub, recorder: Recorder, driver: str) -> None:
    async def produce() -> list[int]:
        async with engine(hub, driver) as its_engine, AsyncSession(its_engine) as session:
            await session.execute(text("SELECT 1"))
            made = await hub.aenqueue(**order(), session=session)
            assert (made.created, recorder.sent, numbers(hub)) == (True, [], [])
            assert not (await hub.aenqueue(**order(), session=session)).created
            await session.commit()
            await hub.aenqueue(**order(2), session=session)
            await session.rollback()
            return [made.id]

    told(recorder, *asyncio.run(produce()))
    assert numbers(hub) == ["1"]
    wait_until(lambda: row(hub.store, recorder.ids[0])["duplicates"] == 1, 10, "the repeat to be counted")


def test_an_async_connection_and_a_scoped_session_will_do(hub: Hub, recorder: Recorder, driver: str) -> None:
    async def produce() -> list[int]:
        async with engine(hub, driver) as its_engine:
            async with its_engine.begin() as connection:
                first = await hub.aenqueue(**order(1), session=connection)
            scoped = async_scoped_session(async_sessionmaker(its_engine), asyncio.current_task)
            second = await hub.aenqueue(**order(2), session=scoped)
            await scoped.commit()
            await scoped.remove()
            async with its_engine.connect() as connection:
                its_own = await connection.execution_options(isolation_level="AUTOCOMMIT")
                third = await hub.aenqueue(**order(3), session=its_own)
        return [first.id, second.id, third.id]

    told(recorder, *asyncio.run(produce()))


def test_a_refusal_leaves_the_async_transaction_as_it_was(hub: Hub, driver: str) -> None:
    async def produce() -> None:
        async with engine(hub, driver) as its_engine, AsyncSession(its_engine) as session, session.begin():
            await hub.aenqueue(**order(1, idempotency_key="mine"), session=session)
            for refused, error in (
                ({"payload": "\x00"}, PayloadRefused),
                ({"payload": 2}, IdempotencyConflict),
            ):
                with pytest.raises(error):
                    await hub.aenqueue(**order(1, idempotency_key="mine") | refused, session=session)

    asyncio.run(produce())
    assert numbers(hub) == ["1"]


def test_what_the_database_refuses_is_told_as_to_any_other_caller(hub: Hub, driver: str) -> None:
    async def produce() -> None:
        async with engine(hub, driver) as its_engine, AsyncSession(its_engine) as session:
            if hub.store.sqlite:
                _begin_deferred(its_engine)
                await session.execute(text("SELECT 1 FROM dlq_event"))
                hub.enqueue(**order("another"))
                with pytest.raises(StoreUnavailable, match="it has read before"):
                    await hub.aenqueue(**order(), session=session)
            else:
                _ = await session.connection(execution_options={"isolation_level": "SERIALIZABLE"})
                await session.execute(text("SELECT 1 FROM dlq_event"))
                hub.enqueue(**order())
                with pytest.raises(DBAPIError, match="could not serialize"):
                    await hub.aenqueue(**order(), session=session)

    asyncio.run(produce())


def _begin_deferred(engine: AsyncEngine) -> None:
    event.listen(engine.sync_engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))


# Without a session


def test_without_a_session_the_loop_goes_on_meanwhile(hub: Hub, recorder: Recorder) -> None:
    turns: list[int] = []

    def publish(messages: Any) -> list[int]:
        # Ends only if the loop turns.
        wait_until(lambda: len(turns) > 5, 10, "the loop to turn")
        return [message.event_id for message in messages]

    async def turn() -> None:
        while True:
            turns.append(1)
            await asyncio.sleep(0)

    async def produce() -> bool:
        turning = asyncio.create_task(turn())
        made = await hub.aenqueue(**order())
        turning.cancel()
        return made.created

    recorder.publish = publish  # type: ignore[method-assign]  # a broker that is slow
    assert asyncio.run(produce())


def test_a_call_that_is_cancelled_leaves_a_whole_event_or_none_and_may_be_repeated(hub: Hub) -> None:
    async def produce() -> None:
        calls = [asyncio.create_task(hub.aenqueue(**order(number))) for number in range(20)]
        await asyncio.sleep(0)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        made = [await hub.aenqueue(**order(number)) for number in range(20)]
        assert len({each.id for each in made}) == 20

    asyncio.run(produce())
    assert sorted(numbers(hub), key=int) == [str(number) for number in range(20)]


@pytest.mark.parametrize("make", [Session, lambda: "session"], ids=["Session", "text"])
def test_a_session_that_is_none_of_asyncio_is_refused(hub: Hub, make: Callable[[], Any]) -> None:
    call: Coroutine[Any, Any, Any] = hub.aenqueue(**order(), session=make())
    with pytest.raises(TypeError, match=r"takes an AsyncSession or AsyncConnection .*call `enqueue`"):
        asyncio.run(call)
