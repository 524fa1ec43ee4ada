"""What does a person see of the simulated ERP? Its accounts, one record, and forms that fix what it has refused.

GET  /, /<account>                                all accounts; one, with its customers
GET  /<account>/records/<resource>/<code>         one record by its sender's own code: taken, refused and why, or unknown
POST /<account>/register, /<account>/outage       register a customer; out of service and back
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, abort, current_app, redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from dlq_console.demo.erp_books import Refusal
from dlq_console.demo.erp_desk import RESOURCES, Desk
from dlq_console.demo.erp_words import LANGUAGES, describe, words

_FIELD_LIMIT = 100  # characters of a code or name typed by a person

pages = Blueprint("pages", __name__)


def the_desk() -> Desk:
    """The desk of the application that serves this request."""
    desk = current_app.extensions["desk"]
    assert isinstance(desk, Desk)  # noqa: S101 - tells the type checker what create_erp stored
    return desk


@pages.get("/")
def overview() -> str:
    """Every account, what it lacks, and how it behaves."""
    return _accounts_page(the_desk().accounts)


@pages.get("/<account>")
def account_page(account: str) -> str:
    """One account, with its registered customers."""
    return _account_page(account)


@pages.get("/<account>/records/<resource>/<code>")
def record(account: str, resource: str, code: str) -> str:
    """One record: what the ERP holds of it, or why it has refused it."""
    desk = the_desk()
    desk.mood(account)
    if resource not in RESOURCES:
        abort(404)
    name = f"{resource} {code}"
    refusal = desk.books.refusal_of(account, name)
    return _render(
        "record.html",
        "pages.record",
        {"account": account, "resource": resource, "code": code},
        document=desk.books.document_of(account, name),
        customer=desk.books.customers(account).get(code) if resource == "customers" else None,
        refusal=refusal,
        missing=_still_missing(account, refusal),
    )


@pages.post("/<account>/register")
def register(account: str) -> tuple[str, int] | Response:
    """Register the customer that a person typed or picked."""
    the_desk().mood(account)
    code, name = request.form.get("code", "").strip(), request.form.get("name", "").strip()
    if not (0 < len(code) <= _FIELD_LIMIT and 0 < len(name) <= _FIELD_LIMIT):
        return _account_page(account, refused=True), 400
    the_desk().books.register(account, code, name)
    return redirect(
        url_for("pages.account_page", account=account, registered=code, lang=_chosen_language()), 303
    )


@pages.post("/<account>/outage")
def outage(account: str) -> Response:
    """Put an account out of service or back."""
    if request.form.get("state") == "start":
        the_desk().start_outage(account)
    else:
        the_desk().end_outage(account)
    return redirect(url_for("pages.overview", lang=_chosen_language()), 303)


def _accounts_page(accounts: list[str]) -> str:
    return _render("page.html", "pages.overview", {}, accounts=_views(accounts))


def _account_page(account: str, *, refused: bool = False) -> str:
    the_desk().mood(account)
    return _render(
        "page.html",
        "pages.account_page",
        {"account": account},
        alone=True,
        refused=refused,
        registered=_just_registered(account),
        accounts=_views([account]),
    )


def _render(template: str, endpoint: str, place: dict[str, Any], **values: Any) -> str:
    """A page in the language of whoever asks; `endpoint` and `place` are its own address."""
    language, chosen = _language(), _chosen_language()
    return render_template(
        template,
        say=words(language),
        language=language,
        chosen=chosen,
        here=url_for(endpoint, lang=chosen, **place),
        in_other_words={one: url_for(endpoint, lang=one, **place) for one in LANGUAGES},
        **place,
        **values,
    )


def _views(accounts: list[str]) -> list[dict[str, Any]]:
    figures, language = the_desk().books.stats(), _language()
    return [_account_view(name, figures, language) for name in accounts]


def _account_view(name: str, figures: dict[str, Any], language: str) -> dict[str, Any]:
    desk = the_desk()
    mood = desk.mood(name)
    return {
        "name": name,
        "traits": describe(mood.temper, language),
        "out_of_service": mood.out_of_service,
        "slow": mood.slow,
        "blocked": ", ".join(words(language)[kind] for kind in mood.blocked),
        "counts_blocks": bool(mood.temper.block_after),
        "figures": figures["by_account"][name],
        "twice": sum(key.startswith(f"{name} ") for key in figures["twice"]),
        "missing": desk.books.missing(name),
        "customers": desk.books.customers(name),
    }


def _still_missing(account: str, refusal: Refusal | None) -> tuple[str, str] | None:
    """The customer that a refused record needs, unless somebody has registered it since."""
    customer = refusal.customer if refusal else None
    return customer if customer and not the_desk().books.is_registered(account, customer[0]) else None


def _just_registered(account: str) -> str | None:
    """The code in the address, if it is the truth."""
    code = request.args.get("registered", "")
    return code if the_desk().books.is_registered(account, code) else None


def _chosen_language() -> str | None:
    chosen = request.values.get("lang", "")
    return chosen if chosen in LANGUAGES else None


def _language() -> str:
    accepted = (tag[:2].lower() for tag, _quality in request.accept_languages)
    return _chosen_language() or next((tag for tag in accepted if tag in LANGUAGES), LANGUAGES[0])
