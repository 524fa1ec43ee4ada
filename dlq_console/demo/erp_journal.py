"""How does the simulated ERP remember across restarts what was registered and done?

One JSON object a line, appended and handed to the operating system before the ERP answers, read back at start. A line
cut off by a crash is skipped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Journal:
    """An append-only file of what happened. Not thread-safe: its owner holds a lock."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file = path.open("a", encoding="utf-8")
        if not self._ends_cleanly():
            self._file.write("\n")

    def append(self, **entry: Any) -> None:
        """Keep one entry."""
        self._file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        self._file.flush()

    def entries(self) -> Iterator[dict[str, Any]]:
        """Every whole entry, oldest first."""
        with self._path.open(encoding="utf-8") as lines:
            for line in lines:
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue
                if isinstance(entry, dict):
                    yield entry

    def close(self) -> None:
        """Close the file; nothing can be appended any more."""
        self._file.close()

    def _ends_cleanly(self) -> bool:
        content_end = self._path.read_bytes()[-1:]
        return content_end in (b"", b"\n")
