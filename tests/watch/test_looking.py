"""Do the steps that look see what really happens: events, doors and workers, as pages and frames will tell of them?"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from dlq_console import Event, Hub, Policy
from dlq_console.health import spelling
from dlq_console.health.spelling import ACCOUNTS, WORKERS
from dlq_console.health.values import Health, Why, Word
from dlq_console.settings import read_settings
from dlq_console.store import door_acts, doors, presence, snapshots
from dlq_console.store.scope_names import account_scope, provider_scope
from dlq_console.store.store import Store
from dlq_console.watch import looking
from tests.store.making import rows


@pytest.fixture
def hub(database_url: str) -> Iterator[Hub]:
    made = Hub(read_settings(database_url=database_url, broker_url=""))
    made.handler("noop", policy=Policy(max_attempts=2, base_delay=10, jitter=0))(_nothing)
    made.handler("refused", policy=Policy(max_attempts=2, base_delay=10, jitter=0))(_refuse)
    made.publish_kinds("test")
    yield made
    made.close()


def _nothing(_event: Event) -> None:
    return


def _refuse(_event: Event) -> None:
    raise ValueError("refused")


def enqueue(hub: Hub, number: int, *, kind: str = "noop", account: str = "filial-sp") -> None:
    for entity in range(number):
        hub.enqueue(kind, account=account, entity_id=str(entity), payload={})


def seen(store: Store) -> Health:
    accounts, workers = snapshots.look(store, ACCOUNTS), snapshots.look(store, WORKERS)
    return spelling.read(accounts.values, workers.values, as_of=accounts.taken_at, age=accounts.age)


def kept(store: Store) -> dict[str, Any]:
    return dict(snapshots.look(store, ACCOUNTS).values)


def test_what_was_run_is_seen_in_the_minutes_and_in_the_health(hub: Hub) -> None:
    presence.announce(hub.store, "worker", mode="table", slots=4)
    enqueue(hub, 3)
    enqueue(hub, 2, kind="refused", account="filial-rj")
    hub.run_due()
    looking.count(hub)
    looking.roll_up(hub)
    hub.store.clock.advance(60)
    presence.beat(hub.store, "worker")
    looking.count(hub)
    looking.roll_up(hub)
    looking.look(hub)
    bad, good = seen(hub.store).accounts
    assert (bad.account, bad.word, bad.why, bad.figure) == (
        "filial-rj",
        Word.DEGRADED,
        Why.DEAD_LETTERS,
        2,
    )
    assert (good.account, good.word, good.why, good.slots) == ("filial-sp", Word.OK, Why.FINE, 3)
    assert (good.flow.done, good.flow.arrivals, good.flow.completions) == (3, 0.6, 0.6)
    assert good.flow.lag_p95 is not None
    (worker,) = seen(hub.store).workers
    assert (worker.worker, worker.alive, worker.slots) == ("worker", True, 4)


def test_a_pause_is_seen_at_the_next_look_and_its_end_too(hub: Hub) -> None:
    enqueue(hub, 1)
    looking.count(hub)
    hub.pause_account("filial-sp", actor="maria", note="stock count")
    looking.look(hub)
    (account,) = seen(hub.store).accounts
    assert (account.word, account.why) == (Word.BLOCKED, Why.PAUSE)
    assert account.closing is not None
    assert (account.closing.by, account.closing.reason, account.closing.until) == (
        "maria",
        "stock count",
        None,
    )
    assert account.drain.bound == "door"
    hub.resume_account("filial-sp", actor="maria")
    looking.look(hub)
    (account,) = seen(hub.store).accounts
    assert (account.word, account.closing) == (Word.OK, None)


@pytest.mark.parametrize(
    ("act", "word", "why"),
    [
        (lambda hub: hub.pause_account("filial-sp", actor="maria"), Word.BLOCKED, Why.PAUSE),
        (lambda hub: hub.force_breaker("filial-sp", "open", actor="maria"), Word.DOWN, Why.CIRCUIT),
    ],
    ids=["pause", "circuit"],
)
def test_an_act_of_a_person_is_judged_in_the_same_act_and_so_is_its_end(
    hub: Hub, act: Callable[[Hub], None], word: Word, why: Why
) -> None:
    enqueue(hub, 1)
    enqueue(hub, 1, account="filial-rj")
    looking.count(hub)
    looking.look(hub)
    before = kept(hub.store)
    hub.store.clock.advance(5)
    act(hub)
    health = seen(hub.store)
    assert [(one.account, one.word, one.why) for one in health.accounts] == [
        ("filial-sp", word, why),
        ("filial-rj", Word.OK, Why.FINE),
    ]
    assert kept(hub.store)["filial-rj"] == before["filial-rj"]
    assert health.age >= 5, "nobody has looked since"
    (hub.resume_account if why is Why.PAUSE else hub.reset_breaker)("filial-sp", actor="maria")
    assert {one.word for one in seen(hub.store).accounts} == {Word.OK}


def test_an_act_upon_a_provider_is_judged_for_every_account(hub: Hub) -> None:
    hub.handler("omie", policy=Policy(provider="omie"))(_nothing)
    hub.publish_kinds("test")
    for account in ("filial-sp", "filial-rj"):
        enqueue(hub, 1, kind="omie", account=account)
    with hub.store.write() as connection:
        doors.change(hub.store, connection, provider_scope("omie"), door_acts.asks_to_wait(600, "enough"))
    looking.count(hub)
    looking.look(hub)
    assert {one.word for one in seen(hub.store).accounts} == {Word.BLOCKED}
    hub.open_provider("omie", actor="maria")
    assert {one.word for one in seen(hub.store).accounts} == {Word.OK}


def test_before_anybody_has_looked_an_act_judges_nothing(hub: Hub) -> None:
    hub.pause_account("filial-sp", actor="maria")
    assert kept(hub.store) == {}
    assert seen(hub.store).as_of is None


def test_a_look_that_began_before_an_act_does_not_undo_what_that_told(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    enqueue(hub, 1)
    looking.count(hub)
    looking.look(hub)
    judge = looking.judged

    def slowly(store: Store, former: Mapping[str, Any], **more: Any) -> Health:
        found = judge(store, former, **more)
        monkeypatch.setattr(looking, "judged", judge)
        hub.pause_account("filial-sp", actor="maria")
        hub.pause_account("filial-rj", actor="maria")
        return found

    monkeypatch.setattr(looking, "judged", slowly)
    looking.look(hub)
    assert {one.account: one.why for one in seen(hub.store).accounts} == {
        "filial-sp": Why.PAUSE,
        "filial-rj": Why.PAUSE,
    }
    looking.look(hub)
    assert len(kept(hub.store)) == 2


def test_an_account_that_has_nothing_to_do_any_more_is_known_for_a_day_after_it_was_not_well(
    hub: Hub,
) -> None:
    hub.pause_account("filial-sp", actor="maria")
    hub.pause_account("filial-rj", actor="maria")
    looking.count(hub)
    looking.look(hub)
    hub.resume_account("filial-sp", actor="maria")
    hub.store.clock.advance(23 * 3_600)
    looking.count(hub)
    looking.look(hub)
    (blocked, well) = seen(hub.store).accounts
    assert (blocked.account, well.account, well.word) == ("filial-rj", "filial-sp", Word.OK)
    assert [word for word, _ in well.left] == [Word.BLOCKED]
    hub.store.clock.advance(2 * 3_600)
    looking.count(hub)
    looking.look(hub)
    assert [one.account for one in seen(hub.store).accounts] == ["filial-rj"]


def test_a_provider_that_closed_itself_blocks_the_accounts_whose_next_event_goes_there(hub: Hub) -> None:
    hub.handler("omie", policy=Policy(provider="omie"))(_nothing)
    hub.publish_kinds("test")
    enqueue(hub, 1, kind="omie")
    enqueue(hub, 1, account="filial-rj")
    with hub.store.write() as connection:
        closed = door_acts.asks_to_wait(600, "names another of its accounts")
        doors.change(hub.store, connection, provider_scope("omie"), closed)
    looking.count(hub)
    looking.look(hub)
    words = {one.account: (one.word, one.why) for one in seen(hub.store).accounts}
    assert words == {"filial-sp": (Word.BLOCKED, Why.PROVIDER), "filial-rj": (Word.OK, Why.FINE)}
    assert "names another" not in json.dumps(kept(hub.store))


def test_before_the_first_count_nothing_is_ok(hub: Hub) -> None:
    enqueue(hub, 1)
    looking.count(hub)
    hub.store.clock.advance(61)
    looking.look(hub)
    (account,) = seen(hub.store).accounts
    assert (account.word, account.why) == (Word.UNKNOWN, Why.NOT_SEEN)


def test_time_alone_changes_no_row(hub: Hub) -> None:
    presence.announce(hub.store, "worker", mode="table", slots=4)
    enqueue(hub, 2)
    hub.pause_account("filial-rj", actor="maria")
    looking.count(hub)
    looking.look(hub)
    before = rows(hub.store, "snapshot")
    for _ in range(3):
        hub.store.clock.advance(2)
        assert looking.look(hub) == 0
    changed = [
        (one["reading"], one["name"])
        for one, former in zip(rows(hub.store, "snapshot"), before, strict=True)
        if one != former
    ]
    assert changed == [(ACCOUNTS, ""), (WORKERS, "")]


def test_what_another_version_wrote_stops_nothing(hub: Hub) -> None:
    enqueue(hub, 1)
    looking.count(hub)
    snapshots.keep(hub.store, ACCOUNTS, {"filial-sp": {"word": "splendid"}})
    assert looking.look(hub) == 1
    assert seen(hub.store).accounts[0].word is Word.OK


def test_figures_take_turns_and_words_do_not_wait(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "MOST_FIGURES", 1)
    names = ["filial-a", "filial-b", "filial-c"]
    for name in names:
        enqueue(hub, 1, account=name)
    looking.count(hub)
    looking.look(hub)
    before = kept(hub.store)
    for name in names:
        enqueue(hub, 1, kind="refused", account=name)
    with hub.store.write() as connection:
        closed = door_acts.asks_to_wait(600, "enough")
        doors.change(hub.store, connection, account_scope("filial-c"), closed)
    looking.count(hub)
    assert looking.look(hub) == 2, "one whose figures changed, and the one that was blocked"
    assert kept(hub.store)["filial-c"] != before["filial-c"]
    assert looking.look(hub) == 1
    assert looking.look(hub) == 0
    assert all(kept(hub.store)[name] != before[name] for name in names)


def test_what_is_kept_is_small(hub: Hub) -> None:
    enqueue(hub, 1)
    looking.count(hub)
    looking.look(hub)
    assert len(json.dumps(kept(hub.store)["filial-sp"])) < 400
