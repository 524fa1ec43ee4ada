"""How does somebody do one thing to many dead letters in the console? Look at it first, begin it, watch it, stop it."""

from __future__ import annotations

from functools import partial

from flask import (
    Blueprint,
    Response,
    abort,
    make_response,
    redirect,
    render_template,
    request,
    url_for,
)
from flask_babel import gettext, ngettext
from werkzeug.wrappers import Response as AnyResponse

from dlq_console.errors import ActionNotAllowed, PayloadRefused
from dlq_console.hub import export as exports
from dlq_console.hub.bulk import EVENT_ACTIONS, BulkRun
from dlq_console.store.people import Permission
from dlq_console.web import (
    bulk_desk,
    bulk_form,
    bulk_items,
    bulk_preview,
    bulk_progress,
    bulk_undo,
    bulk_words,
    chips,
    display,
    downloads,
    errors,
    picked,
    refused_words,
)
from dlq_console.web.auth import demand, require_person
from dlq_console.web.beside import cut
from dlq_console.web.bulk_form import Selected
from dlq_console.web.hub import hub, store
from dlq_console.web.lists import page_address
from dlq_console.web.repeats import is_repeat_of_run

#: Runs that are over on one page of their list.
PAGE = 40

bulk = Blueprint("bulk", __name__)
bulk.before_request(require_person)


@bulk.get("/bulk")
def index() -> str:
    """Every run, those that are not over first, then the newest."""
    asking = demand(Permission.VIEW)
    sees_some = asking.accounts is not None
    runs = hub().bulk.listed(accounts=asking.accounts)
    live = [run for run in runs if run.finished_at is None]
    over = [run for run in runs if run.finished_at is not None]
    before = request.args.get("before", type=int)
    rest = over if before is None else [run for run in over if run.id < before]
    shown = (live if before is None else []) + rest[:PAGE]
    return render_template(
        "bulk/runs.html",
        lines=[(run, bulk_words.run_look(run.state), bulk_progress.segments(run)) for run in shown],
        answer=_answer(runs, len(live), sees_some=sees_some),
        sees_some=sees_some,
        verb=bulk_words.verb,
        cut=cut,
        in_words=bulk_progress.in_words,
        older=url_for("bulk.index", before=shown[-1].id) if len(rest) > PAGE else "",
        newer=url_for("bulk.index") if before is not None else "",
    )


@bulk.get("/bulk/preview")
def no_preview() -> AnyResponse:
    """A preview has no address of its own, because it belongs to one selection; whoever comes back begins anew."""
    return redirect(url_for("triage.dead_letters"), 303)


@bulk.post("/bulk/preview")
def preview() -> AnyResponse:
    """What would be done to the selection; nothing is done yet."""
    demand(Permission.BULK)
    action = _action((*EVENT_ACTIONS, *bulk_desk.ACTIONS))
    selected = _selected()
    if not isinstance(selected, Selected):
        return selected
    if action in bulk_desk.ACTIONS:
        return bulk_desk.show(selected, action)
    refused = bulk_preview.why_not(selected)
    if refused is not None:
        return refused
    if not _is_exact():
        return bulk_preview.show(selected, action)
    return bulk_preview.show(selected, action, form=bulk_form.written(), exact=True, token=_token())


@bulk.post("/_f/bulk/preview")
def exact_preview() -> AnyResponse:
    """The same, counted to the end, for the page that is open already."""
    demand(Permission.BULK)
    action = _action(EVENT_ACTIONS)
    selected = _selected()
    if not isinstance(selected, Selected):
        return selected
    return bulk_preview.why_not(selected) or bulk_preview.counted(selected, action, _token())


@bulk.post("/bulk")
def start() -> AnyResponse:
    """Begin a run, over exactly what its preview showed."""
    asking = demand(Permission.BULK)
    action = _action(EVENT_ACTIONS)
    selected = _selected()
    if not isinstance(selected, Selected):
        return selected
    refused = bulk_preview.why_not(selected)
    if refused is not None:
        return refused
    form = bulk_form.written()
    again = partial(bulk_preview.show, selected, action, form=form, exact=_is_exact(), status=422)
    number = bulk_form.seen_number()
    if number is None:
        form.typed = ""
        return again(detail="number: it is not the one that the preview has shown.")
    terms = bulk_form.check(form, action, number)
    if form.wrong:
        return again()
    try:
        run_id = hub().bulk.start(
            action,
            actor=asking.name,
            accounts=asking.accounts,
            selection_token=request.form.get("selection_token", ""),
            **terms,
        )
    except PayloadRefused as error:
        form.typed = ""
        if error.facts.get("name") == "note":
            form.wrong["note"] = refused_words.sentence(error)
            return again()
        return again(detail=error.message)
    picked.is_over(selected.page, selected.shown)
    bulk_undo.forget()
    return redirect(url_for("bulk.show", run_id=run_id), 303)


@bulk.post("/bulk/desk")
def put_on_desk() -> AnyResponse:
    """Assign, tag or snooze everything that is selected."""
    action = _action(bulk_desk.ACTIONS)
    selected = _selected()
    return bulk_desk.act(selected, action) if isinstance(selected, Selected) else selected


