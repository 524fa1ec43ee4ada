"""How does a message of an alert come to its channel? As an event of the hub's own, which is tried again for a day.

Whatever happens, it never becomes a dead letter, so no alert can be about an alert. It runs wherever events run, and by
the periodic steps too, so that it leaves also where no worker lives.
"""

from __future__ import annotations

import json
import secrets
from datetime import datetime, timedelta

from dlq_console.errors import DLQError, EventNotFound, LeaseLost, PayloadRefused, PermanentError
from dlq_console.hub.actions import clean_actor, clean_note
from dlq_console.hub.alert_endings import given_up, not_brought
from dlq_console.hub.failures import failure
from dlq_console.hub.handlers import Registry
from dlq_console.store import alert_messages, alerts, transitions
from dlq_console.store.alerts import Snooze
from dlq_console.store.events import Event
from dlq_console.store.store import Store
from dlq_console.store.transitions import Ending

#: The longest that nobody is told of a rule, in hours.
LONGEST_SNOOZE = 24 * 90
NOTE_LIMIT = 500
#: What somebody is told who wants a trial where there is nothing to try.
NO_CHANNEL = "No channel is configured; set DLQ_ALERT_WEBHOOK_URL or DLQ_SMTP_URL."


def brought(job: Event, registry: Registry) -> Ending:
    """Bring the message of `job`, a claimed event, to its channel, and end it.

    Raises:
        LeaseLost: another process was given it meanwhile.
    """
    payload = job.payload
    try:
        noted = registry.channels.get(payload["channel"]).send(payload["content"])
    except LeaseLost:
        raise
    except PermanentError as error:
        return given_up(error.message)
    except Exception as error:  # noqa: BLE001 - a client of somebody else's may raise anything
        return not_brought(job, _sentence(error))
    if noted:
        return transitions.completed(
            json.dumps({"told": True, "noted": noted}), warning=failure("ToldInPart", noted)
        )
    return transitions.completed('{"told":true}')


def _sentence(error: Exception) -> str:
    """Our own errors say what they mean; of others only the class is told, since their words may hold an address."""
    return error.message if isinstance(error, DLQError) else f"The channel failed: {type(error).__name__}."


def test_channel(store: Store, channel: str, content: dict[str, str], *, actor: str) -> int:
    """Put in a message that only shows that the channel works; returns the id of its event.

    Raises:
        PayloadRefused: the actor is no name.
    """
    key = secrets.token_hex(8)
    whole = content | {"key": f"test-{key}", "state": "test"}
    return alert_messages.put_test(store, channel=channel, key=key, content=whole, actor=clean_actor(actor))


def snooze_alert(
    store: Store, rule: str, *, until: datetime | timedelta, actor: str, note: str | None
) -> Snooze:
    """Tell nobody of a rule until a moment, or for a span from now.

    Raises:
        PayloadRefused: the time or the note is out of bounds.
    """
    why = clean_note(note, limit=NOTE_LIMIT)
    if why is None:
        raise PayloadRefused("note: say why, so that the others know.", cause="reason")
    most = timedelta(hours=LONGEST_SNOOZE)
    made = alerts.snooze(store, rule, until=until, most=most, actor=clean_actor(actor), note=why)
    if made is None:
        raise PayloadRefused(
            f"until: choose a time ahead of now, {LONGEST_SNOOZE} hours ({LONGEST_SNOOZE // 24} days) at most.",
            cause="snooze_range",
            days=LONGEST_SNOOZE // 24,
        )
    return made


def wake_alert(store: Store, rule: str, *, actor: str) -> None:
    """Tell of a rule again before its snooze ends.

    Raises:
        EventNotFound: it has no snooze.
    """
    if not alerts.wake(store, rule, actor=clean_actor(actor)):
        raise EventNotFound(f'The alert "{rule}" is not snoozed.')
