"""`dlq-console doctor`: what does not work here, or will hurt one day, why, and what to type."""

from __future__ import annotations

from typing import Any

import click

from dlq_console.cli.common import as_json, open_hub
from dlq_console.health.findings import Finding, to_values
from dlq_console.watch.doctor import examine
from dlq_console.web.api.representation import to_text
from dlq_console.web.finding_words import in_english


@click.command()
@as_json
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> None:
    """Look for what is wrong with database, broker, workers, kinds and settings; exit status 1 where anything is.

    Nothing is changed. What cannot be reached is told once, and the rest is looked at all the same.
    """
    with open_hub(check_tables=False) as hub:
        found = examine(hub)
    if as_json:
        click.echo(to_text({"items": [_item(finding) for finding in found], "count": len(found)}))
    elif found:
        click.echo("\n\n".join(_told(finding) for finding in found))
    else:
        click.echo("Nothing was found.")
    context.exit(1 if found else 0)


def _item(finding: Finding) -> dict[str, Any]:
    (values,) = to_values([finding])
    return values | in_english(finding)._asdict()


def _told(finding: Finding) -> str:
    words = in_english(finding)
    lines = [f"{finding.level.upper()} {finding.id}: {words.what}"]
    if finding.accounts:
        lines.append(f"  Accounts: {', '.join(finding.accounts)}")
    lines += [f"  Why it hurts: {words.why}", f"  How to fix it: {words.fix}"]
    if finding.command:
        lines.append(f"  Type: {finding.command}")
    return "\n".join(lines)
