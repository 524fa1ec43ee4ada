"""Why is what somebody wrote into the form of frames not taken? In their language."""

from __future__ import annotations

from flask_babel import gettext

from dlq_console.store.people import PeopleError


def sentence(refused: PeopleError) -> str:
    """The refusal as a sentence or two."""
    facts = refused.facts
    match refused.cause:
        case "frame_name":
            return gettext("Name: use 1 to %(limit)s printable characters.", **facts)
        case "frame_taken":
            return gettext(
                "There is a frame %(name)s already; revoke it first, or choose another name.", **facts
            )
        case "frame_detail":
            return gettext("What it tells: choose one of the two.")
        case "frame_days":
            return gettext("Days until it expires: use 1 to %(limit)s.", **facts)
        case "accounts_unseen":
            return gettext("Accounts: name some of those that you see.")
        case "accounts_number":
            return gettext("Accounts: name at most %(limit)s, or none for all together.", **facts)
        case "accounts_characters":
            return gettext("Accounts: use 1 to %(limit)s printable characters for each.", **facts)
        case _:
            return _about_origins(refused)


def _about_origins(refused: PeopleError) -> str:
    facts = refused.facts
    match refused.cause:
        case "origins_missing":
            return gettext("Pages: name those that may show it, or tick that none may.")
        case "origins_both":
            return gettext("Pages: name those that may show it, or tick that none may; not both.")
        case "origins_number":
            return gettext("Pages: name at most %(limit)s.", **facts)
        case "origin_none":
            return gettext(
                "Pages: %(origin)s is no origin. Write scheme and host alone, such as %(example)s, without path, * or "
                "anything else.",
                origin=facts["origin"],
                example="https://intranet.example",
            )
        case "origin_http":
            return gettext(
                "Pages: %(origin)s is not https. http is for this machine alone, such as %(example)s.",
                origin=facts["origin"],
                example="http://localhost:8080",
            )
        case _:
            return refused.message
