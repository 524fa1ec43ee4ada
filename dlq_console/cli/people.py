"""`dlq-console users ...` and `dlq-console tokens ...`: who may use the console and the API."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

import click

from dlq_console.cli.common import accounts_option, actor, as_json, moment, open_hub, print_table
from dlq_console.store import people
from dlq_console.store.people import Role, TokenEntry, UserEntry
from dlq_console.web.api.representation import to_text

Command = TypeVar("Command", bound=Callable[..., None])


def _with_rights(command: Command) -> Command:
    """NAME, --role and --accounts: somebody or something new, and what it may do."""
    role = click.option(
        "--role", required=True, type=click.Choice([str(role) for role in Role]), help="What it may do."
    )
    accounts = accounts_option("Only these accounts; all if left out.")
    return click.argument("name")(role(accounts(command)))


_with_password = click.option(
    "--password-stdin", is_flag=True, help="Read the password from standard input instead of asking for it."
)


@click.group()
def users() -> None:
    """People who may log in to the console."""


@users.command("add")
@_with_rights
@_with_password
def add_user(name: str, role: str, accounts: tuple[str, ...] | None, password_stdin: bool) -> None:
    """Let somebody log in as NAME."""
    with open_hub() as hub:
        person = people.add_user(
            hub.store, name, _password(password_stdin), role=role, accounts=accounts, actor=actor()
        )
    click.echo(f"The user {person.name} may log in; the role is {person.role}.")


@users.command("list")
@as_json
def list_users(as_json: bool) -> None:
    """List everybody, also those who were disabled."""
    with open_hub() as hub:
        entries = people.list_users(hub.store)
    if as_json:
        click.echo(to_text({"items": [_user(entry) for entry in entries]}))
        return
    print_table(
        ("NAME", "ROLE", "ACCOUNTS", "LAST LOG-IN", "DISABLED"),
        [
            (
                entry.person.name,
                entry.person.role,
                _accounts(entry.person.accounts),
                moment(entry.last_login_at),
                moment(entry.disabled_at),
            )
            for entry in entries
        ],
    )


@users.command("passwd")
@click.argument("name")
@_with_password
def set_password(name: str, password_stdin: bool) -> None:
    """Give somebody a new password and end their sessions."""
    with open_hub() as hub:
        people.set_password(hub.store, name, _password(password_stdin), actor=actor())
    click.echo(f"The password of {name} is changed; open sessions have ended.")


@users.command("disable")
@click.argument("name")
def disable_user(name: str) -> None:
    """Let somebody log in no more and end their sessions."""
    with open_hub() as hub:
        people.disable_user(hub.store, name, actor=actor())
    click.echo(f"The user {name} may log in no more; open sessions have ended.")


@click.group()
def tokens() -> None:
    """Programs that may use the JSON API."""


@tokens.command("add")
@_with_rights
def add_token(name: str, role: str, accounts: tuple[str, ...] | None) -> None:
    """Make a token for a program called NAME; it is shown only now."""
    with open_hub() as hub:
        token = people.add_token(hub.store, name, role=role, accounts=accounts, actor=actor())
    click.echo(f"Token of {name}, shown only now: {token}")


@tokens.command("list")
@as_json
def list_tokens(as_json: bool) -> None:
    """List every token, also those that were revoked."""
    with open_hub() as hub:
        entries = people.list_tokens(hub.store)
    if as_json:
        click.echo(to_text({"items": [_token(entry) for entry in entries]}))
        return
    print_table(
        ("NAME", "ROLE", "ACCOUNTS", "LAST USED", "REVOKED"),
        [
            (
                entry.name,
                entry.role,
                _accounts(entry.accounts),
                moment(entry.last_used_at),
                moment(entry.revoked_at),
            )
            for entry in entries
        ],
    )


@tokens.command("revoke")
@click.argument("name")
def revoke_token(name: str) -> None:
    """Make a token worthless from now on."""
    with open_hub() as hub:
        people.revoke_token(hub.store, name, actor=actor())
    click.echo(f"The token {name} is revoked.")


def _password(from_stdin: bool) -> str:
    """Never an argument: other users of the machine can read those."""
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    password: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return password


def _user(entry: UserEntry) -> dict[str, Any]:
    return {
        "name": entry.person.name,
        "role": entry.person.role,
        "accounts": entry.person.accounts,
        "created_at": entry.created_at,
        "disabled_at": entry.disabled_at,
        "last_login_at": entry.last_login_at,
    }


def _token(entry: TokenEntry) -> dict[str, Any]:
    return {field.name: getattr(entry, field.name) for field in fields(TokenEntry)}


def _accounts(accounts: tuple[str, ...] | None) -> str:
    return "all" if accounts is None else ", ".join(accounts)
