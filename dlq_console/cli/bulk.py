"""`dlq-console bulk ...`: one act upon many dead events, looked at first, watched and stopped."""

from __future__ import annotations

from typing import Any

import click

from dlq_console.cli.bulk_items import items
from dlq_console.cli.common import actor, as_json, moment, open_hub, print_table
from dlq_console.cli.filters import filter_options, read_filter, with_view
from dlq_console.hub.actions import NOTE_LIMIT
from dlq_console.hub.bulk import ACTIONS, BulkRun, PaceOf, Preview, Verb
from dlq_console.hub.bulk_json import preview_json, run_json
from dlq_console.web.api.representation import summary_json, to_text

_HEADINGS = ("ID", "ACTION", "STATE", "TOTAL", "DONE", "SUCCEEDED", "DIED AGAIN", "REFUSED", "BEGUN", "BY")
_RUN_ID = click.argument("run_id", metavar="ID", type=int)
_note = click.option("--note", help=f"Why; kept in the audit, at most {NOTE_LIMIT:,} characters.")


@click.group()
def bulk() -> None:
    """One act upon many dead events."""


bulk.add_command(items)


@bulk.command("start")
@click.argument("action", type=click.Choice([str(action) for action in ACTIONS]))
@filter_options
@click.option("--id", "ids", type=int, multiple=True, help="Or these events instead of a filter; may repeat.")
@click.option("--all", "everything", is_flag=True, help="All dead events, where nothing else says which.")
@_note
@click.option(
    "--rate", type=float, help="Items per second; as fast as the window allows where it is left out."
)
@click.option("--window", type=int, help="How many may be let go and not ended at once.  [default: 100]")
@click.option("--canary", metavar="N,N,...", help="Sizes of the first stages, such as 1,10,100.")
@click.option("--stop-share", type=float, help="Share that died again above which it stops.  [default: 0.2]")
@click.option("--assign-to", metavar="NAME", help="Of assign: who sees to them; - for nobody.")
@click.option("--due", help="Of assign: until when, ISO 8601 with a zone.")
@click.option("--reassign", is_flag=True, help="Of assign: also what somebody else sees to.")
@click.option("--add-tag", "tags", multiple=True, help="Of tag: one to add; may repeat.")
@click.option("--until", help="Of snooze: ISO 8601 with a zone; - to bring them back now.")
@click.option("--dry-run", is_flag=True, help="Only tell what it would do.")
@click.option("--exact", is_flag=True, help="Of a dry run: count them all, which may take some seconds.")
@click.option("--expect", type=click.IntRange(min=0), metavar="N", help="Begin only if there are N events.")
@click.option(
    "--selection-token",
    metavar="TOKEN",
    help="Exactly the events of the dry run that printed it, within the hour.",
)
@as_json
def start(
    action: str,
    ids: tuple[int, ...],
    everything: bool,
    note: str | None,
    rate: float | None,
    window: int | None,
    canary: str | None,
    stop_share: float | None,
    assign_to: str | None,
    due: str | None,
    reassign: bool,
    tags: tuple[str, ...],
    until: str | None,
    dry_run: bool,
    exact: bool,
    expect: int | None,
    selection_token: str | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Do ACTION to all dead events that match; workers do it, one after the other."""
    has_filter = _has_filter(asked, ids, everything, selection_token)
    arguments = _arguments(to=assign_to, due=due, reassign=reassign, tags=tags, until=until)
    with open_hub() as hub:
        which = with_view(hub.store, asked) if has_filter else None
        if dry_run:
            preview = hub.bulk.preview(
                action,
                which,
                ids=ids,
                arguments=arguments,
                exact=exact,
                selection_token=selection_token,
                actor=actor(),
            )
            _print_preview(preview, as_json)
            return
        run_id = hub.bulk.start(
            action,
            which,
            ids=ids,
            arguments=arguments,
            actor=actor(),
            note=note,
            rate=rate,
            window=window,
            canary=_stages(canary),
            stop_share=stop_share,
            selection_token=selection_token,
            expected_count=expect,
        )
    click.echo(to_text({"id": run_id}) if as_json else f"Bulk run {run_id} has begun: bulk status {run_id}")


@bulk.command("status")
@click.argument("run_id", metavar="[ID]", type=int, required=False)
@as_json
def status(run_id: int | None, as_json: bool) -> None:
    """Show how far a run has come, or list the newest ones."""
    with open_hub() as hub:
        found = hub.bulk.listed() if run_id is None else [hub.bulk.get(run_id)]
    if as_json:
        documents = [run_json(run) for run in found]
        click.echo(to_text({"items": documents} if run_id is None else documents[0]))
    elif run_id is None:
        print_table(_HEADINGS, [_row(run) for run in found])
    else:
        _print_run(found[0])


@bulk.command("pause")
@_RUN_ID
@_note
@as_json
def pause(run_id: int, note: str | None, as_json: bool) -> None:
    """Let nothing more go; what was let go runs to its end."""
    _act("pause", run_id, note, as_json)


@bulk.command("resume")
@_RUN_ID
@_note
@as_json
def resume(run_id: int, note: str | None, as_json: bool) -> None:
    """Go on with a run that is paused or has stopped by itself."""
    _act("resume", run_id, note, as_json)


@bulk.command("cancel")
@_RUN_ID
@_note
@as_json
def cancel(run_id: int, note: str | None, as_json: bool) -> None:
    """End a run: what was not let go stays dead."""
    _act("cancel", run_id, note, as_json)


def _act(verb: Verb, run_id: int, note: str | None, as_json: bool) -> None:
    with open_hub() as hub:
        run = getattr(hub.bulk, verb)(run_id, actor=actor(), note=note)
    click.echo(to_text(run_json(run)) if as_json else f"Bulk run {run_id} is {run.state}.")


def _has_filter(
    asked: dict[str, Any], ids: tuple[int, ...], everything: bool, selection_token: str | None
) -> bool:
    """Whether the events are named by a filter, which `--all` leaves empty; else by ids or by a token.

    Raises:
        click.UsageError: nothing says which events, or two things do.
    """
    given = not read_filter(asked).is_empty or asked["view_id"] is not None
    if not given and not ids and not everything and not selection_token:
        raise click.UsageError("Say which events: by filter options, by --id, or --all for every dead one.")
    if ids and given:
        raise click.UsageError("Give filter options or --id, not both.")
    if everything and (given or ids):
        raise click.UsageError(
            "--all means every dead event: give it, filter options or --id, not two of them."
        )
    return given or everything


def _arguments(**given: Any) -> dict[str, Any]:
    """What was given of the arguments of an action; `-` means nobody, or at once."""
    named = {name: value for name, value in given.items() if value not in (None, (), False)}
    return {name: None if value == "-" else value for name, value in named.items()}


def _stages(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(size) for size in text.split(",")]
    except ValueError:
        raise click.BadParameter("write sizes such as 1,10,100.", param_hint="--canary") from None


def _print_preview(preview: Preview, as_json: bool) -> None:
    if as_json:
        click.echo(to_text(preview_json(preview) | {"sample": [summary_json(e) for e in preview.sample]}))
        return
    more = " or more" if preview.count.capped else ""
    click.echo(f"{preview.count.number:,}{more} dead events. Nothing was done.")
    for name, parts in (
        ("kind", preview.by_kind),
        ("account", preview.by_account),
        ("error", preview.by_error),
    ):
        for part in parts:
            click.echo(f"  {name:8}{part.number:>8,}  {part.label or '-'}")
    for cause, number in preview.refused.items():
        click.echo(f"  refused {number:>8,}  {cause}")
    for cause, number in preview.warned.items():
        click.echo(f"  beware  {number:>8,}  {cause}")
    if preview.looked < preview.count.number or preview.count.capped:
        click.echo(f"  These figures are about the newest {preview.looked:,}; --exact counts them all.")
    if preview.selection_token:
        click.echo(f"Exactly these: --selection-token {preview.selection_token}")
    else:
        click.echo("No selection token: set DLQ_SECRET_KEY to have one that means exactly these.")


def _row(run: BulkRun) -> tuple[object, ...]:
    died = run.died_same + run.died_different
    begun = moment(run.created_at)
    return (
        run.id,
        run.action,
        _state(run),
        run.total,
        run.done,
        run.succeeded,
        died,
        run.refused,
        begun,
        run.actor,
    )


def _print_run(run: BulkRun) -> None:
    late = f"{run.late.number:,}{' or more' if run.late.capped else ''}"
    lines = {
        "action": run.action,
        "with": to_text(run.arguments) if run.arguments else None,
        "filter": run.filter,
        "begun": f"{moment(run.created_at)} by {run.actor}",
        "note": run.note,
        "state": _state(run),
        "waits for": run.limited_by,
        "total": f"{run.total:,}",
        "expected": None if run.expected is None else f"{run.expected:,}",
        "too late": late if run.late.number else None,
        "remaining": f"{run.remaining:,}",
        "let go": f"{run.released:,}",
        "succeeded": f"{run.succeeded:,}",
        "died again": f"{run.died_same:,} of the same error, {run.died_different:,} of another",
        "refused": f"{run.refused:,}",
        "stage": None if run.stage_size is None else f"{run.stage + 1} of {len(run.stages)}",
        "pace": _pace(run),
        "moved for": None if run.moved_seconds is None else f"{run.moved_seconds:,.0f} s",
        "ends in": None if run.eta_seconds is None else f"about {run.eta_seconds:,.0f} s",
        "over": moment(run.finished_at),
    }
    click.echo(f"Bulk run {run.id}")
    for name, value in lines.items():
        if value is not None:
            click.echo(f"  {name:12}{value}")


def _pace(run: BulkRun) -> str | None:
    if not run.pace:
        return None
    words = {PaceOf.RECENT: "now", PaceOf.SET: "as it was told"}
    return f"{run.pace:,.3g} per second {words.get(PaceOf(run.pace_of or PaceOf.ALL), 'so far')}"


def _state(run: BulkRun) -> str:
    return f"{run.state} ({run.cause})" if run.cause else run.state
