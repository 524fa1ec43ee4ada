"""Claims: one worker per event, fair between accounts, never through a closed door, never beyond a limit."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import event as listening
from sqlalchemy import text

from dlq_console.clock import utc_now
from dlq_console.store import claims, kinds, scopes, transitions
from dlq_console.store.claim_sql import BULK, LIVE, RETRY
from dlq_console.store.claims import ReadyAccount
from dlq_console.store.events import Event
from dlq_console.store.kinds import PublishedKind
from dlq_console.store.scope_names import ScopeType, method_name
from dlq_console.store.states import Status
from dlq_console.store.store import Store
from tests.services.process import StartChild
from tests.store import closing
from tests.store.making import (
    WORKER,
    add,
    add_in,
    add_many,
    announce,
    claimed,
    end_as,
    retry_later,
    row,
    rows,
    set_values,
)

A_WEEK = 604_800


def _claim(store: Store, limit: int = 1, **values: Any) -> list[Event]:
    return claims.claim_any(store, worker=WORKER, limit=limit, **values)


def _accounts(events: list[Event]) -> Counter[str]:
    return Counter(event.account for event in events)


def _close(store: Store, type_: ScopeType, name: str, seconds: float = 60) -> None:
    with store.write() as connection:
        closing.close(store, connection, type_, name, seconds, "asked to wait")


def _publish(store: Store, kind: str = "order.create", **values: Any) -> None:
    fields: dict[str, Any] = {"max_attempts": 6, "timeout": 60.0, "provider": None, "policy": {}}
    kinds.publish(store, [PublishedKind(kind, **(fields | values))], WORKER)


@contextmanager
def _stores(url: str, number: int) -> Iterator[list[Store]]:
    stores = [Store(url) for _ in range(number)]
    yield stores
    for store in stores:
        store.engines.dispose()


# What a claim does to the event


def test_a_claim_counts_the_attempt_raises_the_epoch_and_sets_the_lease(store: Store) -> None:
    id_ = add(store).id
    set_values(store, id_, dispatched_at=utc_now(), dispatch_count=2)
    [event] = _claim(store)
    kept = row(store, id_)
    assert event.id == id_
    assert (event.status, event.attempts, event.total_attempts, event.lease_epoch) == ("running", 1, 1, 1)
    assert event.lease_owner == WORKER
    assert event.started_at == event.updated_at == kept["started_at"]
    assert kept["lease_until"] - kept["started_at"] == timedelta(seconds=30)
    assert (kept["dispatched_at"], kept["dispatch_count"]) == (None, 0)


def test_what_a_claim_returns_is_what_the_row_says(store: Store) -> None:
    add(store, payload={"ünï": [1, 2.5, None]}, version="7", origin="shop")
    [event] = _claim(store)
    kept = row(store, event.id)
    same = {name: getattr(event, name) for name in Event.__dataclass_fields__ if name in kept}
    assert same == {name: kept[name] for name in same} | {"payload": {"ünï": [1, 2.5, None]}}


@pytest.mark.parametrize(("timeout", "lease"), [(60, 20), (10, 15), (15, 20), (3600, 20)])
def test_a_lease_is_never_longer_than_asked_nor_than_the_time_limit_and_five_seconds(
    store: Store, timeout: float, lease: float
) -> None:
    _publish(store, timeout=timeout)
    for event in (claimed(store, add(store, 1).id, lease_seconds=20), *_one_more(store)):
        kept = row(store, event.id)
        assert kept["lease_until"] - kept["started_at"] == timedelta(seconds=lease)


def _one_more(store: Store) -> list[Event]:
    add(store, 2)
    return _claim(store, lease_seconds=20)


def test_a_fraction_of_a_second_of_a_time_limit_counts(store: Store) -> None:
    _publish(store, timeout=0.25)
    kept = row(store, claimed(store, add(store).id).id)
    assert kept["lease_until"] - kept["started_at"] == timedelta(seconds=5.25)


def test_the_most_attempts_are_those_of_the_event_then_of_the_kind_then_six(store: Store) -> None:
    own = add(store, 1, kind="known", max_attempts=2).id
    known = add(store, 2, kind="known").id
    unknown = add(store, 3, kind="unknown").id
    _publish(store, "known", max_attempts=4)
    assert [claimed(store, id_).max_attempts for id_ in (own, known, unknown)] == [2, 4, 6]
    assert [kept["max_attempts"] for kept in rows(store)] == [2, 4, 6]


# What is claimed


@pytest.mark.parametrize("status", [status for status in Status if status not in ("pending", "failed")])
def test_only_what_waits_to_be_run_is_claimed(store: Store, status: Status) -> None:
    id_ = add_in(store, status)
    store.clock.advance(3600)
    before = row(store, id_)
    assert _claim(store) == []
    assert claims.claim_one(store, id_, worker=WORKER) is None
    assert row(store, id_) == before
    assert not claims.is_ready(store, id_)


def test_what_is_not_due_is_not_claimed(store: Store) -> None:
    id_ = add(store, run_at=utc_now() + timedelta(hours=1)).id
    assert _claim(store) == []
    assert claims.claim_one(store, id_, worker=WORKER) is None
    assert claims.is_ready(store, id_)
    store.clock.advance(3600)
    assert [event.id for event in _claim(store)] == [id_]


@pytest.mark.parametrize("values", [{"max_wait": 60}, {"expires_at": utc_now() + timedelta(seconds=60)}])
def test_what_is_given_up_is_not_claimed_even_before_it_is_buried(
    store: Store, values: dict[str, Any]
) -> None:
    late = add(store, 1, **values).id
    good = add(store, 2).id
    store.clock.advance(61)
    assert claims.claim_one(store, late, worker=WORKER) is None
    assert [event.id for event in _claim(store, 5)] == [good]


def test_a_failed_event_is_claimed_again_when_its_wait_is_over(store: Store) -> None:
    id_ = add_in(store, Status.FAILED)
    store.clock.advance(29)
    assert _claim(store) == []
    store.clock.advance(2)
    [event] = _claim(store)
    assert (event.id, event.attempts, event.lease_epoch) == (id_, 2, 2)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_worker_without_a_free_slot_claims_nothing(store: Store, limit: int) -> None:
    add(store)
    assert _claim(store, limit) == []


@pytest.mark.parametrize("event_id", [0, -1, 7, 2**63, 2**70])
def test_an_event_that_does_not_exist_is_not_claimed(store: Store, event_id: int) -> None:
    assert claims.claim_one(store, event_id, worker=WORKER) is None


# Order


def test_live_work_comes_before_retries_and_those_before_bulk_work(store: Store) -> None:
    bulk, retry, live = (made.id for made in add_many(store, range(3)))
    set_values(store, bulk, priority=BULK)
    set_values(store, retry, priority=RETRY)
    set_values(store, live, priority=LIVE)
    assert [_claim(store)[0].id for _ in range(3)] == [live, retry, bulk]


def test_a_failed_event_waits_behind_live_work(store: Store) -> None:
    failed = add_in(store, Status.FAILED, 1)
    store.clock.advance(60)
    live = add(store, 2).id
    assert [_claim(store)[0].id for _ in range(2)] == [live, failed]


def test_what_has_been_due_longest_comes_first(store: Store) -> None:
    now = utc_now()
    ids = [add(store, n, run_at=now + timedelta(seconds=s)).id for n, s in enumerate((30, 10, 20))]
    store.clock.advance(60)
    assert [_claim(store)[0].id for _ in range(3)] == [ids[1], ids[2], ids[0]]


def test_one_claim_returns_its_events_in_the_order_in_which_they_were_due(store: Store) -> None:
    now = utc_now()
    ids = [add(store, n, run_at=now + timedelta(seconds=s)).id for n, s in enumerate((30, 10, 20))]
    store.clock.advance(60)
    assert [event.id for event in _claim(store, 3)] == [ids[1], ids[2], ids[0]]


# Fair between accounts


def test_an_account_with_500_due_events_does_not_delay_another(store: Store) -> None:
    add_many(store, range(500), account="busy")
    add(store, account="quiet")
    first = _accounts(_claim(store, 8))
    assert first["quiet"] == 1


def test_slots_are_spread_evenly_over_the_accounts(store: Store) -> None:
    for account in "abcd":
        add_many(store, range(10), account=account)
    assert _accounts(_claim(store, 8)) == Counter(a=2, b=2, c=2, d=2)


def test_the_account_with_the_fewest_running_events_comes_first(store: Store) -> None:
    for account, running in (("a", 3), ("b", 0), ("c", 1)):
        for made in add_many(store, range(4), account=account)[:running]:
            claimed(store, made.id)
    ready = claims.ready_accounts(store)
    assert [(one.account, one.running) for one in ready] == [("b", 0), ("c", 1), ("a", 3)]
    assert [_claim(store)[0].account for _ in range(1)] == ["b"]


def test_equal_accounts_take_turns(store: Store) -> None:
    for account in "ab":
        add_many(store, range(2), account=account)
    first = {claims.ready_accounts(store)[0].account for _ in range(100)}
    assert first == {"a", "b"}


@pytest.mark.parametrize("only", [None, list("gfedcba")], ids=["all", "some"])
def test_a_bounded_look_goes_round_all_ready_accounts(store: Store, only: list[str] | None) -> None:
    for account in "abcdefg":
        add(store, account=account)
    add(store, account="h", run_at=utc_now() + timedelta(hours=1))
    rounds = claims.ReadyRound(store, only, most=3)
    looks = [sorted(ready.account for ready in rounds.look()) for _ in range(4)]
    assert looks[:3] == [list("abc"), list("def"), list("abg")]
    assert len(set(looks[3])) == 3
    assert [ready.account for ready in claims.ReadyRound(store, only, most=20).look()] != []
    assert {ready.account for ready in claims.ready_accounts(store, only)} == set("abcdefg")


def test_a_worker_serves_the_accounts_it_was_given_and_no_other(store: Store) -> None:
    for account in ("a", "b", "c"):
        add(store, account=account)
    assert _accounts(_claim(store, 5, only=["a", "c", "d"])) == Counter(a=1, c=1)
    assert _claim(store, 5, only=[]) == []


# The share of an account


@pytest.mark.parametrize(("slots", "most"), [(8, 6), (4, 3), (3, 2), (2, 1), (1, 1)])
def test_an_account_without_a_limit_takes_three_quarters_of_the_slots_and_at_least_one(
    store: Store, slots: int, most: int
) -> None:
    announce(store, slots)
    add_many(store, range(20))
    assert len(_claim(store, 20)) == most
    assert _claim(store, 20) == []


def test_the_slots_of_all_living_workers_count(store: Store) -> None:
    announce(store, 4, "one")
    announce(store, 4, "two")
    add_many(store, range(20))
    assert len(_claim(store, 20)) == 6
    assert claims.ready_accounts(store)[0].slots == 8


def test_the_slots_of_a_silent_worker_do_not_count(store: Store) -> None:
    announce(store, 8, "gone")
    store.clock.advance(46)
    announce(store, 4, "alive")
    add_many(store, range(20))
    assert len(_claim(store, 20)) == 3


def test_without_any_announced_worker_there_is_no_share(store: Store) -> None:
    add_many(store, range(20))
    assert len(_claim(store, 20)) == 20


def test_claiming_by_id_keeps_to_the_share(store: Store) -> None:
    first, second = (made.id for made in add_many(store, range(2)))
    assert claims.claim_one(store, first, worker=WORKER, slots=1) is not None
    assert claims.claim_one(store, second, worker=WORKER, slots=1) is None
    assert claims.claim_one(store, second, worker=WORKER, slots=4) is not None


# The limit of an account


def test_an_account_runs_no_more_than_its_limit(store: Store) -> None:
    announce(store, 8)
    scopes.limit_account(store, "filial-sp", 2)
    ids = [made.id for made in add_many(store, range(5))]
    running = _claim(store, 5)
    assert len(running) == 2
    assert claims.claim_one(store, ids[-1], worker=WORKER) is None
    transitions.end(store, running[0], transitions.completed(None))
    assert len(_claim(store, 5)) == 1


def test_a_limit_may_be_higher_than_the_share(store: Store) -> None:
    announce(store, 4)
    scopes.limit_account(store, "filial-sp", 10)
    add_many(store, range(20))
    assert len(_claim(store, 20)) == 10


def test_a_limit_of_none_goes_back_to_the_share(store: Store) -> None:
    announce(store, 4)
    scopes.limit_account(store, "filial-sp", 1)
    scopes.limit_account(store, "filial-sp", None)
    add_many(store, range(20))
    assert len(_claim(store, 20)) == 3


def test_a_limit_of_zero_stops_the_account(store: Store) -> None:
    scopes.limit_account(store, "filial-sp", 0)
    add(store)
    add(store, account="another")
    assert _accounts(_claim(store, 5)) == Counter(another=1)


def test_a_limit_set_between_the_two_looks_of_a_claim_is_kept(store: Store) -> None:
    add_many(store, range(5))
    looked = claims.ready_accounts(store)
    scopes.limit_account(store, "filial-sp", 2)
    # Not locked since the first look, so PostgreSQL leaves the account for the next one.
    first = claims.claim(store, looked, worker=WORKER, limit=5)
    assert len(first) == (2 if store.sqlite else 0)
    assert len(first) + len(_claim(store, 5)) == 2


def test_the_limit_is_never_overstepped_by_eight_claimers(store: Store, database_url: str) -> None:
    scopes.limit_account(store, "limited", 3)
    by_id = [made.id for made in add_many(store, range(120), account="limited")]
    add_many(store, range(40), account="free")
    together = Barrier(8)
    overstepped: list[int] = []

    def work(own: Store, place: int) -> None:
        together.wait(10)
        for turn in range(40):
            if place % 2:
                found = claims.claim_one(own, by_id[(turn * 8 + place) % 120], worker=f"w{place}")
                events = [found] if found else []
            else:
                events = claims.claim_any(own, worker=f"w{place}", limit=5)
            with own.read() as connection:
                running = connection.execute(
                    text("SELECT count(*) FROM dlq_event WHERE status = 'running' AND account = 'limited'")
                ).scalar_one()
            if running > 3:
                overstepped.append(running)
            for event in events:
                transitions.end(
                    own, event, transitions.released() if turn % 3 else transitions.completed(None)
                )

    with _stores(database_url, 8) as stores, ThreadPoolExecutor(8) as pool:
        list(pool.map(work, stores, range(8)))
    assert overstepped == []
    assert any(kept["status"] == "done" for kept in rows(store) if kept["account"] == "limited")


# Closed doors


def test_nothing_of_a_closed_account_is_claimed_until_it_opens(store: Store) -> None:
    id_ = add(store).id
    add(store, account="another")
    _close(store, "account", "filial-sp", 60)
    assert [one.account for one in claims.ready_accounts(store)] == ["another"]
    assert claims.claim_one(store, id_, worker=WORKER) is None
    assert _accounts(_claim(store, 5)) == Counter(another=1)
    store.clock.advance(61)
    assert [event.id for event in _claim(store, 5)] == [id_]


def test_an_account_that_closes_between_the_two_looks_is_left_alone(store: Store) -> None:
    add(store)
    looked = claims.ready_accounts(store)
    _close(store, "account", "filial-sp")
    assert claims.claim(store, looked, worker=WORKER, limit=5) == []


@pytest.mark.parametrize("account", ["filial-sp", "grupo/filial 100%"])
def test_a_closed_method_stops_that_kind_of_that_account_only(store: Store, account: str) -> None:
    stopped = add(store, 1, kind="order.create", account=account).id
    other_kind = add(store, 2, kind="invoice.create", account=account).id
    other_account = add(store, 3, kind="order.create", account="another").id
    _close(store, "method", method_name(account, "order.create"))
    assert claims.claim_one(store, stopped, worker=WORKER) is None
    assert sorted(event.id for event in _claim(store, 5)) == [other_kind, other_account]


def test_accounts_with_a_slash_in_their_names_do_not_close_each_other(store: Store) -> None:
    add(store, account="a", kind="b/c")
    add(store, account="a/b", kind="c")
    _close(store, "method", method_name("a/b", "c"))
    assert _accounts(_claim(store, 5)) == Counter(a=1)


def test_a_closed_provider_stops_its_kinds_of_every_account(store: Store) -> None:
    _publish(store, "order.create", provider="erp")
    _publish(store, "stock.move", provider="warehouse")
    stopped = add(store, 1, kind="order.create", account="a").id
    add(store, 2, kind="order.create", account="b")
    going = add(store, 3, kind="stock.move", account="a").id
    _close(store, "provider", "erp")
    assert claims.claim_one(store, stopped, worker=WORKER) is None
    assert [event.id for event in _claim(store, 5)] == [going]


# Exactly one


def test_of_eight_threads_exactly_one_runs_each_event(store: Store, database_url: str) -> None:
    ids = [made.id for n in range(4) for made in add_many(store, range(50), account=f"account-{n}")]
    together = Barrier(8)

    def work(own: Store, place: int) -> list[int]:
        taken: list[int] = []
        together.wait(10)
        while events := claims.claim_any(own, worker=f"w{place}", limit=1 + place % 3):
            taken += [event.id for event in events]
            for event in events:
                assert transitions.end(own, event, transitions.completed(None))
        return taken

    with _stores(database_url, 8) as stores, ThreadPoolExecutor(8) as pool:
        taken = [id_ for ids in pool.map(work, stores, range(8)) for id_ in ids]
    # Who finds everything locked by others goes home early; what is left is for the next look.
    taken += [event.id for event in _claim(store, 200)]
    assert sorted(taken) == ids


def test_of_eight_processes_exactly_one_runs_each_event(
    store: Store, database_url: str, start_child: StartChild
) -> None:
    add_many(store, range(300), account="a")
    arguments = [sys.executable, "-m", "tests.store.crowd", database_url, "3", "8", "0", "1"]
    child = start_child(arguments)
    assert child.wait_for_exit(60) == 0, child.output()
    answers = [json.loads(line) for line in child.output().splitlines()]
    assert [answer["errors"] for answer in answers if answer["errors"]] == []
    done = [kept["event_id"] for kept in rows(store, "attempt")]
    assert len(done) == len(set(done)) == sum(answer.get("completed", 0) for answer in answers)
    assert len(done) >= 300


def test_two_workers_with_one_message_run_it_once(store: Store, database_url: str) -> None:
    ids = [made.id for made in add_many(store, range(25))]
    with _stores(database_url, 8) as stores, ThreadPoolExecutor(8) as pool:
        for id_ in ids:
            together = Barrier(8)

            def take(own: Store, id_: int = id_, together: Barrier = together) -> bool:
                together.wait(10)
                return claims.claim_one(own, id_, worker=WORKER) is not None

            assert sorted(pool.map(take, stores)) == [False] * 7 + [True]
    assert {(kept["attempts"], kept["lease_epoch"]) for kept in rows(store)} == {(1, 1)}


def test_the_epoch_grows_with_every_claim(store: Store) -> None:
    id_ = add(store).id
    epochs = []
    for _ in range(4):
        epochs.append(end_as(store, id_, retry_later()).lease_epoch)
        store.clock.advance(31)
    assert all(later > earlier for earlier, later in pairwise(epochs))


# What a claim reads


@pytest.fixture
def crowded(store: Store) -> Store:
    """100,000 due rows of an account that is closed, 20,000 that have ended, and five of another account."""
    columns = (
        "kind, account, entity_id, idempotency_key, payload_hash, effect_key, payload, status, due_at, next_run_at,"
        " give_up_at, created_at, updated_at, finished_at"
    )
    series = (
        "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :number) SELECT i FROM n)"
        if store.sqlite
        else "generate_series(1, CAST(:number AS integer)) AS s(i)"
    )
    fill = f"""
