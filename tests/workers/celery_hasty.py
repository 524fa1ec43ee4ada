"""How does a test start a Celery worker that gives running events back after one second instead of twenty?"""

from __future__ import annotations

import logging
import sys

from dlq_console.workers import celery_signals
from dlq_console.workers.celery_worker import run_worker
from tests.workers.celery_faulty import hub

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    celery_signals.STOP_PATIENCE = 1.0
    sys.exit(run_worker(hub, concurrency=int(sys.argv[-1])))
