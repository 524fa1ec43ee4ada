"""Are we behind, why, until when? The sentence on top of the health pages, and what is said where nobody knows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from flask_babel import gettext, ngettext

from dlq_console.health.values import AccountHealth, Word
from dlq_console.store.queries import Count
from dlq_console.web import display, health_words
from dlq_console.web.health_seen import Seen


def answer(seen: Seen) -> str:
    """Whether work waits longer than it should, for how long it still will, who is worst and why."""
    if seen.is_doubtful:
        return doubt(seen)
    accounts = seen.health.accounts
    if not accounts:
        return gettext("No account has work, a closed door or a dead letter.")
    bad = [one for one in accounts if one.word is not Word.OK]
    parts = [_behind(bad, seen.health.as_of)]
    if bad:
        parts.append(_worst(bad[0]))
    if bad:
        parts.append(_people(accounts))
    return " ".join(parts)


def doubt(seen: Seen) -> str:
    """Since when the state is not known, and what is away."""
    as_of = seen.health.as_of
    if as_of is None:
        return gettext(
            "Nobody has looked yet: no worker or scheduler runs, or its first look is still to come."
        )
    when = display.current().moment(as_of)
    if seen.away:
        return gettext("The database cannot be reached. What is shown was so at %(time)s.", time=when)
    return gettext(
        "Not known since %(time)s: nobody looks any more, because no worker or scheduler runs. What is shown was so then.",
        time=when,
    )


def said(seen: Seen) -> str:
    """What is read aloud when it changes: words only, for figures change all the time."""
    if seen.is_doubtful:
        return doubt(seen)
    bad = next((one for one in seen.health.accounts if one.word is not Word.OK), None)
    return f"{bad.account}: {health_words.look(bad.word).word}" if bad else gettext("Every account is well.")


def one_account(account: AccountHealth, seen: Seen) -> str:
    """The same of one account."""
    if seen.is_doubtful:
        return doubt(seen)
    shown = display.current()
    count, oldest = health_words.waiting(account), account.counts.oldest_due_at
    if not count.number:
        return health_words.why(account)
    waits = ngettext("%(count)s event waits", "%(count)s events wait", count.number, count=shown.count(count))
    if oldest:
        waits += gettext(", the oldest for %(age)s", age=shown.since(oldest))
    return f"{health_words.why(account)} {waits}{_until([account], seen.health.as_of)}"


def _behind(bad: Sequence[AccountHealth], as_of: datetime | None) -> str:
    late = [one for one in bad if health_words.waiting(one).number]
    if not late:
        return gettext("On time: nothing waits longer than it should.")
    shown = display.current()
    counts = [health_words.waiting(one) for one in late]
    total = Count(sum(one.number for one in counts), any(one.capped for one in counts))
    told = ngettext(
        "Behind: %(count)s event waits",
        "Behind: %(count)s events wait",
        total.number,
        count=shown.count(total),
    )
    oldest = min((one.counts.oldest_due_at for one in late if one.counts.oldest_due_at), default=None)
    if oldest is not None:
        told += gettext(", the oldest for %(age)s", age=shown.since(oldest))
    return told + _until(late, as_of)


def _until(late: Sequence[AccountHealth], as_of: datetime | None) -> str:
    """Until when; the longest of all, and no end where one of them has none."""
    seconds = [one.drain.seconds for one in late]
    if as_of is None or None in seconds:
        return gettext("; no end is in sight.")
    last = as_of + timedelta(seconds=max(one for one in seconds if one is not None))
    return gettext("; all will be through by about %(time)s.", time=health_words.clock(last))


def _worst(account: AccountHealth) -> str:
    return gettext(
        "Worst is %(account)s, %(word)s: %(why)s",
        account=account.account,
        word=health_words.look(account.word).word,
        why=health_words.why(account),
    )


def _people(accounts: Sequence[AccountHealth]) -> str:
    number = sum(one.needs_person for one in accounts)
    total = display.current().number(len(accounts))
    if not number:
        return ngettext(
            "The account needs no person.",
            "None of %(total)s accounts needs a person.",
            len(accounts),
            total=total,
        )
    return ngettext(
        "%(num)d of %(total)s accounts needs a person.",
        "%(num)d of %(total)s accounts need a person.",
        number,
        total=total,
    )
