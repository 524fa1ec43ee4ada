"""A shop on Flask, as its own people would have written it: a guest in the tests of DLQ Console."""

from flask import Flask, request
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from dlq_console import Event, Hub


class Base(DeclarativeBase):
    """The tables of the shop."""


hub = Hub()
app = Flask(__name__)
app.config["SQLALCHEMY_DATABASE_URI"] = hub.settings.database_url
db = SQLAlchemy(app, model_class=Base)


class Order(db.Model):  # type: ignore[name-defined,misc]  # the extension makes the class at run time
    """An order."""

    number: Mapped[str] = mapped_column(primary_key=True)
    at_erp: Mapped[bool] = mapped_column(default=False)


@app.post("/orders")
def create() -> tuple[dict[str, int], int]:
    """Take an order: its row and its event are committed together, or neither is."""
    order = Order(number=request.form["number"])
    db.session.add(order)
    made = hub.enqueue(
        "order.create",
        account="filial-sp",
        entity_id=order.number,
        payload={"number": order.number},
        session=db.session,
    )
    db.session.commit()
    return {"event": made.id}, 201


@hub.handler("order.create")
def create_order(event: Event) -> None:
    """Send an order to the ERP, and note that it is there."""
    with app.app_context():
        db.session.get_one(Order, event.entity_id).at_erp = True
        db.session.commit()
