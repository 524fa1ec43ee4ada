"""How does the ERP of the whole line behave, and what did it see? It is the demo's program, over real HTTP."""

from __future__ import annotations

import json
import sys
import urllib.request
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dlq_console.demo.erp_temper import Temper
from tests.services.process import Child

#: Of the customers that the ERP knows from the start, and of its faults.
SEED = 1

#: Ten accounts, most with a fault of their own. What hangs or answers late outlasts the patience of the handlers.
TEMPERS = {
    "filial-01": Temper(latency=0.005),
    "filial-02": Temper(calls_per_window=40, window=1),
    "filial-03": Temper(hang_rate=0.05, hang=1.2),
    "filial-04": Temper(slow_every=10, slow_lasts=3, slow_by=0.2, glitch_rate=0.05),
    "filial-05": Temper(outage_every=15, outage_lasts=3),
    "filial-06": Temper(late_rate=0.08, late=1.2),
    "filial-07": Temper(late_rate=0.05, late=1.2, repeat_is_fault=True),
    "filial-08": Temper(glitch_rate=0.1, hang_rate=0.02, late_rate=0.02, hang=1.2, late=1.2),
    "filial-09": Temper(latency=0.01),
    "filial-10": Temper(latency=0.1),
}
ACCOUNTS = tuple(TEMPERS)


class Erp:
    """The ERP in a process of its own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        program = [sys.executable, "-m", "dlq_console.demo.erp", "--port", "0", "--seed", str(SEED)]
        self._child = Child(program, folder=folder)
        self.url = self._child.wait_for_line(r"Simulated ERP on (\S+)$").group(1)
        for account, temper in TEMPERS.items():
            self._call("/_control", {"account": account, "temper": asdict(temper)})

    def effects(self) -> dict[str, dict[str, int]]:
        """Account to effect key to how often that effect took place."""
        found: dict[str, dict[str, int]] = self._call("/effects")
        return found

    def stats(self) -> dict[str, Any]:
        """The figures of its books."""
        found: dict[str, Any] = self._call("/stats")
        return found

    def close(self) -> None:
        """End it."""
        self._child.close()

    def _call(self, path: str, body: dict[str, Any] | None = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(f"{self.url}{path}", content, timeout=20) as answer:
            return json.load(answer)
