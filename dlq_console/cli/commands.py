"""Which commands are there, and how does each end? With its answer, or with one sentence and an exit status."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

import click
from sqlalchemy import make_url

from dlq_console.cli.accounts import accounts, breakers
from dlq_console.cli.alerts import alerts
from dlq_console.cli.bulk import bulk
from dlq_console.cli.common import complain, exit_status, open_hub
from dlq_console.cli.doctor import doctor
from dlq_console.cli.embeds import embeds
from dlq_console.cli.events import enqueue, events
from dlq_console.cli.export import export
from dlq_console.cli.interrupts import INTERRUPTED
from dlq_console.cli.lanes import lanes
from dlq_console.cli.nodes import nodes
from dlq_console.cli.people import tokens, users
from dlq_console.cli.processes import demo, scheduler, serve, worker
from dlq_console.cli.recovery import recovery
from dlq_console.cli.rules import rules
from dlq_console.errors import DLQError
from dlq_console.settings import unknown_names
from dlq_console.store import queries


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="dlq-console", message="%(package)s %(version)s")
def cli() -> None:
    """Failed integration work: understood, fixed and run again.

    Settings are read from DLQ_... variables of the environment and from a .env file.
    """
    for name, nearest in unknown_names().items():
        hint = f"; did you mean {nearest}?" if nearest else "."
        complain(f"{name} is ignored, there is no such setting{hint}")


@click.group()
def db() -> None:
    """The tables of the hub."""


@db.command("upgrade")
def upgrade() -> None:
    """Create the tables, or bring them to the version of this program."""
    with open_hub(check_tables=False) as hub:
        hub.migrate()
        where = make_url(hub.settings.database_url).render_as_string(hide_password=True)
    click.echo(f"The tables are up to date in {where}")


@db.command("current")
def current() -> None:
    """Say of which version the tables are; exit status 1 where this program cannot work with them."""
    with open_hub() as hub:
        click.echo(queries.standing(hub.store))


for command in (
    db,
    serve,
    worker,
    scheduler,
    enqueue,
    events,
    export,
    bulk,
    alerts,
    accounts,
    breakers,
    lanes,
    nodes,
    recovery,
    rules,
    doctor,
    users,
    tokens,
    embeds,
    demo,
):
    cli.add_command(command)


def run(arguments: Sequence[str] | None) -> NoReturn:
    """Run the command line and exit with its status; see `dlq_console.cli.main`."""
    try:
        sys.exit(cli.main(arguments, prog_name="dlq-console", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.ClickException as error:
        complain(error.format_message())
        sys.exit(error.exit_code)
    except click.Abort:
        complain("Stopped.")
        sys.exit(INTERRUPTED)
    except DLQError as error:
        complain(error.message)
        sys.exit(exit_status(error))
    except Exception as error:
        if sys.flags.dev_mode:
            raise
        complain(f"This is a fault of the program: {type(error).__name__}: {error}")
        sys.exit(1)
