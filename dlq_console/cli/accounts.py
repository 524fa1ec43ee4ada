"""`dlq-console accounts ...` and `dlq-console breakers ...`: which doors are closed, and what a person does about it."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal

import click

from dlq_console.cli.common import Command, actor, as_json, complain, moment, open_hub, print_table
from dlq_console.errors import EventNotFound, StoreUnavailable
from dlq_console.hub.door_figures import account_figures, breaker_figures
from dlq_console.hub.doors import circuit_scope, circuits
from dlq_console.hub.services import BREAKERS, last_seen, read_services, service_of, together
from dlq_console.runtime import Hub
from dlq_console.store import accounts as known_accounts
from dlq_console.store import doors, queries, scopes, snapshots
from dlq_console.web.api.representation import to_text

_ACCOUNTS = ("ACCOUNT", "STATE", "UNTIL", "WHY", "AT ONCE", "DUE", "RUNNING", "DEAD")
_BREAKERS = ("BREAKER", "OF", "STATE", "UNTIL", "FAILURES", "HELD BY", "WHY")

#: A year; what is to last longer is left without an end.
_MOST_MINUTES = 365 * 24 * 60

note_option = click.option("--note", help="Why; kept in the audit.")


def _span(_context: click.Context, _option: click.Parameter, given: float | None) -> float | None:
    # Neither greater nor smaller than anything, "nan" would pass a range.
    if given is not None and not 0 < given <= _MOST_MINUTES:
        raise click.BadParameter(f"write a number greater than 0 and at most {_MOST_MINUTES} (a year).")
    return given


def minutes_option(ends: str) -> Callable[[Command], Command]:
    """The option `--minutes`; `ends` is what ends it without."""
    return click.option(
        "--minutes", type=float, callback=_span, help=f"For how long; until {ends} without it."
    )


@click.group()
def accounts() -> None:
    """Accounts: what runs of them, and whether their doors are open."""


@accounts.command("list")
@as_json
def list_accounts(as_json: bool) -> None:
    """List the accounts with their work and their doors."""
    with open_hub() as hub:
        found = account_figures(queries.overview(hub.store), doors.read_all(hub.store))
    if as_json:
        click.echo(to_text({"items": found}))
        return
    print_table(_ACCOUNTS, [_account_row(account) for account in found])


def _account_row(account: dict[str, object]) -> tuple[object, ...]:
    until = account["until"]
    when = moment(until) if isinstance(until, datetime) else ("until resumed" if account["cause"] else "")
    return (
        account["account"],
        account["cause"] or ("stopped (0 at once)" if account["max_running"] == 0 else "open"),
        when,
        account["reason"] or "",
        account["max_running"] if account["max_running"] is not None else "",
        account["due"],
        account["running"],
        account["dead"],
    )


@accounts.command("pause")
@click.argument("name")
@minutes_option("resumed")
@note_option
def pause(name: str, minutes: float | None, note: str | None) -> None:
    """Let no further event of account NAME start; what runs runs to its end."""
    with open_hub() as hub:
        until = None if minutes is None else _in(hub, minutes)
        hub.pause_account(name, actor=actor(), note=note, until=until)
    click.echo(f"{name} is paused{f' for {minutes:g} minutes' if minutes else ''}.")


@accounts.command("resume")
@click.argument("name")
@note_option
def resume(name: str, note: str | None) -> None:
    """Let events of the paused account NAME start again."""
    with open_hub() as hub:
        hub.resume_account(name, actor=actor(), note=note)
    click.echo(f"{name} goes on.")


@accounts.command("open-provider")
@click.argument("name")
@note_option
def open_provider(name: str, note: str | None) -> None:
    """Let events go to provider NAME again, which had closed itself for all accounts."""
    with open_hub() as hub:
        hub.open_provider(name, actor=actor(), note=note)
    click.echo(f"{name} is open.")


@accounts.command("set")
@click.argument("name")
@click.option(
    "--max-running", metavar="N|none", required=True, help="How many of its events may run at once."
)
def set_account(name: str, max_running: str) -> None:
    """Set how much of account NAME may run at once; `none` goes back to its fair share."""
    if max_running != "none" and not max_running.isdecimal():
        raise click.BadParameter("write a whole number from 0, or none.", param_hint="--max-running")
    limit = None if max_running == "none" else min(int(max_running), 100_000)
    with open_hub() as hub:
        scopes.limit_account(hub.store, name, limit)
    click.echo(f"{name}: {'its fair share' if limit is None else f'{limit} at once'}.")


@click.group()
def breakers() -> None:
    """Circuit breakers: of accounts, of kinds whose policy has one, and of services that guards protect."""


@breakers.command("list")
@as_json
def list_breakers(as_json: bool) -> None:
    """List the breakers that have anything to tell."""
    with open_hub() as hub:
        kinds = hub.known_kinds()
        found = {door.scope.name: breaker_figures(door, now, kinds) for door, now in circuits(hub.store)}
        try:
            of_services = read_services(hub.state, hub.services.breakers).breakers
        except StoreUnavailable as error:
            complain(f"{error} What was read last of services is shown.")
            of_services = last_seen(snapshots.look(hub.store, BREAKERS), away=True)
    shown = together(found, of_services)
    if as_json:
        click.echo(to_text(shown))
        return
    print_table(_BREAKERS, [_breaker_row(name, breaker) for name, breaker in shown.items()])


def _breaker_row(name: str, breaker: dict[str, Any]) -> tuple[object, ...]:
    override, history = breaker["override"], breaker["history"]
    until = (override and override["until"]) or (
        breaker["open_until"] if breaker["state"] == "open" else None
    )
    return (
        name,
        breaker["scope"],
        breaker["state"],
        moment(until) if isinstance(until, datetime) else until or "",
        breaker["failures"],
        override["actor"] if override else "",
        history[0]["why"] if history else "",
    )


@breakers.command("force-open")
@click.argument("name")
@minutes_option("reset")
@note_option
def force_open(name: str, minutes: float | None, note: str | None) -> None:
    """Let nothing start behind breaker NAME, whatever its calls say."""
    _hold(name, "open", minutes, note)


@breakers.command("force-closed")
@click.argument("name")
@minutes_option("reset")
@note_option
def force_closed(name: str, minutes: float | None, note: str | None) -> None:
    """Let everything start behind breaker NAME, whatever its calls say."""
    _hold(name, "closed", minutes, note)


@breakers.command("reset")
@click.argument("name")
@note_option
def reset(name: str, note: str | None) -> None:
    """Close breaker NAME, and end what a person had decided about it."""
    with open_hub() as hub:
        hub.reset_breaker(name, actor=actor(), note=note)
    click.echo(f"{name} is closed.")


def _hold(name: str, position: Literal["open", "closed"], minutes: float | None, note: str | None) -> None:
    with open_hub() as hub:
        if not _is_known(hub, name):
            raise EventNotFound(
                f"Nothing is known of {name}: write an account that has events, <account>/<kind> with a kind that a worker"
                " handles, or a service as `breakers list` shows it."
            )
        hub.force_breaker(name, position, actor=actor(), note=note, seconds=minutes and minutes * 60)
    click.echo(f"{name} is held {position}.")


def _is_known(hub: Hub, name: str) -> bool:
    """Whether there is anything behind a breaker of this name; what is held by a slip of the pen protects nothing."""
    if service_of(hub.store, hub.state, name) is not None:
        return True
    scope = circuit_scope(hub.store, name)
    return scope.account is not None and known_accounts.is_known(hub.store, scope.account, scope.kind)


def _in(hub: Hub, minutes: float) -> datetime:
    return datetime.fromtimestamp(math.ceil(doors.present(hub.store) + minutes * 60), UTC)
