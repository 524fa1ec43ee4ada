"""Are we behind, why, until when? The sentence on top of the health pages, and what is said where nobody knows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from flask_babel import gettext, ngettext

from dlq_console.health import ends
from dlq_console.health.spelling import badness
from dlq_console.health.values import AccountHealth, Word
from dlq_console.store.queries import added_up
from dlq_console.web import display, health_words
from dlq_console.web.health_seen import Seen


def answer(seen: Seen) -> str:
    """Whether work waits longer than it should, for how long it still will, who is worst and why."""
    if seen.is_doubtful:
        return doubt(seen)
    accounts, as_of = seen.health.accounts, seen.health.as_of
    if not accounts or as_of is None:
        return gettext("No account has work, a closed door or a dead letter.")
    late = [one for one in accounts if ends.is_late(one, as_of)]
    # Who is late comes before who needs a person but waits for nothing: one account, its cause and its end.
    worst = max(late, key=_lateness) if late else accounts[0]
    parts = [_behind(late, worst, as_of) if late else _on_time(accounts)]
    if worst.word is not Word.OK:
        parts += [_worst(worst, late, as_of), _people(accounts)]
    return " ".join(parts)


def _lateness(account: AccountHealth) -> tuple[int, int]:
    """How bad it is and how much waits: the worst by both is told of, the first of several that are alike."""
    return badness(account.word), account.counts.waiting


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
    as_of = seen.health.as_of or shown.now
    return f"{health_words.why(account)} {waits}{_until([account], as_of)}"


def _on_time(accounts: Sequence[AccountHealth]) -> str:
    if any(one.word is Word.UNKNOWN for one in accounts):
        return gettext("Whether anything waits longer than it should is not known.")
    dead = added_up(health_words.capped(one, "dead") for one in accounts)
    idle = [one for one in accounts if one.is_closed or one.word is Word.DOWN]
    if idle:
        # Nothing waits there yet, which is not "on time".
        told = _will_wait(idle)
        return f"{told} {health_words.dead_letters(dead)}" if dead.number else told
    if not dead.number:
        return gettext("On time: nothing waits longer than it should.")
    return ngettext(
        "On time: nothing waits longer than it should; %(count)s dead letter waits for a person.",
        "On time: nothing waits longer than it should; %(count)s dead letters wait for a person.",
        dead.number,
        count=display.current().count(dead),
    )


def _will_wait(idle: Sequence[AccountHealth]) -> str:
    if len(idle) == 1:
        return gettext(
            "Nothing waits longer than it should yet, but what comes for %(account)s will wait.",
            account=idle[0].account,
        )
    return ngettext(
        "Nothing waits longer than it should yet, but what comes for %(num)d account will wait.",
        "Nothing waits longer than it should yet, but what comes for %(num)d accounts will wait.",
        len(idle),
    )


def _behind(late: Sequence[AccountHealth], worst: AccountHealth, as_of: datetime) -> str:
    shown = display.current()
    total = added_up(health_words.waiting(one) for one in late)
    if len(late) == 1:
        told = ngettext(
            "Behind: %(count)s event waits in %(account)s",
            "Behind: %(count)s events wait in %(account)s",
            total.number,
            count=shown.count(total),
            account=worst.account,
        )
    else:
        told = gettext(
            "Behind: %(count)s events wait, %(most)s of them in %(account)s",
            count=shown.count(total),
            most=shown.count(health_words.waiting(worst)),
            account=worst.account,
        )
    oldest = min((one.counts.oldest_due_at for one in late if one.counts.oldest_due_at), default=None)
    if oldest is not None:
        told += gettext(", the oldest for %(age)s", age=shown.since(oldest))
    return told + _until([worst, *(one for one in late if one is not worst)], as_of)


def _until(waiting: Sequence[AccountHealth], as_of: datetime) -> str:
    """Until when: the latest of all; where no time can be told of some, what is known of the first of these."""
    known = [(one, ends.end(one, as_of)) for one in waiting]
    seconds = [end.seconds for _, end in known if end.seconds is not None]
    if len(seconds) == len(known):
        last = as_of + timedelta(seconds=max(seconds))
        return gettext("; all will be through by about %(time)s.", time=health_words.clock(last))
    account, end = next((one, end) for one, end in known if end.seconds is None)
    told = health_words.not_by_a_time(end)
    if not told:
        return "."
    return f"; {told}." if len(known) == 1 else f"; {account.account}: {told}."


def _worst(account: AccountHealth, late: Sequence[AccountHealth], as_of: datetime) -> str:
    told = gettext(
        "Worst is %(account)s, %(word)s: %(why)s",
        account=account.account,
        word=health_words.look(account.word).word,
        why=health_words.why(account),
    )
    seconds = ends.end(account, as_of).seconds
    every = [ends.end(one, as_of).seconds for one in late]
    if account not in late or seconds is None or all(one is not None and one <= seconds for one in every):
        return told
    # The end that was told before is that of another one.
    last = health_words.clock(as_of + timedelta(seconds=seconds))
    return told + " " + gettext("It will be through by about %(time)s.", time=last)


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
