"""`dlq-console rules ...`: is a file of rules right, and what would the rules say to an answer?"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from dlq_console.classify import Call, Reading, RuleSet, Verdict
from dlq_console.cli.common import as_json, complain
from dlq_console.settings import read_settings
from dlq_console.web.api.representation import to_text


@click.group()
def rules() -> None:
    """Rules that tell what an answer of a provider means."""


@rules.command("check")
@click.argument("file", type=click.Path(exists=True, path_type=Path))
def check(file: Path) -> int:
    """Load FILE (or a folder of .toml files) beside the packs, and say whether it can be used."""
    if file.is_dir() and not any(file.glob("*.toml")):
        complain(f"{file}: the folder has no .toml file, so there are no rules in it.")
        return 1
    loaded = RuleSet.load(file)
    own = [rule for rule in loaded.rules if rule.own]
    off = sum(not rule.enabled for rule in own)
    left_out = f", {off} of them switched off" if off else ""
    click.echo(
        f"{file}: {len(own)} rules{left_out}; with the packs {len(loaded.rules)}, version {loaded.version}."
    )
    return 0


@rules.command("test")
@click.option("--status", type=click.IntRange(100, 599), required=True, help="HTTP status of the answer.")
@click.option("--header", "headers", multiple=True, metavar="K:V", help="A header; may be repeated.")
@click.option(
    "--body", required=True, metavar="TEXT|@FILE|-", help="The body, a file of it, or - to read it."
)
@click.option("--provider", help="As Policy.provider names it.")
@click.option("--kind", default="test", show_default=True, help="Kind of the event.")
@click.option("--reads", is_flag=True, help="The call only reads (Policy.writes is false).")
@as_json
def test(
    status: int,
    headers: tuple[str, ...],
    body: str,
    provider: str | None,
    kind: str,
    reads: bool,
    as_json: bool,
) -> None:
    """Say what the rules make of an answer; nothing is called. DLQ_RULES is read as workers read it."""
    reading = Reading.of_text(_body(body), status=status, headers=dict(_header(each) for each in headers))
    verdict = RuleSet.load(_own_rules()).judge_reading(reading, Call(kind, provider, writes=not reads))
    told = _told(verdict)
    click.echo(to_text(told) if as_json else "\n".join(_line(name, value) for name, value in told.items()))


def _own_rules() -> Path | None:
    named = read_settings().rules
    return Path(named) if named else None


def _body(text: str) -> str:
    if text == "-":
        return sys.stdin.read()
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise click.BadParameter(f"the file cannot be read: {error.strerror}.", param_hint="--body") from None


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise click.BadParameter(f'"{text}" has no colon; write it as Retry-After:30.', param_hint="--header")
    return name.strip(), value.strip()


def _told(verdict: Verdict) -> dict[str, object]:
    told = asdict(verdict)
    return {"class": told.pop("class_"), **told}


def _line(name: str, value: object) -> str:
    if isinstance(value, dict):
        return "\n".join(_line(f"{name}.{inner}", each) for inner, each in value.items())
    shown = "-" if value is None else str(value).lower() if isinstance(value, bool) else value
    return f"{name.replace('_', ' '):20} {shown}"
