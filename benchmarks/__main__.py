"""Runs every benchmark in its own process, one after the other, and says which bars were missed.

`python -m benchmarks` runs the quick forms, `--full` the large ones, `--list` only names them;
`python -m benchmarks.<name>` runs one.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

#: In this order: the quickest first.
NAMES = (
    "verdict",
    "resilience_calls",
    "resilience_story",
    "enqueue",
    "claims",
    "closed_doors",
    "resilience_probes",
    "resilience_bulkhead",
    "celery_overhead",
    "soak",
    "health_numbers",
    "health_viewers",
    "dead_letters_page",
    "triage_pages",
    "bulk",
)
HERE = Path(__file__).parent


def main() -> int:
    """Exit status 1 when any of them missed a bar or failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--full", action="store_true", help="the large forms")
    parser.add_argument("--list", action="store_true", help="only name them")
    options = parser.parse_args()
    if options.list:
        for name in NAMES:
            print(f"{name:20} {_question(name)}")
        return 0
    full = ["--full"] if options.full else []
    ended = {
        name: subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}", *full], cwd=HERE.parent, check=False
        ).returncode
        for name in NAMES
    }
    print()
    for name, status in ended.items():
        print(f"{name:20} {'reached' if status == 0 else f'NOT REACHED (exit status {status})'}")
    return int(any(ended.values()))


def _question(name: str) -> str:
    """The first line of its docstring, without running any of its code."""
    return (HERE / f"{name}.py").read_text().split('"""')[1].splitlines()[0]


if __name__ == "__main__":
    sys.exit(main())