@bulk.post("/bulk/desk/undo")
def take_back() -> AnyResponse:
    """Take back what was put on the desks of a selection, where nobody has changed it since."""
    return bulk_undo.take_back(_action(bulk_desk.ACTIONS))


@bulk.get("/bulk/<int:run_id>")
def show(run_id: int) -> str:
    """One run: how far it has come, and what went differently than hoped."""
    asking = demand(Permission.VIEW)
    run = hub().bulk.get(run_id, accounts=asking.accounts)
    words, address = _selection(run)
    return render_template(
        "bulk/run.html",
        **bulk_progress.context(run),
        **bulk_items.context(run, asking),
        title=f"{gettext('Bulk run')} {run.id} · {bulk_words.verb(run.action)}",
        arguments=bulk_words.arguments(run),
        verb=bulk_words.verb(run.action),
        filter_in_words=words,
        filter_address=address,
    )


@bulk.get("/_f/bulk/<int:run_id>")
def progress(run_id: int) -> AnyResponse:
    """How far a run has come, unless that is as the asker has it; with the buttons where these are others now."""
    run = hub().bulk.get(run_id, accounts=demand(Permission.VIEW).accounts)
    if bulk_progress.version_of(run) == request.args.get("seen"):
        return Response(status=204)
    return _fragment(run, buttons=run.state != request.args.get("state"))


@bulk.post("/bulk/<int:run_id>/<any(pause, resume, cancel):verb>")
def act(run_id: int, verb: str) -> AnyResponse:
    """Pause, resume or cancel a run."""
    asking = demand(Permission.BULK)
    before = hub().bulk.get(run_id, accounts=asking.accounts)
    demand(before.action)
    note = request.form.get("note", "").strip() or None
    try:
        run = getattr(hub().bulk, verb)(run_id, actor=asking.name, note=note, accounts=asking.accounts)
    except ActionNotAllowed:
        now = hub().bulk.get(run_id, accounts=asking.accounts)
        if is_repeat_of_run(now, verb, asking.name):
            return _acted(now)
        sentence = bulk_words.not_any_more(now, verb)
        link = errors.Link(url_for("bulk.show", run_id=run_id), gettext("Look at the run"))
        problem = errors.Problem(409, gettext("This is not possible any more"), sentence, link=link)
        return errors.answer(problem, more=_buttons(now))
    return _acted(run)


@bulk.get("/bulk/<int:run_id>/items.csv")
def download(run_id: int) -> Response:
    """Every event of a run with how it ended, as a file for a spreadsheet."""
    asking = demand(Permission.VIEW)
    run = hub().bulk.get(run_id, accounts=asking.accounts)
    exports.note(store(), actor=asking.name, what=f"bulk/{run_id}/items.csv", filter_=run.filter or "")
    return downloads.download(bulk_items.lines(run, asking), f"bulk-{run_id}.csv")


def _action(known: tuple[str, ...]) -> str:
    """What is to be done, which this person must be allowed to do."""
    action = request.form.get("action", "")
    if action not in known:
        abort(400)
    demand(action)
    return action


def _is_exact() -> bool:
    """Whether all of a selection are to be counted, or have been on the page that this form came from."""
    return request.form.get("exact") == "1"


def _token() -> str | None:
    return request.form.get("selection_token") or None


def _selected() -> Selected | AnyResponse:
    """What is selected, or the answer to whoever has selected nothing."""
    selected = bulk_form.read_selected()
    if selected is not None:
        return selected
    title = gettext("Nothing is selected")
    sentence = gettext("Select events in the list, or all that match.")
    return bulk_preview.refused(title, sentence, bulk_form.back_to_list())


def _selection(run: BulkRun) -> tuple[str, str]:
    """What a run selected, in words, and where that list is; no address where the events were chosen one by one."""
    flt = run.selection.flt
    if flt is None:
        return gettext("chosen one by one"), ""
    asked = flt.without("status")
    address = page_address(url_for("triage.dead_letters"), asked)
    if asked.snoozed != "hide":
        return chips.in_words(asked) or gettext("all dead letters"), address
    return chips.in_words(asked.without("snoozed")) or gettext("all that are not snoozed"), address


def _fragment(run: BulkRun, *, buttons: bool) -> AnyResponse:
    page = render_template(
        "bulk/_fragment.html",
        **bulk_progress.context(run),
        told=bulk_items.told(run),
        numbers=bulk_items.numbers_of(run),
    )
    return make_response(page + (_buttons(run) if buttons else ""))


def _acted(run: BulkRun) -> AnyResponse:
    if "HX-Request" in request.headers:
        return _fragment(run, buttons=True)
    return redirect(url_for("bulk.show", run_id=run.id), 303)


def _buttons(run: BulkRun) -> str:
    return render_template("bulk/_acts.html", run=run, offered=bulk_progress.offered(run), in_fragment=True)


def _answer(runs: list[BulkRun], live: int, *, sees_some: bool) -> str:
    shown = display.current()
    if not runs:
        if sees_some:
            return gettext("Runs over accounts that you do not see are not listed.")
        return gettext("Nobody has done anything to many dead letters at once yet.")
    if not live:
        return gettext("No bulk run is under way.")
    return ngettext(
        "%(count)s bulk run is not over.", "%(count)s bulk runs are not over.", live, count=shown.number(live)
    )
