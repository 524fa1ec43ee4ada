"""What does the page of alerts consist of? The notices with their answer, the rules in force, the channels."""

from __future__ import annotations

from typing import Any

from flask import request, url_for
from flask_babel import gettext, ngettext

from dlq_console.health.alert_lines import lines
from dlq_console.health.alert_reading import STALE_AFTER
from dlq_console.store.people import Permission, Person, may
from dlq_console.web import alert_rows, alerts_seen, display, moments, stretches
from dlq_console.web.alerts_seen import PER_PAGE, Told
from dlq_console.web.follow import BRISK, SLOW
from dlq_console.web.lists import with_query


def standing(asking: Person, seen: Told, cursor: str) -> dict[str, Any]:
    """The notices, and the sentence that answers the question of the page."""
    start = seen.start
    turns = stretches.turns(lambda first: address(first, cursor), start, len(seen.open), rows=PER_PAGE)
    return {
        "answer": _answer(seen),
        "wrong": seen.rules.wrong is not None,
        "trouble": _trouble(seen),
        "open": [alert_rows.notice_row(one, seen) for one in seen.shown],
        "open_number": len(seen.open),
        "first": start + 1,
        "newer": turns["newer"],
        "older": turns["older"],
        "past": [alert_rows.notice_row(one, seen) for one in seen.past.items],
        "newest": address(start, "") if cursor else "",
        "further": address(start, seen.past.next_cursor) if seen.past.next_cursor else "",
        "may_snooze": may_for_all(asking, Permission.SNOOZE_ALERT),
    }


def rules_in_force(asking: Person, seen: Told) -> dict[str, Any]:
    """The rules in force, how one writes others, and the form that snoozes one of them."""
    rules = seen.rules
    chosen = request.args.get("rule", "")
    return {
        "rules": [alert_rows.rule_row(rule, seen.snoozes) for rule in rules.rules.values()],
        "source": rules.source,
        "lines": lines(rules.rules.values(), rules.channels, rules.written, rules.hours),
        "chosen": chosen if chosen in rules.rules else "",
        "choices": moments.usual() if may_for_all(asking, Permission.SNOOZE_ALERT) else [],
    }


def channels(asking: Person) -> dict[str, Any]:
    """The channels and how trials fared; `version` changes when anything worth showing does."""
    rules = alerts_seen.in_force(asking)
    trials = alerts_seen.trials(asking, rules)
    rows = [
        alert_rows.channel_row(name, rules.where.get(name, ""), trials.get(name)) for name in rules.channels
    ]
    waiting = [row for row in rows if row.waits]
    version = ".".join(
        f"{trial.at:%H%M%S%f}{trial.is_over:d}{len(trial.error or '')}" for trial in trials.values()
    )
    version += f".{sum(row.unmet for row in rows)}"
    return {
        "channels": rows,
        "unknown": rules.wrong is not None,
        "version": version,
        "follow": url_for("alerts.channels", seen=version) if waiting else "",
        "seconds": SLOW if waiting and all(row.unmet or row.error for row in waiting) else BRISK,
        "may_test": may_for_all(asking, Permission.TEST_ALERT),
    }


def address(start: int, cursor: str, *, endpoint: str = "alerts.index") -> str:
    """Where the page, or its part of another endpoint, begins with these notices."""
    asked = [("start", str(start) if start else ""), ("cursor", cursor)]
    return with_query(url_for(endpoint), [(name, value) for name, value in asked if value])


def _answer(seen: Told) -> str:
    if seen.rules.wrong is not None and not seen.open:
        return gettext("No rule is looked at, so what is wrong now is not known here.")
    if seen.reading.taken_at is None and not seen.open:
        return gettext("Nobody has looked at the rules yet; a worker or the scheduler does.")
    if not seen.open:
        return gettext("No alert is open.")
    return ngettext(
        "%(num)d alert is open, the newest since %(time)s.",
        "%(num)d alerts are open, the newest since %(time)s.",
        len(seen.open),
        time=display.current().moment(max(one.opened_at for one in seen.open)),
    )


def _trouble(seen: Told) -> str:
    """Why nobody would be told; empty where somebody would."""
    reading = seen.reading
    if seen.rules.wrong:
        return gettext("No rule is looked at: %(why)s", why=seen.rules.wrong)
    if seen.rules.wrong is not None:
        return gettext(
            "No rule is looked at: the file of rules has a mistake. Tell whoever looks after this installation."
        )
    if reading.taken_at is not None and (seen.steps_stand or reading.age > STALE_AFTER):
        since = display.current().moment(reading.taken_at)
        return gettext(
            "Nobody has looked at the rules since %(time)s; see that a worker or the scheduler is running.",
            time=since,
        )
    if seen.rules.rules and not seen.rules.channels:
        return gettext("No channel is set up, so nobody is told; notices stand on this page only.")
    return ""


def may_for_all(asking: Person, permission: Permission) -> bool:
    """What concerns all accounts is not for somebody who sees some."""
    return asking.accounts is None and may(asking, permission)
