"""How does a test let something happen while a Celery worker starts: once its tables were found, before its pool?"""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path
from typing import Any

from celery import signals

from dlq_console.workers.celery_worker import run_worker
from tests.workers.celery_faulty import hub

logger = logging.getLogger(__name__)


def wait(**_about: Any) -> None:
    """Until the file of that name is there."""
    logger.info("found its tables")
    while not Path(sys.argv[1]).exists():
        time.sleep(0.02)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    signals.worker_init.connect(wait)
    sys.exit(run_worker(hub, concurrency=1))
