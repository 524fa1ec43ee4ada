"""Where may somebody be led after the log-in? To a page of this console; never to another site, an act or a part of a page."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, unquote, urlsplit

from flask import current_app, url_for
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Rule

#: Parts that are no pages: the log-in itself, files of the console, and what is made for programs or for other sites.
_NO_PAGES = frozenset({"auth", "assets", "embed", "health_probes", "metrics"})
#: How the addresses of the API and of parts of pages begin.
_NO_PREFIXES = ("/api/", "/_f/")
#: A part of a page that stands beside it.
_PARTS = frozenset({"doctor.found"})
_PLACEHOLDER = re.compile(r"<[^>]*>")


def safe_next(target: str) -> str:
    """`target` if it is the address of a page of this console, else the overview."""
    parts = split(target)
    local = parts is not None and not parts.scheme and not parts.netloc and target.isprintable()
    # Browsers take a backslash for a slash, and two slashes for another site.
    if parts is None or not local or "\\" in target or target.startswith("//") or not _is_page(parts.path):
        return url_for("triage.overview")
    return target


def split(address: str) -> SplitResult | None:
    """The parts of an address; None where it is none, such as `http://[`."""
    try:
        return urlsplit(address)
    except ValueError:
        return None


def _is_page(path: str) -> bool:
    try:
        rule, _ = current_app.url_map.bind("").match(unquote(path), method="GET", return_rule=True)
    except HTTPException:  # no such address, or one that only forms send to
        return False
    return _shows_a_page(rule)


def _shows_a_page(rule: Rule) -> bool:
    if rule.endpoint in _PARTS or rule.rule.startswith(_NO_PREFIXES):
        return False
    # Files are told by their ending: whoever got one would still see the log-in.
    is_file = "." in _PLACEHOLDER.sub("", rule.rule)
    return not is_file and rule.endpoint.partition(".")[0] not in _NO_PAGES
