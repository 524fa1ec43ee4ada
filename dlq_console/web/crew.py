"""Who is at work, on what, and does anybody run the periodic steps?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from flask import url_for
from flask_babel import gettext, ngettext

from dlq_console.health.values import WorkerState
from dlq_console.store.people import Person
from dlq_console.store.queries.crew import Crew, Running, StepRun, crew
from dlq_console.web import display, looks
from dlq_console.web.auth import person
from dlq_console.web.hub import store
from dlq_console.web.space import within
from dlq_console.web.words import Look

#: Steps run every second or two; after so many seconds without any, nobody seems to run them.
STEPS_STOPPED = 10.0
#: Workers, events of each, and accounts of each that the page shows; bytes of these accounts.
MOST_SHOWN, MOST_EVENTS, MOST_NAMED, NAMES = 100, 10, 12, 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One worker as the page shows it.

    Attributes:
        look: whether it is alive.
        events: what it runs, the oldest first; `more` beyond those.
        odd: whether its version is not that of most.
    """

    worker: WorkerState
    look: Look
    mode: str
    events: Sequence[Running]
    more: int
    odd: bool
    served: str


def page() -> dict[str, Any]:
    """What the page shows."""
    seen = visible(looks.kept("crew", lambda: crew(store())), person())
    common = usual_version(seen)
    by_worker: dict[str, list[Running]] = {}
    for one in seen.running:
        by_worker.setdefault(one.worker, []).append(one)
    known = {worker.worker for worker in seen.workers}
    return {
        "answer": _answer(seen),
        "steps_answer": _steps_answer(seen),
        "steps_stopped": is_stopped(seen),
        "lines": [_line(one, by_worker.get(one.worker, []), common) for one in seen.workers[:MOST_SHOWN]],
        "left": max(0, len(seen.workers) - MOST_SHOWN),
        "strays": [one for one in seen.running if one.worker not in known][:MOST_EVENTS],
        "versions": _versions(seen),
        "steps": seen.steps,
        "sees_all": person().accounts is None,
        "poll": url_for("health.workers_part"),
    }


def visible(seen: Crew, asking: Person) -> Crew:
    """As somebody may see it: of those who see some accounts, only these accounts, and no words of errors."""
    if asking.accounts is None:
        return seen
    workers = tuple(
        replace(one, accounts=None if one.accounts is None else tuple(filter(asking.sees, one.accounts)))
        for one in seen.workers
        if one.accounts is None or any(asking.sees(name) for name in one.accounts)
    )
    running = tuple(one for one in seen.running if asking.sees(one.account))
    steps = tuple(replace(one, last_error="" if one.last_error else None) for one in seen.steps)
    return replace(seen, workers=workers, running=running, steps=steps)


def usual_version(seen: Crew) -> str:
    """The version of most living workers; of several alike the newest by name."""
    counted = Counter(worker.version for worker in seen.workers if worker.alive)
    return max(counted, key=lambda version: (counted[version], version), default="")


def is_stopped(seen: Crew) -> bool:
    """Whether nobody seems to run the periodic steps."""
    last = seen.last_step_at
    return last is None or (seen.at - last).total_seconds() > STEPS_STOPPED


def _line(worker: WorkerState, events: Sequence[Running], common: str) -> Line:
    oldest_first = sorted(events, key=lambda one: one.since or worker.started_at)
    if not worker.alive:
        look = Look("square", "fail", gettext("silent"))
    elif worker.state != "running":
        look = Look("diamond", "info", gettext("stopping"))
    else:
        look = Look("disc", "ok", gettext("alive"))
    return Line(
        worker=worker,
        look=look,
        mode=_mode(worker.mode),
        events=oldest_first[:MOST_EVENTS],
        more=max(0, len(oldest_first) - MOST_EVENTS),
        odd=bool(common) and worker.version != common,
        served=_served(worker.accounts),
    )


def _served(accounts: Sequence[str] | None) -> str:
    if accounts is None:
        return gettext("all accounts")
    named = within(", ".join(accounts[:MOST_NAMED]), NAMES)
    more = len(accounts) - MOST_NAMED
    return f"{named} {ngettext('and %(num)d more', 'and %(num)d more', more)}" if more > 0 else named


def _mode(mode: str) -> str:
    return gettext("table") if mode == "table" else mode.capitalize()


def _versions(seen: Crew) -> str:
    """What must be said where workers of different versions are alive."""
    found = sorted({worker.version for worker in seen.workers if worker.alive})
    if len(found) < 2:
        return ""
    return gettext("Workers of different versions are alive: %(versions)s.", versions=", ".join(found))


def _answer(seen: Crew) -> str:
    alive = [worker for worker in seen.workers if worker.alive]
    silent = len(seen.workers) - len(alive)
    if not alive:
        return gettext("No worker is alive: nothing runs until one is started.")
    shown = display.current()
    told = ngettext(
        "%(num)d worker is alive and uses %(used)s of %(slots)s slots.",
        "%(num)d workers are alive and use %(used)s of %(slots)s slots.",
        len(alive),
        used=shown.number(len(seen.running)),
        slots=shown.number(seen.slots),
    )
    if silent:
        more = ngettext(
            "%(num)d has not been heard of for a while.",
            "%(num)d have not been heard of for a while.",
            silent,
        )
        told = f"{told} {more}"
    return told


def _steps_answer(seen: Crew) -> str:
    last = seen.last_step_at
    if last is None:
        return gettext("Nobody has ever run the periodic steps: start a worker, or dlq-console scheduler.")
    age = max(0.0, (seen.at - last).total_seconds())
    if age > STEPS_STOPPED:
        return gettext(
            "Nobody has run the periodic steps for %(span)s: what died is not rescued, and figures are old.",
            span=display.current().span(age),
        )
    failing = [step for step in seen.steps if step.last_error is not None]
    if failing:
        return ngettext(
            "The periodic steps run; %(num)d failed when it ran last.",
            "The periodic steps run; %(num)d failed when they ran last.",
            len(failing),
        )
    return gettext("The periodic steps run.")


def crew_figures(seen: Crew) -> dict[str, Any]:
    """The same for programs: workers, and steps by name."""
    running: dict[str, list[Running]] = {}
    for one in seen.running:
        running.setdefault(one.worker, []).append(one)
    return {
        "items": [_worker_figures(one, running.get(one.worker, [])) for one in seen.workers],
        "steps": {step.name: _step_figures(step) for step in seen.steps},
        "last_step_at": seen.last_step_at,
    }


def _worker_figures(worker: WorkerState, running: Sequence[Running]) -> dict[str, Any]:
    return {
        "id": worker.worker,
        "mode": worker.mode,
        "host": worker.host,
        "pid": worker.pid,
        "version": worker.version,
        "state": worker.state,
        "alive": worker.alive,
        "slots": worker.slots,
        "accounts": None if worker.accounts is None else list(worker.accounts),
        "started_at": worker.started_at,
        "heartbeat_at": worker.heartbeat_at,
        "running": [
            {"event": one.id, "kind": one.kind, "account": one.account, "since": one.since, "late": one.late}
            for one in running
        ],
    }


def _step_figures(step: StepRun) -> dict[str, Any]:
    return {"owner": step.owner, "last_run_at": step.last_run_at, "last_error": step.last_error}
