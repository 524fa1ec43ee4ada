"""How does a test get a real browser?"""

from __future__ import annotations

from pathlib import Path

from tests.services.finding import ServiceMissingError, on_path

INSTALL = "apt-get install chromium fonts-liberation"

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_chromium() -> Path:
    """The browser on PATH; the package that drives it would download one of its own, which is never used."""
    program = on_path(*NAMES)
    if program is None:
        raise ServiceMissingError("Chromium", INSTALL)
    return program


def launch_arguments() -> list[str]:
    """Switches for a quiet browser that asks nobody but the page under test."""
    return [
        # The browser's sandbox refuses root and many containers, and the only pages opened are our own.
        "--no-sandbox",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        # Names lead nowhere, so no page can ask anybody outside of this machine.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    ]
