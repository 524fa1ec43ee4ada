"""Who is told what? Every rule is looked at, what it finds is kept as notices, and their messages are put in.

A failure of one rule keeps no other from being looked at. Messages are in the language of the installation.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from dlq_console.errors import ConfigurationError, StoreUnavailable
from dlq_console.health import alert_words
from dlq_console.health.alert_reading import READING, RULES
from dlq_console.health.alert_speech import speech
from dlq_console.health.alert_values import AGED, AlertRule
from dlq_console.health.working_hours import hours_as_written
from dlq_console.hub.channel_names import shown, written
from dlq_console.hub.channels import Apprise, Channel, read_channels
from dlq_console.hub.core import HubCore
from dlq_console.redact import redact_text
from dlq_console.settings import Settings
from dlq_console.store import alert_messages, alerts, snapshots
from dlq_console.store.alerts import Notice, Telling, Terms
from dlq_console.store.store import Store
from dlq_console.watch.alert_looks import find, scene
from dlq_console.watch.alert_rules import RuleSet, read_rules

logger = logging.getLogger(__name__)

#: Where more notices of one rule are to be told at once, one message tells them all.
APART = 5
#: Of those it names so many.
NAMED = 20
#: Of those it lists so many subjects.
_LISTED = 200
#: What a message says of the one notice that it is about.
_OF_ONE = ("subject", "account", "value", "since", "ended")
#: How a language writes a day in a message; every other one as ISO 8601 does.
_DAYS, _ISO = {"pt_BR": "%d/%m/%Y"}, "%Y-%m-%d"
#: Ten years, in seconds.
_NEVER_AGAIN = 3_652 * 86_400.0


def check(hub: HubCore) -> int:
    """Look at every rule once; returns how many notices were told.

    Raises:
        ConfigurationError: the file that DLQ_ALERTS names makes no sense; nobody is told of anything until it does.
        StoreUnavailable: the database is away.
    """
    try:
        found = in_force(hub.settings)
    except ConfigurationError as error:
        snapshots.keep_away(hub.store, READING, redact_text(error.message))
        raise
    before = scene(hub.store, hub.state, hours=found.hours, zone=hub.settings.zone)
    told = 0
    for rule in found.rules:
        try:
            sightings, complete = find(rule, before)
        except StoreUnavailable:
            # Where Redis is away, only what is asked of it is left out.
            logger.warning("alerts: what the rule %s asks for cannot be read now", rule.name)
            continue
        told += alerts.record(
            hub.store, _terms(rule), sightings, _Teller(hub.store, hub.settings, rule), complete=complete
        )
    alerts.close_without_rule(hub.store, [rule.name for rule in found.rules])
    snapshots.keep(hub.store, READING, _shown(found, read_channels(hub.settings)))
    return told


def in_force(settings: Settings) -> RuleSet:
    """The rules of these settings.

    Raises:
        ConfigurationError: the file makes no sense.
    """
    return read_rules(settings.alerts, list(read_channels(settings)))


def _terms(rule: AlertRule) -> Terms:
    return Terms(
        rule=rule.name,
        level=rule.level,
        hold=0.0 if rule.when in AGED else rule.for_minutes * 60,
        repeat=rule.repeat_hours * 3600 or _NEVER_AGAIN,
        tells=bool(rule.to),
        when=str(rule.when),
    )


def _shown(found: RuleSet, channels: Mapping[str, Channel]) -> dict[str, Any]:
    """What pages and commands know of the rules; no channel says more than its name and where it leads."""
    rules = [asdict(rule) for rule in found.rules]
    return {
        RULES: {
            "rules": rules,
            "source": found.source,
            "channels": list(channels),
            "where": {name: shown(channel) for name, channel in channels.items()},
            "written": {
                name: written(channel) for name, channel in channels.items() if isinstance(channel, Apprise)
            },
            "hours": hours_as_written(found.hours),
        }
    }


class _Teller:
    """Puts in the messages of one rule."""

    def __init__(self, store: Store, settings: Settings, rule: AlertRule) -> None:
        self._store, self._settings, self._rule = store, settings, rule
        self._speak = speech(settings.locale)

    def __call__(self, connection: Connection, tellings: Sequence[Telling]) -> None:
        for state in (alerts.OPENED, alerts.AGAIN, alerts.CLOSED):
            same = [one for one in tellings if one.state == state]
            if len(same) > APART:
                self._put(connection, same[0], self._together(same))
                continue
            for one in same:
                self._put(connection, one, self._message(one))

    def _put(self, connection: Connection, telling: Telling, content: Mapping[str, Any]) -> None:
        for channel in self._rule.to:
            alert_messages.put(
                self._store,
                connection,
                notice=telling.notice.id,
                number=telling.number,
                channel=channel,
                rule=self._rule.name,
                content=content,
                joined=self._joined,
            )

    def _joined(self, before: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
        """A message that waits for its channel, with what came after it: one for all of them."""
        speak, number = self._speak, before.get("count", 1) + 1
        titles = [*before.get("titles", [before["title"]]), more["title"]][:NAMED]
        what = speak.ngettext("%(num)d message of %(name)s", "%(num)d messages of %(name)s", number) % {
            "num": number,
            "name": self._rule.name,
        }
        address = self._address("/alerts")
        lines = [*self._first_of(titles, number), *([address] if address else [])]
        return {
            **{name: value for name, value in before.items() if name not in _OF_ONE},
            "state": alerts.SEVERAL,
            "title": what,
            "text": "\n".join(lines),
            "link": address,
            "count": number,
            "titles": titles,
            "subjects": [*_subjects(before), *_subjects(more)][:_LISTED],
        }

    def _what(self, telling: Telling) -> str:
        one, rule = telling.notice, self._rule
        return redact_text(
            alert_words.sentence(
                rule.when,
                one.subject,
                one.value or 0,
                one.found,
                self._speak,
                over=rule.over,
                ended=one.closed_at is not None,
            )
        )

    def _message(self, telling: Telling) -> dict[str, Any]:
        one, what = telling.notice, self._what(telling)
        _ = self._speak.gettext
        lines = [what, self._stood(one)]
        if one.found.get("until") and one.closed_at is None:
            until = self._time(datetime.fromisoformat(one.found["until"]))
            lines.append(_("Until %(time)s.") % {"time": until})
        if one.found.get("reason"):
            lines.append(_("It said: %(text)s") % {"text": redact_text(one.found["reason"])})
        address = alert_words.link(self._rule.when, one.subject, one.found)
        return self._content(telling, what, lines, address) | {
            "subject": one.subject,
            "account": one.account,
            "value": one.value,
            "since": one.opened_at.isoformat(),
            "ended": one.closed_at.isoformat() if one.closed_at else None,
        }

    def _stood(self, one: Notice) -> str:
        """Since when it is there, or from when to when it was."""
        _ = self._speak.gettext
        if one.closed_at is None:
            return _("Since %(time)s.") % {"time": self._time(one.opened_at)}
        return _("From %(since)s to %(until)s: it stood for %(span)s.") % {
            "since": self._time(one.opened_at),
            "until": self._time(one.closed_at),
            "span": alert_words.span((one.closed_at - one.opened_at).total_seconds()),
        }

    def _together(self, tellings: Sequence[Telling]) -> dict[str, Any]:
        speak, number = self._speak, len(tellings)
        what = speak.ngettext("%(num)d notice of %(name)s", "%(num)d notices of %(name)s", number) % {
            "num": number,
            "name": self._rule.name,
        }
        lines = self._first_of([self._what(one) for one in tellings[:NAMED]], number)
        subjects = [one.notice.subject for one in tellings][:_LISTED]
        return self._content(tellings[0], what, lines, "/alerts") | {"subjects": subjects}

    def _content(self, telling: Telling, what: str, lines: list[str], path: str) -> dict[str, Any]:
        rule, one = self._rule, telling.notice
        address = self._address(path)
        if address:
            lines.append(address)
        return {
            "title": alert_words.title(telling.state, rule.level, rule.name, what, self._speak),
            "text": "\n".join(lines),
            "state": telling.state,
            "rule": rule.name,
            "when": str(rule.when),
            "level": rule.level,
            "link": address,
            "notice": one.id,
            "number": telling.number,
            "key": f"alert-{one.id}-{telling.number}",
        }

    def _first_of(self, named: list[str], number: int) -> list[str]:
        """The first lines of so many, and how many there are besides."""
        if number <= len(named):
            return named
        return [*named, self._speak.gettext("And %(num)d more.") % {"num": number - len(named)}]

    def _address(self, path: str) -> str:
        """Of a page of the console; empty where it is not known how that is reached."""
        public = self._settings.public_url
        return f"{public.rstrip('/')}{path}" if public else ""

    def _time(self, moment: datetime) -> str:
        return f"{moment.astimezone(self._settings.zone):{_DAYS.get(self._settings.locale, _ISO)} %H:%M %Z}"


def _subjects(content: Mapping[str, Any]) -> list[str]:
    """What a message is about, be it of one notice or of several."""
    return content.get("subjects") or [content["subject"]]