INSERT INTO {{event}} ({columns}) SELECT 'order.create', :account, 'e', :status || :account || i, 'h', 'f', '{{{{}}}}',
    CAST(:status AS text), {{now}}, {{now}}, {{now}} + {{interval[{A_WEEK}]}}, {{now}}, {{now}},
    CASE WHEN CAST(:status AS text) = 'done' THEN {{now}} END
FROM {series}
"""
    with store.write() as connection:
        for account, status, number in (
            ("closed", "pending", 100_000),
            ("open", "done", 20_000),
            ("open", "pending", 5),
        ):
            values = {"account": account, "status": status, "number": number}
            connection.execute(store.statement(fill), values)
    _close(store, "account", "closed", 3600)
    if not store.sqlite:
        with store.single_statement() as connection:
            connection.execute(text("VACUUM ANALYZE"))
    return store


@contextmanager
def _recorded(store: Store) -> Iterator[list[tuple[str, Any]]]:
    """The statements that are executed inside the block, as the driver gets them."""
    seen: list[tuple[str, Any]] = []

    def note(_conn: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if "event" in statement:
            seen.append((statement, parameters))

    engines = {store.engines.write(), store.engines.read()}
    for engine in engines:
        listening.listen(engine, "before_cursor_execute", note)
    yield seen
    for engine in engines:
        listening.remove(engine, "before_cursor_execute", note)


def _plans(store: Store, seen: list[tuple[str, Any]]) -> list[str]:
    explain = "EXPLAIN QUERY PLAN " if store.sqlite else "EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) "
    plans = []
    for statement, parameters in seen:
        with store.engines.write().connect() as connection:
            found = connection.exec_driver_sql(explain + statement, parameters).all()
            plans.append("\n".join(str(line[-1]) for line in found))
            connection.rollback()
    return plans


def test_a_claim_beside_100_000_due_rows_of_a_closed_account_reads_a_handful_of_rows(crowded: Store) -> None:
    announce(crowded, 8)
    with _recorded(crowded) as seen:
        assert _accounts(_claim(crowded, 4)) == Counter(open=4)
        [left] = [kept["id"] for kept in _pending_of(crowded, "open")]
        assert claims.claim_one(crowded, left, worker=WORKER) is not None
    # The same statements find the same rows again.
    with crowded.write() as connection:
        connection.execute(text("UPDATE dlq_event SET status = 'pending' WHERE status = 'running'"))
    plans = _plans(crowded, seen)
    assert len(plans) >= 3
    for plan in plans:
        if crowded.sqlite:
            assert not re.search(r"SCAN (e|r|dlq_event)\b(?! USING (COVERING )?INDEX dlq_event_)", plan), plan
        else:
            assert "Seq Scan on dlq_event" not in plan, plan
            assert _rows_of_events(plan) < 200, plan
    assert any("dlq_event_ready_ix" in plan for plan in plans)
    assert any("dlq_event_running_ix" in plan for plan in plans)


def _pending_of(store: Store, account: str) -> list[Any]:
    with store.read() as connection:
        statement = text("SELECT id FROM dlq_event WHERE status = 'pending' AND account = :account")
        return list(connection.execute(statement, {"account": account}).mappings())


def _rows_of_events(plan: str) -> int:
    """How many rows of the event table a plan has touched, those that were filtered away included."""
    read = 0
    lines = plan.splitlines()
    for place, line in enumerate(lines):
        found = re.search(r"on dlq_event.*actual rows=([\d.]+) loops=(\d+)", line)
        if found is None:
            continue
        depth = len(line) - len(line.lstrip())
        read += round(float(found[1]) * int(found[2]))
        for below in lines[place + 1 :]:
            if "->" in below or len(below) - len(below.lstrip()) < depth:
                break
            removed = re.search(r"Rows Removed by Filter: (\d+)", below)
            read += int(removed[1]) * int(found[2]) if removed else 0
    return read


def test_the_first_look_lists_only_accounts_that_have_something_due(store: Store) -> None:
    announce(store, 4)
    add(store, account="due")
    add(store, account="later", run_at=utc_now() + timedelta(hours=1))
    add_in(store, Status.DEAD, account="dead")
    assert claims.ready_accounts(store) == [ReadyAccount("due", None, 0, 4)]


@pytest.mark.parametrize(
    ("ready", "limit", "room"),
    [
        (ReadyAccount("a", None, 1, 8), 6, 5),
        (ReadyAccount("a", None, 9, 8), 6, 0),
        (ReadyAccount("a", 2, 1, 8), 2, 1),
        (ReadyAccount("a", 0, 0, 8), 0, 0),
        (ReadyAccount("a", None, 0, 1), 1, 1),
    ],
)
def test_the_room_of_an_account_is_its_limit_less_what_runs(
    ready: ReadyAccount, limit: int, room: int
) -> None:
    assert (ready.limit, ready.room) == (limit, room)
