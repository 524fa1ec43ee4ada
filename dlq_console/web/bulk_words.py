"""What are the states, causes and ends of a bulk run called?"""

from __future__ import annotations

from datetime import datetime

from flask_babel import gettext, lazy_gettext, ngettext
from flask_babel.speaklater import LazyString

from dlq_console.hub.bulk import BulkRun, Cause, ItemState, Refusal, RunState
from dlq_console.store.people import Permission
from dlq_console.store.states import Action
from dlq_console.web import display
from dlq_console.web.words import Look

_RUNS: dict[str, tuple[str, str, LazyString]] = {
    RunState.FREEZING: ("ring", "info", lazy_gettext("being written down")),
    RunState.RUNNING: ("half", "info", lazy_gettext("running")),
    RunState.PAUSED: ("diamond", "warn", lazy_gettext("on pause")),
    RunState.STOPPED: ("square", "fail", lazy_gettext("stopped by itself")),
    RunState.CANCELLED: ("dash", "idle", lazy_gettext("cancelled")),
    RunState.DONE: ("disc", "ok", lazy_gettext("over")),
}

_ITEMS: dict[str, tuple[str, str, LazyString]] = {
    ItemState.SUCCEEDED: ("disc", "ok", lazy_gettext("succeeded")),
    ItemState.DIED_SAME: ("square", "fail", lazy_gettext("died again, same error")),
    ItemState.DIED_DIFFERENT: ("triangle", "warn", lazy_gettext("died again, another error")),
    ItemState.REFUSED: ("dash", "idle", lazy_gettext("refused")),
    ItemState.RELEASED: ("half", "info", lazy_gettext("under way")),
    ItemState.WAITING: ("ring", "idle", lazy_gettext("not let go")),
}

#: Why an item was refused.
_REFUSALS: dict[str, LazyString] = {
    Refusal.GONE: lazy_gettext("it is gone"),
    Refusal.NOT_DEAD: lazy_gettext("it is no dead letter any more: somebody has dealt with it"),
    Refusal.CHANGED: lazy_gettext("somebody has dealt with it meanwhile, and it died again"),
    Refusal.IN_DOUBT: lazy_gettext("it is in doubt whether the ERP has it already: a person has to look"),
    Refusal.SUPERSEDED: lazy_gettext("a newer event of the same number takes its place"),
    Refusal.STALE: lazy_gettext("there is a newer event of the same number: a person decides"),
    Refusal.ASSIGNED: lazy_gettext("somebody else sees to it"),
    Refusal.NOT_ALLOWED: lazy_gettext("who should see to it may not see its account, or may not log in"),
    Refusal.TOO_MANY_TAGS: lazy_gettext("it would have more tags than an event may have"),
    Refusal.DISCARDED: lazy_gettext("somebody has discarded it meanwhile"),
    Refusal.TAKEN_BACK: lazy_gettext("somebody has taken it back before it was sent"),
}

_VERBS: dict[str, LazyString] = {
    Action.REPROCESS: lazy_gettext("Reprocess"),
    Action.DISCARD: lazy_gettext("Discard"),
    Permission.ASSIGN: lazy_gettext("Assign"),
    Permission.TAG: lazy_gettext("Tag"),
    Permission.SNOOZE: lazy_gettext("Snooze"),
}


def run_look(state: str) -> Look:
    """How the state of a run is shown."""
    return _look(_RUNS, state)


def item_look(state: str) -> Look:
    """How the state of an item is shown."""
    return _look(_ITEMS, state)


def refusal(cause: str | None) -> str:
    """Why an item was refused."""
    return str(_REFUSALS.get(cause or "", cause or ""))


def verb(action: str) -> str:
    """What is done, as one word."""
    return str(_VERBS.get(action, action))


def arguments(run: BulkRun) -> str:
    """With what it is done; empty where the action takes nothing."""
    given = run.arguments
    match run.action:
        case Permission.ASSIGN:
            to, due = given["to"] or gettext("nobody"), _until(given["due"])
            return f"{to}, {due}" if due else str(to)
        case Permission.TAG:
            return ", ".join(given["tags"])
        case Permission.SNOOZE:
            return _until(given["until"]) or gettext("back in sight")
    return ""


def _until(text: str | None) -> str:
    if text is None:
        return ""
    return gettext("until %(time)s", time=display.current().moment(datetime.fromisoformat(text)))


