"""`dlq-console embeds ...`: status frames that pages of others show."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import click

from dlq_console.cli.common import accounts_option, actor, as_json, moment, open_hub, print_table
from dlq_console.hub import embed_tokens
from dlq_console.runtime import Hub
from dlq_console.store import accounts as known_accounts
from dlq_console.store import embeds as store_embeds
from dlq_console.store.embeds import DAYS, MOST_DAYS, Detail, Embed
from dlq_console.web.api.representation import to_text


@click.group()
def embeds() -> None:
    """Status frames and badges for pages of others; whoever has the address of one can read it."""


@embeds.command("add")
@click.argument("name")
@accounts_option("Tell of these, by name; of all together, without their names, if left out.")
@click.option(
    "--origin",
    "origins",
    metavar="URL",
    multiple=True,
    help="Page that may frame it, such as https://intranet.example; may be repeated.",
)
@click.option("--no-page", is_flag=True, help="No page may frame it; only its badge and its own address.")
@click.option(
    "--detail",
    type=click.Choice([str(detail) for detail in Detail]),
    default=str(Detail.STATUS),
    show_default=True,
    help="figures: also lag, time to drain and circuit, coarsely.",
)
@click.option(
    "--expires",
    metavar="DAYS",
    type=click.IntRange(1, MOST_DAYS),
    default=DAYS,
    show_default=True,
    help="For how long it can be seen.",
)
def add_embed(
    name: str,
    accounts: tuple[str, ...] | None,
    origins: tuple[str, ...],
    no_page: bool,
    detail: str,
    expires: int,
) -> None:
    """Make a frame called NAME; its address is printed now, last on its line."""
    if not origins and not no_page:
        raise click.UsageError(
            "name the pages that may frame it with --origin https://..., or say --no-page for a badge alone."
        )
    if origins and no_page:
        raise click.UsageError("--origin and --no-page exclude each other.")
    with open_hub() as hub:
        _check_key(hub)
        made = store_embeds.add(
            hub.store,
            name,
            origins=origins,
            accounts=accounts,
            detail=detail,
            days=expires,
            actor=actor(),
        )
        for line in _told(hub, made):
            click.echo(line)


@embeds.command("list")
@as_json
def list_embeds(as_json: bool) -> None:
    """List every frame, also those that were revoked; addresses are not shown."""
    with open_hub() as hub:
        entries = store_embeds.list_embeds(hub.store)
    if as_json:
        click.echo(to_text({"items": [_entry(entry) for entry in entries]}))
        return
    print_table(
        ("NAME", "ACCOUNTS", "ORIGINS", "DETAIL", "STATE", "EXPIRES", "LAST SEEN", "HITS"),
        [
            (
                entry.name,
                "all" if entry.accounts is None else ", ".join(entry.accounts),
                ", ".join(entry.origins) or "none",
                entry.detail,
                entry.standing,
                moment(entry.expires_at),
                moment(entry.last_seen_at),
                entry.hits,
            )
            for entry in entries
        ],
    )


@embeds.command("pause")
@click.argument("name")
def pause_embed(name: str) -> None:
    """Let nobody see a frame until it is resumed, within half a minute."""
    _act(name, "pause")
    click.echo(f"The frame {name} is paused.")


@embeds.command("resume")
@click.argument("name")
def resume_embed(name: str) -> None:
    """Let a paused frame be seen again."""
    _act(name, "resume")
    click.echo(f"The frame {name} can be seen again.")


@embeds.command("renew")
@click.argument("name")
@click.option(
    "--expires",
    "days",
    metavar="DAYS",
    type=click.IntRange(1, MOST_DAYS),
    default=DAYS,
    show_default=True,
    help="For how long from now.",
)
def renew_embed(name: str, days: int) -> None:
    """Let a frame be seen for longer, at the same address."""
    _act(name, "renew", days=days)
    click.echo(f"The frame {name} can be seen for {days} days from now.")


@embeds.command("rotate")
@click.argument("name")
def rotate_embed(name: str) -> None:
    """Give a frame a new address, printed last on its line; the old one shows nothing within half a minute."""
    with open_hub() as hub:
        _check_key(hub)
        _act_in(hub, name, "rotate")
        for line in _told(hub, store_embeds.named(hub.store, name)):
            click.echo(line)


@embeds.command("revoke")
@click.argument("name")
def revoke_embed(name: str) -> None:
    """Let nobody see a frame any more, for good, within half a minute."""
    with open_hub() as hub:
        if store_embeds.named(hub.store, name).revoked_at is None:
            _act_in(hub, name, "revoke")
    click.echo(f"The frame {name} is revoked.")


def _act(name: str, act: str, **more: Any) -> None:
    with open_hub() as hub:
        _act_in(hub, name, act, **more)


def _act_in(hub: Hub, name: str, act: str, **more: Any) -> None:
    """Do something to the frame of that name as it stands.

    Raises:
        ClickException: it cannot be done to it now; the message says why.
    """
    known = store_embeds.named(hub.store, name)
    if store_embeds.ACTS[act](hub.store, known, actor=actor(), **more):
        return
    now = store_embeds.named(hub.store, name)
    if now.revoked_at is not None:
        raise click.ClickException(f"The frame {name} is revoked, for good; add another one.")
    if act == "pause" and now.paused_at is not None:
        raise click.ClickException(f"The frame {name} is paused already.")
    if act == "resume" and now.paused_at is None:
        raise click.ClickException(f"The frame {name} is not paused.")
    raise click.ClickException(f"The frame {name} was changed by somebody else meanwhile; try again.")


def _check_key(hub: Hub) -> None:
    # Late: it brings all that pages need.
    from dlq_console.web.security import check_secret_key

    check_secret_key(hub.settings.secret_key)


def _told(hub: Hub, made: Embed) -> list[str]:
    """What is worth a word, and the address."""
    unknown = [name for name in made.accounts or () if not known_accounts.is_known(hub.store, name)]
    lines = [f"There is no account {name} yet; it is shown as unknown until there is." for name in unknown]
    if not made.origins:
        lines.append("No page may frame it: only its badge and its own address can be looked at.")
    if not hub.settings.public_url:
        lines.append("Set DLQ_PUBLIC_URL for whole addresses; this one goes on from that of the console.")
    token = embed_tokens.sign(hub.settings.secret_key, made.id, made.version)
    lines.append(f"Badge: {hub.settings.public_url}/badge/{token}.svg")
    days = round(made.left / 86_400)
    return [*lines, f"Frame {made.name}, for {days} days: {hub.settings.public_url}/embed/{token}"]


def _entry(entry: Embed) -> dict[str, Any]:
    known = {field.name: getattr(entry, field.name) for field in fields(Embed) if field.name != "left"}
    return known | {"state": entry.standing}
