"""What does the demo say: where everything is and what to look at when it has started, and what came of it at the end."""

from __future__ import annotations

from dlq_console.demo import opening
from dlq_console.demo.data import SEED, customers
from dlq_console.demo.erp_temper import TEMPERS
from dlq_console.demo.summary import Summary
from dlq_console.runtime import Hub


def greet(console: str, erp: str, logins: dict[str, str], hub: Hub, seconds: float | None) -> None:
    """Say where everything is and what to try.

    Args:
        console: address of the console.
        erp: address of the simulated ERP.
        logins: names and passwords.
        hub: the hub of the demo.
        seconds: after which the demo ends by itself; None: it does not.
    """
    mode = "through Celery" if hub.settings.broker_url else "in table mode"
    database = "SQLite" if hub.store.sqlite else "PostgreSQL"
    print(f"\nDLQ Console demo, {mode} on {database}. Everything in it is invented.\n")
    print(f"  Console        {console}")
    for name, password in logins.items():
        print(f"    log in as    {name}   password {password}")
    print(f"  Simulated ERP  {erp}\n")
    print("Six things to see:")
    for number, scene in enumerate(_scenes(console, erp), start=1):
        print(f"  {number}. {scene}")
    print(
        f"Beside them: {console}/alerts (what somebody should know now), "
        f"{console}/health/doctor (what is wrong with the installation), {console}/metrics (for Prometheus)."
    )
    ending = "Ctrl-C stops everything." if seconds is None else f"It ends by itself after {seconds:g} s."
    print(f"\n{ending}", flush=True)


def _scenes(console: str, erp: str) -> list[str]:
    outage = TEMPERS[opening.FAILING].outage_after
    block = TEMPERS[opening.BLOCKING].block_lasts
    absent = next(one for one in customers(SEED, opening.ONE_CAUSE) if not one.registered)
    return [
        f"One cause, {opening.OF_ONE_CUSTOMER} orders: {console}/search?q={absent.code}; register the customer on {erp}/{opening.ONE_CAUSE}, reprocess all.",
        f"A wrong payload: log in as the editor and correct the total on {console}/dead-letters?kind=invoice.create",
        f"A stale replay is refused: Reprocess on {console}/dead-letters?kind=customer.upsert",
        f"An order in doubt is verified: {console}/events?account={opening.DOUBTFUL}&kind=order.create (the first, after 15 s)",
        f"A block of {block:g} s is waited out: {console}/events?account={opening.BLOCKING}&kind=order.create",
        f"A circuit opens and closes: {opening.FAILING} fails after {outage:g} s, its probe comes 2 minutes later: {console}/",
    ]


def say_goodbye(summary: Summary) -> None:
    """Say what came of the events."""
    print(
        f"\nevents in {summary.created} (repeats folded {summary.folded}) · done {summary.done} · "
        f"retried {summary.retried} · discarded {summary.discarded} · dead {summary.dead} · "
        f"still waiting {summary.waiting} · lost = {summary.lost} · doubled = {summary.doubled}",
        flush=True,
    )
