"""What does this error mean? All rules that are loaded, and the one answer they give."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from dlq_console.classify.excerpts import excerpt, sentence
from dlq_console.classify.loading import Pack, load_pack
from dlq_console.classify.reading import Reading
from dlq_console.classify.recognise import read
from dlq_console.classify.rules import Places, Question, Rank, Rule, View, captured, matches, questions
from dlq_console.classify.tables import Source
from dlq_console.classify.verdicts import (
    Answer,
    Call,
    Effect,
    Evidence,
    Limits,
    Phase,
    Reach,
    Verdict,
    VerdictClass,
)
from dlq_console.classify.waiting import wait_of
from dlq_console.clock import utc_now
from dlq_console.errors import ConfigurationError

PACKS = Path(__file__).parent / "packs"
#: Rule of a verdict that no rule gave.
NO_RULE = "none"
_SERVER_ERROR = 500
_LONGEST_CODE = 100
_LONGEST_ID = 100


class RuleSet:
    """Rules in the order in which they decide. Immutable; safe in any number of threads.

    Args:
        packs: the files, those of the package and the user's.
        clock: what time it is, for waits that are told as a time.

    Attributes:
        version: short hash of all files; equal versions judge alike.
        rules: all rules, those that are switched off included, in order of files.
    """

    def __init__(self, packs: Sequence[Pack], *, clock: Callable[[], datetime] = utc_now) -> None:
        self.rules = _switched(packs)
        text = "\0".join(f"{pack.name}\0{pack.source.text}" for pack in packs)
        self.version = hashlib.sha256(text.encode()).hexdigest()[:12]
        self._clock = clock
        self._packs = packs
        enabled = sorted((rule for rule in self.rules if rule.enabled), key=lambda rule: rule.order)
        named = {name for rule in enabled for name in rule.when.providers} | {
            name for pack in packs for name in pack.providers
        }
        asked = [(rule, questions(rule.when)) for rule in enabled]
        self._general = _Deciding(asked, None)
        self._rules = {name: _Deciding(asked, name) for name in named}
        self._places = {name: _places(packs, name) for name in named}
        self._general_places = _places(packs, None)

    @classmethod
    def load(cls, extra: Path | None = None, *, clock: Callable[[], datetime] = utc_now) -> RuleSet:
        """The packs of the package, and the rules of a file, or of every `.toml` file of a folder.

        Raises:
            ConfigurationError: a file cannot be read, or something in it is not understood; the message names file
                and line.
        """
        own = [_load(path, own=True) for path in ([] if extra is None else _files(extra))]
        return cls([*_of_the_package(), *own], clock=clock)

    def with_draft(self, name: str, text: str) -> tuple[RuleSet, tuple[Rule, ...]]:
        """The same rules with those of one more file of the user, which stands nowhere yet; and these alone.

        Raises:
            ConfigurationError: something in it is not understood; the message names `name` and the line.
        """
        draft = load_pack(Source(name, text), stem=name, own=True)
        together = RuleSet([*self._packs, draft], clock=self._clock)
        ids = {rule.id for rule in draft.rules}
        return together, tuple(rule for rule in together.rules if rule.id in ids)

    def judge(self, error: object, call: Call) -> Verdict:
        """What an error, or an answer of a client library, means. Never raises."""
        return self.judge_reading(read(error), call)

    def judge_reading(self, reading: Reading, call: Call) -> Verdict:
        """What a reading means, also one that was stored. Never raises."""
        try:
            return self._judge(reading, call)
        except Exception:  # noqa: BLE001 - a fault here must not cost the attempt its result
            return self._verdict(None, View(reading, call), answer=None, now=datetime.now(UTC))

    def matching(self, reading: Reading, call: Call) -> tuple[str, ...]:
        """Ids of all rules that match a reading, the one that decides first. Never raises."""
        deciding = self._rules.get((call.provider or "").lower(), self._general)
        try:
            return tuple(rule.id for rule in deciding.all(self._view(reading, call)))
        except Exception:  # noqa: BLE001 - as above
            return ()

    def said(self, reading: Reading, call: Call) -> str:
        """The first message of a reading as `message_masked` compares it."""
        return self._view(reading, call).masked_messages[0]

    def limits(self, provider: str | None) -> Limits | None:
        """What a provider allows, as the last file says that names limits for it."""
        name = (provider or "").lower()
        found = [pack.limits for pack in self._packs if name in pack.providers and pack.limits]
        return found[-1] if found else None

    def _judge(self, reading: Reading, call: Call) -> Verdict:
        view = self._view(reading, call)
        rule = self._rules.get((call.provider or "").lower(), self._general).first(view)
        answer = Answer(
            status=reading.status,
            code=view.code_texts[0][:_LONGEST_CODE] if view.code_texts else None,
            content_type=reading.content_type,
            excerpt=excerpt(view),
            phase=reading.phase,
            message=sentence(view),
        )
        return self._verdict(rule, view, answer=answer, now=self._clock())

    def _view(self, reading: Reading, call: Call) -> View:
        places = self._places.get((call.provider or "").lower(), self._general_places)
        return View(reading, call, places)

    def _verdict(self, rule: Rule | None, view: View, *, answer: Answer | None, now: datetime) -> Verdict:
        class_ = VerdictClass.UNKNOWN if rule is None else rule.then.class_
        wait = None if answer is None else wait_of(rule, class_, view, now)
        adopt = None if rule is None else captured(rule.then.adopt, view)
        return Verdict(
            class_=class_,
            effect=_effect(rule, view),
            reach=Reach.EVENT if rule is None else rule.then.reach,
            wait=wait.seconds if wait else None,
            wait_source=wait.source if wait else None,
            rule=NO_RULE if rule is None else rule.id,
            rules_version=self.version,
            block=rule is not None and rule.then.block,
            answer=answer,
            counts=_evidence(rule, class_, view.reading),
            adopt=adopt[:_LONGEST_ID] if adopt else None,
            renew=rule is not None and rule.then.renew,
        )


class _Deciding:
    """The rules of one provider in the order in which they decide."""

    def __init__(self, asked: Iterable[tuple[Rule, tuple[Question, ...]]], provider: str | None) -> None:
        self._all = [
            (rule, ask)
            for rule, ask in asked
            if not rule.when.providers or (provider is not None and provider in rule.when.providers)
        ]
        # Where no answer came, nothing that only an answer has can match.
        self._without_answer = [(rule, ask) for rule, ask in self._all if not rule.when.needs_an_answer]

    def first(self, view: View) -> Rule | None:
        for rule, ask in self._asked_of(view):
            if matches(ask, view):
                return rule
        return None

    def all(self, view: View) -> list[Rule]:
        return [rule for rule, ask in self._asked_of(view) if matches(ask, view)]

    def _asked_of(self, view: View) -> list[tuple[Rule, tuple[Question, ...]]]:
        answered = view.reading.phase is Phase.RESPONSE or view.reading.tree is not None
        return self._all if answered or view.reading.headers else self._without_answer


def _effect(rule: Rule | None, view: View) -> Effect:
    if rule is None:
        never_left = view.reading.phase is Phase.BEFORE_CONNECT
        effect = Effect.NOT_APPLIED if never_left else Effect.UNKNOWN
    else:
        effect = rule.then.effect
    # A call that only reads has nothing to apply.
    return Effect.NOT_APPLIED if effect is Effect.UNKNOWN and not view.call.writes else effect


def _evidence(rule: Rule | None, class_: VerdictClass, reading: Reading) -> Evidence:
    if rule is not None and rule.then.counts is not None:
        return rule.then.counts
    if class_ is VerdictClass.RATE_LIMITED:
        return Evidence.NONE
    if reading.phase is Phase.LOCAL:
        # Only what a provider is known to say shows that it has answered, through whatever wrapped it.
        said = rule is not None and rule.rank <= Rank.MESSAGE
        return Evidence.SUCCESS if said and class_ is not VerdictClass.TRANSIENT else Evidence.NONE
    if class_ is VerdictClass.TRANSIENT:
        return Evidence.FAILURE
    if class_ is VerdictClass.UNKNOWN:
        answered = reading.phase is Phase.RESPONSE and (reading.status or 0) < _SERVER_ERROR
        return Evidence.SUCCESS if answered else Evidence.FAILURE
    return Evidence.SUCCESS if reading.phase is Phase.RESPONSE else Evidence.NONE


def _places(packs: Iterable[Pack], provider: str | None) -> tuple[Places, ...]:
    """The provider's own places together, then those that are for all."""
    own = Places()
    general = Places()
    for pack in packs:
        if provider is not None and provider in pack.providers:
            own += pack.places
        elif not pack.providers:
            general += pack.places
    return (own, general)


