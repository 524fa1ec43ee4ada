"""What did the doctor find? Plain values that can be kept as JSON; the words for them stand where they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

#: The readings under which the store keeps what was found, and that somebody has asked for another look.
DOCTOR, ASKED = "doctor", "doctor asked"
#: The one value of that reading.
FOUND = "findings"
#: The reading of what lies in the broker: by queue, and all together under TOTAL, which no queue is called.
BROKER, TOTAL = "broker", "*"


class Level(StrEnum):
    """How bad it is, the worst first."""

    #: Something does not work, or will be lost.
    FAULT = "fault"
    #: It works now, and will hurt one day.
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that should be different.

    Attributes:
        id: which rule found it; `web/finding_words.py` has its words.
        level: how bad it is.
        figures: what its sentences name, such as a kind, a number, a place without its password.
        accounts: those it is about; empty where it is about the installation. Shown only to who may see them.
        command: what to type, exactly; empty where no command helps.
    """

    id: str
    level: Level = Level.WARNING
    figures: Mapping[str, str | int | float] = field(default_factory=dict)
    accounts: tuple[str, ...] = ()
    command: str = ""


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The worst first, then as they were found."""
    ranks = {level: rank for rank, level in enumerate(Level)}
    return tuple(sorted(findings, key=lambda finding: ranks[finding.level]))


def visible(findings: Iterable[Finding], accounts: tuple[str, ...] | None) -> tuple[Finding, ...]:
    """Those that somebody may see who sees these accounts only (None: all); nothing of another one is named or counted."""
    if accounts is None:
        return tuple(findings)
    return tuple(own for finding in findings if (own := _of(finding, accounts)))


def _of(finding: Finding, accounts: tuple[str, ...]) -> Finding | None:
    if not finding.accounts:
        return None if _TELLING & finding.figures.keys() else finding
    own = tuple(name for name in finding.accounts if name in accounts)
    if own == finding.accounts:
        return finding
    # Of how many accounts it is can be told anew; any other sum has those of others in it.
    if own and finding.figures.keys() == {"number"}:
        return replace(finding, accounts=own, figures={"number": len(own)})
    return None


#: Figures that may name an account, or something of it.
_TELLING = frozenset({"error", "examples", "name", "queue"})


def to_values(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Findings as values that JSON knows."""
    return [
        {
            "id": finding.id,
            "level": str(finding.level),
            "figures": dict(finding.figures),
            "accounts": list(finding.accounts),
            "command": finding.command,
        }
        for finding in findings
    ]


def read(values: Iterable[Mapping[str, Any]]) -> tuple[Finding, ...]:
    """Findings from such values."""
    return tuple(
        Finding(
            id=value["id"],
            level=Level(value["level"]),
            figures=dict(value["figures"]),
            accounts=tuple(value["accounts"]),
            command=value["command"],
        )
        for value in values
    )
