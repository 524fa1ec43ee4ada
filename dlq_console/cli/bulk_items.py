"""`dlq-console bulk items`: what has become of each event of a bulk run, to read, for a program or for a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, fields
from datetime import datetime
from itertools import chain

import click

from dlq_console.cli.common import as_json, moment, open_hub, print_table
from dlq_console.hub import spreadsheets
from dlq_console.hub.bulk import MAX_ITEMS, BulkItem, ItemState
from dlq_console.hub.bulk_json import item_page_json
from dlq_console.runtime import Hub
from dlq_console.web.api.representation import to_text

_HEADINGS = ("ID", "OUTCOME", "WHY", "KIND", "ACCOUNT", "ENTITY", "STATUS NOW", "ERROR NOW")


@click.command()
@click.argument("run_id", metavar="ID", type=int)
@click.option(
    "--state", type=click.Choice([str(state) for state in ItemState]), help="Only those in this state."
)
@click.option(
    "--limit", default=50, type=click.IntRange(1, MAX_ITEMS), show_default=True, help="Most on one page."
)
@click.option("--cursor", default="", help="Where the page begins, as the page before said.")
@click.option("--csv", "as_csv", is_flag=True, help="All of them as a CSV with commas; times are in UTC.")
@as_json
def items(run_id: int, state: str | None, limit: int, cursor: str, as_csv: bool, as_json: bool) -> None:
    """List the events of a run, in the order in which they are let go."""
    if as_csv and as_json:
        raise click.UsageError("Give --csv or --json, not both.")
    with open_hub() as hub:
        if as_csv:
            _print_csv(hub, run_id, state)
            return
        page = hub.bulk.items(run_id, state, cursor=cursor, limit=limit)
    if as_json:
        click.echo(to_text(item_page_json(page)))
        return
    print_table(_HEADINGS, [_row(item) for item in page.items])
    if page.next_cursor:
        click.echo(f"There are more: --cursor {page.next_cursor}")


def _print_csv(hub: Hub, run_id: int, state: str | None) -> None:
    hub.bulk.get(run_id)  # refuses before anything is printed
    headings: list[object] = [field.name for field in fields(BulkItem)]
    rows = chain([headings], _every(hub, run_id, state))
    click.echo(spreadsheets.BYTE_ORDER_MARK, nl=False)
    for line in spreadsheets.lines(rows, separator=spreadsheets.COMMA):
        click.echo(line, nl=False)


def _every(hub: Hub, run_id: int, state: str | None) -> Iterator[list[object]]:
    cursor: str | None = ""
    while cursor is not None:
        page = hub.bulk.items(run_id, state, cursor=cursor, limit=MAX_ITEMS)
        yield from ([_cell(value) for value in astuple(item)] for item in page.items)
        cursor = page.next_cursor


def _cell(value: object) -> object:
    return moment(value) if isinstance(value, datetime) else value


def _row(item: BulkItem) -> tuple[object, ...]:
    return (
        item.event_id,
        item.state,
        item.cause,
        item.kind,
        item.account,
        item.entity_id,
        item.status,
        item.last_error,
    )
