"""`dlq-console recovery ...`: which items of recovery queues have failed too often, and what is to become of them."""

from __future__ import annotations

import json
from datetime import datetime

import click

from dlq_console.cli.common import actor, as_json, moment, open_hub, print_table
from dlq_console.hub.recovery_items import Decision, decide, parked
from dlq_console.web.api.representation import to_text

_HEADINGS = ("ID", "QUEUE", "ITEM", "ENDED WITH", "ATTEMPTS", "SINCE", "BY")

_note = click.option("--note", help="Why; kept in the audit.")
_queue = click.option("--queue", metavar="NAME", help="Its queue, where several hold the same item.")


@click.group()
def recovery() -> None:
    """Items of recovery queues that have failed too often and are parked until somebody decides."""


@recovery.command("list")
@as_json
def list_parked(as_json: bool) -> None:
    """List the parked items, the oldest first."""
    with open_hub() as hub:
        found = parked(hub.state)
    if as_json:
        click.echo(to_text({"items": found}))
        return
    print_table(_HEADINGS, [_row(item) for item in found])


@recovery.command("resume")
@click.argument("id_", metavar="ID")
@_note
@_queue
@as_json
def resume(id_: str, note: str | None, queue: str | None, as_json: bool) -> None:
    """Let the item ID be tried again, with all of its attempts."""
    _decide(id_, Decision.RESUME, note, queue, as_json)


@recovery.command("discard")
@click.argument("id_", metavar="ID")
@_note
@_queue
@as_json
def discard(id_: str, note: str | None, queue: str | None, as_json: bool) -> None:
    """Take the item ID out of its queue for good."""
    _decide(id_, Decision.DISCARD, note, queue, as_json)


def _decide(id_: str, decision: Decision, note: str | None, queue: str | None, as_json: bool) -> None:
    with open_hub() as hub:
        done = decide(hub.store, hub.state, id_, decision, actor=actor(), queue=queue, note=note)
    after = "it is tried again" if decision is Decision.RESUME else "it has left its queue"
    click.echo(to_text(done) if as_json else f"{done['queue']} ({_in_short(done['item'])}): {after}.")


def _row(item: dict[str, object]) -> tuple[object, ...]:
    since = item["since"]
    return (
        item["id"],
        item["queue"],
        _in_short(item["item"]),
        item["error"],
        item["attempts"],
        moment(since) if isinstance(since, datetime) else "",
        item["by"],
    )


def _in_short(item: object) -> str:
    return json.dumps(item, ensure_ascii=False, separators=(",", ":"))
