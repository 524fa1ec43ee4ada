"""Does no statement of a bulk run read the whole table of events, on either engine?"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dlq_console.hub.policy import DEFAULT_POLICY
from dlq_console.store.bulk import freezing, items, previews, releasing, runs, settling, waiting
from dlq_console.store.bulk.close_looks import Asked, KindFacts
from dlq_console.store.bulk.items import ItemState
from dlq_console.store.bulk.releasing import Rule
from dlq_console.store.bulk.selections import Selection
from dlq_console.store.events import read_time
from dlq_console.store.filters import EventFilter
from dlq_console.store.store import Store
from dlq_console.store.succession import SENT
from tests.store.plans import explain
from tests.store.recording import Sent, recording
from tests.store.test_query_plans import full

__all__ = ["full"]

FEW = EventFilter(kind=("kind-1",), account=("filial-3",))
RULE = Rule(DEFAULT_POLICY.max_wait, SENT)
VALUES: dict[str, Any] = {
    "action": "reprocess", "arguments": {}, "selection_token": None, "actor": "maria", "note": None, "expected": None, "rate": None,
    "window": 100, "stages": (), "stop_share": None,
}  # fmt: skip


def check(store: Store, sent: list[Sent]) -> None:
    assert sent
    for statement in sent:
        if store.tables.event.name in statement[0]:
            assert not explain(store, statement).scans, statement


def test_preview_freeze_release_and_settling_read_only_what_they_name(
    full: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What ended in the future is a part of these rows.
    with full.read() as connection:
        newest = connection.execute(full.statement("SELECT max(finished_at) AS cut_at FROM {event}")).scalar()
    selection = Selection(flt=FEW, cut_at=read_time(newest) or previews.now(full))
    with recording(full) as sent:
        facts = previews.facts(full, selection, Asked("reprocess", {}, {"kind-1": KindFacts(RULE, 60.0)}))
        monkeypatch.setattr(previews, "LOOK", 3)
        assert previews.facts(full, selection, Asked("tag", {"tags": ["urgent"]}, {})).count == facts.count
        previews.facts(full, selection, Asked("assign", {"to": "ana", "due": None, "reassign": False}, {}))
        asked = Asked("reprocess", {}, {"kind-1": KindFacts(RULE, 60.0)})
        assert previews.exact_facts(full, selection, asked).count == facts.count
        assert previews.number_of(full, selection) == facts.count.number
    assert facts.count.number > 0
    check(full, sent)
    run_id = runs.insert(full, selection, VALUES)
    with recording(full) as sent:
        assert freezing.freeze(full, run_id) == facts.count.number
        released = releasing.release(full, run_id, lambda _kind: RULE)
        run = runs.get(full, run_id)
        assert run is not None
        settling.settle(full, run)
        waiting.limited_by(full, run)
    assert released.number + released.refused > 0
    check(full, sent)


def test_what_is_put_on_the_desk_reads_only_what_it_names(full: Store) -> None:
    selection = Selection(flt=FEW, cut_at=previews.now(full) + timedelta(days=36_500))
    for action, arguments in (
        ("assign", {"to": None, "due": None, "reassign": False}),
        ("tag", {"tags": ["urgent"]}),
        ("snooze", {"until": None}),
    ):
        run_id = runs.insert(full, selection, VALUES | {"action": action, "arguments": arguments})
        with recording(full) as sent:
            freezing.freeze(full, run_id)
            released = releasing.release(full, run_id, lambda _kind: RULE)
        assert released.number > 0
        check(full, sent)


def test_all_items_of_a_run_are_read_along_the_index_of_each_state(full: Store) -> None:
    run_id = runs.insert(full, Selection(flt=FEW, cut_at=previews.now(full)), VALUES)
    freezing.freeze(full, run_id)
    with full.write() as connection:
        # Another run over everything: no engine would use an index for a handful of rows.
        connection.execute(
            full.statement(
                "INSERT INTO {bulk_item} (bulk_id, event_id, position, epoch, cycle, state)"
                f" SELECT {run_id + 1}, id, id, 1, 1, 'waiting' FROM {{event}}"
            )
        )
    with recording(full) as sent:
        items.page(full, run_id, tuple(ItemState), cursor="1.1")
    (statement,) = sent
    plan = explain(full, statement, table="bulk_item", alias="bulk_item")
    assert plan.indexes == {"bulk_item_state_ix"}
    assert not plan.scans