def _switched(packs: Sequence[Pack]) -> tuple[Rule, ...]:
    """All rules, each switched on or off as the files say.

    Raises:
        ConfigurationError: two rules have one id, or a rule that is to be switched does not exist.
    """
    rules: dict[str, tuple[Pack, Rule]] = {}
    for pack in packs:
        for number, rule in enumerate(pack.rules):
            if rule.id in rules:
                line = pack.source.line_of("", number, "id")
                other = rules[rule.id][0].source.name
                pack.source.refuse(line, f'The id "{rule.id}" is used already in {other}; choose another.')
            rules[rule.id] = (pack, rule)
    switches = _switches(packs, rules)
    return tuple(_set(rule, switches) for _pack, rule in rules.values())


def _switches(packs: Sequence[Pack], known: Mapping[str, object]) -> dict[str, bool]:
    switches: dict[str, bool] = {}
    for pack in packs:
        for key, names, on in (("enable", pack.enable, True), ("disable", pack.disable, False)):
            for name in names:
                if name not in known:
                    line = pack.source.line_of("", None, key)
                    pack.source.refuse(line, f'"{key}" names the rule "{name}", which does not exist.')
                switches[name] = on
    return switches


def _set(rule: Rule, switches: Mapping[str, bool]) -> Rule:
    return rule if rule.id not in switches else replace(rule, enabled=switches[rule.id])


def _files(extra: Path) -> list[Path]:
    if extra.is_dir():
        return sorted(extra.glob("*.toml"))
    return [extra]


@cache
def _of_the_package() -> tuple[Pack, ...]:
    """Read once: the files of an installed package stay as they are, and reading them takes 50 ms."""
    return tuple(_load(path, own=False) for path in sorted(PACKS.glob("*.toml")))


def _load(path: Path, *, own: bool) -> Pack:
    name = str(path) if own else f"packs/{path.name}"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The rules cannot be read from {name}: {error}.") from None
    return load_pack(Source(name, text), stem=path.stem, own=own)
