"""Where on this machine is a program, and what should a person install when it is nowhere?"""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterable
from pathlib import Path


class ServiceMissingError(Exception):
    """A program that some tests need is not on this machine."""

    def __init__(self, program: str, install: str) -> None:
        super().__init__(f"{program} is not on this machine; install it with: {install}")


def on_path(*names: str) -> Path | None:
    """The first of the programs that is on PATH."""
    for name in names:
        if found := shutil.which(name):
            return Path(found)
    return None


def first_file(candidates: Iterable[Path]) -> Path | None:
    """The first of the paths that is a file."""
    return next((path for path in candidates if path.is_file()), None)


def package_folder(package: str) -> Path | None:
    """The folder of an installed Python package, found without running any of its code."""
    spec = importlib.util.find_spec(package)
    return Path(spec.origin).parent if spec and spec.origin else None
