"""`dlq-console enqueue` and `dlq-console events ...`: the same filter, action table and sentences as the pages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from dlq_console.cli.common import actor, as_json, complain, moment, open_hub, print_table
from dlq_console.cli.filters import filter_options, with_view
from dlq_console.errors import ActionNotAllowed, EventNotFound
from dlq_console.hub.actions import LONGEST_AFTER
from dlq_console.hub.known import check_kind
from dlq_console.runtime import Hub
from dlq_console.store import desk, queries
from dlq_console.store.canonical import LARGEST_PAYLOAD, decode_payload, encode_payload
from dlq_console.store.desk import Marks
from dlq_console.store.events import Attempt, AuditEntry, Event, EventSummary
from dlq_console.store.queries import MAX_LIMIT
from dlq_console.store.states import READY
from dlq_console.web.api.representation import event_json, page_json, to_text

_HEADINGS = ("ID", "STATUS", "KIND", "ACCOUNT", "ENTITY", "TRIES", "CHANGED", "LAST ERROR")
_EVENT_IDS = click.argument("event_ids", metavar="ID...", type=int, nargs=-1, required=True)


@click.command()
@click.argument("kind")
@click.option("--account", required=True, help="On whose account of the outside system.")
@click.option("--entity", required=True, help="The business number people know it by.")
@click.option("--payload", default="{}", help="What the handler needs: JSON, @FILE, or - for standard input.")
@click.option("--version", help="Makes the same content a new event.")
@click.option("--ordering-key", help="Run one at a time, in order, with the events of this key.")
@click.option(
    "--serial", is_flag=True, default=None, help="Run one at a time, in order, in the account's serial lane."
)
@as_json
def enqueue(
    kind: str,
    account: str,
    entity: str,
    payload: str,
    version: str | None,
    ordering_key: str | None,
    serial: bool | None,
    as_json: bool,
) -> None:
    """Put an event of KIND in, or find the one that exists."""
    content = decode_payload(_read_payload(payload))
    with open_hub() as hub:
        check_kind(kind, hub.known_kinds())
        made = hub.enqueue(
            kind,
            account=account,
            entity_id=entity,
            payload=content,
            version=version,
            ordering_key=ordering_key,
            serial=serial,
            origin=actor(),
        )
    if as_json:
        click.echo(to_text({"id": made.id, "status": made.status, "created": made.created}))
    elif made.created:
        click.echo(f"Event {made.id} is in; it is {made.status}.")
    else:
        click.echo(f"The same event exists already: {made.id}; it is {made.status}.")


def _read_payload(argument: str) -> str:
    # One character more than any payload may have: what is longer need not be read to its end.
    text = _read(argument, LARGEST_PAYLOAD + 1)
    if len(text) > LARGEST_PAYLOAD:
        raise click.BadParameter(f"it is larger than {LARGEST_PAYLOAD:,} characters.", param_hint="--payload")
    return text


def _read(argument: str, most: int) -> str:
    if argument == "-":
        return sys.stdin.read(most)
    if not argument.startswith("@"):
        return argument
    try:
        with Path(argument[1:]).open(encoding="utf-8") as file:
            return file.read(most)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise click.BadParameter(
            f"{argument[1:]} cannot be read: {error}.", param_hint="--payload"
        ) from error


@click.group()
def events() -> None:
    """Look at events and act on them."""


@events.command("list")
@filter_options
@click.option("--sort", type=click.Choice(["oldest"]), default=None, help="Oldest first instead of newest.")
@click.option(
    "--limit", default=50, type=click.IntRange(1, MAX_LIMIT), show_default=True, help="Most events."
)
@click.option("--cursor", default="", help="Where the page begins, as the page before said.")
@as_json
def list_events(limit: int, cursor: str, as_json: bool, **asked: Any) -> None:
    """List events that match, newest first."""
    with open_hub() as hub:
        flt = with_view(hub.store, asked)
        page = queries.events_page(hub.store, flt, cursor=cursor, limit=limit)
        count = queries.count(hub.store, flt)
    if as_json:
        click.echo(to_text(page_json(page, count)))
        return
    print_table(_HEADINGS, [_row(event) for event in page.items])
    click.echo(f"{count.number:,}{' or more' if count.capped else ''} match.")
    if page.next_cursor:
        click.echo(f"There may be more: --cursor {page.next_cursor}")


@events.command("show")
@click.argument("event_id", metavar="ID", type=int)
@as_json
def show_event(event_id: int, as_json: bool) -> None:
    """Show one event with its attempts and who did what."""
    with open_hub() as hub:
        event = hub.get(event_id)
        attempts, audit = queries.attempts(hub.store, event_id), queries.audit(hub.store, event_id)
        marks, notes = desk.marks(hub.store, [event_id])[event_id], desk.notes(hub.store, event_id)
    if as_json:
        click.echo(to_text(event_json(event, attempts, audit, marks, notes)))
    else:
        _print_event(event, attempts, audit, marks)


@events.command("reprocess")
@_EVENT_IDS
@click.option("--note", help="Why; kept in the audit.")
@click.option(
    "--after", default=0.0, type=click.FloatRange(0, LONGEST_AFTER), help="Seconds from now until it may run."
)
@click.option(
    "--even-if-newer",
    is_flag=True,
    help="Although a newer event of its entity exists, where its kind asks.",
)
@as_json
def reprocess(
    event_ids: tuple[int, ...], note: str | None, after: float, even_if_newer: bool, as_json: bool
) -> int:
    """Let dead events run again."""
    return _act(
        event_ids,
        as_json,
        lambda hub, event_id: hub.reprocess(
            event_id, actor=actor(), note=note, after=after, even_if_newer=even_if_newer
        ),
    )


@events.command("discard")
@_EVENT_IDS
@click.option("--note", required=True, help="Why; kept in the audit.")
@as_json
def discard(event_ids: tuple[int, ...], note: str, as_json: bool) -> int:
    """Decide that events shall not run."""
    if not note.strip():
        raise click.BadParameter("say why; it is kept in the audit.", param_hint="--note")
    return _act(event_ids, as_json, lambda hub, event_id: hub.discard(event_id, actor=actor(), note=note))


@events.command("restore")
@_EVENT_IDS
@click.option("--note", help="Why; kept in the audit.")
@as_json
def restore(event_ids: tuple[int, ...], note: str | None, as_json: bool) -> int:
    """Take back the discard of events."""
    return _act(event_ids, as_json, lambda hub, event_id: hub.restore(event_id, actor=actor(), note=note))


@events.command("edit")
@click.argument("event_id", metavar="ID", type=int)
@click.option(
    "--payload",
    required=True,
    help="The whole corrected payload: JSON, @FILE, or - for standard input. A mask (•••) where `events show` has one keeps "
    "the hidden value.",
)
@click.option("--note", help="Why; kept in the audit.")
@click.option(
    "--even-if-newer",
    is_flag=True,
    help="Although a newer event of its entity exists, where its kind asks.",
)
@as_json
def edit(event_id: int, payload: str, note: str | None, even_if_newer: bool, as_json: bool) -> int:
    """Correct the payload of a dead event and send it: a new event takes its place."""
    content = decode_payload(_read_payload(payload), exact=True)
    with open_hub() as hub:
        try:
            new = hub.edit(event_id, content, actor=actor(), note=note, even_if_newer=even_if_newer)
        except (EventNotFound, ActionNotAllowed) as error:
            complain(f"Event {event_id}: {error}")
            return 1
    click.echo(
        to_text(event_json(new)) if as_json else f"Event {new.id} takes its place; it is {new.status}."
    )
    return 0


def _act(event_ids: tuple[int, ...], as_json: bool, act: Callable[[Hub, int], Event]) -> int:
    """Act on each event; one that refuses does not keep the others from it, but the exit status says so."""
    status = 0
    with open_hub() as hub:
        for event_id in event_ids:
            try:
                event = act(hub, event_id)
            except (EventNotFound, ActionNotAllowed) as error:
                complain(f"Event {event_id}: {error}")
                status = 1
                continue
            click.echo(to_text(event_json(event)) if as_json else f"Event {event_id} is {event.status}.")
    return status


def _row(event: EventSummary) -> tuple[object, ...]:
    return (
        event.id,
        _state(event),
        event.kind,
        event.account,
        event.entity_id,
        f"{event.attempts}/{event.max_attempts}",
        moment(event.updated_at),
        event.last_error,
    )


def _print_event(
    event: Event, attempts: Sequence[Attempt], audit: Sequence[AuditEntry], marks: Marks
) -> None:
    document, due = event_json(event), moment(marks.due_at)
    waiting = event.waiting_until and f"{event.waiting_for} until {moment(event.waiting_until)}"
    if event.blocked_by is not None:
        waiting = f"event {event.blocked_by}, which stands before it in its lane"
    lines = {
        "kind": event.kind,
        "account": event.account,
        "entity": event.entity_id,
        "status": _state(event),
        "waits for": waiting or event.waiting_for,
        "lane": event.lane,
        "replaced by": event.superseded_by and f"event {event.superseded_by}",
        "last error": event.last_error,
        "attempts": f"{event.attempts} of {event.max_attempts}, {event.total_attempts} in all",
        "next run": moment(event.next_run_at) if event.status in READY else None,
        "came in": moment(event.created_at),
        "ended": moment(event.finished_at),
        "sent again": event.duplicates or None,
        "assigned to": marks.assignee and f"{marks.assignee}{f', due {due}' if due else ''}",
        "tags": ", ".join(marks.tags) or None,
        "snoozed to": moment(marks.snoozed_until),
        "key": event.idempotency_key,
        "payload": _json(document["payload"]),
        "result": document["result"] and _json(document["result"]),
    }
    click.echo(f"Event {event.id}")
    for name, value in lines.items():
        if value is not None:
            click.echo(f"  {name:12}{value}")
    for attempt in attempts:
        error = f"  {attempt.error_type}: {attempt.error}" if attempt.error_type else ""
        click.echo(
            f"  {moment(attempt.ended_at)}  attempt {attempt.cycle}.{attempt.number} {attempt.outcome}{error}"
        )
    for entry in audit:
        note = f": {entry.note}" if entry.note else ""
        click.echo(f"  {moment(entry.at)}  {entry.actor} {entry.action}{note}")


def _state(event: EventSummary) -> str:
    return f"{event.status} ({event.reason})" if event.reason else event.status


def _json(value: object) -> str:
    return encode_payload(value, max_bytes=LARGEST_PAYLOAD)
