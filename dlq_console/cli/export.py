"""`dlq-console export`: every event that matches, as a table for a spreadsheet or as JSON for a program."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import click

from dlq_console.cli.common import actor, moment, open_hub
from dlq_console.cli.filters import filter_options, with_view
from dlq_console.hub import export as exports
from dlq_console.hub import spreadsheets
from dlq_console.hub.export import Exported
from dlq_console.web.api.representation import summary_json, to_text


@click.command()
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "json"]),
    default="csv",
    show_default=True,
    help="What to write.",
)
@click.option("--output", default="-", metavar="FILE", help="Where to; standard output if left out.")
@click.option(
    "--separator",
    type=click.Choice([spreadsheets.COMMA, spreadsheets.SEMICOLON]),
    default=spreadsheets.COMMA,
    help="Between the cells of a CSV; spreadsheets in Brazil want the semicolon.",
)
@click.option("--sort", type=click.Choice(["oldest"]), default=None, help="Oldest first instead of newest.")
@filter_options
def export(form: str, output: str, separator: str, **asked: Any) -> None:
    """Write every event that matches to a file; `--status dead` for the dead letters. Times are in UTC."""
    with open_hub() as hub:
        flt = with_view(hub.store, asked)
        events = exports.events(hub.store, flt)
        exports.note(hub.store, actor=actor(), what=f"events.{form}", filter_=exports.query_of(flt))
        columns = {path: label for kind in flt.kind for label, path in hub.policy(kind).columns.items()}
        _write(output, _json(events) if form == "json" else _csv(events, columns, separator))


def _csv(events: Iterator[Exported], columns: dict[str, str], separator: str) -> Iterator[str]:
    rows = (exports.cells(one, list(columns), moment) for one in events)
    heading: list[object] = [*exports.COLUMNS, *columns.values()]
    yield spreadsheets.BYTE_ORDER_MARK
    yield from spreadsheets.lines(chain([heading], rows), separator=separator)


def _json(events: Iterator[Exported]) -> Iterator[str]:
    return exports.array(to_text(summary_json(one.event)) for one in events)


def _write(output: str, texts: Iterator[str]) -> None:
    if output == "-":
        for text in texts:
            click.echo(text, nl=False)
        return
    try:
        with Path(output).open("w", encoding="utf-8", newline="") as file:
            file.writelines(texts)
    except OSError as error:
        raise click.BadParameter(
            f"{output} cannot be written: {error.strerror}.", param_hint="--output"
        ) from error
