"""How does a test start a worker in table mode with a patience of its own, or with the handlers of another module?

For example: python -m tests.workers.table_worker --slots 4 --stop-patience 1
"""

from __future__ import annotations

import argparse
import importlib
import logging
import sys

from dlq_console import Hub
from dlq_console.workers.runner import STOP_PATIENCE, Runner
from dlq_console.workers.scheduler import run_scheduler


def main() -> int:
    """Run the worker, or only its periodic steps, until a signal stops it."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--app", default="tests.workers.faulty:hub", help="module:attribute; empty: no handlers"
    )
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--accounts", type=lambda names: names.split(","))
    parser.add_argument("--no-scheduler", action="store_true")
    parser.add_argument("--only-scheduler", action="store_true")
    parser.add_argument("--stop-patience", type=float, default=STOP_PATIENCE)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(process)d %(name)s %(levelname)s %(message)s")
    hub = _hub(options.app)
    if options.only_scheduler:
        return run_scheduler(hub)
    return Runner(
        hub,
        options.slots,
        options.accounts,
        scheduler=not options.no_scheduler,
        stop_patience=options.stop_patience,
    ).run()


def _hub(app: str) -> Hub:
    if not app:
        return Hub()
    module, attribute = app.split(":")
    hub: Hub = getattr(importlib.import_module(module), attribute)
    return hub


if __name__ == "__main__":
    sys.exit(main())
