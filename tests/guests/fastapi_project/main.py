"""A shop on FastAPI, as its own people would have written it: a guest in the tests of DLQ Console."""

import os

from fastapi import FastAPI
from pydantic import BaseModel
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from dlq_console import Event, Hub, NewEvent

# The same database for both; SHOP_DATABASE names an async driver, such as postgresql+asyncpg.
hub = Hub()
engine = create_async_engine(os.environ["SHOP_DATABASE"])
app = FastAPI()


class Base(DeclarativeBase):
    """The tables of the shop."""


class Order(Base):
    """An order."""

    __tablename__ = "shop_order"
    number: Mapped[str] = mapped_column(primary_key=True)


class NewOrder(BaseModel):
    """What a customer sends."""

    number: str


@app.post("/orders", status_code=201)
async def create(order: NewOrder) -> dict[str, int]:
    """Take an order: its row and its event are committed together, or neither is."""
    async with AsyncSession(engine) as session, session.begin():
        session.add(Order(number=order.number))
        made = await hub.aenqueue(
            "order.create",
            account="filial-sp",
            entity_id=order.number,
            payload=order.model_dump(),
            session=session,
        )
    return {"event": made.id}


@app.post("/stock/{product}", status_code=202)
async def count_stock(product: str) -> dict[str, int]:
    """Ask for a count: nothing of the shop's own is written, so the event has a transaction of its own."""
    made = await hub.aenqueue("stock.count", account="filial-sp", entity_id=product, payload={})
    return {"event": made.id}


@app.post("/stock", status_code=202)
async def count_all_stock(products: list[str]) -> dict[str, int]:
    """Ask for many counts at once, all or none."""
    counts = [
        NewEvent(kind="stock.count", account="filial-sp", entity_id=product, payload={})
        for product in products
    ]
    async with AsyncSession(engine) as session, session.begin():
        made = await session.run_sync(lambda sync: hub.enqueue_many(counts, session=sync))
    return {"new": sum(each.created for each in made)}


@hub.handler("order.create")
async def create_order(event: Event) -> dict[str, str]:
    """Send an order to the ERP."""
    async with AsyncSession(engine) as session:
        order = await session.get_one(Order, event.entity_id)
        return {"sent": order.number}
