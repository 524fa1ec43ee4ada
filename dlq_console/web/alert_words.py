"""What does a rule of alerts say, and how did its messages fare, in words? For whoever wants to know who is told when."""

from __future__ import annotations

from collections.abc import Mapping

from flask_babel import gettext, lazy_gettext
from flask_babel.speaklater import LazyString

from dlq_console.health.alert_values import ANY, PAGE, UNITS, AlertRule, When
from dlq_console.health.alert_words import span
from dlq_console.store.queries.alerts import Delivery
from dlq_console.web import display
from dlq_console.web.words import Look

_WHENS: Mapping[When, LazyString] = {
    When.DEAD_LETTERS: lazy_gettext("more than %(over)s dead letters"),
    When.LAG_P95: lazy_gettext("events start more than %(over)s after they are due (p95)"),
    When.OLDEST_DUE: lazy_gettext("an event has been due for more than %(over)s"),
    When.BREAKER_OPEN: lazy_gettext("a circuit is open"),
    When.BULKHEAD_USE: lazy_gettext("more than %(over)s of the slots are in use while events wait"),
    When.RECOVERY_QUEUE: lazy_gettext("a recovery queue is more than %(over)s full"),
    When.LANE_STOPPED: lazy_gettext("more than %(over)s lanes have stopped behind a dead letter"),
    When.NOTHING_COMPLETES: lazy_gettext("events are due and none has ended for more than %(over)s"),
    When.SILENCE: lazy_gettext("nothing came in an hour in which more than %(over)s events usually come"),
    When.UNCLASSIFIED: lazy_gettext("more than %(over)s dead letters of one day that no rule knows"),
    When.IN_DOUBT: lazy_gettext("more than %(over)s events may have been applied, or not"),
    When.PROVIDER_BLOCK: lazy_gettext("the provider blocks for more than %(over)s"),
    When.NEW_CAUSE: lazy_gettext("more than %(over)s dead letters of a cause that is new there"),
    When.DEAD_GROWS: lazy_gettext("over %(over)s more dead letters than an hour ago"),
    When.OLDEST_DEAD: lazy_gettext("nobody has seen to a dead letter for more than %(over)s of working time"),
    When.DEAD_RATE: lazy_gettext("more than %(over)s of what ended in half an hour has died"),
    When.AUTH_FAILURE: lazy_gettext("a log-in was refused"),
    When.ERROR_BUDGET: lazy_gettext(
        "more than %(over)s of the failing answers that a provider puts up with are used"
    ),
    When.BREAKER_OPENINGS: lazy_gettext("a circuit has opened more than %(over)s times within a day"),
    When.LANE_WAITS: lazy_gettext("a lane has waited behind the same event for more than %(over)s"),
}
#: The same where one is enough.
_ANY: Mapping[When, LazyString] = {
    When.DEAD_LETTERS: lazy_gettext("there is a dead letter"),
    When.LANE_STOPPED: lazy_gettext("a lane has stopped behind a dead letter"),
    When.SILENCE: lazy_gettext("nothing came in an hour in which events usually come"),
    When.UNCLASSIFIED: lazy_gettext("there is a dead letter of this day that no rule knows"),
    When.IN_DOUBT: lazy_gettext("an event may have been applied, or not"),
    When.NEW_CAUSE: lazy_gettext("a dead letter has a cause that is new there"),
}


def rule_sentence(rule: AlertRule) -> str:
    """When the rule tells somebody."""
    known = _WHENS if rule.over else {**_WHENS, **_ANY}
    text = str(known.get(rule.when, rule.when)) % {"over": _over(rule)}
    if rule.for_minutes:
        held = span(rule.for_minutes * 60)
        text = gettext("%(what)s, for %(span)s without a break", what=text, span=held)
    return text


def rule_scope(rule: AlertRule) -> str:
    """Of what the rule is, where it is not of everything."""
    return " · ".join(name for name in (rule.account, rule.kind) if name != ANY)


def level_look(level: str) -> Look:
    """Whether it must be seen at once."""
    if level == PAGE:
        return Look("square", "fail", gettext("urgent"))
    return Look("triangle", "warn", gettext("to look at"))


def delivery_look(one: Delivery) -> Look:
    """How a message to a channel fared."""
    if one.told_at is not None and one.noted:
        return Look("triangle", "warn", gettext("sent to some"))
    if one.told_at is not None:
        return Look("disc", "ok", gettext("sent"))
    if one.is_over:
        return Look("square", "fail", gettext("not sent"))
    if one.error:
        return Look("triangle", "warn", gettext("will be tried again"))
    return Look("ring", "idle", gettext("on its way"))


def _over(rule: AlertRule) -> str:
    match UNITS[rule.when]:
        case "seconds":
            return span(rule.over)
        case "minutes":
            return span(60 * rule.over)
        case "percent":
            return f"{rule.over:g}%"
    return display.current().decimal(rule.over) if rule.over % 1 else display.current().number(int(rule.over))
