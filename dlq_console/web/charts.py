"""How did it go over time? The page of the lag, the numbers behind every chart, and both for programs.

A chart is drawn by a script from `/health/series.json`; its caption and its table come with the page, for whoever has no
script, does not see or prints it.
"""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from flask import Blueprint, Response, abort, g, render_template, request, url_for
from flask_babel import gettext
from werkzeug.exceptions import NotFound, Unauthorized
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.health.series import Series
from dlq_console.store.people import Person
from dlq_console.web import downloads, errors, lag_answers, pulse, series_seen
from dlq_console.web.api import problems
from dlq_console.web.api.access import require_token
from dlq_console.web.api.representation import to_text
from dlq_console.web.auth import load_person, person, require_person
from dlq_console.web.boards import board, counted_until, happened_to
from dlq_console.web.chart_asking import USUAL, ChartError, asked, since
from dlq_console.web.chart_subjects import Line, Subject, Unit, subjects
from dlq_console.web.chart_views import caption
from dlq_console.web.health_seen import seen as health_seen
from dlq_console.web.hub import store
from dlq_console.web.lag_figures import every_lag
from dlq_console.web.series_seen import KEPT_FOR, Asked

charts = Blueprint("charts", __name__, url_prefix="/health")

#: Answers shorter than this are sent as they are, in bytes.
_WORTH_IT = 1_000
#: From here on whole numbers are drawn.
_WHOLE = 1_000
#: Digits of a duration that are told to scripts and files: milliseconds.
_DIGITS = 3


@charts.before_request
def require_somebody() -> AnyResponse | None:
    """A person; a script or program gets a problem instead of the log-in form, and may send a token instead."""
    if not _is_for_program():
        return require_person()
    known = None if "Authorization" in request.headers else load_person()
    if known is None:
        try:
            require_token()
        except Unauthorized:
            return problems.answer(401, "Log in, or send a valid token: Authorization: Bearer <token>.")
    else:
        g.caller = known
    return None


@charts.errorhandler(ChartError)
def refuse(error: ChartError) -> AnyResponse:
    """400 with what is wrong with the address."""
    if _is_for_program():
        return problems.answer(400, str(error))
    return errors.answer(errors.problem(400, sentence=str(error)))


@charts.get("/lag")
def lag() -> AnyResponse | str | tuple[str, int]:
    """Are we behind, where, and since when? For programs the figures of every account, by name."""
    if _is_for_program():
        return Response(to_text(every_lag(health_seen(store()), _caller())), mimetype="application/json")
    seen = pulse.look_now()
    try:
        what = asked(person())
    except NotFound:
        return _mistyped(), 404
    shown = series_seen.seen(what)
    return render_template(
        "health/lag.html",
        board=board(what, shown, subjects(what.kind), endpoint="charts.lag"),
        answer=lag_answers.answer(what, seen, shown),
        doubtful=seen.is_doubtful,
        account=what.account,
        kind=what.kind,
        range=what.range.name,
        accounts=_known_accounts(),
        wrong="",
        pulse=pulse.pulse(seen),
        every=pulse.EVERY,
        poll=url_for(
            "health_pages.poll_lag",
            account=what.account or None,
            kind=what.kind or None,
            range=what.range.name,
        ),
    )


@charts.get("/series.json")
def series_json() -> AnyResponse:
    """The numbers of every chart, as a script draws them; only later ones, where `since` says from when on."""
    what, first = asked(_caller()), since()
    document = _document(series_seen.seen(what), what, first)
    return _answered(to_text(document).encode())


@charts.get("/series.csv")
def series_csv() -> Response:
    """The numbers of one chart, or of all, for a spreadsheet."""
    what = asked(person())
    name = request.args.get("chart", "")
    wanted = subjects(what.kind, names=(name,) if name else ())
    if not wanted:
        abort(404)
    lines = [(subject, line) for subject in wanted for line in subject.lines]
    headings = [
        downloads.time_heading(gettext("From")),
        gettext("Account"),
        gettext("Kind"),
        *(_heading(*pair) for pair in lines),
    ]
    rows = _csv_rows(series_seen.seen(what), what, lines)
    return downloads.download(downloads.csv_lines(headings, rows), f"{name or 'series'}.csv")


