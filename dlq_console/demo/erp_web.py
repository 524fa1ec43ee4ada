"""What does the simulated ERP answer to programs: calls, figures, control? Its pages for people are in `erp_pages`.

POST /<account>/orders (invoices, customers, stock-moves)   a call; X-Effect-Key is the caller's idempotency key
POST /<account>/orders/check                                whether such a call would be taken now; nothing is done
GET  /<account>/orders/<code>                               the document of a record, by its sender's own code
GET  /stats, /effects                                       figures of the run; effect keys and their counts
POST /_control                                              JSON: account, and `temper` (fields to change) or `outage`
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
    request,
)

from dlq_console.demo.erp_desk import RESOURCES, Answer, Call, Desk, UnknownAccount
from dlq_console.demo.erp_pages import pages, the_desk
from dlq_console.demo.erp_temper import Temper

#: Names that are paths of their own and can be no account.
RESERVED = ("stats", "effects", "static", "_control")

_BODY_LIMIT = 1024 * 1024  # bytes
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
    app.register_blueprint(pages)
    return app


@erp.post("/<account>/<resource>")
def receive(account: str, resource: str) -> Response:
    """Answer one call as the account's temper wants it."""
    return _http(the_desk().receive(_call(account, resource)))


@erp.post("/<account>/<resource>/check")
def check(account: str, resource: str) -> Response:
    """Tell whether a call would be taken now."""
    return _http(the_desk().check(_call(account, resource)))


@erp.get("/<account>/<resource>/<code>")
def look_up(account: str, resource: str, code: str) -> Response:
    """Tell the document of a record that was sent."""
    if resource not in RESOURCES:
        abort(404)
    return _http(the_desk().look_up(account, resource, code))


@erp.get("/stats")
def stats() -> Response:
    """The figures of the run so far."""
    return _http(Answer(200, the_desk().books.stats()))


@erp.get("/effects")
def effects() -> Response:
    """How often each effect took place, per account and effect key."""
    return _http(Answer(200, the_desk().books.effects()))


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
            the_desk().set_temper(account, _changed_temper(account, order["temper"]))
        if "outage" in order:
            _set_outage(account, order["outage"])
    except (TypeError, ValueError) as error:
        return _problem(400, f"That temper cannot be played: {error}")
    return _http(Answer(200, {"account": account, "accounts": the_desk().accounts}))


def _call(account: str, resource: str) -> Call:
    if resource not in RESOURCES:
        abort(404)
    effect_key = request.headers.get("X-Effect-Key", "")
    if not effect_key:
        abort(_problem(400, "Send the header X-Effect-Key."))
    return Call(account, resource, effect_key, _json_object())


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
    known = account in the_desk().accounts
    present = the_desk().mood(account).temper if known else Temper()
    fields: dict[str, Any] = {
        name: float(value) if isinstance(value, Decimal) else value for name, value in dict(changes).items()
    }
    return replace(present, **fields)


def _set_outage(account: str, outage: Any) -> None:
    """`outage` is True (until it is ended), False, or seconds."""
    if outage is True:
        the_desk().start_outage(account)
    elif outage is False:
        the_desk().end_outage(account)
    else:
        the_desk().start_outage(account, float(outage))


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
