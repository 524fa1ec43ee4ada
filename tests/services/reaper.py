"""What ends the servers of a test run that was itself killed? A watcher outside the run.

The watcher reads the ids of the started process groups from a pipe. The operating system closes that pipe when the test
run ends, however it ends; whatever is still on the list is then killed and its folder removed.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path


def watch(group: int, folder: Path) -> None:
    """Have the process group killed and the folder removed if this process ends without `forget`."""
    _tell(f"watch {group} {folder}")


def forget(group: int) -> None:
    """Take the process group off the list; its owner has ended it."""
    _tell(f"forget {group}")


def kill_group(group: int) -> None:
    """Kill every process of the group; one that is gone already is no error."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _tell(line: str) -> None:
    pipe = _watcher().stdin
    assert pipe is not None
    pipe.write(line + "\n")
    pipe.flush()


@lru_cache(maxsize=1)
def _watcher() -> subprocess.Popen[str]:
    """Start the watcher once; a session of its own keeps Ctrl-C away from it."""
    watcher = subprocess.Popen(
        [sys.executable, "-I", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )
    assert watcher.stdin is not None
    # A forked child must not hold the pipe open after this process is gone.
    os.register_at_fork(after_in_child=watcher.stdin.close)
    atexit.register(watcher.communicate)
    return watcher


def _reap(lines: Iterable[str]) -> None:
    folders: dict[int, str] = {}
    for line in lines:
        word, group, *folder = line.rstrip("\n").split(" ", 2)
        if word == "watch":
            folders[int(group)] = folder[0]
        else:
            folders.pop(int(group), None)
    for number, path in folders.items():
        kill_group(number)
        shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    _reap(sys.stdin)
