"""How does a benchmark say what it measured, against which bar, and beside which peer?"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass

#: Decimals are shown below this value only; above it they would be noise.
_WHOLE_FROM = 100


@dataclass
class Report:
    """Prints one line per figure and remembers whether a bar was missed."""

    missed: bool = False

    def heading(self, text: str) -> None:
        """Say what follows."""
        print(f"\n{text}", flush=True)

    def note(self, text: str) -> None:
        """A line without a bar: how it was measured, or a figure to compare with."""
        print(f"        {text}", flush=True)

    def at_least(self, what: str, value: float, unit: str, bar: float, beside: str = "") -> None:
        """A figure that must reach `bar`; `beside` tells of the peer measured in the same run."""
        self._judge(what, value, unit, f"at least {_number(bar)}", value >= bar, beside)

    def under(self, what: str, value: float, unit: str, bar: float, beside: str = "") -> None:
        """A figure that must stay under `bar`."""
        self._judge(what, value, unit, f"under {_number(bar)}", value < bar, beside)

    def at_most(self, what: str, value: float, unit: str, bar: float, beside: str = "") -> None:
        """A figure that must not exceed `bar`."""
        self._judge(what, value, unit, f"at most {_number(bar)}", value <= bar, beside)

    @property
    def status(self) -> int:
        """Exit status: 1 when a bar was missed."""
        return 1 if self.missed else 0

    def _judge(self, what: str, value: float, unit: str, bar: str, reached: bool, beside: str) -> None:
        self.missed = self.missed or not reached
        peer = f"; {beside}" if beside else ""
        print(
            f"  {'PASS' if reached else 'MISS'}  {what}: {_number(value)} {unit} (must be {bar}{peer})",
            flush=True,
        )


def arguments(description: str | None, given: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line that every benchmark shares: `.full` asks for the large form."""
    return argument_parser(description).parse_args(given)


def argument_parser(description: str | None) -> argparse.ArgumentParser:
    """For a benchmark with options of its own beside the shared ones."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="the large form: more rows, longer runs")
    return parser


def load() -> str:
    """How busy the machine is: a figure measured on a busy one says little.

    Its disk counts as much as its processors: every commit waits for it.
    """
    one_minute, *_ = os.getloadavg()
    return f"{os.cpu_count()} cores, load {one_minute:.1f} before it, {1000 * _sync():.2f} ms to sync 8 kB to disk"


def _sync() -> float:
    """Median of how many seconds the disk takes to keep 8 kB for good, as at a commit."""
    took = []
    with tempfile.TemporaryFile(prefix="dlq-benchmark-") as file:
        for _ in range(101):
            os.pwrite(file.fileno(), bytes(8192), 0)
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - began)
    return statistics.median(took)


def percentile(values: Sequence[float], percent: int) -> float:
    """The value that `percent` of the values do not exceed."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def milliseconds(seconds: Sequence[float]) -> str:
    """Median, 95th percentile and maximum as text."""
    figures = (statistics.median(seconds), percentile(seconds, 95), max(seconds))
    return "median {:.1f}, p95 {:.1f}, max {:.1f} ms".format(*(1000 * figure for figure in figures))


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= _WHOLE_FROM or value == int(value) else f"{value:,.1f}"
