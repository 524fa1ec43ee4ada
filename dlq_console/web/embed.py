"""Status frames and badges for pages of others: read with a signed address, by nobody in particular.

No session is touched and no cookie set, so that one answer serves all who ask. What the frame may not tell cannot get
here: see `embed_content.py`. An address that holds no more is answered alike, whatever the reason.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import cast

from flask import Blueprint, Response, current_app, render_template, request
from flask.blueprints import BlueprintSetupState
from flask_babel import force_locale, gettext

from dlq_console.errors import StoreUnavailable
from dlq_console.health.values import Health, Word
from dlq_console.hub import embed_tokens
from dlq_console.logs import ADDRESS_FILTER
from dlq_console.store.embeds import Embed
from dlq_console.store.framing import read_origin
from dlq_console.web import display, health_seen, health_words
from dlq_console.web.embed_badge import badge as picture
from dlq_console.web.embed_content import Content, content
from dlq_console.web.embed_state import ANSWER_FOR, Answer, EmbedState, Row
from dlq_console.web.embed_words import shown
from dlq_console.web.health_seen import Seen
from dlq_console.web.hub import hub, store
from dlq_console.web.security import let_frame

#: What a frame may load: its own sheet and script, from here.
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'"
#: A picture loads nothing; its sheet stands in it.
BADGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
#: Seconds between two looks of a frame at the console: the least, the most, and without being told.
LEAST_REFRESH, MOST_REFRESH, REFRESH = 15, 300, 60
_EXTENSION = "dlq_console_embeds"
_LANGUAGES = {"pt-BR": "pt_BR", "en": "en"}
_KEPT = f"public, max-age={ANSWER_FOR:.0f}, stale-while-revalidate={2 * ANSWER_FOR:.0f}"

embed = Blueprint("embed", __name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """How a frame is to be shown: values of closed lists, whatever the address says."""

    theme: str
    compact: bool
    locale: str
    components: tuple[str, ...]
    refresh: int


@embed.record_once
def _install(state: BlueprintSetupState) -> None:
    app = state.app
    app.extensions[_EXTENSION] = EmbedState()
    app.logger.addFilter(ADDRESS_FILTER)


def state() -> EmbedState:
    """What this process keeps of frames."""
    return cast(EmbedState, current_app.extensions[_EXTENSION])


@embed.get("/embed/<token>", provide_automatic_options=False)
def frame(token: str) -> Response:
    """The frame of an address."""
    row = _row(token)
    asked = _asked(row)
    if row is None:
        return _not_available(asked)
    known = row.embed
    key = ("frame", known.id, known.version, asked)
    answer = state().answer(key, lambda: _frame(row, asked))
    response = _kept(answer, "text/html")
    let_frame(response, POLICY, known.origins)
    state().used(store(), known.id, _asking_page())
    return _finished(response)


@embed.get("/badge/<token>.svg", provide_automatic_options=False)
def badge(token: str) -> Response:
    """The badge of an address; one that holds no more has a badge too, which says that nothing is known."""
    row = _row(token)
    asked = _asked(row)
    key = ("badge", row and (row.embed.id, row.embed.version), asked)
    response = _kept(state().answer(key, lambda: _badge(row, asked)), "image/svg+xml")
    let_frame(response, BADGE_POLICY, ())
    if row is not None:
        state().used(store(), row.embed.id, _asking_page())
    return _finished(response)


def current_content(known: Embed, exist: frozenset[str], components: tuple[str, ...] = ()) -> Content:
    """What a frame tells now."""
    try:
        seen = health_seen.look(store())
    except StoreUnavailable:
        seen = Seen(Health(), away=True)
    return content(known, seen, exist, components)


def _row(token: str) -> Row | None:
    """The frame of a token, if it can be seen now."""
    named = embed_tokens.read(hub().settings.secret_key, token)
    return None if named is None else state().row(store(), *named)


def _asked(row: Row | None) -> Asked:
    """What the address asks for; what means nothing is passed over, never an error."""
    args = request.args
    theme, refresh = args.get("theme", ""), args.get("refresh", "")
    own = (row and row.embed.accounts) or ()
    named = {*args.getlist("components"), *",".join(args.getlist("components")).split(",")}
    seconds = int(refresh) if refresh.isascii() and refresh.isdigit() and len(refresh) < 4 else REFRESH
    return Asked(
        theme=theme if theme in ("light", "dark") else "auto",
        compact=args.get("size") == "compact",
        locale=_LANGUAGES.get(args.get("lang", ""), hub().settings.locale),
        components=tuple(name for name in own if name in named),
        refresh=seconds if LEAST_REFRESH <= seconds <= MOST_REFRESH else REFRESH,
    )


def _frame(row: Row, asked: Asked) -> Answer:
    known = row.embed
    with force_locale(asked.locale):
        body = render_template(
            "embed/status.html",
            shown=shown(current_content(known, row.exist, asked.components), compact=asked.compact),
            id=known.id,
            origins=" ".join(known.origins),
            refresh=asked.refresh,
            theme=asked.theme,
        )
    return _as_answer(body)


def _badge(row: Row | None, asked: Asked) -> Answer:
    with force_locale(asked.locale):
        if row is None:
            return _as_answer(
                picture(gettext("integrations"), health_words.look(Word.UNKNOWN), theme=asked.theme)
            )
        told = current_content(row.embed, row.exist, asked.components)
        as_of = gettext("as of %(time)s", time=display.current().full(told.as_of)) if told.as_of else ""
        look = health_words.look(Word.UNKNOWN if told.doubtful else told.head.word)
        return _as_answer(picture(told.head.name, look, theme=asked.theme, as_of=as_of))


def _not_available(asked: Asked) -> Response:
    """The same for every address that holds not, or not any more."""
    with force_locale(asked.locale):
        body = render_template("embed/not_available.html", theme=asked.theme)
    response = Response(body, status=404, mimetype="text/html")
    let_frame(response, POLICY, ())
    return _finished(response)


def _as_answer(body: str) -> Answer:
    return Answer(body, hashlib.sha256(body.encode()).hexdigest()[:24])


def _kept(answer: Answer, mimetype: str) -> Response:
    response = Response(answer.body, mimetype=mimetype)
    response.headers["Cache-Control"] = _KEPT
    response.set_etag(answer.etag)
    response.make_conditional(request)
    return response


def _finished(response: Response) -> Response:
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["X-Robots-Tag"] = "noindex"
    # Pages of others show it; in a sandbox it has no origin, and its own script asks under that name.
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.headers["Access-Control-Allow-Origin"] = "null"
    return response


def _asking_page() -> str | None:
    """The page around the frame, where the browser says which one that is."""
    scheme, slashes, rest = request.headers.get("Referer", "").partition("://")
    return read_origin(f"{scheme}{slashes}{rest.partition('/')[0]}") if slashes else None
