"""What does the simulated ERP answer over HTTP: calls, figures, control, and pages where a person fixes records?

POST /<account>/orders (invoices, customers, stock-moves)   a call; X-Effect-Key is the caller's idempotency key
GET  /<account>/orders/<code>                               the document of a record, by its sender's own code
GET  /stats, /effects                                       figures of the run; effect keys and their counts
POST /_control                                              JSON: account, and `temper` (fields to change) or `outage`
GET  /, /<account>                                          pages; POST /<account>/register, /<account>/outage
"""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

from flask import (
    Blueprint,
    Flask,
    Response,
    abort,
    current_app,
    redirect,
    render_template,
    request,
    url_for,
)
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.demo.erp_desk import RESOURCES, Answer, Call, Desk, UnknownAccount
from dlq_console.demo.erp_temper import Temper
from dlq_console.demo.erp_words import LANGUAGES, describe, words

#: Names that are paths of their own and can be no account.
RESERVED = ("stats", "effects", "static", "_control")

_BODY_LIMIT = 1024 * 1024  # bytes
_FIELD_LIMIT = 100  # characters of a code or name typed by a person
_SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}

erp = Blueprint("erp", __name__)


def create_erp(desk: Desk) -> Flask:
    """The WSGI application in front of a desk. It answers on loopback names only."""
    app = Flask(
        __name__, template_folder="erp_templates", static_folder="erp_static", static_url_path="/static"
    )
    app.config.update(MAX_CONTENT_LENGTH=_BODY_LIMIT, TRUSTED_HOSTS=["127.0.0.1", "localhost"])
    app.extensions["desk"] = desk
    app.before_request(_refuse_other_sites)
    app.after_request(_add_security_headers)
    app.register_error_handler(UnknownAccount, _unknown_account)
    app.register_blueprint(erp)
    return app


@erp.post("/<account>/<resource>")
def receive(account: str, resource: str) -> Response:
    """Answer one call as the account's temper wants it."""
    if resource not in RESOURCES:
        abort(404)
    effect_key = request.headers.get("X-Effect-Key", "")
    if not effect_key:
        return _problem(400, "Send the header X-Effect-Key.")
    return _http(_desk().receive(Call(account, resource, effect_key, _json_object())))


@erp.get("/<account>/<resource>/<code>")
def look_up(account: str, resource: str, code: str) -> Response:
    """Tell the document of a record that was sent."""
    if resource not in RESOURCES:
        abort(404)
    return _http(_desk().look_up(account, resource, code))


@erp.get("/stats")
def stats() -> Response:
    """The figures of the run so far."""
    return _http(Answer(200, _desk().books.stats()))


@erp.get("/effects")
def effects() -> Response:
    """How often each effect took place, per account and effect key."""
    return _http(Answer(200, _desk().books.effects()))


@erp.post("/_control")
def control() -> Response:
    """Script an account: change fields of its temper, or start and end its outage."""
    order = _json_object()
    account = order.get("account")
    if not isinstance(account, str) or not account or account in RESERVED or "/" in account:
        return _problem(
            400, "`account` must be a name without a slash, other than " + ", ".join(RESERVED) + "."
        )
    try:
        if "temper" in order:
            _desk().set_temper(account, _changed_temper(account, order["temper"]))
        if "outage" in order:
            _set_outage(account, order["outage"])
    except (TypeError, ValueError) as error:
        return _problem(400, f"That temper cannot be played: {error}")
    return _http(Answer(200, {"account": account, "accounts": _desk().accounts}))


@erp.get("/")
def overview() -> str:
    """Every account, what it lacks, and how it behaves."""
    return _page(_desk().accounts, alone=False)


@erp.get("/<account>")
def account_page(account: str) -> str:
    """One account, with its registered customers."""
    _desk().mood(account)
    return _page([account], alone=True)


