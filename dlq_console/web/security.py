"""What protects every answer: headers that allow nothing from elsewhere, form tokens, cookies that scripts cannot read."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Flask, Response, g, request
from flask.sessions import SecureCookieSessionInterface
from flask_wtf import CSRFProtect
from werkzeug.middleware.proxy_fix import ProxyFix

from dlq_console.errors import ConfigurationError

#: Largest request, in bytes.
BODY_LIMIT = 1024 * 1024

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    # The form check on HTTPS needs the Referer of our own pages, so it may not be dropped altogether.
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

#: Checks the form token of every request that changes something. `csrf.exempt` a blueprint whose callers send no cookie.
csrf = CSRFProtect()


#: Characters of the key that signs sessions and forms.
SHORTEST_KEY = 16


class _Sessions(SecureCookieSessionInterface):
    """The cookie goes over HTTPS only, wherever the console is reached over HTTPS."""

    def get_cookie_secure(self, app: Flask) -> bool:
        return request.is_secure


def check_secret_key(key: str) -> None:
    """Refuse a key with which anybody could sign sessions and forms.

    Raises:
        ConfigurationError: it is missing or short; the message says how to make one.
    """
    how = "make one with: python -c 'import secrets; print(secrets.token_hex(32))'"
    if not key:
        raise ConfigurationError(f"DLQ_SECRET_KEY is missing; {how}")
    if len(key) < SHORTEST_KEY:
        raise ConfigurationError(f"DLQ_SECRET_KEY is shorter than {SHORTEST_KEY} characters; {how}")


#: Pages that a form is answered with and from which people go on: what they lead to must have a way back, and a browser can
#: show such a page again only where it may keep it. They show nothing unmasked, and logging out makes the browser forget them.
KEPT_FOR_BACK = frozenset(
    {"bulk.preview", "bulk.start", "bulk.put_on_desk", "edit.check_or_save", "views.change", "views.save"}
)


def install(app: Flask, *, trusted_proxies: int) -> None:
    """Protect every answer of `app`.

    Args:
        app: the application.
        trusted_proxies: how many reverse proxies set X-Forwarded headers; those of anybody else are not believed.
    """
    app.config.update(
        MAX_CONTENT_LENGTH=BODY_LIMIT,
        # Else forms would have a smaller limit of their own, which no sentence names.
        MAX_FORM_MEMORY_SIZE=BODY_LIMIT,
        SESSION_COOKIE_NAME="dlq_console",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        # Operations screens stay open all day; the token lives as long as the session it is bound to.
        WTF_CSRF_TIME_LIMIT=None,
    )
    app.session_interface = _Sessions()
    csrf.init_app(app)
    app.after_request(_add_headers)
    if trusted_proxies:
        hops = trusted_proxies
        proxy = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops, x_host=hops, x_port=hops, x_prefix=hops)
        app.wsgi_app = proxy  # type: ignore[method-assign]  # the documented way to wrap an application


def let_frame(response: Response, policy: str, origins: Sequence[str]) -> None:
    """Let pages of these origins, and of no others, show this answer in a frame; without any, nobody may.

    Args:
        response: the answer.
        policy: its content security policy, which says nothing of frames yet.
        origins: as `store.framing` has checked them.
    """
    who = " ".join(origins) or "'none'"
    response.headers["Content-Security-Policy"] = f"{policy}; frame-ancestors {who}"
    # It knows no origins, and whoever looks at it instead of the policy would show nothing.
    g.framed = bool(origins)


def _add_headers(response: Response) -> Response:
    for name, value in HEADERS.items():
        if name != "X-Frame-Options" or not g.get("framed"):
            response.headers.setdefault(name, value)
    kept = "private, no-cache" if request.endpoint in KEPT_FOR_BACK else "no-store"
    response.headers.setdefault("Cache-Control", kept)
    return response
