"""Does the page about faults of Celery and its brokers name tests that exist, and leave no case out?"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/celery-cases.md").read_text(encoding="utf-8")
TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")
ROW = re.compile(r"^\| (\d+) \| [^|]+ \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)

#: Numbers of what concerns other people's tasks only.
OF_OTHERS = {8, 14, 18, 21, 23, 30, 31, 38}


@cache
def _tests_in(path: str) -> set[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_test_that_the_page_names_exists() -> None:
    named = TEST.findall(PAGE)
    assert named
    assert [f"{path}::{name}" for path, name in named if name not in _tests_in(path)] == []


def test_every_case_has_a_test_or_a_reason_and_an_outcome() -> None:
    cases = {int(number): held for number, held, _ in ROW.findall(PAGE)}
    assert set(cases) == set(range(1, 45)) - OF_OTHERS
    assert [number for number, held in cases.items() if not (TEST.search(held) or held.endswith("."))] == []
