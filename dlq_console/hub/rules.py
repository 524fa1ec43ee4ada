"""Which rules judge errors here, and what would one more rule have made of the failures that are on record?"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from dlq_console.classify import Call, Phase, Reading, RuleSet
from dlq_console.classify.rules import Rule, WaitFrom, When
from dlq_console.clock import monotonic
from dlq_console.hub.core import HubCore
from dlq_console.hub.failures import BY_HANDLER
from dlq_console.store import queries
from dlq_console.store.events import Attempt, EventSummary
from dlq_console.store.queries import RecordedFailure

#: Days of records that a draft is tried against.
DAYS = 30
#: Seconds after which the trial stops and tells how far it came.
PATIENCE = 3.0
#: Matches that are shown one by one; all are counted.
SHOWN = 50
#: Characters of a draft.
LONGEST_DRAFT = 20_000
#: What errors call the file that stands nowhere yet; it names the draft's rules too.
DRAFT = "draft"

#: Characters of what was said that a draft asks for.
LONGEST_SAID = 200
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")
#: Quotes as TOML has them; JSON leaves one character as it is that TOML does not allow.
_DELETE = "\x7f"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleInForce:
    """One rule in plain values.

    Attributes:
        id: name of its file and its own.
        proof: V verified, C told by users, P only plausible.
        enabled: whether it takes part.
        own: whether it comes from DLQ_RULES rather than with the package.
        facts: what it asks for, as keys and values of a rule file.
        class_: its verdict.
        effect: what became of the call.
        reach: the scope that it is about.
        wait: seconds, where nothing else tells how long.
        wait_from: where the wait is looked for first.
        block: whether it is a block by the provider.
        note: what its author wanted known.
    """

    id: str
    proof: str
    enabled: bool
    own: bool
    facts: tuple[tuple[str, str], ...]
    class_: str
    effect: str
    reach: str
    wait: float | None
    wait_from: str
    block: bool
    note: str

    @property
    def pack(self) -> str:
        """Name of the file that it is from."""
        return self.id.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Match:
    """A recorded failure that a drafted rule would have matched.

    Attributes:
        failure: what was recorded, with the verdict it had.
        rule: the drafted rule.
        verdict: the class it would have now.
        decides: whether the drafted rule decides; else `decided_by` comes first.
        decided_by: the rule that decides now.
    """

    failure: RecordedFailure
    rule: str
    verdict: str
    decides: bool
    decided_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a draft would have done.

    Attributes:
        rules: the drafted ones.
        looked_at: failures it was tried against.
        complete: whether these are all of the last DAYS days; else the newest of them.
        matched: how many it matches.
        decided: for how many of these it decides.
        changed: how many would have had another class.
        matches: the newest SHOWN of those matched.
    """

    rules: tuple[RuleInForce, ...]
    looked_at: int
    complete: bool
    matched: int
    decided: int
    changed: int
    matches: tuple[Match, ...]


def in_force(rules: RuleSet) -> tuple[RuleInForce, ...]:
    """All rules of a set, those that are switched off included, in order of files."""
    return tuple(_plain(rule) for rule in rules.rules)


def preview(hub: HubCore, text: str, *, accounts: tuple[str, ...] | None = None) -> Preview:
    """Try the rules of `text` against the newest failures on record; nothing is kept.

    Args:
        hub: whose rules they join, and whose records they are tried against.
        text: as it would stand in a rule file.
        accounts: those whose failures the asker may see; None for all.

    Raises:
        ConfigurationError: something in it is not understood; the message names the line.
    """
    together, drafted = hub.registry.rules.with_draft(DRAFT, text)
    recorded = queries.recorded_failures(hub.store, days=DAYS, accounts=accounts)
    ids = {rule.id for rule in drafted}
    call_of = _calls(hub)
    matches: list[Match] = []
    end = monotonic() + PATIENCE
    looked_at = 0
    judged = [failure for failure in recorded.items if failure.rule != BY_HANDLER]
    for failure in judged:
        if monotonic() > end:
            break
        looked_at += 1
        match = _match(together, ids, failure, call_of(failure.kind))
        if match is not None:
            matches.append(match)
    return Preview(
        rules=tuple(_plain(rule) for rule in drafted),
        looked_at=looked_at,
        complete=recorded.complete and looked_at == len(judged),
        matched=len(matches),
        decided=sum(match.decides for match in matches),
        changed=sum(match.verdict != match.failure.verdict for match in matches),
        matches=tuple(matches[:SHOWN]),
    )


