"""Which handlers do the tests of a restore run? Ones that tell an outside system, which never forgets."""

from __future__ import annotations

from pathlib import Path

from dlq_console import Event, Hub, PermanentError, Policy, Run

hub = Hub()


def written(event: Event, run: Run) -> None:
    """Add a line to the file that the payload names: the number, and the key by which a repeat is recognised."""
    with Path(event.payload["ledger"]).open("a") as ledger:
        ledger.write(f"{event.entity_id} {run.effect_key}\n")


@hub.handler("send", policy=Policy(timeout=30))
def send(event: Event, run: Run) -> None:
    """Works."""
    written(event, run)


@hub.handler("refused", policy=Policy(timeout=30))
def refused(event: Event, run: Run) -> None:
    """Works once somebody has reprocessed it."""
    if event.cycle == 0:
        raise PermanentError("The customer is not registered.")
    written(event, run)
