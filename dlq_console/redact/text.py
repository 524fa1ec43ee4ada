"""Where in free text is a secret? Behind its name, in an address, or where its own shape gives it away.

In doubt a word too many is taken out: a message that lost a word can still be understood, a key that was kept in a row
has to be replaced. Every search is linear: what may be long is matched possessively or begins at one place only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from dlq_console.redact.tax_numbers import is_tax_number

#: What stands in the place of a secret.
MASK = "•••"
#: Taking out one secret may uncover another beside it; after so many rounds the text is left as it is.
_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Rule:
    """What is searched for, and what takes its place; only in texts that hold one of `hints`, in small letters."""

    pattern: re.Pattern[str]
    replacement: str | Callable[[re.Match[str]], str]
    hints: tuple[str, ...]


_NAME = (
    r"authori[sz]ation|cookie|credential|credencia(?:l|is)|passphrase|passwo?r?d|pwd|senha|secret|segredo|token|jwt"
    r"|signature|sess(?:ion)?[_-]?id"
    r"|(?:access|account|api|app|client|encryption|private|secret|shared|signing|subscription)[_ -]?key"
)  # fmt: skip
_NAME_HINTS = (
    "authori", "cookie", "creden", "pass", "pwd", "senha", "secret", "segredo", "token", "jwt", "signature", "sess", "key",
)  # fmt: skip
#: Further names that hold a secret where they are a parameter of an address.
_PARAMETER = r"access|auth|code|hash|key|otp|pass|pin|pw|sid|sig|ticket"

_QUOTE = r"\\{0,6}[\"']"
_IS = r"\s{0,5}(?:=>|[=:]|%3[ad])\s{0,5}"
_IN_BRACKETS = (
    r"\{(?:[^{}\n]++|\{[^{}\n]*+\})*+\}|\{[^\n]*+|\[(?:[^\[\]\n]++|\[[^\[\]\n]*+\])*+\]|\[[^\n]*+|\([^)\n]*+\)?"
)  # fmt: skip


def _quoted(n: int) -> str:
    """A text in quotes, which may themselves be escaped; without an end it goes on to that of its line."""
    same = f"(?P=quote_{n})"
    return rf"b?(?P<quote_{n}>{_QUOTE})(?:(?!{same})(?:\\.|[^\n]))*+(?P<end_{n}>{same})?+"


def _value(n: int) -> str:
    return rf"(?:{_quoted(n)}|{_IN_BRACKETS}|[^\s,;&\"'<>{{}}\[\]()]++)"


#: A word of a value that stands in a sentence: at least so long, and with a digit, for ordinary words are no secrets.
_WORD_END = r"\s,;&\"'<>{}\[\]()"
_WORD = rf"(?=[^{_WORD_END}]*[0-9])[^{_WORD_END}]{{4,}}+"
#: "password is x", "a senha é x"
_VERB = r"(?:is|was|é|era)(?:[ \t]{1,3}|[ \t]{0,3}[:=][ \t]{0,3})"


def _hidden(match: re.Match[str]) -> str:
    """What stood before the value, and the mask in the quotes of the value."""
    parts = match.groupdict(default="")
    return (
        "".join(text for name, text in parts.items() if name.startswith(("name", "before", "quote")))
        + MASK
        + "".join(text for name, text in parts.items() if name.startswith("end"))
    )


def _named_rules(name: str, hints: tuple[str, ...]) -> tuple[Rule, ...]:
    """The rules for a value that stands behind its name; `name` is a pattern."""
    name = rf"(?:{name})[\w.-]{{0,20}}"

    def rule(pattern: str, replacement: str | Callable[[re.Match[str]], str]) -> Rule:
        return Rule(re.compile(pattern, re.IGNORECASE), replacement, hints)

    return (
        # <app_secret>value</app_secret>, <param name="app_secret">value</param>
        rule(
            rf"(<(?=[^<>]{{0,300}}?{name})[^<>/!][^<>]{{0,400}}>(?:<!\[CDATA\[)?)[^<\]]++(?=[<\]])",
            rf"\g<1>{MASK}",
        ),
        # --app-secret value
        rule(rf"(?P<name>(?<!\S)--?[\w-]{{0,30}}?{name}\s{{1,3}}){_value(1)}", _hidden),
        # Three ways: the value of a field that is called so beside it; the second of a pair, but no name of a field;
        # and app_secret=value, "app_secret": "value", [app_secret] => value, app_secret [value].
        rule(
            rf"(?P<name>{name})(?:"
            rf"(?P<before_1>{_QUOTE}\s{{0,3}},?\s{{0,3}}(?:{_QUOTE})?val(?:ue|or)(?:{_QUOTE})?{_IS}){_value(1)}"
            rf"|(?P<before_2>{_QUOTE}\s{{0,3}},\s{{0,3}}){_quoted(2)}(?!\s{{0,3}}:)"
            rf"|(?P<before_3>(?:{_QUOTE})?[\])]?(?:{_IS}|\s{{0,2}}(?=\[))){_value(3)})",
            _hidden,
        ),
        # In a sentence: app_secret is value1, app_secret is "value", app_secret value1, app_secret (value1) and
        # app_secret 'value'.
        rule(
            rf"(?P<name>{name}(?<!\.)(?:{_QUOTE})?[\])]?[ \t]{{1,3}})(?:"
            rf"(?P<before_1>{_VERB})(?:{_quoted(1)}|{_WORD})|{_WORD}|(?P<before_2>\()(?:{_WORD})(?P<end_2>\))"
            rf"|(?P<quote_3>{_QUOTE})(?!\s)[^{_WORD_END}\\:=]{{1,200}}+(?P<end_3>(?P=quote_3)))",
            _hidden,
        ),
    )


def _shape(
    pattern: str, replacement: str | Callable[[re.Match[str]], str], *hints: str, flags: int = 0
) -> Rule:
    return Rule(re.compile(pattern, flags), replacement, hints)


#: Secrets that can be told by their shape, and headers whose value is more than one word.
_SHAPES = (
    _shape(
        r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----).*?(-----END [A-Z0-9 ]{0,60}-----|\Z)",
        rf"\g<1>{MASK}\g<2>",
        "private key",
        flags=re.DOTALL,
    ),
    # A login in an address: scheme://user:password@host, scheme://key@host
    _shape(r"(://)(?:[^\s/?#\"'<>@]*+@)++", rf"\g<1>{MASK}@", "://"),
    _shape(
        rf"([?&;](?:[\w.-]{{0,30}}[_-])?(?:{_PARAMETER})=)[^&\s\"'<>#]++", rf"\g<1>{MASK}", "=", flags=re.IGNORECASE
    ),
    # As it stands in an address. Nobody writes a sentence like that.
    _shape(
        r"\b(bearer(?:%20|\+){1,5})(?:[\w+/=.~-]|%[0-9a-f]{2}){6,}+",
        rf"\g<1>{MASK}",
        "bearer%20",
        "bearer+",
        flags=re.IGNORECASE,
    ),
    _shape(
        r"\b((?i:bearer|basic)(?:[ \t]|%20){1,5})(?=[\w+/=.~-]*?(?:[0-9=]|[a-z][A-Z])|[\w+/=.~-]{16})(?:[\w+/=.~-]|%[0-9A-Fa-f]{2}){6,}+",
        rf"\g<1>{MASK}",
        "bearer",
        "basic",
    ),
    _shape(r"\beyJ[\w-]{5,}+\.[\w-]{2,}+(?:\.[\w-]*+)*+", MASK, "eyj"),
    _shape(
        r"\b(?:[rsp]k_(?:live|test)_\w{8,}+|sk-[\w-]{20,}+|gh[oprsu]_\w{20,}+|github_pat_\w{20,}+|glpat-[\w-]{15,}+"
        r"|xox[a-z]-[\w-]{10,}+|A[KS]IA[A-Z0-9]{16}\b|AIza[\w-]{30,}+|SG\.[\w-]{16,}+\.[\w-]{16,}+)",
        MASK,
        "k_live_", "k_test_", "sk-", "gh", "glpat-", "xox", "akia", "asia", "aiza", "sg.",
    ),
    # Addresses of hooks and bots that hold their key in the path.
    _shape(
        r"(/bot)\d{6,20}:[\w-]{20,}+|(/services/)T\w{4,}+/B\w{4,}+/\w{10,}+", rf"\g<1>\g<2>{MASK}", "/bot", "/services/"
    ),
    _shape(
        r"(cookie2?\s{0,5}:\s{0,5})(?=[^\s\"'])[^\r\n]*+", rf"\g<1>{MASK}", "cookie", flags=re.IGNORECASE
    ),
    _shape(
        r"(authori[sz]ation\s{0,5}[=:]\s{0,5})"
        r"(?:(?:digest|oauth|hawk|signature|aws4-hmac-sha256)\s[^\r\n]*+"
        r"|(?:[a-z][\w-]{0,40}+[ \t]{1,3})?[^\s,;\"'<>]++)",
        rf"\g<1>{MASK}",
        "authori",
        flags=re.IGNORECASE,
    ),
)  # fmt: skip


def _unless_other_number(match: re.Match[str]) -> str:
    return MASK if is_tax_number(match[0]) else match[0]


_DIGITS = tuple("0123456789")
#: What belongs to a person, not to a program.
_PERSONAL = (
    # CNPJ and CPF as they are written, behind their name, and as bare digits that add up.
    _shape(r"(?<!\w)[0-9A-Z]{2}\.[0-9A-Z]{3}\.[0-9A-Z]{3}/[0-9A-Z]{4}-[0-9]{2}(?!\w)", MASK, "/"),
    _shape(r"(?<!\w)[0-9]{3}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}(?!\w)", MASK, "."),
    _shape(
        r"\b(C(?:PF|NPJ)[^\w\n•]{1,6})[0-9A-Z][0-9A-Z./-]{9,17}(?!\w)",
        rf"\g<1>{MASK}",
        "cpf", "cnpj",
        flags=re.IGNORECASE,
    ),
    _shape(r"(?<!\w)[0-9A-Z]{9,12}[0-9]{2}(?!\w)", _unless_other_number, *_DIGITS),
    # The domain of a mail address helps to find the fault, the person's part does not.
    _shape(r"(?<![\w.+-])[\w.+-]++(@|%40)(?=[\w-]{1,63}\.)", rf"{MASK}\g<1>", "@", "%40"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules that are applied together; a text in which `hint` is not found holds nothing for any of them."""

    each: tuple[Rule, ...]
    hint: re.Pattern[str]