def _mistyped() -> str:
    """The form as it was filled in, with what is wrong beside its field."""
    account, kind = request.args.get("account", "").strip(), request.args.get("kind", "").strip()
    return render_template(
        "health/lag.html",
        account=account,
        kind=kind,
        range=request.args.get("range", USUAL),
        accounts=_known_accounts(),
        board=None,
        wrong=_unknown(account, kind),
    )


def _is_for_program() -> bool:
    if "Authorization" in request.headers or request.path.endswith(".json"):
        return True
    return request.accept_mimetypes.best_match(["text/html", "application/json"]) == "application/json"


def _caller() -> Person:
    """Whoever asks, behind the guard; everybody who may log in may look."""
    caller: Person = g.caller
    return caller


def _known_accounts() -> list[str]:
    """What the field of accounts offers."""
    return sorted(one.account for one in health_seen(store()).accounts if person().sees(one.account))[:200]


def _unknown(account: str, kind: str) -> str:
    """An account or a kind of it that does not exist, or that the person may not see."""
    if kind:
        return gettext("No account “%(name)s” with kind “%(kind)s” is known.", name=account, kind=kind)
    return gettext("No account “%(name)s” is known.", name=account)


def _document(shown: Series, what: Asked, first: float) -> dict[str, Any]:
    times = [round(moment.timestamp()) for moment in shown.times]
    skipped = next((place for place, moment in enumerate(times) if moment >= first), len(times))
    columns = {line.column for subject in subjects(what.kind) for line in subject.lines}
    told = happened_to(what, shown)
    return {
        "range": what.range.name,
        "step": what.range.step,
        "times": times[skipped:],
        "columns": {
            name: [_coarse(number) for number in shown.columns[name][skipped:]]
            for name in sorted(columns & shown.columns.keys())
        },
        "spans": [
            {"from": _unix(one.start), "to": _unix(one.end), "word": one.word, "tone": one.tone}
            for one in told.spans
        ],
        "marks": [{"at": _unix(one.at), "word": one.word} for one in told.marks],
        "as_of": _unix(shown.as_of),
        "stale": shown.is_stale,
        "said": {
            "as_of": counted_until(shown),
            # Whoever has no numbers yet has the captions of this moment from the page.
            "captions": {one.name: caption(one, shown) for one in subjects(what.kind)} if first else {},
        },
    }


def _answered(body: bytes) -> Response:
    """Kept by the browser of whoever asked for a few seconds, and not sent again while it is the same."""
    response = Response(body, mimetype="application/json")
    tag = hashlib.sha256(body).hexdigest()[:20]
    if len(body) > _WORTH_IT and request.accept_encodings["gzip"] > 0:
        response.set_data(gzip.compress(body, 6, mtime=0))
        response.content_encoding = "gzip"
        tag += "-gzip"
    response.set_etag(tag)
    response.headers["Cache-Control"] = f"private, max-age={KEPT_FOR:.0f}"
    response.vary.update(("Cookie", "Authorization", "Accept-Encoding", "Accept-Language"))
    response.make_conditional(request)
    return response


def _csv_rows(shown: Series, what: Asked, lines: list[tuple[Subject, Line]]) -> Iterator[tuple[object, ...]]:
    nothing: tuple[None, ...] = (None,) * len(shown.times)
    columns = [shown.columns.get(line.column, nothing) for _, line in lines]
    for place, moment in enumerate(shown.times):
        numbers = (_short(column[place]) for column in columns)
        yield (downloads.time_cell(moment), what.account, what.kind, *numbers)


def _heading(subject: Subject, line: Line) -> str:
    unit = " (s)" if subject.unit in (Unit.SECONDS, Unit.LOST) else ""
    return f"{subject.title}: {line.label}{unit}"


def _coarse(number: float | None) -> float | int | None:
    """As many digits as can be told apart in a drawing, and as are written beside it."""
    if number is None or number == int(number):
        return _short(number)
    return float(f"{number:.3g}") if number < _WHOLE else round(number)


def _short(number: float | None) -> float | int | None:
    if number is None:
        return None
    return int(number) if number == int(number) else round(number, _DIGITS)


def _unix(moment: datetime | None) -> int | None:
    return None if moment is None else round(moment.astimezone(UTC).timestamp())
