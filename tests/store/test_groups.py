"""Groups: dead events of one cause are counted now and then, or at once for a filter, and never account for more."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from dlq_console.clock import utc_now
from dlq_console.store import causes, groups, queries
from dlq_console.store.filters import EventFilter
from dlq_console.store.queries import Count, group_sums
from dlq_console.store.queries.work import work
from dlq_console.store.store import Store
from tests.store.filling import dead, fill, put
from tests.store.making import rows, set_values

A, B = f"f1-{'a' * 32}", f"f1-{'b' * 32}"


def found(store: Store, **flt: str | list[str]) -> queries.Groups:
    return queries.groups(store, EventFilter.parse(flt))


def counts(store: Store, **flt: str | list[str]) -> dict[str, int]:
    return {group.fingerprint: group.count.number for group in found(store, **flt).items}


def test_nothing_is_known_before_anything_was_counted(store: Store) -> None:
    dead(store, 3, fingerprint=A)
    assert found(store) == queries.Groups()


def test_a_group_tells_how_many_since_when_where_and_what(store: Store) -> None:
    start = utc_now() - timedelta(hours=2)
    fill(
        store,
        [
            {
                "status": "dead",
                "fingerprint": A,
                "account": account,
                "at": start + timedelta(minutes=minute),
                "last_error": f"Customer [{minute}] is unknown.",
                "error_type": "PermanentError",
                "verdict": "permanent",
            }
            for minute, account in enumerate(["filial-sp", "filial-sp", "filial-rj"])
        ],
    )
    dead(store, 1, fingerprint=B)
    dead(store, 5, fingerprint=None)
    assert groups.sample(store) == 3
    answer = found(store)
    first, second = answer.items
    assert (first.fingerprint, first.count, first.accounts, first.account) == (A, Count(3), 2, None)
    assert (first.kind, first.error_type, first.verdict) == ("order.create", "PermanentError", "permanent")
    assert (first.sample, first.cause) == ("Customer [2] is unknown.", "Customer […] is unknown.")
    assert (first.first_seen_at, first.last_seen_at) == (start, start + timedelta(minutes=2))
    assert first.share == 0.75
    assert (second.fingerprint, second.count, second.account) == (B, Count(1), "filial-sp")
    assert (answer.number, answer.total, answer.complete) == (2, Count(4), True)
    assert answer.sampled_at is not None
    assert abs(answer.sampled_at - utc_now()) < timedelta(minutes=5)


def test_only_a_change_of_a_count_is_a_change(store: Store) -> None:
    dead(store, 2, fingerprint=A)
    assert groups.sample(store) == 1
    before = found(store).sampled_at
    store.clock.advance(15)
    assert groups.sample(store) == 0
    after = found(store).sampled_at
    assert before is not None
    assert after is not None
    assert after > before
    dead(store, 1, fingerprint=A)
    assert groups.sample(store) == 1


def test_a_group_without_a_dead_event_is_gone_and_remembers_when_it_began(store: Store) -> None:
    long_ago = utc_now() - timedelta(days=20)
    (old,) = dead(store, 1, fingerprint=A, at=long_ago)
    groups.sample(store)
    set_values(store, old, status="pending", finished_at=None)
    assert groups.sample(store) == 1
    assert found(store) == queries.Groups()
    dead(store, 1, fingerprint=A)
    groups.sample(store)
    (group,) = found(store).items
    assert group.first_seen_at == long_ago
    assert group.last_seen_at > long_ago


def test_groups_without_a_dead_event_are_forgotten_with_the_events_of_their_time(store: Store) -> None:
    (gone,) = dead(store, 1, fingerprint=A, at=utc_now() - timedelta(days=20))
    dead(store, 1, fingerprint=B, at=utc_now() - timedelta(days=20))
    groups.sample(store)
    set_values(store, gone, status="done")
    groups.sample(store)
    assert groups.forget(store, days=30) == 0
    assert groups.forget(store, days=10) == 1
    assert [row["fingerprint"] for row in rows(store, "error_group")] == [B]


def test_a_person_sees_the_counts_of_their_accounts_alone(store: Store) -> None:
    dead(store, 5, fingerprint=A, account="secret", last_error="Of the secret account.")
    dead(store, 2, fingerprint=A, account="filial-sp", last_error="Of Sao Paulo.")
    dead(store, 1, fingerprint=B, account="secret")
    groups.sample(store)
    for flt in (EventFilter(), EventFilter(q="Of "), EventFilter(account=("secret", "filial-sp"))):
        answer = queries.groups(store, flt, accounts=("filial-sp",))
        (group,) = answer.items
        assert (group.count, group.accounts, group.sample) == (Count(2), 1, "Of Sao Paulo.")
        assert (answer.number, answer.total, group.share) == (1, Count(2), 1.0)
    assert queries.groups(store, EventFilter(), accounts=()) == queries.Groups()
    assert queries.groups(store, EventFilter(q="Of "), accounts=()) == queries.Groups()


def test_a_filter_of_kinds_and_accounts_is_answered_by_what_was_counted(store: Store) -> None:
    dead(store, 2, fingerprint=A, kind="order.create", account="a")
    dead(store, 3, fingerprint=A, kind="order.create", account="b")
    dead(store, 4, fingerprint=B, kind="stock.move", account="b")
    groups.sample(store)
    assert counts(store, account="b") == {B: 4, A: 3}
    assert counts(store, account=["a", "b"], kind="order.create") == {A: 5}
    assert counts(store, group=B) == {B: 4}
    assert counts(store, status="dead", kind="stock.move") == {B: 4}
    assert counts(store, status="done") == {}
    assert found(store, account="b").sampled_at is not None


def test_any_other_filter_is_counted_at_once(store: Store) -> None:
    dead(store, 2, fingerprint=A, last_error="Customer [1] is blocked.", reason="permanent")
    dead(store, 3, fingerprint=B, last_error="No stock.", reason="exhausted")
    assert counts(store, q="blocked") == {A: 2}
    assert counts(store, reason="exhausted") == {B: 3}
    assert counts(store, since="2h") == {B: 3, A: 2}
    assert counts(store, since="2h", group=A) == {A: 2}
    answer = found(store, q="blocked")
    assert (answer.sampled_at, answer.complete, answer.total) == (None, True, Count(2))
    assert answer.items[0].cause == "Customer […] is blocked."


def test_a_count_stops_at_the_cap_and_says_so(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    dead(store, 4, fingerprint=A, account="a")
    dead(store, 2, fingerprint=A, account="b")
    groups.sample(store)
    table = store.tables.error_group
    with store.write() as connection:
        connection.execute(table.update().where(table.c.account == "a").values(dead=groups.CAP + 1))
        causes.add_up(store, connection, first=A, last=A, cap=groups.CAP)
    answer = found(store)
    assert answer.items[0].count == Count(groups.CAP + 2, capped=True)
    assert answer.total == Count(groups.CAP + 2, capped=True)
    assert found(store, account="b").total == Count(2)


def test_the_sums_of_all_accounts_are_those_of_the_accounts_one_by_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Parts of three pairs, so that causes lie in several of them.
    monkeypatch.setattr(groups, "CHUNK", 3)
    monkeypatch.setattr(groups, "_WALKS", {kind: groups._walk(sqlite=kind) for kind in (True, False)})
    names = tuple(f"a-{number}" for number in range(5))
    ids = [
        dead(store, number % 3 + 1, fingerprint=cause, account=name)
        for cause in (A, B)
        for number, name in enumerate(names)
    ]
    groups.sample(store)
    few, many = names, (*names, *(f"x-{number}" for number in range(20)))
    for _ in range(2):
        whole = found(store)
        assert [group.count for group in whole.items] == [Count(9), Count(9)][: len(whole.items)]
        assert queries.groups(store, EventFilter(), accounts=few) == whole
        assert queries.groups(store, EventFilter(), accounts=many) == whole
        for gone in (one for part in ids[:5] for one in part):
            set_values(store, gone, status="done")
        groups.sample(store)
    assert [group.fingerprint for group in found(store).items] == [B]
    assert [row["fingerprint"] for row in rows(store, "error_cause")] == [B]


@pytest.mark.parametrize(
    "accounts", [None, ("filial-rj", "filial-sp"), tuple(f"filial-{n}" for n in ("rj", "sp", *range(20)))]
)
@pytest.mark.parametrize("flt", [{}, {"group": A}, {"since": "1w"}, {"q": "said"}], ids=str)
def test_a_group_shows_what_was_said_last_even_to_an_old_event_that_died_again(
    store: Store, flt: dict[str, str], accounts: tuple[str, ...] | None
) -> None:
    died = utc_now() - timedelta(minutes=10)
    old = {"account": "filial-sp", "kind": "order.create", "last_error": "said last", "at": died}
    new = {
        "account": "filial-rj",
        "kind": "stock.move",
        "last_error": "said before",
        "at": died - timedelta(hours=1),
    }
    again, before = fill(store, [one | {"status": "dead", "fingerprint": A} for one in (old, new)])
    assert again < before
    groups.sample(store)
    (group,) = queries.groups(store, EventFilter.parse(flt), accounts=accounts).items
    assert (group.sample, group.sample_event_id, group.kind) == ("said last", again, "order.create")
    assert (group.count, group.accounts, group.last_seen_at) == (Count(2), 2, died)
    one = queries.group(store, A, accounts=accounts)
    assert one is not None
    assert (one.sample, one.sample_event_id) == ("said last", again)
    assert queries.cause_of(store, A, accounts=accounts) == "said last"
    biggest = queries.dead_letters(store, EventFilter.parse(flt), accounts=accounts).biggest
    assert biggest is not None
    assert biggest.error == "said last"
    put(store, "group_desk", fingerprint=A, assignee="maria", updated_at=died)
    (mine,) = work(store, "maria", accounts=accounts).groups
    assert (mine.cause, mine.kind) == ("said last", "order.create")


@pytest.mark.parametrize("accounts", [None, ("a",), tuple(f"a{number}" for number in range(20))])
def test_sums_of_more_causes_than_are_looked_at_are_those_of_the_biggest(
    store: Store, monkeypatch: pytest.MonkeyPatch, accounts: tuple[str, ...] | None
) -> None:
    account = (accounts or ("a",))[0]
    dead(store, 3, fingerprint=A, account=account)
    dead(store, 1, fingerprint=B, account=account)
    groups.sample(store)
    answer = queries.groups(store, EventFilter(), accounts=accounts)
    assert (answer.number, answer.total, answer.complete) == (2, Count(4), True)
    monkeypatch.setattr(group_sums, "REACH", 1)
    monkeypatch.setattr(group_sums, "REACH_OF_PAIRS", 1)
    answer = queries.groups(store, EventFilter(), accounts=accounts)
    assert [group.fingerprint for group in answer.items] == [A]
    assert (answer.number, answer.total, answer.complete) == (1, Count(3, capped=True), False)


@pytest.mark.parametrize(
    "accounts", [None, ("a",), ("a", "b"), tuple(f"{one}{n}" for one in "ab" for n in ("", *range(9)))]
)
@pytest.mark.parametrize(
    "flt",
    [{}, {"kind": "order.create"}, {"kind": "stock.move"}, {"account": "a"}, {"account": "b"}, {"group": A}],
    ids=str,
)
def test_the_biggest_group_is_the_first_of_all(
    store: Store, flt: dict[str, str], accounts: tuple[str, ...] | None
) -> None:
    died = utc_now() - timedelta(hours=1)
    for number, (fingerprint, account, kind, minutes) in enumerate(
        [
            (A, "a", "order.create", 1),
            (A, "b", "order.create", 2),
            (B, "a", "order.create", 9),
            (f"f1-{'c' * 32}", "b", "stock.move", 3),
            (f"f1-{'d' * 32}", "b", "stock.move", 5),
        ]
    ):
        one = {"status": "dead", "fingerprint": fingerprint, "account": account, "kind": kind}
        fill(store, [one | {"last_error": f"no {number}", "at": died + timedelta(minutes=minutes)}])
    groups.sample(store)
    asked = EventFilter.parse(flt)
    first = next(iter(queries.groups(store, asked, accounts=accounts).items), None)
    alone = queries.biggest_group(store, asked, accounts=accounts)
    assert (alone and replace(alone.group, share=0.0)) == (first and replace(first, share=0.0))


def test_a_group_that_was_counted_has_no_dead_event_where_others_are_asked_for(store: Store) -> None:
    dead(store, 1, fingerprint=A)
    groups.sample(store)
    assert queries.biggest_group(store, EventFilter(status=("done",))) is None
    assert queries.biggest_group(store, EventFilter(), accounts=()) is None


def test_no_more_than_the_cap_is_read_of_one_group(store: Store) -> None:
    dead(store, groups.CAP + 5, fingerprint=A)
    groups.sample(store)
    assert [row["dead"] for row in rows(store, "error_group")] == [groups.CAP + 1]


def test_many_groups_are_counted_in_parts_and_the_next_walk_goes_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = 2 * groups.CHUNK + 20
    names = [f"f1-{one:032d}" for one in range(number)]
    ids = fill(store, [{"status": "dead", "fingerprint": name, "account": "Ä b"} for name in names])
    monkeypatch.setattr(groups, "MOST_CHUNKS", 2)
    groups.sample(store)
    assert len(rows(store, "error_group")) == 2 * groups.CHUNK
    for _ in range(3):
        store.clock.advance(15)
        groups.sample(store)
    assert {row["fingerprint"]: row["dead"] for row in rows(store, "error_group")} == dict.fromkeys(names, 1)
    # The first and the last of them go; the walk that comes by notices.
    for gone in (ids[0], ids[-1]):
        set_values(store, gone, status="done")
    for _ in range(4):
        store.clock.advance(15)
        groups.sample(store)
    assert [row["fingerprint"] for row in rows(store, "error_group") if not row["dead"]] == [
        names[0],
        names[-1],
    ]
    monkeypatch.setattr(groups, "MOST_CHUNKS", 50)
    store.clock.advance(15)
    assert groups.sample(store) == 0
    answer = queries.groups(store, EventFilter())
    assert (len(answer.items), answer.number, answer.total) == (
        queries.MAX_GROUPS,
        number - 2,
        Count(number - 2),
    )


def test_the_group_of_an_event_is_a_filter_of_lists_and_counts(store: Store) -> None:
    ids = dead(store, 3, fingerprint=A)
    dead(store, 2, fingerprint=B)
    (elsewhere,) = dead(store, 1, fingerprint=A, account="filial-rj", kind="stock.move")
    flt = EventFilter(group=A)
    page = queries.dead_letters(store, flt)
    assert {item.id for item in page.page.items} == {elsewhere, *ids}
    assert page.count == Count(4)
    assert queries.count(store, flt) == Count(4)
    assert queries.count(store, EventFilter(group=A, account=("filial-rj",))) == Count(1)
    assert queries.count(store, EventFilter(group=A, kind=("stock.move",))) == Count(1)
    assert queries.count(store, EventFilter(group=A, status=("dead",), reason=("exhausted",))) == Count(0)
    assert queries.count(store, EventFilter(group="nobody has it")) == Count(0)
    assert queries.dead_letters(store, flt, accounts=("filial-rj",)).count == Count(1)


def test_one_group_is_counted_at_once_and_remembered_when_it_is_empty(store: Store) -> None:
    assert queries.group(store, A) is None
    (old,) = dead(store, 1, fingerprint=A, at=utc_now() - timedelta(days=3))
    dead(store, 2, fingerprint=A, account="filial-rj")
    before = queries.group(store, A)
    assert before is not None
    assert (before.count, before.accounts) == (Count(3), 2)
    assert queries.group_parts(store, A) == ()
    groups.sample(store)
    parts = queries.group_parts(store, A)
    assert [(part.account, part.count) for part in parts] == [
        ("filial-rj", Count(2)),
        ("filial-sp", Count(1)),
    ]
    set_values(store, old, status="done")
    now = queries.group(store, A)
    assert now is not None
    assert (now.count, now.account) == (Count(2), "filial-rj")
    assert now.first_seen_at == before.first_seen_at
    with store.write() as connection:
        connection.execute(store.tables.event.update().values(status="done"))
    groups.sample(store)
    empty = queries.group(store, A)
    assert empty is not None
    assert empty.count == Count(0)
    assert queries.group_parts(store, A) == ()


def test_one_group_is_that_of_a_persons_accounts(store: Store) -> None:
    dead(store, 1, fingerprint=A, account="secret")
    groups.sample(store)
    assert queries.group(store, A, accounts=("filial-sp",)) is None
    assert queries.group_parts(store, A, accounts=("filial-sp",)) == ()
    dead(store, 2, fingerprint=A)
    groups.sample(store)
    group = queries.group(store, A, accounts=("filial-sp",))
    assert group is not None
    assert (group.count, group.accounts) == (Count(2), 1)
    assert [part.account for part in queries.group_parts(store, A, accounts=("filial-sp",))] == ["filial-sp"]
