"""Which numbers does an address ask for? `account`, `kind` and `range`, checked against what the asking person may see."""

from __future__ import annotations

from flask import abort, request
from flask_babel import gettext

from dlq_console.health.series import RANGES
from dlq_console.store.accounts import is_known
from dlq_console.store.people import Person
from dlq_console.web.hub import store
from dlq_console.web.series_seen import Asked

#: The range of a page that was asked for without one.
USUAL = "6h"


class ChartError(Exception):
    """The address asks for something that cannot be drawn; its text is a sentence for the person."""


def asked(person: Person) -> Asked:
    """What this request asks for; an account that the person may not see is one that does not exist (404).

    Raises:
        ChartError: there is no such range, or a kind stands without its account.
    """
    account, kind = request.args.get("account", "").strip(), request.args.get("kind", "").strip()
    range_ = RANGES.get(request.args.get("range", USUAL))
    if range_ is None:
        raise ChartError(gettext("range: write one of %(names)s.", names=", ".join(RANGES)))
    if kind and not account:
        raise ChartError(
            gettext("kind: name the account as well; numbers of a kind are kept for each account.")
        )
    if account and not (person.sees(account) and is_known(store(), account, kind or None)):
        abort(404)
    return Asked(range_, account, kind, None if account else person.accounts)


def since() -> float:
    """Only points that begin at that moment or later are asked for, in seconds since 1970; 0 for all.

    Raises:
        ChartError: it is no number.
    """
    text = request.args.get("since", "") or "0"
    if not (text.isascii() and text.isdigit() and len(text) <= 12):
        raise ChartError(gettext("since: write seconds since 1970, as the answer before named them."))
    return float(text)
