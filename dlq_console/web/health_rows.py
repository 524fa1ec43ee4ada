"""What does the health page show of each account, and of which accounts? Rows, a filter by word and name, pages of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from flask import url_for
from flask_babel import gettext

from dlq_console.health.values import AccountHealth, Word
from dlq_console.web import display, health_trends, health_words
from dlq_console.web.health_seen import Seen
from dlq_console.web.health_trends import Trend
from dlq_console.web.lists import with_query
from dlq_console.web.words import Look

#: Accounts on one page: the worst are on the first.
PER_PAGE = 50
#: In this order the words are offered as a filter.
ORDER = (Word.DOWN, Word.BLOCKED, Word.DEGRADED, Word.UNKNOWN, Word.OK)


@dataclass(frozen=True, slots=True)
class Asked:
    """Which accounts are asked for; `word` and `name` are empty for all."""

    word: str = ""
    name: str = ""
    page: int = 1

    def pairs(self, page: int = 1) -> list[tuple[str, str]]:
        """As parameters of an address, on some page; what says nothing is left out."""
        values = (("word", self.word), ("q", self.name), ("page", str(page) if page > 1 else ""))
        return [(name, value) for name, value in values if value]


@dataclass(frozen=True, slots=True)
class Row:
    """One account as a row; what nobody knows now is told as it was."""

    account: str
    address: str
    look: Look
    since: str
    why: str
    dead: str
    dead_address: str
    lag: str
    oldest: str
    waiting: str
    slots: str
    drains: str
    trend: Trend | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """A word that the accounts can be narrowed to, and how many of them there are."""

    look: Look | None
    address: str
    number: str
    here: bool


def rows(seen: Seen, asked: Asked) -> tuple[list[Row], int]:
    """The rows of a page, and how many accounts match in all."""
    found = matching(seen.health.accounts, asked)
    start = (asked.page - 1) * PER_PAGE
    shown = found[start : start + PER_PAGE]
    known = health_trends.trends([one.account for one in shown])
    return [replace(row(one, seen), trend=known.get(one.account)) for one in shown], len(found)


def matching(accounts: Sequence[AccountHealth], asked: Asked) -> Sequence[AccountHealth]:
    """The accounts that are asked for, in their order."""
    if asked.word:
        accounts = [one for one in accounts if one.word == asked.word]
    if asked.name:
        part = asked.name.casefold()
        accounts = [one for one in accounts if part in one.account.casefold()]
    return accounts


def choices(seen: Seen, asked: Asked) -> list[Choice]:
    """Every word that an account has, in the order of urgency, after all of them together."""
    shown = display.current()
    counted = Counter(one.word for one in matching(seen.health.accounts, Asked(name=asked.name)))
    every = Choice(None, _address(asked, ""), shown.number(counted.total()), not asked.word)
    return [every] + [
        Choice(
            health_words.look(word),
            _address(asked, word.value),
            shown.number(counted[word]),
            word == asked.word,
        )
        for word in ORDER
        if counted[word] or word == asked.word
    ]


def _address(asked: Asked, word: str) -> str:
    return with_query(url_for("health_pages.index"), Asked(word, asked.name).pairs())


def row(account: AccountHealth, seen: Seen) -> Row:
    """One account, as far as it is known."""
    shown = display.current()
    told, since, why = health_words.look(account.word), _since(account), health_words.why(account)
    as_of = seen.health.as_of or shown.now
    if seen.is_doubtful:
        why = gettext(
            "at %(time)s %(word)s: %(why)s", time=health_words.clock(as_of), word=told.word, why=why
        )
        told, since = health_words.look(Word.UNKNOWN), ""
    dead, oldest, lag = account.counts.dead, account.counts.oldest_due_at, account.flow.lag_p95
    return Row(
        account=account.account,
        address=account_address(account.account),
        look=told,
        since=since,
        why=why,
        dead=shown.count(health_words.capped(account, "dead")),
        dead_address=url_for("triage.dead_letters", account=account.account) if dead else "",
        lag="–" if lag is None else shown.span(lag),
        oldest=shown.since(oldest) if oldest else "–",
        waiting=shown.count(health_words.waiting(account)),
        slots=slots(account),
        drains=health_words.drains(account, as_of),
    )


def account_address(name: str) -> str:
    """Where the page of an account is; names that a path would change, such as `a/../b`, stand beside it."""
    plain = all(part not in ("", ".", "..") for part in name.split("/"))
    return url_for("health_pages.account" if plain else "health_pages.account_named", account=name)


def slots(account: AccountHealth) -> str:
    """How many of its slots are in use: `4/4`."""
    running = display.current().count(health_words.capped(account, "running"))
    return running if account.slots is None else f"{running}/{display.current().number(account.slots)}"


def _since(account: AccountHealth) -> str:
    return gettext("since %(time)s", time=health_words.clock(account.since))


def moment_of(seen: Seen) -> datetime | None:
    """The database's time by now, as far as it is known."""
    health = seen.health
    if health.as_of is None:
        return None
    return datetime.fromtimestamp(health.as_of.timestamp() + health.age, health.as_of.tzinfo)