def _together(rules: tuple[Rule, ...]) -> Rules:
    hints = sorted({hint for rule in rules for hint in rule.hints})
    return Rules(rules, re.compile("|".join(re.escape(hint) for hint in hints)))


@lru_cache(maxsize=16)
def _secret_rules(names: frozenset[str]) -> Rules:
    further = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(names))
    hints = (*_NAME_HINTS, *(name.lower() for name in names))
    named = _named_rules(f"{_NAME}|{further}" if further else _NAME, hints)
    return _together((*_SHAPES, *named))


@lru_cache(maxsize=16)
def _all_rules(names: frozenset[str]) -> Rules:
    return _together((*_secret_rules(names).each, *_PERSONAL))


def without_secrets(text: str, names: frozenset[str] = frozenset()) -> str:
    """`text` without passwords, keys and tokens; `names` are further names that stand before a secret."""
    return _settled(text, _secret_rules(names))


def without_personal_numbers(text: str, names: frozenset[str] = frozenset()) -> str:
    """`text` without secrets, tax numbers and the persons of mail addresses."""
    return _settled(text, _all_rules(names))


def _settled(text: str, rules: Rules) -> str:
    for _ in range(_ROUNDS):
        before, lowered = text, text.lower()
        if not rules.hint.search(lowered):
            break
        for rule in rules.each:
            if any(hint in lowered for hint in rule.hints):
                text = rule.pattern.sub(rule.replacement, text)
        if text == before:
            break
    return text
