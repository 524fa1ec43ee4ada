"""Does a preview tell what a run would meet, and does its token mean exactly what was looked at?"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import pytest

from dlq_console import ActionNotAllowed, Hub, PayloadRefused
from dlq_console.clock import utc_now
from dlq_console.hub import selection_tokens
from dlq_console.hub.bulk import Preview
from dlq_console.settings import read_settings
from dlq_console.store.bulk import previews
from dlq_console.store.filters import EventFilter
from dlq_console.store.queries.routes import SCAN_LIMIT
from dlq_console.store.time_limit import TookTooLong
from tests.hub.line import EVERYTHING, Line
from tests.store import filling


@pytest.fixture
def line(database_url: str) -> Iterator[Line]:
    """A line of events on each engine, of a hub that can sign."""
    hub = Hub(read_settings(database_url=database_url, secret_key="only-for-tests-0123456789abcdef"))
    yield Line(hub)
    hub.close()


def preview(line: Line, flt: EventFilter | None = EVERYTHING, **values: object) -> Preview:
    return line.hub.bulk.preview("reprocess", flt, **({"actor": "maria"} | values))  # type: ignore[arg-type]


def test_it_counts_by_kind_account_and_error_and_shows_some(line: Line) -> None:
    line.handle("invoice.issue")
    line.dead(range(12), account="filial-sp")
    line.dead(range(3), account="filial-rj", kind="invoice.issue")
    found = preview(line)
    assert (found.count.number, found.count.capped, found.looked) == (15, False, 15)
    assert [(part.name, part.number) for part in found.by_kind] == [
        ("order.create", 12),
        ("invoice.issue", 3),
    ]
    assert [(part.name, part.number) for part in found.by_account] == [("filial-sp", 12), ("filial-rj", 3)]
    assert [part.number for part in found.by_error] == [12, 3]
    assert found.by_error[0].label == "Customer […] is not registered."
    assert len(found.sample) == 10
    assert (found.refused, found.warned) == ({}, {})


def test_it_changes_nothing(line: Line) -> None:
    ids = line.dead(range(3))
    preview(line)
    assert set(line.statuses(ids)) == {"dead"}
    assert line.hub.bulk.listed() == []


def test_it_tells_what_would_be_refused_or_would_wait(line: Line) -> None:
    line.handle("price.update", replay_policy="latest_wins")
    line.handle("order.cancel", replay_policy="ask")
    line.handle("stock.move", order="key", on_dead="skip", max_age=3600)
    doubtful, *_ = line.dead(range(4))
    line.dead(["7", "8"], kind="price.update")
    line.dead(["9"], kind="order.cancel")
    line.dead(range(3), kind="stock.move", ordering_key="sku")
    line.dead(range(2), account="filial-rj")
    line.hub.pause_account("filial-rj", actor="ana")
    line.registered = True
    for kind, entity in (("price.update", "7"), ("order.cancel", "9")):
        line.hub.run(line.hub.enqueue(kind, account="filial-sp", entity_id=entity, payload={"new": 1}).id)
    line.hub.enqueue("stock.move", account="filial-sp", entity_id="0", payload={}, ordering_key="sku")
    _set(line.hub, doubtful, reason="in_doubt")
    line.hub.clock.advance(7200)
    found = preview(line)
    assert found.refused == {"in_doubt": 1, "superseded": 1, "stale": 1}
    # The open event of the lane came in later, so it waits itself.
    assert found.warned == {"too_old": 3, "breaker_open": 2}


def test_items_that_wait_behind_an_earlier_event_of_their_lane_are_told(line: Line) -> None:
    line.handle("stock.move", order="key", on_dead="skip")
    line.hub.enqueue("stock.move", account="filial-sp", entity_id="first", payload={}, ordering_key="sku")
    line.hub.clock.advance(1)
    with line.hub.store.write() as connection:
        connection.execute(
            line.hub.store.statement("UPDATE {event} SET next_run_at = {now} + {interval[3600]}")
        )
    dead = line.hub.enqueue("stock.move", account="filial-sp", entity_id="2", payload={}, ordering_key="sku")
    _set(line.hub, dead.id, status="dead", reason="permanent", finished_at=previews.now(line.hub.store))
    assert preview(line).warned == {"blocked": 1}


def test_a_discard_asks_for_none_of_that(line: Line) -> None:
    (doubtful,) = line.dead([1])
    _set(line.hub, doubtful, reason="in_doubt")
    assert line.hub.bulk.preview("discard", EVERYTHING, actor="maria").refused == {}


def test_chosen_events_that_are_gone_or_not_dead_are_told(line: Line) -> None:
    dead, done = line.dead([1, 2])
    line.registered = True
    line.hub.reprocess(done, actor="ana")
    line.hub.run(done)
    found = preview(line, None, ids=[dead, done, 999])
    assert (found.count.number, found.refused) == (2, {"not_dead": 1, "gone": 1})


def test_it_says_when_it_counted_only_a_part(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previews, "LOOK", 5)
    monkeypatch.setattr(previews, "CAP", 7)
    line.dead(range(8))
    found = preview(line)
    assert (found.count.number, found.count.capped, found.looked) == (7, True, 5)
    monkeypatch.setattr(previews, "CAP", 8)
    found = preview(line)
    assert (found.count.number, found.count.capped) == (8, False)


def test_it_counts_all_and_tells_the_sorts_of_the_newest_where_there_are_many(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "LOOK", 5)
    line.dead(range(4), account="filial-rj")
    newest = line.dead(range(4), account="filial-sp")
    same_time = line.hub.get(newest[0]).finished_at
    for event_id in newest:
        _set(line.hub, event_id, finished_at=same_time)
    for flt in (EVERYTHING, EventFilter(account=("filial-rj", "filial-sp"))):
        found = preview(line, flt)
        assert (found.count.number, found.count.capped, found.looked) == (8, False, 5)
        assert [(part.name, part.number) for part in found.by_account] == [("filial-sp", 4), ("filial-rj", 1)]
        assert found.sample_ids[:4] == tuple(newest[::-1])


def test_it_says_so_too_where_rows_must_be_checked(line: Line) -> None:
    filling.dead(line.hub.store, SCAN_LIMIT, attempts=6, finished_at=utc_now() - timedelta(hours=1))
    nothing = preview(line, EventFilter(attempts="3"))
    assert (nothing.count.number, nothing.count.capped) == (0, True)


def test_all_are_counted_and_grouped_where_that_is_asked_for(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "LOOK", 5)
    monkeypatch.setattr(previews, "CAP", 7)
    line.dead(range(4), account="filial-rj")
    line.dead(range(5), account="filial-sp")
    for flt in (EVERYTHING, EventFilter(account=("filial-rj", "filial-sp")), EventFilter(q="not registered")):
        found = preview(line, flt, exact=True)
        assert (found.count.number, found.count.capped, found.looked) == (9, False, 9)
        assert [(part.name, part.number) for part in found.by_account] == [("filial-sp", 5), ("filial-rj", 4)]
        assert [part.number for part in found.by_error] == [9]
        assert len(found.sample) == 9


def test_rows_that_must_be_checked_are_counted_to_the_end_too(line: Line) -> None:
    store = line.hub.store
    filling.dead(store, SCAN_LIMIT, attempts=6, finished_at=utc_now() - timedelta(hours=1))
    filling.dead(store, 3, attempts=3, finished_at=utc_now() - timedelta(hours=2))
    found = preview(line, EventFilter(attempts="3"), exact=True)
    assert (found.count.number, found.count.capped) == (3, False)


def test_counting_to_the_end_is_given_up_after_a_while(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previews, "PATIENCE", 0.001)
    filling.dead(line.hub.store, 3_000)
    with pytest.raises(PayloadRefused, match="narrow the filter") as refused:
        preview(line, exact=True)
    assert refused.value.cause == "too_many"
    assert preview(line).count.number == 3_000, "the connection is as it was"


def test_a_preview_that_is_gone_on_with_keeps_its_moment(line: Line) -> None:
    line.dead(range(3))
    first = preview(line)
    line.hub.clock.advance(1)
    line.dead(["late"])
    again = preview(line, None, exact=True, selection_token=first.selection_token)
    assert again.count.number == 3
    run = line.freeze(line.hub.bulk.start("reprocess", actor="maria", selection_token=again.selection_token))
    assert (run.total, run.expected, run.drift) == (3, 3, 0)
    with pytest.raises(PayloadRefused, match="made for something else"):
        line.hub.bulk.preview("discard", actor="maria", selection_token=first.selection_token)


def test_a_run_begins_only_over_as_many_as_the_caller_expects(line: Line) -> None:
    ids = line.dead(range(3))
    for wrong in (2, 4, 0):
        for which in ({"flt": EVERYTHING}, {"ids": ids}):
            with pytest.raises(ActionNotAllowed, match=f"there are 3 events, not {wrong}; nothing was begun"):
                line.hub.bulk.start("reprocess", actor="maria", expected_count=wrong, **which)
    for nonsense in (-1, True, "3"):
        with pytest.raises(PayloadRefused, match="expected_count"):
            line.hub.bulk.start("reprocess", EVERYTHING, actor="maria", expected_count=nonsense)  # type: ignore[arg-type]
    assert line.hub.bulk.listed() == []
    run = line.freeze(line.hub.bulk.start("reprocess", EVERYTHING, actor="maria", expected_count=3))
    assert (run.expected, run.drift, run.state) == (3, 0, "running")


def test_what_changes_between_the_start_and_the_frozen_selection_waits_for_a_person(line: Line) -> None:
    ids = line.dead(range(3))
    run_id = line.hub.bulk.start("reprocess", EVERYTHING, actor="maria", expected_count=3)
    line.hub.discard(ids[0], actor="ana", note="no")
    run = line.freeze(run_id)
    assert (run.state, run.cause, run.drift) == ("paused", "drift", -1)


def test_an_expected_number_is_that_of_the_token_and_sent_again_it_begins_nothing(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    line.dead(range(3))
    start = partial(line.hub.bulk.start, "reprocess", actor="maria")
    token = preview(line).selection_token
    with pytest.raises(ActionNotAllowed, match="there are 3 events, not 2"):
        start(selection_token=token, expected_count=2)
    monkeypatch.setattr(previews, "LOOK", 1)
    monkeypatch.setattr(previews, "CAP", 2)
    uncounted = preview(line).selection_token
    for one in (token, uncounted):
        run_id = start(selection_token=one, expected_count=3)
        if one == token:
            line.hub.bulk.cancel(run_id, actor="maria")
            continue
        line.registered = True
        line.finish(run_id)
        assert start(selection_token=one, expected_count=3) == run_id, "none of them is dead any more"


def test_where_there_are_too_many_to_count_the_expected_number_is_looked_at_later(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gives_up(*_: object) -> int:
        raise TookTooLong

    monkeypatch.setattr(previews, "number_of", gives_up)
    line.dead(range(3))
    run = line.freeze(line.hub.bulk.start("reprocess", EVERYTHING, actor="maria", expected_count=4))
    assert (run.state, run.cause, run.drift) == ("paused", "drift", -1)


def test_accounts_of_others_are_not_counted(line: Line) -> None:
    line.dead(range(3), account="filial-sp")
    foreign = line.dead(range(3), account="filial-rj")
    found = preview(line, accounts=("filial-sp",))
    assert [(part.name, part.number) for part in found.by_account] == [("filial-sp", 3)]
    assert preview(line, None, ids=foreign, accounts=("filial-sp",)).sample == ()


# The token


def test_start_with_a_token_concerns_what_was_there_at_the_preview(line: Line) -> None:
    line.dead(range(3))
    token = preview(line).selection_token
    line.hub.clock.advance(1)
    line.dead(["late"])
    run_id = line.hub.bulk.start("reprocess", actor="maria", selection_token=token)
    run = line.freeze(run_id)
    assert (run.total, run.expected, run.drift, run.late.number) == (3, 3, 0, 1)


def test_a_token_that_is_sent_twice_begins_one_run(line: Line) -> None:
    line.dead(range(3))
    token = preview(line).selection_token
    first = line.hub.bulk.start("reprocess", EVERYTHING, actor="maria", selection_token=token)
    assert line.hub.bulk.start("reprocess", EVERYTHING, actor="maria", selection_token=token) == first
    assert [run.id for run in line.hub.bulk.listed()] == [first]
    assert [row["action"] for row in line.acts(first)] == ["bulk_start"]


def test_a_token_that_many_send_at_once_begins_one_run(line: Line) -> None:
    line.dead(range(3))
    token = preview(line).selection_token

    def send(_: int) -> int:
        return line.hub.bulk.start("reprocess", actor="maria", selection_token=token)

    with ThreadPoolExecutor(8) as senders:
        assert len(set(senders.map(send, range(16)))) == 1
    assert len(line.hub.bulk.listed()) == 1


def test_two_previews_of_one_selection_begin_two_runs(line: Line) -> None:
    line.dead(range(3))
    tokens = [preview(line).selection_token for _ in range(2)]
    ids = {line.hub.bulk.start("reprocess", actor="maria", selection_token=token) for token in tokens}
    assert len(ids) == 2


@pytest.mark.parametrize(
    ("action", "actor", "flt", "sentence"),
    [
        ("reprocess", "ana", None, "handed to somebody else"),
        ("discard", "maria", None, "made for something else"),
        ("reprocess", "maria", EventFilter(kind=("other",)), "made for something else"),
    ],
)
def test_a_token_is_good_for_its_person_act_and_filter_only(
    line: Line, action: str, actor: str, flt: EventFilter | None, sentence: str
) -> None:
    line.dead(range(3))
    token = preview(line).selection_token
    with pytest.raises(PayloadRefused, match=sentence):
        line.hub.bulk.start(action, flt, actor=actor, note="x", selection_token=token)


def test_a_token_is_good_for_an_hour(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    line.dead([1])
    token = preview(line).selection_token
    monkeypatch.setattr(selection_tokens, "VALID", -1)
    with pytest.raises(PayloadRefused, match="older than an hour"):
        line.hub.bulk.start("reprocess", actor="maria", selection_token=token)


def test_relative_times_mean_the_moment_of_the_preview(line: Line) -> None:
    line.dead(range(3))
    flt = EventFilter(since="1h")
    token = preview(line, flt).selection_token
    line.hub.clock.advance(3000)
    run_id = line.hub.bulk.start("reprocess", flt, actor="maria", selection_token=token)
    line.hub.clock.advance(3000)
    assert line.freeze(run_id).total == 3


def test_run_whose_selection_is_not_what_was_shown_waits_for_a_person(line: Line) -> None:
    ids = line.dead(range(30))
    token = preview(line).selection_token
    line.hub.discard(ids[0], actor="ana", note="no")
    run_id = line.hub.bulk.start("reprocess", actor="maria", note="fixed", selection_token=token)
    run = line.freeze(run_id)
    assert (run.state, run.cause, run.drift) == ("paused", "drift", -1)
    line.turn()
    assert line.statuses(ids).count("dead") == 29
    line.hub.bulk.resume(run_id, actor="maria")
    line.registered = True
    assert line.finish(run_id).succeeded == 29


def test_hub_without_a_secret_signs_nothing(hub: Hub) -> None:
    assert hub.bulk.preview("reprocess", EVERYTHING, actor="cli:maria").selection_token is None


def _set(hub: Hub, event_id: int, **values: object) -> None:
    table = hub.store.tables.event
    with hub.store.write() as connection:
        connection.execute(table.update().where(table.c.id == event_id).values(**values))
