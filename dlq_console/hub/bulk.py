"""How does somebody do one thing to many dead events? Look what it would do, begin it, watch it, stop it.

A start returns at once; `bulk_progress.advance`, a step of the workers, does the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from dlq_console.errors import ActionNotAllowed, EventNotFound, PayloadRefused
from dlq_console.hub import selection_tokens
from dlq_console.hub.actions import clean_actor, clean_note
from dlq_console.hub.bulk_arguments import Arguments, check_arguments
from dlq_console.hub.bulk_rules import kind_facts
from dlq_console.hub.bulk_terms import Terms, check_action, check_chosen, check_number, dead_only
from dlq_console.hub.methods.base import HubBase
from dlq_console.hub.selection_tokens import Previewed
from dlq_console.store import presence, queries
from dlq_console.store.bulk import items, previews, runs, selections, speed, waiting
from dlq_console.store.bulk.close_looks import Asked
from dlq_console.store.bulk.items import BulkItem, ItemPage, ItemState, Refusal
from dlq_console.store.bulk.previews import Facts, Part
from dlq_console.store.bulk.runs import ACTIONS, EVENT_ACTIONS, BulkRun, Cause, RunState, Verb, read_stop
from dlq_console.store.bulk.selections import MOST_CHOSEN, Selection
from dlq_console.store.bulk.speed import PaceOf
from dlq_console.store.events import EventSummary
from dlq_console.store.filters import EventFilter
from dlq_console.store.queries import Count
from dlq_console.store.queries.counts import ZERO
from dlq_console.store.queries.routes import Accounts
from dlq_console.store.states import Action
from dlq_console.store.time_limit import TookTooLong

__all__ = [
    "ACTIONS",
    "EVENT_ACTIONS",
    "MAX_ITEMS",
    "MOST_CHOSEN",
    "Bulk",
    "BulkItem",
    "BulkRun",
    "Cause",
    "ItemPage",
    "ItemState",
    "PaceOf",
    "Part",
    "Preview",
    "Refusal",
    "RunState",
    "Verb",
    "read_stop",
]

#: From so many events on, whoever acts says why.
NOTE_ABOVE = 10
#: Most items on one page.
MAX_ITEMS = items.MAX_LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview(Facts):
    """What a run would do; nothing has been done.

    Attributes:
        sample: the newest of its events.
        selection_token: means exactly this selection at the start; None where the hub has no DLQ_SECRET_KEY to sign with.
    """

    sample: tuple[EventSummary, ...]
    selection_token: str | None


class Bulk:
    """One act upon many events; `hub.bulk`."""

    def __init__(self, hub: HubBase) -> None:
        self._hub = hub

    def preview(
        self,
        action: str,
        flt: EventFilter | None = None,
        *,
        ids: Sequence[int] = (),
        arguments: Arguments | None = None,
        exact: bool = False,
        selection_token: str | None = None,
        actor: str,
        accounts: Accounts = None,
    ) -> Preview:
        """What doing that to all dead events of a filter, or to those of these ids, would mean.

        Args:
            action: as for `start`.
            flt: which dead events; not needed with a token.
            ids: or these.
            arguments: as for `start`; None tells what there is as long as they are not decided.
            exact: count and group all of them, however many there are, which may take some seconds.
            selection_token: of a preview of the same events, which is gone on with: its moment stays.
            actor: who asks.
            accounts: those that the caller may act upon; None for all.

        Raises:
            PayloadRefused: that is no action of a bulk run, or no selection, an argument or the token is wrong, or there
                are too many to be counted exactly (its cause is then `too_many`).
        """
        check_action(action)
        checked = {} if arguments is None else check_arguments(self._hub.store, action, arguments)
        if selection_token is None:
            selection = self._selection(flt, ids, accounts)
        else:
            previewed = self._previewed(selection_token, action, flt, ids, actor)
            selection = replace(previewed.selection, accounts=accounts)
        asked = Asked(action, checked, kind_facts(self._hub))
        found = self._exact(selection, asked) if exact else previews.facts(self._hub.store, selection, asked)
        missing = len(selection.event_ids) - found.looked if selection.flt is None else 0
        refused = {**found.refused, Refusal.GONE: missing} if missing else found.refused
        values = {name: getattr(found, name) for name in Facts.__slots__}
        sample = queries.summaries(self._hub.store, found.sample_ids)
        return Preview(
            **(values | {"refused": refused}),
            sample=tuple(sample[event_id] for event_id in found.sample_ids if event_id in sample),
            selection_token=self._sign(selection, action, found.count, actor),
        )

    def start(
        self,
        action: str,
        flt: EventFilter | None = None,
        *,
        ids: Sequence[int] = (),
        arguments: Arguments | None = None,
        actor: str,
        note: str | None = None,
        rate: float | None = None,
        canary: Sequence[int] | bool | None = None,
        stop_share: float | None = None,
        window: int | None = None,
        selection_token: str | None = None,
        expected_count: int | None = None,
        accounts: Accounts = None,
    ) -> int:
        """Begin a run; returns its id at once, that of the first one when the same token is sent twice.

        Args:
            action: "reprocess", "discard", "assign", "tag" or "snooze".
            flt: which dead events; not needed with a token.
            ids: or these.
            arguments: of an assign {to, due?, reassign?}, a tag {tags}, a snooze {until}.
            actor: who asks for it.
            note: why; needed for a discard, and for a reprocess above NOTE_ABOVE events.
            rate: items per second; None as fast as the window allows.
            canary: sizes of the first stages, True for 1, 10, 100; their items get one attempt each, and a stage begins
                when all of the one before have ended.
            stop_share: share of ended items that died again, 0 to 1, above which it stops by itself; None for 0.2.
            window: how many may be let go and not ended at once; None for 100.
            selection_token: of the preview that was looked at; binds its events and its moment.
            expected_count: of how many events the caller knows; with any other number nothing is begun. Where there are
                too many to be counted first, the run waits for a person once its events are written down.
            accounts: those that the caller may act upon; None for all.

        Raises:
            PayloadRefused: an argument is wrong, or the token is not valid (any more).
            ActionNotAllowed: there are not `expected_count` events.
        """
        check_action(action)
        terms = Terms(rate=rate, canary=canary, stop_share=stop_share, window=window).columns(action)
        checked = check_arguments(self._hub.store, action, arguments)
        actor, note = clean_actor(actor), clean_note(note)
        expected: int | None = None
        if selection_token is None:
            selection = self._selection(flt, ids, accounts)
        else:
            previewed = self._previewed(selection_token, action, flt, ids, actor)
            # What the caller may act upon is what counts now.
            selection, expected = replace(previewed.selection, accounts=accounts), previewed.expected
        if note is None and self._needs_note(action, selection):
            raise PayloadRefused("note: say why; it is kept in the audit.")
        fingerprint = selection_token and selection_tokens.fingerprint(selection_token)
        if expected_count is not None:
            check_number(expected_count)
            self._check_number(selection, expected, expected_count, fingerprint)
            expected = expected_count
        values = {
            "action": action,
            "arguments": checked,
            "actor": actor,
            "note": note,
            "expected": expected,
            "selection_token": fingerprint,
        }
        return runs.insert(self._hub.store, selection, values | terms)

    def get(self, run_id: int, *, accounts: Accounts = None) -> BulkRun:
        """One run as it stands, with what it waits for, how fast it is and what arrived too late for it.

        Raises:
            EventNotFound: there is no such run, or it concerns accounts that the caller may not see.
        """
        run = self._visible(run_id, accounts)
        return speed.shown(
            run,
            late=self._late(run),
            limited_by=waiting.limited_by(self._hub.store, run),
            stood=speed.stood_still(self._hub.store, run),
        )

    def listed(self, *, accounts: Accounts = None) -> list[BulkRun]:
        """The newest runs that the caller may see."""
        return [run for run in runs.listed(self._hub.store) if _may_see(run, accounts)]

    def visible(self, run_ids: Collection[int], *, accounts: Accounts = None) -> frozenset[int]:
        """Those of these runs that the caller may see."""
        known = runs.accounts_of(self._hub.store, run_ids)
        return frozenset(run_id for run_id, concerned in known.items() if _covers(accounts, concerned))

    def items(
        self,
        run_id: int,
        state: str | None = None,
        *,
        cursor: str = "",
        limit: int = 50,
        accounts: Accounts = None,
    ) -> ItemPage:
        """Events of a run, all or those in one state, in the order in which they are let go.

        Raises:
            EventNotFound: there is no such run.
            PayloadRefused: there is no such state.
            FilterError: the cursor is none of this list.
        """
        self._visible(run_id, accounts)
        if state is not None and state not in set(ItemState):
            raise PayloadRefused(f"state: write one of {', '.join(ItemState)}.")
        return items.page(
            self._hub.store,
            run_id,
            tuple(ItemState) if state is None else (ItemState(state),),
            cursor=cursor,
            limit=max(1, min(limit, MAX_ITEMS)),
        )

    def pause(
        self, run_id: int, *, actor: str, note: str | None = None, accounts: Accounts = None
    ) -> BulkRun:
        """Let nothing more go; what was let go runs to its end.

        Raises:
            EventNotFound: there is no such run.
            ActionNotAllowed: it is over, or stands still already.
        """
        return self._act(run_id, "pause", actor, note, accounts)

    def resume(
        self, run_id: int, *, actor: str, note: str | None = None, accounts: Accounts = None
    ) -> BulkRun:
        """Go on with a paused or stopped run; as `pause`."""
        return self._act(run_id, "resume", actor, note, accounts)

    def cancel(
        self, run_id: int, *, actor: str, note: str | None = None, accounts: Accounts = None
    ) -> BulkRun:
        """End a run: what was not let go stays dead; as `pause`."""
        return self._act(run_id, "cancel", actor, note, accounts)

    def _act(self, run_id: int, verb: Verb, actor: str, note: str | None, accounts: Accounts) -> BulkRun:
        self._visible(run_id, accounts)
        if not runs.act(self._hub.store, run_id, verb, actor=clean_actor(actor), note=clean_note(note)):
            run = self._visible(run_id, accounts)
            raise ActionNotAllowed(
                f"The bulk run {run_id} is {run.state}; {verb} is not allowed now.",
                status=run.state,
                action=verb,
            )
        return self.get(run_id, accounts=accounts)

    def _visible(self, run_id: int, accounts: Accounts) -> BulkRun:
        run = runs.get(self._hub.store, run_id)
        if run is None or not _may_see(run, accounts):
            raise EventNotFound(f"There is no bulk run {run_id}; `bulk status` lists those that exist.")
        return run

    def _exact(self, selection: Selection, asked: Asked) -> Facts:
        try:
            return previews.exact_facts(self._hub.store, selection, asked)
        except TookTooLong:
            raise PayloadRefused(
                f"exact: counting them all takes longer than {previews.PATIENCE:g} s; narrow the filter, or leave it out: "
                "a run shows the exact number once its events are written down.",
                cause="too_many",
            ) from None

    def _check_number(
        self, selection: Selection, previewed: int | None, expected: int, token: str | None
    ) -> None:
        """Refuse to begin a run over another number of events; a request that is sent again begins nothing anyway."""
        number = previewed
        if number is None:
            if token is not None and runs.begun_with(self._hub.store, token) is not None:
                return
            try:
                number = previews.number_of(self._hub.store, selection)
            except TookTooLong:
                return
        if number != expected:
            raise ActionNotAllowed(
                f"expected_count: there are {number:,} events, not {expected:,}; nothing was begun. Look at them again.",
                action="bulk_start",
            )

    def _selection(self, flt: EventFilter | None, ids: Sequence[int], accounts: Accounts) -> Selection:
        cut_at = previews.now(self._hub.store)
        if flt is None:
            return Selection(flt=None, event_ids=check_chosen(ids), cut_at=cut_at, accounts=accounts)
        if ids:
            raise PayloadRefused("filter: give a filter or ids, not both.")
        pinned = selections.pinned(dead_only(flt), cut_at)
        return Selection(flt=pinned, cut_at=cut_at, accounts=accounts)

    def _sign(self, selection: Selection, action: str, count: Count, actor: str) -> str | None:
        secret_key = self._hub.settings.secret_key
        if not secret_key:
            return None
        previewed = Previewed(selection, action, None if count.capped else count.number)
        return selection_tokens.sign(secret_key, previewed, clean_actor(actor))

    def _previewed(
        self, token: str, action: str, flt: EventFilter | None, ids: Sequence[int], actor: str
    ) -> Previewed:
        previewed = selection_tokens.read(self._hub.settings.secret_key or "none", token, actor)
        selection = previewed.selection
        same = flt is None or selections.pinned(dead_only(flt), selection.cut_at) == selection.flt
        if previewed.action != action or not same or (ids and tuple(ids) != selection.event_ids):
            raise PayloadRefused(
                "selection_token: it was made for something else than this request; preview the selection again."
            )
        return previewed

    def _needs_note(self, action: str, selection: Selection) -> bool:
        """What is only put on a desk says itself what it is for, and is put right in a moment."""
        if action not in EVENT_ACTIONS:
            return False
        return action == Action.DISCARD or self._is_many(selection)

    def _is_many(self, selection: Selection) -> bool:
        if selection.flt is None:
            return len(selection.event_ids) > NOTE_ABOVE
        cap = NOTE_ABOVE + 1
        count = queries.count(self._hub.store, selection.flt, accounts=selection.accounts, cap=cap)
        return count.number > NOTE_ABOVE or count.capped

    def _late(self, run: BulkRun) -> Count:
        if run.filter is None:
            return ZERO
        late = self.late_filter(run)
        return ZERO if late is None else queries.count(self._hub.store, late, accounts=run.accounts)

    def has_workers(self) -> bool:
        """Whether any worker is there to bring runs on."""
        return presence.slots(self._hub.store) > 0

    def late_filter(self, run: BulkRun) -> EventFilter | None:
        """The filter that lists what ended too late to be part of a run; None where it was chosen one by one."""
        flt = run.selection.flt
        if flt is None or flt.at is not None or (flt.to is not None and flt.to <= run.cut_at):
            return None
        return selections.late_arrivals(flt, run.cut_at)


def _may_see(run: BulkRun, accounts: Accounts) -> bool:
    return _covers(accounts, run.accounts)


def _covers(accounts: Accounts, concerned: Accounts) -> bool:
    """Whether somebody who may see `accounts` may see a run over the accounts that it concerns."""
    if accounts is None:
        return True
    return concerned is not None and set(concerned) <= set(accounts)
