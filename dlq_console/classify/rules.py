"""When does a rule match, and which of two comes first?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from fnmatch import fnmatchcase
from functools import cached_property, partial
from typing import Any

from dlq_console.classify.bodies import as_text, loose_values, values, without_tags
from dlq_console.classify.reading import Reading
from dlq_console.classify.text import masked, plain, tidy
from dlq_console.classify.verdicts import Call, Effect, Evidence, Phase, Reach, VerdictClass

_MOST_MESSAGES = 5
_MOST_CODES = 20

Path = tuple[str, ...]


class Proof(StrEnum):
    """How sure it is that a provider really answers like this."""

    VERIFIED = "V"
    COMMUNITY = "C"
    PLAUSIBLE = "P"


class Rank(IntEnum):
    """What kind of fact a rule rests on; a lower one comes first."""

    BLOCK = 1
    CODE = 2
    MESSAGE = 3
    BODY = 4
    HEADER = 5
    STATUS = 6
    EXCEPTION = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """The facts a rule asks for. All that are named must hold; of several values of one, any."""

    providers: frozenset[str] = frozenset()
    kinds: tuple[str, ...] = ()
    phases: frozenset[Phase] = frozenset()
    statuses: frozenset[int] = frozenset()
    content_types: tuple[str, ...] = ()
    headers: tuple[tuple[str, re.Pattern[str]], ...] = ()
    paths: tuple[tuple[Path, frozenset[str]], ...] = ()
    has: tuple[Path, ...] = ()
    lacks: tuple[Path, ...] = ()
    codes: frozenset[str] = frozenset()
    message: re.Pattern[str] | None = None
    message_masked: re.Pattern[str] | None = None
    exceptions: frozenset[str] = frozenset()
    writes: bool | None = None
    unique_at_provider: bool | None = None

    @property
    def about_the_body(self) -> bool:
        """Whether the rule rests on what was said, rather than on how."""
        return bool(self.codes or self.paths or self.has or self.message or self.message_masked)

    @property
    def needs_an_answer(self) -> bool:
        """Whether it asks for what only an answer has; a code and a message may come in an error alone."""
        return bool(self.statuses or self.content_types or self.headers or self.paths or self.has)

    @property
    def asks(self) -> int:
        """How many facts it asks for."""
        named = (
            self.kinds, self.phases, self.statuses, self.content_types, self.headers, self.paths, self.has,
            self.lacks, self.codes, self.message, self.message_masked, self.exceptions,
        )  # fmt: skip
        return sum(bool(each) for each in named) + sum(
            each is not None for each in (self.writes, self.unique_at_provider)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitFrom:
    """Where one wait is looked for: `place` is "header", "path", "message", "cost" or "next day"."""

    place: str
    name: str = ""
    unit: str = "seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Then:
    """What a rule says when it matches."""

    class_: VerdictClass
    effect: Effect
    reach: Reach
    wait: float | None = None
    wait_from: tuple[WaitFrom, ...] | None = None
    block: bool = False
    counts: Evidence | None = None
    adopt: re.Pattern[str] | None = None
    renew: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of a pack.

    Attributes:
        id: name of the pack and of the rule, "omie.blocked".
        proof: how sure it is that the provider answers like this.
        enabled: whether it takes part.
        own: whether it comes from a file of the user rather than from the package.
        timezone: of clock times in messages of the provider.
    """

    id: str
    proof: Proof
    enabled: bool
    when: When
    then: Then
    own: bool = False
    timezone: str = "UTC"
    note: str = ""

    @property
    def rank(self) -> Rank:
        """What the rule rests on."""
        when, bound = self.when, bool(self.when.providers)
        limit = bound and self.then.class_ is VerdictClass.RATE_LIMITED
        kinds = (
            (Rank.BLOCK, self.then.block or (limit and when.about_the_body)),
            (Rank.CODE, bound and (when.codes or when.paths)),
            (Rank.MESSAGE, bound and (when.message or when.message_masked)),
            (Rank.BODY, when.about_the_body),
            (Rank.HEADER, when.headers),
            (Rank.STATUS, when.statuses or when.content_types),
        )
        return next((rank for rank, rests in kinds if rests), Rank.EXCEPTION)

    @property
    def order(self) -> tuple[int, bool, bool, int]:
        """Sorts rules so that the first that matches decides."""
        return (self.rank, not self.own, not self.when.providers, -self.when.asks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where the answers of a provider hold their codes and messages."""

    codes: tuple[Path, ...] = ()
    messages: tuple[Path, ...] = ()

    def __add__(self, other: Places) -> Places:
        return Places(codes=self.codes + other.codes, messages=self.messages + other.messages)


@dataclass(frozen=True)
class View:
    """One reading as the packs of one provider see it; what takes time is found out when a rule asks for it."""

    reading: Reading
    call: Call
    places: tuple[Places, ...] = ()
    _seen: dict[Path, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)

    def at(self, path: Path) -> Iterator[str]:
        """Texts at a path of the body; where it cannot be parsed, behind the last name of the path."""
        if self.reading.tree is not None:
            yield from (
                text for value in values(self.reading.tree, path) if (text := as_text(value)) is not None
            )
        elif self.reading.phase is Phase.RESPONSE and path[-1] != "*":
            yield from loose_values(self.reading.text, path[-1])

    def has(self, path: Path) -> bool:
        """Whether anything but null stands at a path."""
        if self.reading.tree is None:
            return any(True for _ in self.at(path))
        return any(value is not None for value in values(self.reading.tree, path))

    @cached_property
    def code_texts(self) -> tuple[str, ...]:
        """Codes as they were written; those of the first places that hold any."""
        return _first(self._found("codes"), [self.reading.code] if self.reading.code else [])[:_MOST_CODES]

    @cached_property
    def codes(self) -> frozenset[str]:
        """Codes without capitals, whole and behind their last colon ("SOAP-ENV:Client-6" is "client-6" too)."""
        lowered = [code.lower() for code in self.code_texts]
        return frozenset(lowered) | {code.rpartition(":")[2] for code in lowered}

    @cached_property
    def messages(self) -> tuple[str, ...]:
        """What was said, tidied: by the exception, in the places of the provider, else the whole text."""
        said = [self.reading.message] if self.reading.message else []
        return tuple(tidy(text) for text in _first(self._found("messages"), said) or (self._whole_text(),))

    @cached_property
    def spoken(self) -> str | None:
        """The first message that the provider itself has put into its answer."""
        if self.reading.phase is not Phase.RESPONSE:
            return None
        found = _first(self._found("messages"), [])
        return tidy(found[0]) if found else self.reading.message or None

    @cached_property
    def plain_messages(self) -> tuple[str, ...]:
        """The same as rules compare it."""
        return tuple(plain(message) for message in self.messages)

    @cached_property
    def masked_messages(self) -> tuple[str, ...]:
        """The same with numbers and ids as "#"."""
        return tuple(masked(message) for message in self.plain_messages)

    @cached_property
    def exceptions(self) -> frozenset[str]:
        """Class names with and without the top name of their package."""
        names = self.reading.exceptions
        return frozenset(names) | {name.rpartition(".")[2] for name in names}

    def _whole_text(self) -> str:
        text = self.reading.text[:8_000]
        return without_tags(text) if text.lstrip()[:1] == "<" else text

    def _found(self, what: str) -> Iterator[Iterable[str]]:
        """The texts per pack, the provider's own first."""
        for places in self.places:
            yield (text for path in getattr(places, what) for text in self.at(path))


def _first(groups: Iterator[Iterable[str]], told: list[str]) -> tuple[str, ...]:
    """What the exception told, and the texts of the first group that has any."""
    for group in groups:
        if found := tuple(dict.fromkeys(group)):
            return (*told, *found)[:_MOST_MESSAGES]
    return tuple(told)


Question = Callable[[View], bool]


def questions(when: When) -> tuple[Question, ...]:
    """What has to be asked of a view, and nothing that the rule leaves open; the cheap questions first."""
    return (*_about_the_call(when), *_about_the_answer(when), *_about_the_body(when))


def matches(asked: tuple[Question, ...], view: View) -> bool:
    """Whether all questions of a rule are answered with yes."""
    for holds in asked:  # noqa: SIM110 - a generator would take longer than most questions
        if not holds(view):
            return False
    return True


def _about_the_call(when: When) -> Iterator[Question]:
    if when.writes is not None:
        yield lambda view: view.call.writes is when.writes
    if when.unique_at_provider is not None:
        yield lambda view: view.call.unique_at_provider is when.unique_at_provider
    if when.kinds:
        yield lambda view: any(fnmatchcase(view.call.kind, kind) for kind in when.kinds)


def _about_the_answer(when: When) -> Iterator[Question]:
    statuses, phases, exceptions = when.statuses, when.phases, when.exceptions
    if statuses:
        yield lambda view: view.reading.status in statuses
    if phases:
        yield lambda view: view.reading.phase in phases
    if exceptions:
        yield lambda view: not exceptions.isdisjoint(view.exceptions)
    if when.content_types:
        yield lambda view: _any_glob(view.reading.content_type, when.content_types)
    for name, pattern in when.headers:
        yield partial(_header_matches, name, pattern)


def _header_matches(name: str, pattern: re.Pattern[str], view: View) -> bool:
    value = view.reading.headers.get(name)
    return value is not None and pattern.fullmatch(plain(tidy(value))) is not None


def _any_glob(content_type: str | None, globs: tuple[str, ...]) -> bool:
    return content_type is not None and any(fnmatchcase(content_type, glob) for glob in globs)


def _about_the_body(when: When) -> Iterator[Question]:
    codes, message, message_masked = when.codes, when.message, when.message_masked
    if codes:
        yield lambda view: not codes.isdisjoint(view.codes)
    for path, wanted in when.paths:
        yield partial(_one_of, path, wanted)
    for path in when.has:
        yield partial(_there, path)
    for path in when.lacks:
        yield partial(_missing, path)
    if message is not None:
        yield lambda view: _any_full(message, view.plain_messages)
    if message_masked is not None:
        yield lambda view: _any_full(message_masked, view.masked_messages)


def _one_of(path: Path, wanted: frozenset[str], view: View) -> bool:
    return any(text.lower() in wanted for text in view.at(path))


def _there(path: Path, view: View) -> bool:
    return view.has(path)


def _missing(path: Path, view: View) -> bool:
    return not view.has(path)


def _any_full(pattern: re.Pattern[str], texts: tuple[str, ...]) -> bool:
    for text in texts:  # noqa: SIM110 - as above
        if pattern.fullmatch(text):
            return True
    return False


def captured(pattern: re.Pattern[str] | None, view: View) -> str | None:
    """What the group `id` of the expression finds, as it was written."""
    if pattern is None:
        return None
    for written, compared in zip(view.messages, view.plain_messages, strict=True):
        if (found := pattern.fullmatch(compared)) is not None:
            return written[found.start("id") : found.end("id")] or None
    return None


def any_value(tree: Any, path: Path) -> object:
    """The first value at a path, as it is."""
    return next(values(tree, path), None)
