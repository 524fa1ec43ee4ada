"""What did somebody do, in words? One line of an event's history, or one row of the audit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import parse_qsl

from flask import url_for
from flask_babel import gettext, lazy_gettext, ngettext
from flask_babel.speaklater import LazyString
from werkzeug.datastructures import MultiDict

from dlq_console.hub.bulk import read_stop
from dlq_console.store.desk import Assignment, read_assignment
from dlq_console.store.events import AuditEntry
from dlq_console.store.filters import EventFilter, FilterError
from dlq_console.store.people import Permission
from dlq_console.store.states import Action, Status
from dlq_console.web import chips, display, words
from dlq_console.web.display import Stamp

#: What the acts are called.
_ACTS: dict[str, LazyString] = {
    Action.REPROCESS: lazy_gettext("reprocess"),
    Action.DISCARD: lazy_gettext("discard"),
    Action.RESTORE: lazy_gettext("restore"),
    Action.EDIT: lazy_gettext("edit"),
    Action.CANCEL_SEND: lazy_gettext("cancel of a reprocess"),
    Action.PRECHECK: lazy_gettext("question to the ERP"),
    Permission.ASSIGN: lazy_gettext("assignment"),
    Permission.TAG: lazy_gettext("tags"),
    Permission.NOTE: lazy_gettext("note"),
    Permission.SNOOZE: lazy_gettext("snooze"),
    Permission.SNOOZE_ALERT: lazy_gettext("alert snoozed"),
    Permission.TEST_ALERT: lazy_gettext("trial of a channel"),
    "wake_alert": lazy_gettext("snooze of an alert ended"),
    Permission.REVEAL: lazy_gettext("look at what is hidden"),
    Permission.SKIP_LANE: lazy_gettext("lane let go"),
    Permission.PAUSE_ACCOUNT: lazy_gettext("pause of an account"),
    Permission.RESUME_ACCOUNT: lazy_gettext("end of a pause"),
    "open_provider": lazy_gettext("provider opened"),
    "forced_open": lazy_gettext("circuit held open"),
    "forced_closed": lazy_gettext("circuit held closed"),
    "reset_breaker": lazy_gettext("circuit closed"),
    "playbook": lazy_gettext("how a cause is fixed"),
    "save_view": lazy_gettext("view saved"),
    "change_view": lazy_gettext("view changed"),
    "delete_view": lazy_gettext("view deleted"),
    "export": lazy_gettext("export"),
    "decide_node": lazy_gettext("decision about a call"),
    "resume_item": lazy_gettext("parked item tried again"),
    "discard_item": lazy_gettext("parked item discarded"),
    "supersede": lazy_gettext("replaced by a newer event"),
    "refresh": lazy_gettext("payload rebuilt"),
    "bulk_start": lazy_gettext("bulk run started"),
    "bulk_pause": lazy_gettext("bulk run paused"),
    "bulk_resume": lazy_gettext("bulk run resumed"),
    "bulk_cancel": lazy_gettext("bulk run cancelled"),
    "bulk_stop": lazy_gettext("bulk run stopped by itself"),
    "add_user": lazy_gettext("user added"),
    "set_password": lazy_gettext("password set"),
    "disable_user": lazy_gettext("user disabled"),
    "add_token": lazy_gettext("token added"),
    "revoke_token": lazy_gettext("token revoked"),
    "add_embed": lazy_gettext("status frame added"),
    "pause_embed": lazy_gettext("status frame paused"),
    "resume_embed": lazy_gettext("status frame resumed"),
    "renew_embed": lazy_gettext("status frame renewed"),
    "rotate_embed": lazy_gettext("status frame with a new address"),
    "revoke_embed": lazy_gettext("status frame revoked"),
}
#: Every act that has a name here, whether anybody has ever done it or not.
KNOWN_ACTS = tuple(map(str, _ACTS))
#: A name that is the same in every language is no sentence to be translated.
_VIA: dict[str, LazyString | str] = {
    "console": lazy_gettext("console"),
    "api": "API",
    "cli": lazy_gettext("command line"),
    "python": lazy_gettext("program"),
}
#: Acts of which nothing else is to be said.
_SENTENCES: dict[str, LazyString] = {
    Permission.SNOOZE: lazy_gettext("%(who)s ended its snooze."),
    Permission.NOTE: lazy_gettext("%(who)s wrote a note."),
}
#: How a door stands.
_DOORS: dict[str, LazyString] = {"open": lazy_gettext("open"), "closed": lazy_gettext("closed")}
_GROUP = "group:"
#: What the other subjects of acts are: the part before the colon. The act itself says it of most.
_SUBJECTS: dict[str, LazyString | str] = {
    "view": "%(name)s",
    "user": "%(name)s",
    "token": "%(name)s",
    "embed": "%(name)s",
    "service": lazy_gettext("service %(name)s"),
    "alert": "%(name)s",
    "channel": "%(name)s",
    "node": lazy_gettext("call %(name)s"),
}
#: Who may use a view.
_SHARED: dict[str, LazyString] = {
    "shared": lazy_gettext("for everybody"),
    "private": lazy_gettext("for its owner alone"),
}
_VIEW_ACTS = ("save_view", "change_view", "delete_view")
#: What the filter of the audit itself asks for.
_AUDIT_FILTER: dict[str, LazyString] = {
    "actor": lazy_gettext("Who"),
    "action": lazy_gettext("Act"),
    "event": lazy_gettext("Event id"),
    "people": lazy_gettext("without what the hub did by itself"),
}
#: Parameters of a filter that was kept.
_MOST_FIELDS = 200


@dataclass(frozen=True, slots=True)
class Told:
    """One act as a row of the audit.

    `address` is where the thing is that it was about, `run_address` where the bulk run is that did it to an event; empty
    where there is no such page for this person.
    """

    entry: AuditEntry
    stamp: Stamp
    action: str
    thing: str
    address: str
    run_address: str
    #: What else it was about: the other event of an edit, a lane, a field.
    more: str
    more_address: str
    #: What became different, in one sentence, where before and after say nothing to a person.
    change: str
    #: Where that is told in full.
    change_address: str
    before: str
    after: str
    filter: str
    origin: str


def told(entry: AuditEntry, runs: Mapping[int, str]) -> Told:
    """An act with everything in words; `runs` are the pages of those bulk runs that this person may open."""
    run_address = runs.get(entry.bulk_id or 0, "")
    thing, address = _thing(entry, run_address)
    return Told(
        entry=entry,
        stamp=display.current().stamp(entry.at, exact=True),
        action=act_word(entry.action),
        thing=thing,
        address=address,
        run_address=run_address,
        more=_more(entry),
        more_address=_more_address(entry),
        change=_change(entry),
        change_address=correction_address(entry),
        before=_value(entry.action, entry.before),
        after=_value(entry.action, entry.after),
        filter=_filter_in_words(entry.filter or ""),
        origin=origin_in_words(entry),
    )


def _change(entry: AuditEntry) -> str:
    """What became different, where a sentence says it better than before and after."""
    return gettext("payload changed") if entry.action == Action.EDIT else _stop_told(entry.after)


def correction_address(entry: AuditEntry) -> str:
    """Where the page of an event tells what an edit changed, unfolded; empty for any other act."""
    if not _names_other_event(entry):
        return ""
    other = entry.subject
    return url_for("events.show", event_id=entry.event_id, correction=other, _anchor=f"correction-{other}")


def _names_other_event(entry: AuditEntry) -> bool:
    """Whether it is an edit, which names the event on its other side."""
    return entry.action == Action.EDIT and entry.event_id is not None and (entry.subject or "").isdecimal()


def _stop_told(after: str | None) -> str:
    """Why a bulk run stopped by itself; empty for any other act."""
    stop = read_stop(after)
    if stop is None:
        return ""
    shown = display.current()
    return ngettext(
        "%(died)s of %(ended)s died again.",
        "%(died)s of %(ended)s died again.",
        stop.died,
        died=shown.number(stop.died),
        ended=shown.number(stop.ended),
    )


def for_file(action: str, text: str | None) -> str | None:
    """How something was or is as a cell: in words where it is a word of the hub, else as it is kept, for programs."""
    return None if text is None else _stop_told(text) or _word(action, text)


def act_word(action: str) -> str:
    """What an act is called."""
    return str(_ACTS.get(action, action))


def origin_in_words(entry: AuditEntry) -> str:
    """By which door, and from which address; empty for what the hub did by itself."""
    via = str(_VIA.get(entry.via, entry.via)) if entry.via else ""
    return " · ".join(filter(None, (via, entry.address)))


def act_told(entry: AuditEntry) -> str:
    """An act upon an event as a sentence of its history."""
    match entry.action:
        case Permission.ASSIGN:
            return _assignment_told(entry.actor, read_assignment(entry.before), read_assignment(entry.after))
        case Permission.TAG:
            return _tags_told(entry)
        case Permission.SNOOZE if entry.after is not None:
            return gettext("%(who)s snoozed it until %(time)s.", who=entry.actor, time=_moment(entry.after))
    if entry.action in _SENTENCES:
        return str(_SENTENCES[entry.action]) % {"who": entry.actor}
    return words.act_sentence(entry.action, entry.actor)


def _assignment_told(actor: str, before: Assignment, after: Assignment) -> str:
    names = {"who": actor, "name": after.assignee, "before": before.assignee}
    if after.assignee is None:
        return gettext("%(who)s took it off the desk of %(before)s.", **names)
    if after.assignee == before.assignee:
        if after.due_at is None:
            return gettext("%(who)s took the due time away.", **names)
        return gettext("%(who)s set the due time to %(time)s.", time=_stamp(after.due_at), **names)
    if after.due_at is not None:
        return gettext("%(who)s assigned it to %(name)s, due %(time)s.", time=_stamp(after.due_at), **names)
    if after.assignee == actor:
        return gettext("%(who)s took it.", **names)
    return gettext("%(who)s assigned it to %(name)s.", **names)


def _tags_told(entry: AuditEntry) -> str:
    before, after = _tags(entry.before), _tags(entry.after)
    names = {"who": entry.actor, "new": _hashed(after - before), "old": _hashed(before - after)}
    if after <= before:
        return gettext("%(who)s took off %(old)s.", **names)
    if before <= after:
        return gettext("%(who)s tagged it %(new)s.", **names)
    return gettext("%(who)s tagged it %(new)s and took off %(old)s.", **names)


def _tags(text: str | None) -> set[str]:
    return {tag for tag in (text or "").split(", ") if tag}


def _hashed(tags: set[str]) -> str:
    return ", ".join(f"#{tag}" for tag in sorted(tags))


def _thing(entry: AuditEntry, run_address: str) -> tuple[str, str]:
    """What an act was about, and where that is."""
    if entry.event_id is not None:
        name = gettext("event %(id)s", id=entry.event_id)
        return name, url_for("events.show", event_id=entry.event_id)
    subject = entry.subject or ""
    if entry.bulk_id is not None:
        return gettext("bulk run %(id)s", id=entry.bulk_id), run_address
    if subject.startswith(_GROUP):
        fingerprint = subject.removeprefix(_GROUP)
        return gettext("a cause"), url_for("groups.show", fingerprint=fingerprint)
    sort, _, name = subject.partition(":")
    return (str(_SUBJECTS[sort]) % {"name": name} if name and sort in _SUBJECTS else subject), ""


def _filter_in_words(query: str) -> str:
    """What an act was done to, as the lists call it; as it was kept where no list has such a filter."""
    pairs = parse_qsl(query.removeprefix("?"), max_num_fields=_MOST_FIELDS) if query else []
    own = [
        f"{_AUDIT_FILTER[name]}: {value}"
        for name, value in pairs
        if name in _AUDIT_FILTER and name != "people"
    ]
    own += [str(_AUDIT_FILTER[name]) for name, _ in pairs if name == "people"]
    try:
        flt = EventFilter.parse(MultiDict(pair for pair in pairs if pair[0] not in _AUDIT_FILTER))
    except FilterError:
        return query
    return " · ".join(filter(None, (*own, chips.in_words(flt))))


def _more_address(entry: AuditEntry) -> str:
    """The page of the other event of an edit."""
    return url_for("events.show", event_id=int(entry.subject or "")) if _names_other_event(entry) else ""


def _more(entry: AuditEntry) -> str:
    if entry.event_id is None and entry.bulk_id is not None and entry.subject:
        return act_word(entry.subject.partition(" ")[0])
    if entry.event_id is None or entry.subject is None:
        return ""
    return gettext("event %(id)s", id=entry.subject) if entry.action == Action.EDIT else entry.subject


def _value(action: str, text: str | None) -> str:
    """How something was or is, as the pages call it."""
    if text is None or action == Action.EDIT:
        return ""
    if action == Permission.ASSIGN:
        assignment = read_assignment(text)
        due = f", {_stamp(assignment.due_at)}" if assignment.due_at else ""
        return f"{assignment.assignee}{due}"
    if action == Permission.SNOOZE:
        return _moment(text)
    if action in ("add_user", "add_token"):
        return _rights(text)
    return _word(action, text)


def _word(action: str, text: str) -> str:
    """A state, a door or who may use a view, in words; anything else as it is."""
    if action in _VIEW_ACTS and text in _SHARED:
        return str(_SHARED[text])
    if text in _DOORS:
        return str(_DOORS[text])
    return display.current().status(text).word if text in tuple(Status) else text


def _rights(text: str) -> str:
    """What somebody may do, and in which accounts."""
    role, _, accounts = text.partition(" of ")
    where = gettext("all accounts") if accounts == "all accounts" else accounts
    return f"{words.role_word(role)}: {where}"


def _moment(text: str | None) -> str:
    return _stamp(datetime.fromisoformat(text)) if text else ""


def _stamp(moment: datetime) -> str:
    return display.current().moment(moment)
