"""What do people put on events and causes, as values; and how is each written in the audit?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

from dlq_console.errors import PayloadRefused
from dlq_console.store.keys import check_text
from dlq_console.store.tags import folded_tag

#: Characters of a tag.
MAX_TAG = 40
#: Tags of one event.
MAX_TAGS = 20
#: Characters of a note, and of how a cause is fixed.
MAX_NOTE = 4_000

Value = TypeVar("Value")
_DUE, _BETWEEN = " due ", ", "


@dataclass(frozen=True, slots=True)
class Assignment:
    """Who sees to something, and until when; a due time without anybody means nothing."""

    assignee: str | None = None
    due_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Change(Generic[Value]):
    """How something was and how it is since."""

    before: Value
    after: Value

    @property
    def happened(self) -> bool:
        """Whether anything is different since."""
        return self.before != self.after


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What people have put on one event. A snooze that is over counts as none."""

    assignee: str | None = None
    due_at: datetime | None = None
    snoozed_until: datetime | None = None
    tags: tuple[str, ...] = ()
    #: How many.
    notes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMarks:
    """What people have put on one cause: how it is fixed, and who sees to it."""

    playbook: str | None = None
    playbook_by: str | None = None
    playbook_at: datetime | None = None
    assignee: str | None = None
    due_at: datetime | None = None

    @property
    def version(self) -> str:
        """Changes whenever the playbook does."""
        return self.playbook_at.isoformat() if self.playbook_at else ""


NO_MARKS = Marks()
NO_GROUP_MARKS = GroupMarks()


@dataclass(frozen=True, slots=True)
class Note:
    """What somebody wrote about an event."""

    id: int
    at: datetime
    actor: str
    text: str


def clean_tags(tags: Iterable[object]) -> tuple[str, ...]:
    """Tags as they are kept: in small letters, with single blanks, each once, in order.

    Raises:
        PayloadRefused: one is no tag, or there are more than an event may have.
    """
    if isinstance(tags, str | bytes):
        raise PayloadRefused('tags: send a list of texts, such as ["urgent"].')
    cleaned = tuple(sorted({_tag(tag) for tag in tags}))
    if len(cleaned) > MAX_TAGS:
        raise too_many_tags()
    return cleaned


def unknown_person(name: str | None) -> PayloadRefused:
    """What is said where nobody of that name could see to it."""
    return PayloadRefused(
        f"to: there is no user {name} who may log in and act upon events; choose another one.",
        cause="unknown_person",
        name=name,
    )


def too_many_tags() -> PayloadRefused:
    """What is said where an event would have too many."""
    return PayloadRefused(
        f"tags: an event has at most {MAX_TAGS}; remove some first.",
        cause="too_many_tags",
        name="tag",
        limit=MAX_TAGS,
    )


def _tag(tag: object) -> str:
    text = folded_tag(check_text(tag, "tag", max_length=MAX_TAG))
    if "," in text:
        raise PayloadRefused("tag: a comma separates tags and cannot be part of one.")
    # Small letters may be longer than large ones.
    return check_text(text, "tag", max_length=MAX_TAG)


def write_time(moment: datetime | None) -> str | None:
    """A moment as the audit tells it: in UTC, ISO 8601, to the microsecond where it has any."""
    return None if moment is None else moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def write_assignment(assignment: Assignment) -> str | None:
    """Who and until when, in one line; nothing where it is nobody."""
    if assignment.assignee is None:
        return None
    due = write_time(assignment.due_at)
    return assignment.assignee + (f"{_DUE}{due}" if due else "")


def write_tags(tags: Iterable[str]) -> str:
    """Tags in one line, in order."""
    return _BETWEEN.join(sorted(tags))


def read_tags(text: str | None) -> tuple[str, ...]:
    """The inverse of `write_tags`; tags hold no commas."""
    return tuple(text.split(_BETWEEN)) if text else ()


def read_assignment(text: str | None) -> Assignment:
    """The inverse of `write_assignment`; names hold no blanks."""
    name, _, due = (text or "").partition(_DUE)
    return Assignment(name or None, datetime.fromisoformat(due) if due else None)
