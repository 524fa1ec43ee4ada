"""Which addresses do people open all day, with other values each time?"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlencode

from benchmarks.triage_rows import ACCOUNTS, KINDS, PEOPLE
from tests.web.visitor import Visitor

_OLDER = re.compile(r'rel="next" href="([^"]+)"')

#: Some dead events as `(id, account, entity_id, fingerprint)`.
Sample = list[tuple[int, str, str, str]]


@dataclass(frozen=True, slots=True)
class Asked:
    """One kind of page: its name, and an address of it with other values each time.

    Attributes:
        form: what is sent to it with POST; None opens it.
    """

    name: str
    address: Callable[[random.Random], str]
    form: Callable[[random.Random], dict[str, str]] | None = None


def dead(**parameters: str) -> str:
    """The address of the dead letters that match."""
    return f"/dead-letters?{urlencode(parameters)}"


def pages(sample: Sample, visitor: Visitor, view: int) -> list[Asked]:
    """Everything that people open, as this visitor finds it; `view` is the id of one that is kept."""
    return [*_plain(sample), *_together(sample), *_elsewhere(sample, view), *_walked(visitor)]


def restricted(sample: Sample) -> list[Asked]:
    """The same for somebody who sees a few accounts only."""
    plain = (one for one in _plain(sample) if one.name in RESTRICTED)
    return [Asked(f"two accounts: {one.name}", one.address) for one in plain]


#: What is asked of the database in another way for who sees a few accounts only.
RESTRICTED = {
    "list", "list, oldest first", "all events", "reason", "class", "attempts", "any field", "text, frequent", "text, rare",
    "text, nowhere", "groups", "overview",
}  # fmt: skip


def _account(chance: random.Random) -> str:
    return f"filial-{chance.randrange(ACCOUNTS)}"


def _of_event(
    sample: Sample, address: Callable[[tuple[int, str, str, str]], str]
) -> Callable[[random.Random], str]:
    return lambda chance: address(chance.choice(sample))


def _moment(chance: random.Random) -> datetime:
    return datetime.now(UTC) - timedelta(seconds=chance.randrange(60, 40_000))


def _text(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


def _plain(sample: Sample) -> list[Asked]:
    return [
        Asked("list", lambda _: "/dead-letters"),
        Asked("list, oldest first", lambda _: dead(sort="oldest")),
        Asked("all events", lambda _: "/events"),
        Asked("kind", lambda chance: dead(kind=chance.choice(KINDS))),
        Asked("account", lambda chance: dead(account=_account(chance))),
        Asked("kind and account", lambda chance: dead(kind=chance.choice(KINDS), account=_account(chance))),
        Asked("reason", lambda chance: dead(reason=chance.choice(("auth", "exhausted")))),
        Asked("class", lambda _: dead(**{"class": "transient"})),
        Asked("group", _of_event(sample, lambda one: dead(group=one[3]))),
        Asked("entity", _of_event(sample, lambda one: dead(entity=one[2]))),
        Asked("since", lambda _: dead(since="4h")),
        Asked("assignee", lambda chance: dead(assignee=chance.choice(PEOPLE))),
        Asked("nobody has it", lambda _: dead(assignee="-")),
        Asked("tag", lambda chance: dead(tag=f"tag-{chance.randrange(20)}")),
        Asked("attempts", lambda _: dead(attempts="7+")),
        Asked("configured field", _of_event(sample, lambda one: dead(**{"payload.number": f"N-{one[0]}"}))),
        Asked(
            "any field", lambda chance: dead(**{"payload.customer_code": str(1000 + chance.randrange(9000))})
        ),
        Asked("text, frequent", lambda _: dead(q="registered")),
        Asked("text, rare", lambda chance: dead(q=f"customer {1000 + chance.randrange(9000)}")),
        Asked("text, nowhere", lambda _: dead(q="zebra crossing")),
        Asked("groups", lambda _: "/groups"),
        Asked("one group", _of_event(sample, lambda one: f"/groups/{quote(one[3])}")),
        Asked("event", _of_event(sample, lambda one: f"/events/{one[0]}")),
        Asked("search", _of_event(sample, lambda one: f"/search?q=N-{one[0]}")),
        Asked("overview", lambda _: "/"),
    ]


def _together(sample: Sample) -> list[Asked]:
    def between(chance: random.Random) -> str:
        end = _moment(chance)
        return dead(**{"from": _text(end - timedelta(hours=1)), "to": _text(end)})

    return [
        Asked("from and to", between),
        Asked("at", lambda chance: dead(at=_text(_moment(chance)))),
        Asked(
            "kind, account and class",
            lambda chance: dead(
                kind=chance.choice(KINDS), account=_account(chance), **{"class": "permanent"}
            ),
        ),
        Asked(
            "account and text", lambda chance: dead(account=_account(chance), q=f"{chance.randrange(3_000)}")
        ),
        Asked(
            "account and attempts", lambda chance: dead(account=_account(chance), attempts="6", since="12h")
        ),
        Asked("kind, nobody has it", lambda chance: dead(kind=chance.choice(KINDS), assignee="-")),
        Asked("tag and account", lambda chance: dead(tag=f"tag-{chance.randrange(20)}", account=_account(chance))),
        Asked("group and account", lambda chance: dead(group=chance.choice(sample)[3], account=_account(chance))),
        Asked("all events, account and status", lambda chance: f"/events?account={_account(chance)}&status=done"),
        Asked("all events, kind and pending", lambda chance: f"/events?kind={chance.choice(KINDS)}&status=pending"),
    ]  # fmt: skip


def _elsewhere(sample: Sample, view: int) -> list[Asked]:
    preview = {"action": "reprocess", "all": "1", "list": "dead-letters"}
    return [
        Asked("a kept view", lambda _: dead(view=str(view))),
        Asked("views", lambda _: "/views"),
        Asked("my work", lambda _: "/work"),
        Asked("audit", lambda _: "/audit"),
        Asked("bulk runs", lambda _: "/bulk"),
        Asked("edit", _of_event(sample, lambda one: f"/events/{one[0]}/edit")),
        Asked("groups by text", lambda chance: f"/groups?q={chance.randrange(3_000)}"),
        Asked("preview, everything", lambda _: "/bulk/preview", lambda _: preview),
        Asked(
            "preview, account",
            lambda _: "/bulk/preview",
            lambda chance: preview | {"account": _account(chance)},
        ),
        Asked(
            "preview, group",
            lambda _: "/bulk/preview",
            lambda chance: preview | {"group": chance.choice(sample)[3]},
        ),
        Asked(
            "preview, 50 chosen",
            lambda _: "/bulk/preview",
            lambda chance: (
                {key: preview[key] for key in ("action", "list")}
                | {"events": ",".join(str(one[0]) for one in chance.sample(sample, 50))}
            ),
        ),
    ]


def _walked(visitor: Visitor) -> list[Asked]:
    """Pages further down, found as a person finds them: by the link to the next one."""
    walks = {"further down": "/dead-letters", "all events, further down": "/events"}
    return [Asked(name, _one_of(_down(visitor, first))) for name, first in walks.items()]


def _one_of(addresses: list[str]) -> Callable[[random.Random], str]:
    return lambda chance: chance.choice(addresses)


def _down(visitor: Visitor, address: str, number: int = 20) -> list[str]:
    addresses: list[str] = []
    while len(addresses) < number:
        found = _OLDER.search(visitor.get(address).text)
        if found is None:
            break
        address = found[1].replace("&amp;", "&")
        addresses.append(address)
    return addresses
