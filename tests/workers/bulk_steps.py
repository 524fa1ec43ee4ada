"""A process that brings the bulk runs of a database on, whoever else does, in turns of its own: chunks of one row while freezing.

It looks at them as often as the real step does. Leader leases keep two of these apart as a rule; here nothing does.
"""

from __future__ import annotations

import sys
import time

from dlq_console import Hub
from dlq_console.hub import bulk_progress
from dlq_console.store.bulk import freezing, runs
from dlq_console.store.bulk.runs import RunState


def main() -> None:
    hub = Hub()
    sys.stdout.write("bulk steps run\n")
    sys.stdout.flush()
    while True:
        for run in runs.live(hub.store):
            if run.state == RunState.FREEZING:
                freezing.freeze(hub.store, run.id, chunk=1)
            else:
                bulk_progress.turn(hub, run)
        if not any(run.state == RunState.FREEZING for run in runs.live(hub.store)):
            time.sleep(bulk_progress.LOOK_EVERY)


if __name__ == "__main__":
    main()