@erp.post("/<account>/register")
def register(account: str) -> tuple[str, int] | AnyResponse:
    """Register the customer that a person typed or picked."""
    _desk().mood(account)
    code, name = request.form.get("code", "").strip(), request.form.get("name", "").strip()
    if not (0 < len(code) <= _FIELD_LIMIT and 0 < len(name) <= _FIELD_LIMIT):
        return _page([account], alone=True, refused=True), 400
    _desk().books.register(account, code, name)
    return redirect(
        url_for("erp.account_page", account=account, registered=code, lang=_chosen_language()), 303
    )


@erp.post("/<account>/outage")
def outage(account: str) -> AnyResponse:
    """Put an account out of service or back."""
    _set_outage(account, request.form.get("state") == "start")
    return redirect(url_for("erp.overview", lang=_chosen_language()), 303)


def _desk() -> Desk:
    desk = current_app.extensions["desk"]
    assert isinstance(desk, Desk)  # noqa: S101 - tells the type checker what create_erp stored
    return desk


def _json_object() -> dict[str, Any]:
    try:
        body = json.loads(request.get_data(), parse_float=Decimal)
        # Half a character (a lone surrogate) could be neither kept nor shown.
        json.dumps(body, ensure_ascii=False, default=str).encode()
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        abort(_problem(400, "Send a JSON object."))
    return body


def _changed_temper(account: str, changes: Any) -> Temper:
    known = account in _desk().accounts
    present = _desk().mood(account).temper if known else Temper()
    fields: dict[str, Any] = {
        name: float(value) if isinstance(value, Decimal) else value for name, value in dict(changes).items()
    }
    return replace(present, **fields)


def _set_outage(account: str, outage: Any) -> None:
    """`outage` is True (until it is ended), False, or seconds."""
    if outage is True:
        _desk().start_outage(account)
    elif outage is False:
        _desk().end_outage(account)
    else:
        _desk().start_outage(account, float(outage))


def _page(accounts: list[str], *, alone: bool, refused: bool = False) -> str:
    desk, language = _desk(), _language()
    figures = desk.books.stats()
    return render_template(
        "page.html",
        say=words(language),
        language=language,
        chosen=_chosen_language(),
        alone=alone,
        refused=refused,
        registered=_just_registered(accounts[0]) if alone else None,
        accounts=[_account_view(name, figures, language) for name in accounts],
    )


def _account_view(name: str, figures: dict[str, Any], language: str) -> dict[str, Any]:
    desk = _desk()
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


def _just_registered(account: str) -> str | None:
    """The code in the address, if it is the truth."""
    code = request.args.get("registered", "")
    return code if _desk().books.is_registered(account, code) else None


def _chosen_language() -> str | None:
    chosen = request.values.get("lang", "")
    return chosen if chosen in LANGUAGES else None


def _language() -> str:
    accepted = (tag[:2].lower() for tag, _quality in request.accept_languages)
    return _chosen_language() or next((tag for tag in accepted if tag in LANGUAGES), LANGUAGES[0])


def _http(answer: Answer) -> Response:
    if isinstance(answer.body, str):
        return Response(answer.body, answer.status, answer.headers, mimetype="text/html")
    text = json.dumps(answer.body, ensure_ascii=False)
    return Response(text, answer.status, answer.headers, mimetype="application/json")


def _problem(status: int, text: str) -> Response:
    return _http(Answer(status, {"error": text}))


def _unknown_account(error: UnknownAccount) -> Response:
    return _problem(404, f"This ERP has no account {error.args[0]!r}.")


def _refuse_other_sites() -> Response | None:
    """A form on another site may not post here: browsers say where a form came from."""
    origin = request.headers.get("Origin")
    if request.method == "POST" and origin and urlsplit(origin).netloc != request.host:
        return _problem(403, "Forms of other sites are not taken.")
    return None


def _add_security_headers(response: Response) -> Response:
    response.headers.update(_SECURITY_HEADERS)
    return response
