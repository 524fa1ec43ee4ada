"""Bookings while the search agent hangs: the figures of `examples/five_layers.py` against their bar."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.report import Report, arguments, load
from examples.five_layers import RATE, as_they_are, behind_guards, in_words


def main(given: Sequence[str] | None = None) -> int:
    """Tell the story twice, print, and return 1 when a bar was missed."""
    seconds = 30.0 if arguments(__doc__, given).full else 9.0
    report = Report()
    report.heading(
        f"{RATE} bookings and {RATE} searches a second; the agent hangs for a third of {seconds:g} s ({load()})"
    )
    plain = as_they_are(seconds)
    report.note(in_words("called as they are", plain))
    guarded = behind_guards(seconds)
    report.note(in_words("behind guards", guarded))
    beside = f"without guards {1000 * plain.p95:.0f} ms"
    report.under("bookings while search hangs, p95", 1000 * guarded.p95, "ms", 100, beside)
    report.at_most("booked twice", guarded.booked_twice, "orders", 0, f"without guards {plain.booked_twice}")
    return report.status


if __name__ == "__main__":
    sys.exit(main())
