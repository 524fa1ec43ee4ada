"""`dlq-console lanes ...`: which lanes wait, behind what, and how one goes on without its head."""

from __future__ import annotations

from dataclasses import asdict

import click

from dlq_console.cli.common import actor, as_json, moment, open_hub, print_table
from dlq_console.store.lanes import COUNT_CAP, MOST_LISTED, Lane
from dlq_console.store.lanes import lanes as find_lanes
from dlq_console.web.api.representation import event_json, to_text

_HEADINGS = ("LANE", "WAITING", "BEHIND", "STATUS", "KIND", "ENTITY", "NEXT RUN OR DEAD SINCE")


@click.group()
def lanes() -> None:
    """Lanes: events that run one at a time, in order."""


@lanes.command("list")
@as_json
def list_lanes(as_json: bool) -> None:
    """List lanes in which something waits or which have stopped."""
    with open_hub() as hub:
        found = find_lanes(hub.store)
    if as_json:
        click.echo(to_text({"items": [asdict(lane) for lane in found]}))
        return
    print_table(_HEADINGS, [_row(lane) for lane in found])
    if len(found) == MOST_LISTED:
        click.echo(f"These are the first {MOST_LISTED:,}.")


@lanes.command("skip")
@click.argument("lane")
@click.option("--note", help="Why; kept in the audit.")
@as_json
def skip_lane(lane: str, note: str | None, as_json: bool) -> None:
    """Let LANE go on without the dead or failed event it stands behind, which stays a dead letter."""
    with open_hub() as hub:
        head = hub.skip_lane(lane, actor=actor(), note=note)
    click.echo(to_text(event_json(head)) if as_json else f"{lane} goes on; event {head.id} is {head.status}.")


def _row(lane: Lane) -> tuple[object, ...]:
    waiting = f"{COUNT_CAP:,} or more" if lane.waiting > COUNT_CAP else lane.waiting
    state = f"{lane.status} ({lane.reason})" if lane.reason else lane.status
    since = lane.finished_at or lane.next_run_at
    return lane.lane, waiting, lane.head, state, lane.kind, lane.entity_id, moment(since)