def button(action: str, number: int, shown: str) -> str:
    """What the button does, and to how many."""
    if action == Action.DISCARD:
        return ngettext(
            "Discard %(count)s dead letter", "Discard %(count)s dead letters", number, count=shown
        )
    return ngettext(
        "Reprocess %(count)s dead letter", "Reprocess %(count)s dead letters", number, count=shown
    )


def about_to(action: str, number: int, shown: str) -> str:
    """What would be done, and to how many; or that it can be done to none of them."""
    if not number:
        return (
            gettext("None of the events that you chose can be discarded")
            if action == Action.DISCARD
            else gettext("None of the events that you chose can be reprocessed")
        )
    if action == Action.DISCARD:
        return ngettext(
            "You are about to discard %(count)s dead letter",
            "You are about to discard %(count)s dead letters",
            number,
            count=shown,
        )
    return ngettext(
        "You are about to reprocess %(count)s dead letter",
        "You are about to reprocess %(count)s dead letters",
        number,
        count=shown,
    )


def standing(run: BulkRun) -> str:
    """How far a run has come and why it stands still, where it does, in a sentence or two."""
    shown = display.current()
    if run.state == RunState.FREEZING:
        return gettext(
            "Its dead letters are being written down, %(count)s so far. Nothing has been let go.",
            count=shown.number(run.total),
        )
    if run.state == RunState.DONE:
        return ngettext(
            "%(count)s dead letter has come to an end; %(succeeded)s succeeded.",
            "%(count)s dead letters have come to an end; %(succeeded)s succeeded.",
            run.total,
            count=shown.number(run.total),
            succeeded=shown.number(run.succeeded),
        )
    far = ngettext(
        "%(done)s of %(count)s dead letter has come to an end.",
        "%(done)s of %(count)s dead letters have come to an end.",
        run.total,
        done=shown.number(run.done),
        count=shown.number(run.total),
    )
    return f"{far} {_still(run)}".strip()


def _still(run: BulkRun) -> str:
    who = run.acted_by or ""
    left = display.current().number(run.remaining)
    match run.state:
        case RunState.PAUSED if run.cause == Cause.DRIFT:
            return gettext(
                "There are not as many as the preview counted, so a person decides: resume or cancel it."
            )
        case RunState.PAUSED:
            return gettext("%(who)s has paused it; nothing more is let go.", who=who)
        case RunState.STOPPED:
            shown = display.current()
            return ngettext(
                "%(died)s of %(ended)s died again: look at them, then resume or cancel it.",
                "%(died)s of %(ended)s died again: look at them, then resume or cancel it.",
                run.stage_died,
                died=shown.number(run.stage_died),
                ended=shown.number(run.stage_ended),
            )
        case RunState.CANCELLED:
            return ngettext(
                "%(who)s has cancelled it; %(count)s was not let go and stays as it is.",
                "%(who)s has cancelled it; %(count)s were not let go and stay as they are.",
                run.remaining,
                who=who,
                count=left,
            )
    return ""


def limit(run: BulkRun, *, workers: bool) -> str:
    """What a run waits for right now; empty where nothing holds it up."""
    if run.finished_at is None and not workers and run.state in (RunState.FREEZING, RunState.RUNNING):
        return gettext("No worker is running, so nothing moves.")
    shown = display.current()
    match run.limited_by:
        case "closed":
            return gettext("It waits for accounts or calls that are closed.")
        case "lane":
            return gettext("It waits for earlier events of the same lanes.")
        case "stage":
            return gettext("It waits until all of this stage have come to an end.")
        case "window":
            return ngettext(
                "%(count)s is under way, as many as may be at once.",
                "%(count)s are under way, as many as may be at once.",
                run.released,
                count=shown.number(run.released),
            )
        case "rate":
            return gettext("It keeps to its pace.")
    return ""


def not_any_more(run: BulkRun, verb: str) -> str:
    """Why a run cannot be paused, resumed or cancelled."""
    state = run_look(run.state).word
    sentences = {
        "pause": gettext("It cannot be paused: it is %(state)s.", state=state),
        "resume": gettext("It cannot be resumed: it is %(state)s.", state=state),
        "cancel": gettext("It cannot be cancelled: it is %(state)s.", state=state),
    }
    return sentences[verb]


def _look(looks: dict[str, tuple[str, str, LazyString]], name: str) -> Look:
    shape, tone, word = looks.get(name, ("ring", "idle", name))
    return Look(shape, tone, str(word))
