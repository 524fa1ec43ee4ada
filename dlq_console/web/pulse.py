"""How does a page ask again every few seconds, and cost next to nothing? What is unchanged is neither made nor sent.

The answer to a poll is named by what it shows and to whom (ETag); whoever has it already gets 304 before anything is
rendered or asked of the database. What must be rendered is rendered once for all who may see the same. Each answer says
how old it is, because that changes while it does not.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2s
from threading import Lock

from flask import Response, abort, g, request, session
from markupsafe import Markup
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.clock import utc_now
from dlq_console.errors import StoreUnavailable
from dlq_console.health.values import STALE_AFTER
from dlq_console.store.people import Person
from dlq_console.web import display, watchers
from dlq_console.web.auth import TOKEN, load_person, person, require_person
from dlq_console.web.health_rows import moment_of
from dlq_console.web.health_seen import Seen, look
from dlq_console.web.hub import store

#: Seconds between two polls of a page.
EVERY = 5
#: Ages on a page ("18 min") are told anew after so many seconds, also where nothing else has changed.
TOLD_ANEW = 30
#: Answers that are kept rendered.
MOST_KEPT = 64
VARY = "Cookie, HX-Request, Accept-Language"

#: When somebody acted last, in their session, and for how many seconds that matters: what is older is read again anyway.
_ACTED, _ACTED_FOR = "acted_at", 5.0
#: Another start of the program may render otherwise.
_BORN = secrets.token_hex(4)
_kept: OrderedDict[str, str] = OrderedDict()
_rendering = Lock()


@dataclass(frozen=True, slots=True)
class Pulse:
    """How old a page is, for its line of freshness; `age` is empty where nobody has ever looked."""

    as_of: str
    age: str
    limit: float = STALE_AFTER


def require_watcher() -> AnyResponse | None:
    """Guard of pages that ask again: like `require_person`, but a poll takes what is known of its session."""
    token = session.get(TOKEN)
    if not token:
        return require_person()
    if request.path.startswith("/_f/"):
        g.person = watchers.watching(store(), token)
        return require_person()
    try:
        answer = require_person()
    except StoreUnavailable:
        # Whoever was here a moment ago sees what was known last.
        g.person = watchers.watching(store(), token)
        return require_person()
    known = load_person()
    if known is not None:
        watchers.keep(store(), token, known)
    return answer


def known_now() -> Seen:
    """The state as the asking person may see it, with what they have just done themselves."""
    return look(store(), after=_acted_at()).only(person().accounts)


def look_now() -> Seen:
    """The state as the asking person may see it; times of this request are told as of the database's clock."""
    seen = known_now()
    moment = moment_of(seen)
    if moment is not None:
        shown = display.current()
        g.display = replace(shown, now=moment, today=moment.astimezone(shown.zone).date())
    return seen


def acted() -> None:
    """Let the next pages of whoever has just acted show what came of it, whichever process answers."""
    session[_ACTED] = utc_now().timestamp()


def _acted_at() -> datetime | None:
    moment = session.get(_ACTED)
    if moment is None or not 0 <= utc_now().timestamp() - moment < _ACTED_FOR:
        return None
    return datetime.fromtimestamp(moment, UTC)


def by_the_database() -> None:
    """Tell times of this request as of the database's clock, as far as that is known: this host's may be wrong."""
    try:
        look_now()
    except StoreUnavailable:
        return


def pulse(seen: Seen) -> Pulse:
    """How old that is."""
    health, shown = seen.health, display.current()
    if health.as_of is None:
        return Pulse("", "")
    return Pulse(shown.to_the_second(health.as_of), f"{health.age:.1f}")


def answer(seen: Seen, view: str, render: Callable[[], str], *, along: str = "") -> AnyResponse:
    """The answer to a poll.

    Args:
        seen: what is shown.
        view: what of it: name and parameters.
        render: makes the fragment.
        along: parts for elsewhere on the page, for whoever asks alone; sent until the page has taken them.
    """
    if "HX-Request" not in request.headers:
        # Opened by hand; there is a page for people.
        abort(404)
    name = _name(seen, view, person())
    if not along and request.if_none_match.contains(name):
        response = Response(status=304)
    else:
        response = Response(_rendered(name, render) + along)
    # The page puts nothing in place whose name it has already.
    response.set_etag(f"{name}-{secrets.token_hex(4)}" if along else name)
    return aged(response, pulse(seen))


def just_now() -> Pulse:
    """Of a page that shows what was read within the last second."""
    shown = display.current()
    return Pulse(shown.as_of(), "0.0")


def just_read(html: str, told: Pulse | None = None) -> AnyResponse:
    """The answer to a poll that shows such things, or is as old as `told`; whoever has it already gets 304."""
    if "HX-Request" not in request.headers:
        abort(404)
    response = Response(html)
    response.set_etag(blake2s(html.encode(), digest_size=12).hexdigest())
    return aged(response, told or just_now()).make_conditional(request)


def aged(response: Response, told: Pulse) -> Response:
    """An answer to a poll with how old it is, for whoever asked alone."""
    response.headers["Cache-Control"] = "private, no-cache"
    response.headers["Vary"] = VARY
    response.headers["Seen-Age"] = told.age
    response.headers["Seen-At"] = told.as_of.encode("ascii", "replace").decode()
    return response


def part(seen: Seen, view: str, render: Callable[[], str]) -> Markup:
    """The same as it stands in the page itself, rendered once for both."""
    return Markup(_rendered(_name(seen, view, person()), render))  # noqa: S704 - rendered by a template of ours


def _name(seen: Seen, view: str, asking: Person) -> str:
    """Everything that decides how the answer looks."""
    shown, health = display.current(), seen.health
    told_at = int(health.as_of.timestamp() // TOLD_ANEW) if health.as_of else 0
    whole = (
        _BORN, view, seen.version, told_at, health.is_stale, seen.away, str(shown.today),
        asking.role, asking.accounts, shown.locale, shown.zone.key, asking.theme,
    )  # fmt: skip
    return blake2s(repr(whole).encode(), digest_size=12).hexdigest()


def _rendered(name: str, render: Callable[[], str]) -> str:
    kept = _kept.get(name)
    if kept is not None:
        return kept
    with _rendering:
        kept = _kept.get(name)
        if kept is None:
            kept = _kept[name] = render()
            while len(_kept) > MOST_KEPT:
                _kept.popitem(last=False)
    return kept
