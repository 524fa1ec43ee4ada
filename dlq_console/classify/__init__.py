"""What did the provider really say? An error becomes a verdict: class, effect, reach, wait, and the rule that decided."""

from __future__ import annotations

from dlq_console.classify.reading import Reading
from dlq_console.classify.recognise import read
from dlq_console.classify.ruleset import RuleSet
from dlq_console.classify.verdicts import (
    Answer,
    Call,
    Effect,
    ErrorBudget,
    Evidence,
    Limits,
    Phase,
    Rate,
    Reach,
    Verdict,
    VerdictClass,
)

__all__ = [
    "Answer", "Call", "Effect", "ErrorBudget", "Evidence", "Limits", "Phase", "Rate", "Reach", "Reading", "RuleSet",
    "Verdict", "VerdictClass", "read",
]  # fmt: skip
