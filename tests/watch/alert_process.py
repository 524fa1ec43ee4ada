"""One of several processes that look at the rules of alerts and bring their messages at the same time.

Unlike schedulers they take no leases from each other: python -m tests.watch.alert_process FOLDER
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from dlq_console import Hub
from dlq_console.settings import read_settings
from dlq_console.watch import alerts
from dlq_console.workers import steps


def main(folder: Path) -> None:
    """Look and bring, again and again, from when `begin` lies in the folder until `end` does."""
    hub = Hub(read_settings(broker_url="", locale="en"))
    print("ready", flush=True)  # noqa: T201 - whoever started it waits for this
    while not (folder / "begin").exists():
        time.sleep(0.002)
    rounds = 0
    while not (folder / "end").exists():
        alerts.check(hub)
        steps.send_alerts(hub)
        rounds += 1
    hub.close()
    print(f"{rounds} rounds", flush=True)  # noqa: T201 - as above


if __name__ == "__main__":
    main(Path(sys.argv[1]))
