"""By which options does a command take a filter? The same for every command, and the same parameters as the pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from dlq_console.cli.common import Command
from dlq_console.store import views
from dlq_console.store.cursors import MAX_ID
from dlq_console.store.filters import MAX_FIELDS, PAYLOAD, VERDICTS, EventFilter
from dlq_console.store.states import Reason, Status
from dlq_console.store.store import Store

_OPTIONS = (
    click.option(
        "--view",
        "view_id",
        metavar="ID",
        type=click.IntRange(1, MAX_ID),
        help="The filter of this saved view; what else is asked for replaces the same of the view.",
    ),
    click.option("--kind", multiple=True, help="Any of these kinds; may repeat."),
    click.option("--account", multiple=True, help="Any of these accounts; may repeat."),
    click.option(
        "--status",
        multiple=True,
        type=click.Choice([str(word) for word in Status]),
        help="Any of these states; may repeat.",
    ),
    click.option(
        "--reason",
        multiple=True,
        type=click.Choice([str(word) for word in Reason]),
        help="Any of these reasons; may repeat.",
    ),
    click.option(
        "--class",
        "class_",
        multiple=True,
        type=click.Choice(VERDICTS),
        help="Any of these verdicts about the last error; may repeat.",
    ),
    click.option("--group", default="", help="The fingerprint of the last error."),
    click.option("--entity", default="", help="The whole entity id."),
    click.option("--q", default="", help="Text anywhere in the last error."),
    click.option("--since", default="", help="How long ago at most: 30m, 4h, 2d, 1w."),
    click.option("--from", "from_", default="", help="Ended or created at or after: ISO 8601 with a zone."),
    click.option("--to", default="", help="Ended or created before: ISO 8601 with a zone."),
    click.option("--at", default="", help="Only what had ended, or been created, by then."),
    click.option("--assignee", default="", help="Who has it on the desk; - for nobody."),
    click.option("--tag", multiple=True, help="Any of these tags; may repeat."),
    click.option("--attempts", default="", help="How many: 3, or 3+ for three at least."),
    click.option(
        "--payload",
        metavar="PATH=VALUE",
        multiple=True,
        help=f"A field of the payload, such as order.number=8841; at most {MAX_FIELDS}.",
    ),
    click.option(
        "--snoozed", type=click.Choice(["hide", "only"]), default=None, help="What is put aside for later."
    ),
)


def filter_options(command: Command) -> Command:
    """Give a command every option of a filter; read them with `read_filter`."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def read_filter(asked: Mapping[str, Any]) -> EventFilter:
    """The filter that the options of `filter_options` mean, without their view; others of the command are left alone.

    Raises:
        FilterError: a value cannot mean anything.
        click.BadParameter: a field of the payload is given without its value.
    """
    return EventFilter.parse(_parameters(asked))


def with_view(store: Store, asked: Mapping[str, Any]) -> EventFilter:
    """The same, and of a view what it does not replace.

    Raises:
        ViewNotFound: there is no such view.
        As `read_filter`.
    """
    own = read_filter(asked)
    if asked["view_id"] is None:
        return own
    return views.with_filter(views.get(store, asked["view_id"], None), own.parameters())


def _parameters(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The options as the parameters of an address."""
    values = {name: value for name, value in asked.items() if value is not None}
    values |= {"from": asked["from_"], "class": asked["class_"]}
    for pair in values.pop("payload"):
        path, equals, value = pair.partition("=")
        if not equals or not value:
            raise click.BadParameter("write PATH=VALUE, such as order.number=8841.", param_hint="--payload")
        values[PAYLOAD + path] = value
    return values
