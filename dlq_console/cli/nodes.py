"""`dlq-console nodes ...`: which calls nobody knows to have had their effect, and how a person says so."""

from __future__ import annotations

from datetime import datetime

import click

from dlq_console.cli.common import actor, as_json, moment, open_hub, print_table
from dlq_console.hub.nodes import decide, undecided_nodes
from dlq_console.store.canonical import decode_payload
from dlq_console.web.api.representation import to_text

_HEADINGS = ("KEY", "NODE", "CALL", "ENDED WITH", "SINCE", "BY")


@click.group()
def nodes() -> None:
    """Nodes and guarded calls that have their effect once: those of which nobody knows whether they had it."""


@nodes.command("list")
@as_json
def list_nodes(as_json: bool) -> None:
    """List the calls of unknown outcome, the oldest first."""
    with open_hub() as hub:
        found = undecided_nodes(hub.state)
    if as_json:
        click.echo(to_text({"items": found}))
        return
    print_table(_HEADINGS, [_row(call) for call in found])


@nodes.command("decide")
@click.argument("key")
@click.option("--applied", is_flag=True, help="The effect is there, and the call is not made again.")
@click.option("--not-applied", is_flag=True, help="The effect is not there, and the call may be made again.")
@click.option("--note", help="Why; kept in the audit.")
@click.option("--node", metavar="NAME", help="Its node, where calls of several nodes have the same key.")
@click.option(
    "--doubt",
    metavar="ID",
    help="Only this doubt, as `nodes list --json` shows it; no later one about the call.",
)
@click.option(
    "--result",
    "result_text",
    metavar="JSON",
    help="What the call is to give to whoever makes it again, where it was applied; null without it.",
)
@as_json
def decide_node(
    key: str,
    applied: bool,
    not_applied: bool,
    note: str | None,
    node: str | None,
    doubt: str | None,
    result_text: str | None,
    as_json: bool,
) -> None:
    """Say whether the call KEY had its effect; look at the other side first."""
    if applied and not_applied:
        raise click.UsageError("Say --applied or --not-applied, not both.")
    if not applied and not not_applied:
        raise click.UsageError("Say --applied or --not-applied: look at the other side first.")
    result = None if result_text is None else decode_payload(result_text, name="result")
    with open_hub() as hub:
        done = decide(
            hub.store,
            hub.state,
            key,
            applied=applied,
            actor=actor(),
            node=node,
            note=note,
            result=result,
            doubt=doubt,
        )
    after = "it is not made again" if applied else "it may be made again"
    click.echo(to_text(done) if as_json else f"{done['node']} ({done['about'] or key}): {after}.")


def _row(call: dict[str, object]) -> tuple[object, ...]:
    since = call["since"]
    return (
        call["key"],
        call["node"],
        call["about"],
        call["error"],
        moment(since) if isinstance(since, datetime) else "",
        call["by"],
    )
