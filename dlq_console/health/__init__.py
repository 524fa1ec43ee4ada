"""Is anything behind, where, why, and until when? Pure evaluation: values in, values out; no database, no broker.

`values.py` says what is looked at and what comes of it, `histograms.py` how durations are counted, `evaluate.py` judges.
"""

from dlq_console.health.values import (
    AccountHealth,
    Closing,
    Counts,
    Drain,
    Flow,
    Health,
    Why,
    Word,
    WorkerState,
)

__all__ = ["AccountHealth", "Closing", "Counts", "Drain", "Flow", "Health", "Why", "Word", "WorkerState"]
