"""Which status frames are there, what do they show, and who may show them? The page where an administrator keeps them."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Blueprint, abort, redirect, render_template, request, url_for
from flask_babel import gettext, lazy_gettext, ngettext
from flask_babel.speaklater import LazyString
from markupsafe import escape
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.store.accounts import is_known
from dlq_console.store.embeds import DAYS, MAX_NAME, MOST_DAYS, Detail, Embed, Standing
from dlq_console.store.people import PeopleError, Permission, Person
from dlq_console.web import display, embed_acts, embed_refusals
from dlq_console.web.assets import asset_address
from dlq_console.web.auth import demand, require_person
from dlq_console.web.display import Stamp
from dlq_console.web.embed import current_content
from dlq_console.web.embed_words import Shown, shown
from dlq_console.web.hub import hub, store
from dlq_console.web.words import Look

embed_settings = Blueprint("embed_settings", __name__)
embed_settings.before_request(require_person)

#: Ids beyond what a database can hold are no ids.
EMBED_ID = "int(max=9223372036854775807):embed_id"
#: Seconds before its end at which a frame is marked.
SOON = 14 * 86_400
_STANDINGS: dict[Standing, tuple[str, str, LazyString]] = {
    Standing.ACTIVE: ("disc", "ok", lazy_gettext("can be seen")),
    Standing.PAUSED: ("diamond", "info", lazy_gettext("paused for now")),
    Standing.EXPIRED: ("square", "fail", lazy_gettext("expired")),
    Standing.REVOKED: ("dash", "idle", lazy_gettext("revoked")),
}
_FRAME = (
    '<iframe title="{title}" src="{address}" width="280" height="{height}" frameborder="0" loading="lazy" '
    'sandbox="allow-scripts allow-popups" referrerpolicy="strict-origin"{more}></iframe>'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One frame as the page lists it; what is copied is empty once it is revoked.

    Attributes:
        expires: when it ends; `soon` marks that this is near or past.
        foreign: whether the page that asked for it last is none of those that may show it.
    """

    embed: Embed
    look: Look
    preview: Shown | None
    expires: Stamp
    soon: bool
    last_seen: Stamp | None
    foreign: bool
    address: str = ""
    snippet: str = ""
    fitting: str = ""
    badge: str = ""


@dataclass(frozen=True, slots=True)
class Typed:
    """What stands in the form."""

    name: str = ""
    accounts: str = ""
    origins: str = ""
    detail: str = Detail.STATUS
    days: str = str(DAYS)
    no_page: bool = False


@embed_settings.get("/settings/embeds")
def index() -> str:
    """Every frame, and the form for another one."""
    return _page(demand(Permission.EMBEDS), Typed())


@embed_settings.post("/settings/embeds")
def add() -> AnyResponse | tuple[str, int]:
    """Make a frame of what the form says."""
    who = demand(Permission.EMBEDS)
    form = request.form
    typed = Typed(
        form.get("name", ""), form.get("accounts", ""), form.get("origins", ""), form.get("detail", ""),
        form.get("days", ""), form.get("no_page") == "1",
    )  # fmt: skip
    try:
        made = _add(who, typed)
    except PeopleError as refused:
        return _page(who, typed, wrong=embed_refusals.sentence(refused)), 400
    return redirect(url_for("embed_settings.index", _anchor=f"embed-{made.id}"), 303)


@embed_settings.post(f"/settings/embeds/<{EMBED_ID}>/<any(pause, resume, renew, rotate, revoke):act>")
def act(embed_id: int, act: str) -> AnyResponse:
    """Do something to a frame, as the person saw it."""
    who = demand(Permission.EMBEDS)
    known = embed_acts.found(who, embed_id)
    if known is None:
        abort(404)
    if str(known.version) != request.form.get("version") or not embed_acts.act(who, known, act):
        abort(409)
    return redirect(url_for("embed_settings.index", _anchor=f"embed-{embed_id}"), 303)


def _add(who: Person, typed: Typed) -> Embed:
    days = typed.days
    return embed_acts.add(
        who,
        typed.name,
        accounts=_lines(typed.accounts) or None,
        origins=_lines(typed.origins),
        no_page=typed.no_page,
        detail=typed.detail,
        days=int(days) if days.isascii() and days.isdigit() and len(days) < 6 else 0,
    )


def _height(one: Embed) -> int:
    """Pixels that a frame of the usual width needs in the longest words of either language; the rest can be scrolled to."""
    accounts, figures = len(one.accounts or ()), one.detail == Detail.FIGURES
    if accounts < 2:
        return 160 if figures else 120
    return min(800, 110 + (95 if figures else 47) * accounts)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _page(who: Person, typed: Typed, *, wrong: str = "") -> str:
    kept = [_kept(one) for one in embed_acts.visible(who)]
    return render_template(
        "settings/embeds.html",
        kept=kept,
        typed=typed,
        wrong=wrong,
        limits={"name": MAX_NAME, "days": MOST_DAYS, "example": "https://intranet.example"},
        sees_some=who.accounts is not None,
        answer=_answer(kept),
        public=bool(hub().settings.public_url),
    )


def _answer(kept: list[Kept]) -> str:
    number = sum(one.embed.standing == Standing.ACTIVE for one in kept)
    if not kept:
        return gettext("No status frame yet. One shows pages of others how your integrations stand.")
    return ngettext(
        "%(count)s status frame can be seen by whoever has its address.",
        "%(count)s status frames can be seen by whoever has their addresses.",
        number,
        count=display.current().number(number),
    )


def _kept(one: Embed) -> Kept:
    stamp = display.current().stamp
    shape, tone, word = _STANDINGS[one.standing]
    known = Kept(
        embed=one,
        look=Look(shape, tone, str(word)),
        preview=None,
        expires=stamp(one.expires_at),
        soon=one.left < SOON and one.standing != Standing.REVOKED,
        last_seen=None if one.last_seen_at is None else stamp(one.last_seen_at),
        foreign=one.last_origin is not None and one.last_origin not in one.origins,
    )
    return known if one.standing == Standing.REVOKED else _with_address(known)


def _with_address(known: Kept) -> Kept:
    one = known.embed
    exist = frozenset(name for name in one.accounts or () if is_known(store(), name))
    where = embed_acts.addresses(one)
    parts = {"title": escape(one.name), "address": escape(where.frame), "height": _height(one)}
    script = where.base + asset_address("js/embed-height.js").removeprefix(request.script_root)
    return Kept(
        embed=one,
        look=known.look,
        preview=shown(current_content(one, exist)),
        expires=known.expires,
        soon=known.soon,
        last_seen=known.last_seen,
        foreign=known.foreign,
        address=where.frame,
        snippet=_FRAME.format(**parts, more=""),
        fitting=f'{_FRAME.format(**parts, more=" data-dlq-embed")}\n<script src="{escape(script)}" defer></script>',
        badge=f'<img src="{escape(where.badge)}" alt="{escape(one.name)}">',
    )
