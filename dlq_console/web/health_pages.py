"""Are we behind, why, until when? The health of all accounts, and of one; both ask again every few seconds."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, abort, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.errors import PayloadRefused
from dlq_console.health.values import AccountHealth, Word
from dlq_console.hub.doors import account_name
from dlq_console.web import chart_asking, health_answers, health_rows, lag_answers, pulse, series_seen
from dlq_console.web.account_health import account_parts, changed_parts, unseen_account
from dlq_console.web.auth import person
from dlq_console.web.health_rows import PER_PAGE, Asked
from dlq_console.web.health_seen import Seen
from dlq_console.web.lists import with_query

health_pages = Blueprint("health_pages", __name__)
health_pages.before_request(pulse.require_watcher)

#: Characters of a name that is searched for.
LONGEST_NAME = 120


@health_pages.get("/health")
def index() -> str:
    """Every account, the worst first."""
    seen, asked = pulse.look_now(), _asked()
    return render_template(
        "health/health.html",
        asked=asked,
        pulse=pulse.pulse(seen),
        every=pulse.EVERY,
        poll=with_query(url_for("health_pages.poll"), asked.pairs(asked.page)),
        address=url_for("health_pages.index"),
        part=pulse.part(seen, f"accounts {asked}", lambda: _accounts_part(seen, asked)),
    )


@health_pages.get("/_f/health")
def poll() -> AnyResponse:
    """The same without its surroundings."""
    seen, asked = pulse.look_now(), _asked()
    return pulse.answer(seen, f"accounts {asked}", lambda: _accounts_part(seen, asked))


@health_pages.get("/health/accounts")
def account_named() -> str:
    """The page of an account whose name cannot stand in a path."""
    return account(request.args.get("account", ""))


@health_pages.get("/health/accounts/<path:account>")
def account(account: str) -> str:
    """One account: how it stands, what keeps it closed, what people did, what its circuit went through."""
    seen = pulse.look_now()
    found = _found(seen, account)
    return render_template(
        "health/account.html",
        pulse=pulse.pulse(seen),
        every=pulse.EVERY,
        poll=url_for("health_pages.poll_account", account=found.account),
        **_one(seen, found),
        **account_parts(found.account),
    )


@health_pages.get("/_f/health/account")
def poll_account() -> AnyResponse:
    """What of an account changes by itself."""
    seen = pulse.look_now()
    found = _found(seen, request.args.get("account", ""), believed=True)
    return pulse.answer(
        seen,
        f"account {found.account!r}",
        lambda: render_template("health/_account.html", **_one(seen, found)),
        along=_along(found),
    )


def _along(found: AccountHealth) -> str:
    """The parts of its page that hold controls, where it shows other doors than are closed by now."""
    shown = request.args.get("shown")
    parts = None if shown is None else changed_parts(found.account, shown)
    if parts is None:
        return ""
    return render_template("health/_along.html", found=found, in_fragment=True, **parts)


@health_pages.get("/_f/health/lag")
def poll_lag() -> AnyResponse:
    """What of the page of the lag changes by itself, beside its charts."""
    seen, what = pulse.look_now(), chart_asking.asked(person())

    def render() -> str:
        told = lag_answers.answer(what, seen, series_seen.seen(what))
        return render_template("health/_lag.html", answer=told, doubtful=seen.is_doubtful)

    return pulse.answer(seen, f"lag {what}", render)


def _asked() -> Asked:
    """Which accounts are asked for; 400 where the address means nothing."""
    word, name = request.args.get("word", ""), request.args.get("q", "").strip()
    page = request.args.get("page", "1")
    if word and word not in set(Word):
        abort(400)
    if len(name) > LONGEST_NAME or not (page.isascii() and page.isdigit() and len(page) < 6 and int(page)):
        abort(400)
    return Asked(word, name, int(page))


def _accounts_part(seen: Seen, asked: Asked) -> str:
    return render_template("health/_accounts.html", **_accounts(seen, asked))


def _accounts(seen: Seen, asked: Asked) -> dict[str, Any]:
    shown, number = health_rows.rows(seen, asked)
    address = url_for("health_pages.index")
    last = max(1, -(-number // PER_PAGE))
    return {
        "answer": health_answers.answer(seen),
        "said": health_answers.said(seen),
        "doubtful": seen.is_doubtful,
        "rows": shown,
        "choices": health_rows.choices(seen, asked),
        "first": (asked.page - 1) * PER_PAGE + 1,
        "number": number,
        "none_at_all": not seen.health.accounts,
        "before": with_query(address, asked.pairs(asked.page - 1)) if asked.page > 1 else "",
        "after": with_query(address, asked.pairs(asked.page + 1)) if asked.page < last else "",
        "address": address,
    }


def _found(seen: Seen, name: str, *, believed: bool = False) -> AccountHealth:
    """The account of that name, as far as the person may see it; else 404. A poll is `believed`, for its page asked."""
    try:
        name = account_name(name)
    except PayloadRefused:
        abort(404)
    if not person().sees(name):
        abort(404)
    known = seen.by_name.get(name)
    if known is None:
        known = unseen_account(name, seen, believed=believed)
    if known is None:
        abort(404)
    return known


def _one(seen: Seen, found: AccountHealth) -> dict[str, Any]:
    return {
        "answer": health_answers.one_account(found, seen),
        "said": f"{found.account}: {health_rows.row(found, seen).look.word}",
        "doubtful": seen.is_doubtful,
        "row": health_rows.row(found, seen),
        "found": found,
    }
