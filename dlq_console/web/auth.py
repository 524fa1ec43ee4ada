"""Who is asking? Log-in, log-out, and the guard in front of every page."""

from __future__ import annotations

from urllib.parse import quote

from flask import (
    Blueprint,
    Response,
    abort,
    g,
    make_response,
    redirect,
    render_template,
    request,
    session,
    url_for,
)
from flask_babel import gettext
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.store import people
from dlq_console.store.people import Person
from dlq_console.web.hub import store
from dlq_console.web.returning import safe_next, split

#: Under which name the token of the server-side session stands in the cookie.
TOKEN = "token"  # noqa: S105 - a name, not a token
#: Failed log-ins from one address, and for one name; each process counts on its own.
ADDRESS_LIMIT = "10 per minute; 60 per hour"
NAME_LIMIT = "10 per 5 minutes"

auth = Blueprint("auth", __name__)
limiter = Limiter(get_remote_address, storage_uri="memory://")


def load_person() -> Person | None:
    """The person of this request's session, looked up once; None where nobody is logged in."""
    if "person" not in g:
        token = session.get(TOKEN)
        g.person = None  # what an error page sees when the look-up itself fails
        g.person = people.session_person(store(), token) if token else None
    person: Person | None = g.person
    return person


def require_person() -> AnyResponse | None:
    """Guard of a blueprint: without a person, on to the log-in and from there back here."""
    if load_person() is not None:
        return None
    if "HX-Request" in request.headers:
        # A redirect would be followed by the script and put the log-in form inside the page.
        return Response(status=401, headers={"HX-Redirect": _login_address(_page_on_screen())})
    if request.method != "GET":
        abort(401)
    return redirect(_login_address(safe_next(request.full_path.rstrip("?"))), 303)


def person() -> Person:
    """The person of this request, behind the guard."""
    known = load_person()
    if known is None:
        abort(401)
    return known


def demand(permission: str) -> Person:
    """The person of this request, who must have `permission`; else 403."""
    asking = person()
    if not people.may(asking, permission):
        abort(403)
    return asking


@auth.get("/login")
def show_log_in() -> AnyResponse:
    """The log-in form; whoever is logged in goes on."""
    target = safe_next(request.args.get("next", ""))
    return redirect(target, 303) if load_person() else _form(target)


@auth.post("/login", endpoint="log_in")
@limiter.limit(ADDRESS_LIMIT, deduct_when=lambda response: response.status_code != 303)
@limiter.limit(
    NAME_LIMIT, key_func=lambda: _name().casefold(), deduct_when=lambda response: response.status_code != 303
)
def log_in() -> AnyResponse:
    """Check name and password; open a session under new tokens."""
    target = safe_next(request.form.get("next", ""))
    known = people.verify_login(store(), _name(), request.form.get("password", ""))
    if known is None:
        message = gettext("This name and password do not go together.")
        return _form(target, name=_name(), message=message, status=401)
    # Whatever was in the cookie before is worth nothing now, the form token included.
    session.clear()
    session[TOKEN] = people.open_session(store(), known)
    return redirect(target, 303)


@auth.post("/logout")
def log_out() -> AnyResponse:
    """Close the session here and on the server, and let the browser forget the pages."""
    token = session.get(TOKEN)
    if token:
        people.close_session(store(), token)
    session.clear()
    response = redirect(url_for("auth.show_log_in"), 303)
    response.headers["Clear-Site-Data"] = '"cache", "storage"'
    return response


def _form(target: str, *, name: str = "", message: str = "", status: int = 200) -> AnyResponse:
    page = render_template("auth/login.html", next=target, name=name, message=message)
    return make_response(page, status)


def _name() -> str:
    return request.form.get("name", "").strip()[:200]


def _page_on_screen() -> str:
    """The page that a request of htmx came from, as a path."""
    parts = split(request.headers.get("HX-Current-URL", ""))
    return safe_next(parts._replace(scheme="", netloc="", fragment="").geturl() if parts else "")


def _login_address(page: str) -> str:
    return f"{url_for('auth.show_log_in')}?next={quote(page)}"
