"""What do administrators do with status frames? The same for the page and for programs, by the same rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flask import request

from dlq_console.hub import embed_tokens
from dlq_console.store import embeds
from dlq_console.store.embeds import Embed
from dlq_console.store.people import PeopleError, Person
from dlq_console.web.embed import state
from dlq_console.web.hub import hub, store


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a frame and its badge are; whoever has them can read what the frame tells."""

    base: str
    frame: str
    badge: str


def sees(who: Person, known: Embed) -> bool:
    """Whether somebody sees every account that a frame tells of."""
    return who.accounts is None or (known.accounts is not None and all(map(who.sees, known.accounts)))


def visible(who: Person) -> list[Embed]:
    """The frames that somebody may see, those that were revoked last."""
    return [one for one in embeds.list_embeds(store()) if sees(who, one)]


def found(who: Person, embed_id: int) -> Embed | None:
    """The frame of that id; None where there is none, or none that they may see."""
    known = embeds.find(store(), embed_id)
    return known if known is not None and sees(who, known) else None


def add(
    who: Person,
    name: str,
    *,
    accounts: Sequence[str] | None,
    origins: Sequence[str],
    no_page: bool,
    detail: str,
    days: int,
) -> Embed:
    """Make a frame; without `accounts` it tells of all together.

    Raises:
        NameTaken: there is one of this name that was not revoked.
        PeopleError: something cannot be used, or they do not see it.
    """
    if who.accounts is not None and (accounts is None or not all(map(who.sees, accounts))):
        raise PeopleError("accounts: name some of those that you see.", cause="accounts_unseen")
    if not origins and not no_page:
        raise PeopleError(
            "origin: name the pages that may show it, or say that none may.", cause="origins_missing"
        )
    if origins and no_page:
        raise PeopleError("origin: name pages, or say that none may; not both.", cause="origins_both")
    made = embeds.add(
        store(), name, origins=origins, accounts=accounts, detail=detail, days=days, actor=who.name
    )
    state().forget()
    return made


def act(who: Person, known: Embed, act: str, **more: object) -> bool:
    """Do something to a frame; False where it is not, or not any more, as `known` says."""
    done = embeds.ACTS[act](store(), known, actor=who.name, **more)
    if done:
        state().forget()
    return done


def addresses(known: Embed) -> Addresses:
    """Where it is now, as it is reached from outside as far as that is known."""
    base = hub().settings.public_url or request.url_root.rstrip("/")
    token = embed_tokens.sign(hub().settings.secret_key, known.id, known.version)
    return Addresses(base, f"{base}/embed/{token}", f"{base}/badge/{token}.svg")
