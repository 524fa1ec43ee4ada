"""In which language do messages speak? In that of the installation, for nobody knows who reads them."""

from __future__ import annotations

import gettext
from functools import cache
from pathlib import Path

from dlq_console.health.alert_words import Speak

_TRANSLATIONS = Path(__file__).resolve().parents[1] / "translations"


@cache
def speech(locale: str) -> Speak:
    """Sentences in one of the languages of the console."""
    return gettext.translation("messages", str(_TRANSLATIONS), [locale], fallback=True)


def trial(channel: str, who: str, locale: str) -> dict[str, str]:
    """What a message says that only shows that a channel works."""
    _ = speech(locale).gettext
    return {
        "title": _("DLQ Console: trial message"),
        "text": _("The channel %(channel)s works. %(who)s asked for this message.")
        % {"channel": channel, "who": who},
    }
