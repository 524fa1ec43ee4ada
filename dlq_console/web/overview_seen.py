"""Where does the overview take its figures of accounts from? From the state that was read last, where somebody looks.

Counting every account anew costs more the more dead letters there are. Where nobody looks, because no worker or
scheduler runs, or did for the last ten seconds, they are counted for this one page.
"""

from __future__ import annotations

from dataclasses import replace

from flask import g
from flask_babel import gettext, ngettext

from dlq_console.errors import StoreUnavailable
from dlq_console.health.values import AccountHealth, Why
from dlq_console.store import queries
from dlq_console.store.queries import AccountFigures, Overview
from dlq_console.web import health_words, pulse, words
from dlq_console.web.auth import person
from dlq_console.web.health_seen import look
from dlq_console.web.hub import store
from dlq_console.web.pulse import Pulse


def figures() -> Overview:
    """The figures of the overview, as far as the asking person may see them."""
    accounts = person().accounts
    known = _known()
    g.overview_is_seen = known is not None
    if known is None:
        return queries.overview(store(), accounts=accounts)
    view = queries.overview(store(), accounts=accounts, parts=False)
    ordered = sorted(known, key=lambda one: (-one.dead.number, one.account))
    return replace(
        view,
        due=queries.added_up(one.due for one in ordered),
        failed=queries.added_up(one.failed for one in ordered),
        running=queries.added_up(one.running for one in ordered),
        oldest_due=min((one.oldest_due for one in ordered if one.oldest_due), default=None),
        accounts=tuple(ordered),
    )


def later_word(view: Overview) -> str:
    """What stands beside the number of events that run later: retries alone where they were counted for this page."""
    if not g.overview_is_seen:
        return words.will_retry(view.failed.number)
    return ngettext("is due later", "are due later", view.failed.number)


def age() -> Pulse:
    """How old the figures are, once they were read."""
    return pulse.pulse(look(store())) if g.overview_is_seen else pulse.just_now()


def later_heading() -> str:
    """The same above a column."""
    return gettext("Due later") if g.overview_is_seen else gettext("Will retry")


def _known() -> list[AccountFigures] | None:
    """The accounts as they were read last; None where that is not how they stand now."""
    try:
        seen = pulse.known_now()
    except StoreUnavailable:
        return None
    if seen.is_doubtful or any(one.why is Why.NOT_SEEN for one in seen.health.accounts):
        return None
    return [_figures(one) for one in seen.health.accounts]


def _figures(one: AccountHealth) -> AccountFigures:
    return AccountFigures(
        account=one.account,
        dead=health_words.capped(one, "dead"),
        due=health_words.waiting(one),
        failed=health_words.capped(one, "scheduled"),
        running=health_words.capped(one, "running"),
        oldest_due=one.counts.oldest_due_at,
    )
