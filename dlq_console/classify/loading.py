"""How does a file of rules become rules? Anything that is not understood is refused, with file, line and sentence."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from dlq_console.classify.patterns import PatternError, compiled
from dlq_console.classify.rules import Path, Places, Proof, Rule, Then, WaitFrom, When
from dlq_console.classify.tables import Source, Table
from dlq_console.classify.verdicts import (
    Effect,
    ErrorBudget,
    Evidence,
    Limits,
    Phase,
    Rate,
    Reach,
    VerdictClass,
)
from dlq_console.classify.waits import UNITS

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_STATUSES = re.compile(r"([1-5])xx|([1-5][0-9]{2})(?:-([1-5][0-9]{2}))?")
_WAIT_FROM = re.compile(r"(header|path) (\S+)(?: as (\w+))?|(message)|(cost)(?: (\S+))?|(next day)")
_COST_PATH = "extensions.cost"

#: What a class means for the provider unless the rule says otherwise. Where that is open, nobody may guess.
_EFFECTS: Mapping[VerdictClass, Effect] = {
    VerdictClass.TRANSIENT: Effect.UNKNOWN,
    VerdictClass.RATE_LIMITED: Effect.NOT_APPLIED,
    VerdictClass.PERMANENT: Effect.NOT_APPLIED,
    VerdictClass.AUTH: Effect.NOT_APPLIED,
    VerdictClass.DUPLICATE: Effect.APPLIED,
    VerdictClass.BENIGN: Effect.NOT_APPLIED,
    VerdictClass.UNKNOWN: Effect.UNKNOWN,
}
_REACHES: Mapping[VerdictClass, Reach] = {
    VerdictClass.RATE_LIMITED: Reach.ACCOUNT,
    VerdictClass.AUTH: Reach.ACCOUNT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """One file of rules, read.

    Attributes:
        name: begins the ids of its rules.
        providers: for which providers it is; empty for all.
        places: where their answers hold codes and messages.
        limits: what they allow.
        enable: ids of rules of other files to switch on.
        disable: ids of rules of other files to switch off.
    """

    name: str
    source: Source
    rules: tuple[Rule, ...]
    providers: frozenset[str] = frozenset()
    places: Places = field(default_factory=Places)
    limits: Limits | None = None
    enable: tuple[str, ...] = ()
    disable: tuple[str, ...] = ()


def load_pack(source: Source, *, stem: str, own: bool) -> Pack:
    """Read one file.

    Args:
        source: the file.
        stem: its name without the ending; names the pack unless the file does.
        own: whether it is a file of the user.

    Raises:
        ConfigurationError: something in it is not understood.
    """
    table = Table(source, source.parsed())
    name = table.text("name", re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "rules")
    if not _NAME.fullmatch(name):
        table.refuse("name", '"name" must be of small letters, digits and single hyphens.')
    providers = frozenset(each.lower() for each in table.texts("providers"))
    timezone = _timezone(table)
    rules = table.take("rule", [])
    if not isinstance(rules, list):
        table.refuse("rule", 'Rules are written as "[[rule]]", with two brackets.')
    pack = Pack(
        name=name,
        source=source,
        providers=providers,
        places=_places(table.table("read")),
        limits=_limits(table.table("limits")) if table.has("limits") else None,
        enable=table.texts("enable"),
        disable=table.texts("disable"),
        rules=tuple(
            _rule(Table(source, values, name="", rule=number), name, providers, timezone, own=own)
            for number, values in enumerate(rules)
        ),
    )
    table.take("about")
    table.done()
    return pack


def _timezone(table: Table) -> str:
    name = table.text("timezone", "UTC")
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        table.refuse("timezone", f'"{name}" is no time zone; write one such as "America/Sao_Paulo".')
    return name


def _places(table: Table) -> Places:
    places = Places(codes=_paths(table, "code"), messages=_paths(table, "message"))
    table.done()
    return places


def _paths(table: Table, key: str) -> tuple[Path, ...]:
    return tuple(_path(table, key, text) for text in table.texts(key))


def _path(table: Table, key: str, text: str) -> Path:
    path = tuple(text.split("."))
    if not all(path):
        table.refuse(key, f'"{text}" is no path; write names with single dots between them, as "error.code".')
    return path


def _limits(table: Table) -> Limits:
    rates = {reach: _rate(table.table(reach)) for reach in Reach if table.has(reach)}
    budget = _budget(table.table("error_budget")) if table.has("error_budget") else None
    limits = Limits(rates=rates, writes_at_once=table.whole("writes_at_once"), error_budget=budget)
    table.done()
    return limits


def _rate(table: Table) -> Rate:
    rate = Rate(per_minute=table.whole("per_minute"), at_once=table.whole("at_once"))
    table.done()
    return rate


def _budget(table: Table) -> ErrorBudget:
    failures, seconds = table.whole("failures"), table.whole("seconds")
    if failures is None or seconds is None:
        table.refuse(None, 'An error budget needs "failures" and "seconds".')
    keep = table.whole("keep", least=0) or 0
    if keep > failures:
        table.refuse("keep", f'"keep" must not exceed the {failures} of "failures".')
    budget = ErrorBudget(
        failures=failures, seconds=seconds, keep=keep, reach=table.choice("reach", Reach, Reach.METHOD)
    )
    table.done()
    return budget


def _rule(table: Table, pack: str, providers: frozenset[str], timezone: str, *, own: bool) -> Rule:
    name = table.text("id")
    if not _NAME.fullmatch(name):
        table.refuse("id", '"id" must be of small letters, digits and single hyphens.')
    proof = table.choice("evidence", Proof, Proof.VERIFIED if own else None)
    enabled = table.flag("enabled", default=proof is not Proof.PLAUSIBLE)
    note = table.take("note", "")
    when = _when(table.table("when"), providers)
    then = _then(table.table("then"))
    table.done()
    if not when.asks or not _rests_on_something(when):
        table.refuse("when", '"when" must name at least one fact of the answer or the error.')
    return Rule(
        id=f"{pack}.{name}",
        proof=proof,
        enabled=bool(enabled),
        when=when,
        then=then,
        own=own,
        timezone=timezone,
        note=str(note),
    )


def _rests_on_something(when: When) -> bool:
    """Without a fact of the answer a rule would judge whatever happens to a kind."""
    facts = (when.phases, when.statuses, when.content_types, when.headers, when.exceptions)
    return when.about_the_body or any(facts)


def _when(table: Table, providers: frozenset[str]) -> When:
    headers, paths = table.table("header"), table.table("path")
    when = When(
        providers=frozenset(each.lower() for each in table.texts("provider")) or providers,
        kinds=table.texts("kind"),
        phases=frozenset(_each(table, "phase", Phase)),
        statuses=frozenset(number for each in table.values("status") for number in _statuses(table, each)),
        content_types=tuple(each.lower() for each in table.texts("content_type")),
        headers=tuple((name.lower(), _pattern(headers, name)) for name in headers.names()),
        paths=tuple(
            (_path(paths, name, name), frozenset(str(each).lower() for each in paths.values(name)))
            for name in paths.names()
        ),
        has=_paths(table, "has"),
        lacks=_paths(table, "lacks"),
        codes=frozenset(str(each).lower() for each in table.values("code")),
        message=_optional_pattern(table, "message"),
        message_masked=_optional_pattern(table, "message_masked"),
        exceptions=frozenset(table.texts("exception")),
        writes=table.flag("writes"),
        unique_at_provider=table.flag("unique_at_provider"),
    )
    table.done()
    return when


def _each(table: Table, key: str, kind: type[Phase]) -> list[Phase]:
    words = table.texts(key)
    known = {str(each): each for each in kind}
    for word in words:
        if word not in known:
            table.refuse(key, f'"{word}" is no {key}; it is one of {", ".join(known)}.')
    return [known[word] for word in words]


def _statuses(table: Table, value: str | int) -> range:
    found = _STATUSES.fullmatch(str(value))
    if found is None:
        table.refuse("status", f'"{value}" is no status; write 425, "5xx" or "500-504".')
    if found[1]:
        return range(int(found[1]) * 100, int(found[1]) * 100 + 100)
    return range(int(found[2]), int(found[3] or found[2]) + 1)


def _optional_pattern(table: Table, key: str) -> re.Pattern[str] | None:
    return _pattern(table, key) if table.has(key) else None


def _pattern(table: Table, key: str, *, group: str | None = None) -> re.Pattern[str]:
    text = table.text(key)
    try:
        pattern = compiled(text)
    except PatternError as error:
        table.refuse(key, f'The expression of "{key}" {error}.')
    if group is not None and group not in pattern.groupindex:
        table.refuse(key, f'The expression of "{key}" must hold what is looked for as "(?P<{group}>...)".')
    return pattern


def _then(table: Table) -> Then:
    class_ = table.choice("class", VerdictClass)
    then = Then(
        class_=class_,
        effect=table.choice("effect", Effect, _EFFECTS[class_]),
        reach=table.choice("reach", Reach, _REACHES.get(class_, Reach.EVENT)),
        wait=table.number("wait"),
        wait_from=_waits_from(table) if table.has("wait_from") else None,
        block=bool(table.flag("block", default=False)),
        counts=table.choice("counts", Evidence) if table.has("counts") else None,
        adopt=_pattern(table, "adopt", group="id") if table.has("adopt") else None,
        renew=bool(table.flag("renew", default=False)),
    )
    if then.block and class_ is not VerdictClass.RATE_LIMITED:
        table.refuse("block", 'Only the class "rate_limited" can be a block.')
    if then.block and then.wait is None:
        table.refuse("block", 'A block needs "wait", for answers that do not say when it ends.')
    table.done()
    return then


def _waits_from(table: Table) -> tuple[WaitFrom, ...]:
    return tuple(_wait_from(table, text) for text in table.texts("wait_from"))


def _wait_from(table: Table, text: str) -> WaitFrom:
    found = _WAIT_FROM.fullmatch(text)
    if found is None:
        sentence = (
            'write "header Retry-After", "path error.retry_in as minutes", "message", "cost" or "next day"'
        )
        table.refuse("wait_from", f'"{text}" is no place of a wait; {sentence}.')
    place: Any = found[1] or found[4] or found[5] or found[7]
    unit = found[3] or "seconds"
    if unit not in UNITS:
        table.refuse("wait_from", f'"{unit}" is no unit; it is one of {", ".join(UNITS)}.')
    name = found[2] or found[6] or (_COST_PATH if place == "cost" else "")
    return WaitFrom(place=place, name=name.lower() if place == "header" else name, unit=unit)
