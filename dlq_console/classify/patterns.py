"""Which regular expressions may a rule use? Those that no text can make slow.

Python's engine tries every way in which the parts of an expression can share out a text, so some short expressions
take years. Here an expression is read before it is used, and refused unless the number of ways is small for the
longest text it can meet: repeats of repeats, references back and looks ahead are not taken at all.
"""

from __future__ import annotations

import re
from math import factorial

from dlq_console.classify.text import MESSAGE_LIMIT, plain

#: Ways to share out the longest message that an expression may have; more would take longer than 50 ms at worst.
MOST_WAYS = 1_000_000
_LONGEST_PATTERN = 1_000
_MOST_REPEATS = 200

_COUNT = re.compile(r"\{([0-9]{1,6})?(,)?([0-9]{1,6})?\}")
_GROUP = re.compile(r"\(\?P<[a-z_]{1,40}>|\(\?:|\((?!\?)")
_ESCAPED = re.compile(r"\\.|\(\?P<")


class PatternError(ValueError):
    """The expression cannot be used."""


def compiled(text: str) -> re.Pattern[str]:
    """The expression, ready to be matched against a whole plain message.

    Raises:
        PatternError: it is no regular expression, not anchored at both ends, could be slow, or could never match
            because messages have neither capitals nor accents; the message is the end of a sentence.
    """
    if len(text) > _LONGEST_PATTERN:
        raise PatternError(f"is longer than {_LONGEST_PATTERN} characters")
    try:
        pattern = re.compile(text, re.DOTALL)
    except re.error as error:
        raise PatternError(f"is no regular expression: {error}") from None
    if not text.startswith("^") or not text.endswith("$") or text.endswith("\\$"):
        raise PatternError('must begin with "^" and end with "$"; write ".*" where any text may stand')
    _Reader(text[1:-1]).check()
    literal = _ESCAPED.sub("", text)
    if literal != plain(literal):
        raise PatternError("must be written in small letters without accents, as messages are compared")
    return pattern


class _Reader:
    """Reads an expression once and counts the ways in which it can share out a text."""

    def __init__(self, text: str) -> None:
        # What any text may follow needs no second try.
        self._text = text.removesuffix(".*") if not text.endswith("\\.*") else text
        self._place = 0
        self._endless = 0

    def check(self) -> None:
        ways, _varies = self._branches()
        if self._place < len(self._text):
            raise PatternError('has a ")" too many')
        ways = ways * MESSAGE_LIMIT**self._endless // factorial(self._endless)
        if ways > MOST_WAYS:
            raise PatternError(
                'could take very long; use ".*" at most twice before its end, and "{1,20}" instead of "+" or "*"'
            )

    def _branches(self) -> tuple[int, bool]:
        """Ways of a group, and whether its length can vary."""
        found: list[tuple[int, bool, str]] = []
        while True:
            found.append(self._sequence())
            if self._next() != "|":
                break
            self._place += 1
        ways = [each for each, _varies, _start in found]
        varies = len(found) > 1 or found[0][1]
        # Of branches that begin with different letters one at most can match at a place.
        return max(ways) if _differ([start for *_, start in found]) else sum(ways), varies

    def _sequence(self) -> tuple[int, bool, str]:
        """Ways of what stands in a row, whether its length can vary, and the letters with which it must begin."""
        ways, varies, start, growing = 1, False, "", True
        while self._next() not in {"", "|", ")"}:
            begin = self._place
            inner, inner_varies = self._atom()
            end = self._place
            repeats, repeat_varies = self._repeat(group=inner > 1 or inner_varies)
            ways *= inner * repeats
            varies = varies or inner_varies or repeat_varies
            letter = _letter(self._text[begin:end]) if end == self._place else None
            growing = growing and letter is not None
            start += letter or "" if growing else ""
        return ways, varies, start

    def _next(self) -> str:
        return self._text[self._place : self._place + 1]

    def _atom(self) -> tuple[int, bool]:
        character = self._next()
        if character == "(":
            return self._group()
        if character == "\\":
            if self._text[self._place + 1 : self._place + 2].isdigit():
                raise PatternError("refers back to a group, which could take very long")
            self._place += 2
        elif character == "[":
            self._place = self._end_of_class()
        elif character in "^$":
            raise PatternError(f'has "{character}" inside; it belongs at the very end or beginning')
        else:
            self._place += 1
        return 1, False

    def _group(self) -> tuple[int, bool]:
        opened = _GROUP.match(self._text, self._place)
        if opened is None:
            raise PatternError('may have groups "(...)", "(?:...)" and "(?P<name>...)" only')
        self._place = opened.end()
        found = self._branches()
        self._place += 1
        return found

    def _end_of_class(self) -> int:
        place = self._place + 1
        if self._text[place : place + 1] == "^":
            place += 1
        place += 1  # a "]" that comes first is a character
        while self._text[place] != "]":
            place += 2 if self._text[place] == "\\" else 1
        return place + 1

    def _repeat(self, *, group: bool) -> tuple[int, bool]:
        least, most = self._counts()
        if least == most == 1:
            return 1, False
        if self._next() in {"?", "+"}:
            self._place += 1  # lazy and possessive repeats share out no more ways
        if group and (most is None or most > 1):
            raise PatternError("repeats what can vary itself, which could take very long")
        if most is None:
            self._endless += 1
            return 1, True
        if most > _MOST_REPEATS:
            raise PatternError(f"repeats more than {_MOST_REPEATS} times")
        return most - least + 1, most != least

    def _counts(self) -> tuple[int, int | None]:
        character = self._next()
        if character in {"?", "*", "+"} and character:
            self._place += 1
            return {"?": (0, 1), "*": (0, None), "+": (1, None)}[character]
        count = _COUNT.match(self._text, self._place)
        if count is None or count[0] in {"{}", "{,}"}:
            return 1, 1
        self._place = count.end()
        least = int(count[1] or 0)
        most = int(count[3]) if count[3] else (None if count[2] else least)
        return least, most


def _letter(atom: str) -> str | None:
    """The one letter that an atom stands for, empty for the edge of a word; None where it may be several."""
    if atom == "\\b":
        return ""
    if len(atom) == 2 and atom[0] == "\\":
        return None if atom[1].isalnum() else atom[1]
    return atom if len(atom) == 1 and atom != "." else None


def _differ(starts: list[str]) -> bool:
    """Whether none of the texts can begin another."""
    return all(
        not one.startswith(other)
        for place, one in enumerate(starts)
        for turn, other in enumerate(starts)
        if place != turn
    )
