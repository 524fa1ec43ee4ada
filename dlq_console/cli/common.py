"""What do all commands share: how they open the hub, what they print, and how they end?"""

from __future__ import annotations

import csv
import getpass
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypeVar

import click

from dlq_console.errors import ConfigurationError, DLQError, PayloadRefused
from dlq_console.hub.core import HubCore
from dlq_console.hub.origins import Via, acting
from dlq_console.logs import redacting_handler
from dlq_console.runtime import Hub
from dlq_console.store import queries
from dlq_console.store.filters import FilterError
from dlq_console.store.people import NameTaken, NoSuchName, PeopleError
from dlq_console.store.queries.readiness import exists

#: A function that becomes a command.
Command = TypeVar("Command", bound=Callable[..., Any])
#: Characters of a cell that are printed on a terminal.
LONGEST_CELL = 60

#: The call was wrong, rather than the answer no.
_WRONG_USAGE = (ConfigurationError, FilterError, PayloadRefused, PeopleError)
_ANSWER_IS_NO = (NameTaken, NoSuchName)

as_json = click.option("--json", "as_json", is_flag=True, help="Print what the JSON API answers.")


def accounts_option(text: str) -> Callable[[Command], Command]:
    """The option `--accounts`, for a command that takes its names as `accounts`; None for all."""
    return click.option(
        "--accounts",
        metavar="A,B",
        multiple=True,
        callback=_account_names,
        help=f"{text} A name with a comma stands in quotes: '\"A, B\"'.",
    )


def _account_names(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...] | None:
    """The names in all of the options, each of which is a line of CSV; None without the option."""
    if not given:
        return None
    try:
        lines = [next(csv.reader([text], skipinitialspace=True, strict=True), []) for text in given]
    except csv.Error:
        raise click.BadParameter(
            'close the quotes around a name; a quote inside is written twice: \'"Bar ""Lua"", Centro"\'.'
        ) from None
    names = tuple(dict.fromkeys(name.strip() for line in lines for name in line if name.strip()))
    if not names:
        raise click.BadParameter("name at least one account, or leave the option out for all.")
    return names


@contextmanager
def open_hub(*, check_tables: bool = True) -> Iterator[Hub]:
    """The hub of the settings; closed at the end.

    Raises:
        click.ClickException: the tables are missing or of another version.
    """
    hub = Hub()
    try:
        if check_tables:
            require_tables(hub)
        with acting(Via.CLI):
            yield hub
    finally:
        hub.close()


def require_tables(hub: HubCore) -> None:
    """Refuse to go on without the tables of this version.

    Raises:
        click.ClickException: the database is missing, or its tables are missing or of another version; the message
            says what to do.
    """
    if not exists(hub.store):
        place = hub.store.engines.place
        raise click.ClickException(f"There is no database at {place}; create it with: dlq-console db upgrade")
    reason = queries.why_not_ready(hub.store)
    if reason:
        raise click.ClickException(reason)


def actor() -> str:
    """Who the audit says it was: the user of this machine."""
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):
        return f"cli:{os.getuid()}"


def exit_status(error: DLQError) -> int:
    """1 where the answer is no, 2 where the call was wrong."""
    return 2 if isinstance(error, _WRONG_USAGE) and not isinstance(error, _ANSWER_IS_NO) else 1


def complain(sentence: str) -> None:
    """Say on standard error what went wrong, in one line."""
    click.echo(f"dlq-console: {' '.join(sentence.split())}", err=True)


def log_to_stderr() -> None:
    """Let a process that runs for long say what it does."""
    handler = redacting_handler("%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("alembic").setLevel(logging.WARNING)


def moment(time: datetime | None) -> str | None:
    """A time as people read it, in UTC; nothing where there is none."""
    return None if time is None else f"{time:%Y-%m-%d %H:%M:%SZ}"


def print_table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows in columns. A cell that is too long is cut on a terminal; a file or another program gets all of it."""
    longest = LONGEST_CELL if sys.stdout.isatty() else None
    cells = [[_cell(cell, longest) for cell in row] for row in (headings, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headings))]
    for row in cells:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _cell(value: object, longest: int | None) -> str:
    text = "-" if value is None else " ".join(str(value).split())
    return text if longest is None or len(text) <= longest else f"{text[: longest - 1]}…"
