"""What is wrong with the process that asks? Known from its own settings, so each process can only answer for itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dlq_console.health.findings import Finding, Level

#: Characters of a key that nobody guesses, and how many different ones those are at least.
LONG_ENOUGH, MANY_ENOUGH = 32, 10
_NEW_KEY = "python -c 'import secrets; print(secrets.token_hex(32))'"


def secret_key(key: str) -> Iterator[Finding]:
    """Whether the key that signs sessions can be guessed. Without one `serve` does not start; workers need none."""
    if key and (len(key) < LONG_ENOUGH or len(set(key)) < MANY_ENOUGH):
        yield Finding(id="secret_weak", level=Level.FAULT, command=_NEW_KEY)


def debug(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Whether the console would show its inside to whoever finds a fault."""
    if environ.get("FLASK_DEBUG", "").lower() not in ("", "0", "false", "no"):
        yield Finding(id="debug", level=Level.FAULT, command="unset FLASK_DEBUG")
