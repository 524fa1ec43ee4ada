"""In which language and time zone is this request answered?

A person's choice counts first, then what the browser asks for, then what was configured.
"""

from __future__ import annotations

from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from flask import Flask, g, request
from flask_babel import Babel, get_locale, get_translations

from dlq_console.settings import LOCALES
from dlq_console.web.hub import hub

#: What each language calls itself.
LANGUAGE_NAMES = {"pt_BR": "Português", "en": "English"}
#: The zones of Brazil, offered before all others.
NEAR_ZONES = (
    "America/Noronha", "America/Sao_Paulo", "America/Bahia", "America/Fortaleza", "America/Recife", "America/Belem",
    "America/Manaus", "America/Cuiaba", "America/Campo_Grande", "America/Porto_Velho", "America/Rio_Branco",
)  # fmt: skip


def install(app: Flask) -> None:
    """Let gettext follow the person."""
    Babel(app, default_locale="en", locale_selector=select_locale)
    # A page asks for fifty sentences, and what Babel installs finds out the language for each of them.
    app.jinja_env.globals["_"] = sentence


def sentence(text: str, **values: object) -> str:
    """A sentence of a template in the language of this request: text, to be escaped like any other."""
    translations = g.get("translations")
    if translations is None:
        translations = g.translations = get_translations()
    translated: str = translations.gettext(text)
    return translated % values if values else translated


def select_locale() -> str:
    """One of `LOCALES`."""
    chosen: str | None = getattr(g.get("person"), "locale", None)
    if chosen in LOCALES:
        return chosen
    wanted = request.accept_languages.best_match([_tag(locale) for locale in LOCALES])
    return wanted.replace("-", "_") if wanted else hub().settings.locale


def select_zone() -> ZoneInfo:
    """The zone in which times are shown. Browsers do not name theirs, so there are only two sources."""
    chosen: str | None = getattr(g.get("person"), "timezone", None)
    return ZoneInfo(chosen) if chosen in zone_names() else hub().settings.zone


def locale_name() -> str:
    """The language of this request, as in `LOCALES`."""
    name: str | None = g.get("locale_name")
    if name is None:
        name = g.locale_name = str(get_locale())
    return name


def language_tag() -> str:
    """The same as browsers write it: `pt-BR`."""
    return _tag(locale_name())


@cache
def zone_names() -> frozenset[str]:
    """Every zone a person may choose, such as `America/Sao_Paulo`."""
    return frozenset(
        name for name in available_timezones() if "/" in name and not name.startswith("Etc/")
    ) | {"UTC"}


def _tag(locale: str) -> str:
    return locale.replace("_", "-")