def draft_for(hub: HubCore, event: EventSummary, attempt: Attempt) -> str:
    """A rule that matches what was said in an attempt; its class is for a person to choose."""
    answer, call = attempt.answer or {}, _calls(hub)(event.kind)
    facts = {"provider": _quoted(call.provider)} if call.provider else {}
    facts["kind"] = _quoted(event.kind)
    if answer.get("status") is not None:
        facts["status"] = str(answer["status"])
    if answer.get("code"):
        facts["code"] = _quoted(answer["code"])
    elif answer.get("status") is not None:
        # A status alone says little: 200 and 500 stand for anything.
        said = hub.registry.rules.said(_reading(answer, attempt.error_type), call)
        facts["message_masked"] = _pattern(said)
    elif attempt.error_type:
        facts["exception"] = _quoted(attempt.error_type)
    when = ", ".join(f"{name} = {value}" for name, value in facts.items())
    return f'[[rule]]\nid = "from-event-{event.id}"\nwhen = {{ {when} }}\nthen = {{ class = "permanent" }}\n'


def _pattern(said: str) -> str:
    """An expression that matches what begins like this."""
    escaped = _SPECIAL.sub(r"\\\g<0>", said[:LONGEST_SAID])
    whole = f"^{escaped}{'.*' if len(said) > LONGEST_SAID else ''}$"
    # Between single quotes TOML takes everything as it is, but no quote and nothing invisible.
    return f"'{whole}'" if whole.isprintable() and "'" not in whole else _quoted(whole)


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace(_DELETE, "\\u007f")


def _match(rules: RuleSet, drafted: set[str], failure: RecordedFailure, call: Call) -> Match | None:
    reading = _reading(failure.answer, failure.error_type)
    matching = rules.matching(reading, call)
    rule = next((id_ for id_ in matching if id_ in drafted), None)
    if rule is None:
        return None
    verdict = rules.judge_reading(reading, call)
    return Match(failure, rule, verdict.class_, matching[0] == rule, matching[0])


def _reading(answer: Mapping[str, Any], error_type: str | None) -> Reading:
    """What a recorded attempt still tells."""
    return Reading.from_attempt(
        status=answer.get("status"),
        code=answer.get("code"),
        content_type=answer.get("content_type"),
        excerpt=answer.get("excerpt") or "",
        phase=Phase(answer.get("phase", Phase.LOCAL)),
        exceptions=(error_type,) if error_type else (),
    )


def _calls(hub: HubCore) -> Callable[[str], Call]:
    """How a call of each kind is described to the rules; asked of the hub once per kind."""
    known: dict[str, Call] = {}

    def call(kind: str) -> Call:
        if kind not in known:
            policy, told = hub.policy(kind), hub.known_kinds().get(kind)
            provider = policy.provider or (told.provider if told else None)
            known[kind] = Call(kind, provider, policy.writes, policy.unique_at_provider)
        return known[kind]

    return call


# A rule in plain values


def _plain(rule: Rule) -> RuleInForce:
    then = rule.then
    return RuleInForce(
        id=rule.id,
        proof=rule.proof,
        enabled=rule.enabled,
        own=rule.own,
        facts=tuple(_facts(rule.when)),
        class_=then.class_,
        effect=then.effect,
        reach=then.reach,
        wait=then.wait,
        wait_from=", ".join(_place(place) for place in then.wait_from or ()),
        block=then.block,
        note=rule.note,
    )


def _facts(when: When) -> Iterable[tuple[str, str]]:
    """What a rule asks for, as its file says it."""
    several = {
        "provider": sorted(when.providers),
        "kind": when.kinds,
        "phase": sorted(when.phases),
        "status": _statuses(when.statuses),
        "content_type": when.content_types,
        "code": sorted(when.codes),
        "has": [".".join(path) for path in when.has],
        "lacks": [".".join(path) for path in when.lacks],
        "exception": sorted(when.exceptions),
    }
    yield from ((name, ", ".join(values)) for name, values in several.items() if values)
    yield from ((f"header.{name}", pattern.pattern) for name, pattern in when.headers)
    yield from ((f"path.{'.'.join(path)}", ", ".join(sorted(wanted))) for path, wanted in when.paths)
    for name, pattern in (("message", when.message), ("message_masked", when.message_masked)):
        if pattern is not None:
            yield name, pattern.pattern
    for name, flag in (("writes", when.writes), ("unique_at_provider", when.unique_at_provider)):
        if flag is not None:
            yield name, str(flag).lower()


def _statuses(statuses: frozenset[int]) -> list[str]:
    """Whole hundreds as "5xx", the others as "500-504" or alone."""
    hundreds = [
        number for number in range(1, 6) if statuses.issuperset(range(number * 100, number * 100 + 100))
    ]
    rest = sorted(status for status in statuses if status // 100 not in hundreds)
    # Neighbours keep their distance from their place in line.
    runs = [list(run) for _, run in groupby(enumerate(rest), key=lambda each: each[1] - each[0])]
    return [f"{number}xx" for number in hundreds] + [_span(run[0][1], run[-1][1]) for run in runs]


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _place(place: WaitFrom) -> str:
    unit = "" if place.unit == "seconds" else f" as {place.unit}"
    return f"{place.place} {place.name}".strip() + unit
