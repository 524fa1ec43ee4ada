"""The desk: assigning, tagging, snoozing and noting, upon one event or many, each with its audit row."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from dlq_console.clock import utc_now
from dlq_console.errors import PayloadRefused
from dlq_console.store import acts, desk, pruning, queries
from dlq_console.store.desk import Assignment, Change
from dlq_console.store.people import add_user, disable_user
from dlq_console.store.states import Status
from dlq_console.store.store import Store
from tests.store.making import add, add_in, rows, set_values

SOON = datetime(2030, 3, 1, 11, 0, tzinfo=UTC)
PASSWORD = "correct horse battery"


def assigned(store: Store, ids: list[int], to: Assignment) -> dict[int, Change[Assignment]]:
    return store.transact(lambda connection: desk.assign(store, connection, ids, to, actor="maria"))


def tagged(
    store: Store, ids: list[int], add: list[str], remove: list[str] | None = None
) -> dict[int, Change[tuple[str, ...]]]:
    return store.transact(
        lambda connection: desk.change_tags(store, connection, ids, add=add, remove=remove, actor="maria")
    )


def snoozed(store: Store, ids: list[int], until: datetime | None) -> dict[int, Change[datetime | None]]:
    return store.transact(lambda connection: desk.snooze(store, connection, ids, until, actor="maria"))


def noted(store: Store, event_id: int, text: str, form: str | None = None) -> int | None:
    return store.transact(
        lambda connection: desk.add_note(store, connection, event_id, text, actor="maria", form=form)
    )


def audited(store: Store, action: str) -> list[tuple[int | None, str | None, str | None]]:
    return [
        (row["event_id"], row["before"], row["after"])
        for row in rows(store, "audit")
        if row["action"] == action
    ]


def test_assigning_many_events_writes_before_and_after_of_each_that_changed(store: Store) -> None:
    add_user(store, "joana", PASSWORD, role="operator")
    first, second = add(store, 1).id, add(store, 2).id
    assigned(store, [first], Assignment("joana"))
    changes = assigned(store, [first, second, 999], Assignment("joana", SOON))
    assert changes == {
        first: Change(Assignment("joana"), Assignment("joana", SOON)),
        second: Change(Assignment(), Assignment("joana", SOON)),
    }
    assigned(store, [first, second], Assignment("joana", SOON))
    due = "joana due 2030-03-01T11:00:00Z"
    assert audited(store, "assign") == [(first, None, "joana"), (first, "joana", due), (second, None, due)]
    assert desk.read_assignment(due) == Assignment("joana", SOON)
    assert desk.marks(store, [second])[second].assignee == "joana"
    assigned(store, [second], Assignment())
    assert desk.marks(store, [second])[second] == desk.NO_MARKS


@pytest.mark.parametrize("name", ["nobody", "gone"])
def test_only_somebody_who_may_log_in_can_be_assigned(store: Store, name: str) -> None:
    add_user(store, "gone", PASSWORD, role="operator")
    disable_user(store, "gone")
    event_id = add(store).id
    with pytest.raises(PayloadRefused, match=f"no user {name} who may log in"):
        assigned(store, [event_id], Assignment(name))
    assert not audited(store, "assign")
    assert desk.assignable(store) == ()


def test_who_does_not_see_the_account_is_not_offered_for_it(store: Store) -> None:
    add_user(store, "joana", PASSWORD, role="operator", accounts=["filial-rj"])
    add_user(store, "maria", PASSWORD, role="operator")
    assert desk.assignable(store, "filial-sp") == ("maria",)
    assert desk.assignable(store, "filial-rj") == ("joana", "maria")


def test_tags_are_small_letters_with_single_blanks_and_each_once() -> None:
    assert desk.clean_tags([" Call  BACK ", "call back", "ção"]) == ("call back", "ção")
    for wrong in ("", "x" * 41, "a,b", "a\x1b[31m", "a\u202eb"):
        with pytest.raises(PayloadRefused):
            desk.clean_tags([wrong])
    with pytest.raises(PayloadRefused, match="at most 20"):
        desk.clean_tags([str(number) for number in range(21)])


def test_what_others_tagged_meanwhile_stays(store: Store) -> None:
    event_id = add(store).id
    tagged(store, [event_id], ["erp", "urgent"])
    changes = tagged(store, [event_id], ["call back"], ["erp"])
    assert changes[event_id] == Change(("erp", "urgent"), ("call back", "urgent"))
    assert tagged(store, [event_id], ["new"], None)[event_id].after == ("new",)
    assert audited(store, "tag")[-1] == (event_id, "call back, urgent", "new")


def test_an_event_never_has_more_tags_than_it_may_however_many_add_at_once(store: Store) -> None:
    event_id = add(store).id
    tagged(store, [event_id], [f"t{number}" for number in range(18)])

    def one_more(number: int) -> bool:
        try:
            tagged(store, [event_id], [f"more {number}"], [])
        except PayloadRefused:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(one_more, range(6))) == 2
    assert len(desk.marks(store, [event_id])[event_id].tags) == 20


def test_only_dead_events_are_snoozed_and_they_come_back_by_themselves(store: Store) -> None:
    dead, pending = add_in(store, Status.DEAD, 1), add(store, 2).id
    until = utc_now() + timedelta(hours=1)
    assert list(snoozed(store, [dead, pending], until)) == [dead]
    assert desk.marks(store, [dead])[dead].snoozed_until == until
    store.clock.advance(3_601)
    assert desk.marks(store, [dead])[dead].snoozed_until is None
    store.clock.advance(-3_601)
    assert snoozed(store, [dead], None)[dead] == Change(until, None)
    assert desk.marks(store, [dead])[dead] == desk.NO_MARKS


def test_what_is_put_back_to_work_is_in_sight_again(store: Store) -> None:
    dead = add_in(store, Status.DEAD, 1)
    snoozed(store, [dead], utc_now() + timedelta(days=1))
    with store.write() as connection:
        acts.reprocess(store, connection, dead, actor="maria", note=None, max_wait=60)
    assert desk.marks(store, [dead])[dead].snoozed_until is None


def test_what_takes_the_place_of_an_event_has_its_person_and_its_tags_but_not_its_snooze(
    store: Store,
) -> None:
    add_user(store, "joana", PASSWORD, role="operator")
    old, new = add_in(store, Status.DEAD, 1), add(store, 2).id
    assigned(store, [old], Assignment("joana", SOON))
    tagged(store, [old], ["erp"])
    snoozed(store, [old], utc_now() + timedelta(days=1))
    with store.write() as connection:
        desk.carry_over(store, connection, old, new)
        desk.carry_over(store, connection, new + 1, new + 2)
    assert desk.marks(store, [new])[new] == desk.Marks(assignee="joana", due_at=SOON, tags=("erp",))
    assert len(rows(store, "desk")) == 2


def test_a_form_that_is_sent_twice_writes_one_note(store: Store) -> None:
    event_id = add(store).id
    assert noted(store, event_id, "called them", "form-1")
    assert noted(store, event_id, "called them", "form-1") is None
    assert noted(store, event_id, "again")
    assert [note.text for note in desk.notes(store, event_id)] == ["again", "called them"]
    assert desk.marks(store, [event_id])[event_id].notes == 2
    assert [entry.note for entry in queries.audit(store, event_id)] == ["again", "called them"]
    assert noted(store, 999, "nowhere") is None


def test_two_who_assign_overlapping_events_both_get_through(store: Store) -> None:
    for name in ("joana", "maria"):
        add_user(store, name, PASSWORD, role="operator")
    ids = [add(store, number).id for number in range(20)]
    with ThreadPoolExecutor(2) as pool:
        for _ in range(5):
            both = [
                pool.submit(assigned, store, ids, Assignment("joana")),
                pool.submit(assigned, store, ids[::-1], Assignment("maria")),
            ]
            assert [len(one.result()) for one in both] == [20, 20]
    assert len({one.assignee for one in desk.marks(store, ids).values()}) == 1
    # Whatever the order, each act names what the one before it left.
    history: dict[int | None, str | None] = {}
    for event_id, before, after in audited(store, "assign"):
        assert history.get(event_id) == before
        history[event_id] = after


def test_a_cause_keeps_its_playbook_whatever_becomes_of_its_events(store: Store) -> None:
    add_user(store, "joana", PASSWORD, role="operator")
    dead = add_in(store, Status.DEAD, 1)
    fingerprint = "f" * 32

    def set_playbook(text: str | None) -> object:
        return store.transact(
            lambda connection: desk.set_playbook(store, connection, fingerprint, text, actor="joana")
        )

    assert set_playbook("Register the customer.")
    store.transact(
        lambda connection: desk.assign_group(
            store, connection, fingerprint, Assignment("joana", SOON), actor="joana"
        )
    )
    set_values(store, dead, status="done", fingerprint=None)
    marks = desk.group_marks(store, [fingerprint, "other"])
    assert (marks[fingerprint].playbook, marks[fingerprint].playbook_by) == (
        "Register the customer.",
        "joana",
    )
    assert (marks[fingerprint].assignee, marks[fingerprint].due_at) == ("joana", SOON)
    assert marks["other"] == desk.NO_GROUP_MARKS
    kept = [(row["action"], row["subject"], row["after"]) for row in rows(store, "audit")[-2:]]
    assert kept == [
        ("playbook", f"group:{fingerprint}", "Register the customer."),
        ("assign", f"group:{fingerprint}", "joana due 2030-03-01T11:00:00Z"),
    ]


@pytest.mark.parametrize("act", [
    lambda store, connection: desk.set_playbook(store, connection, "unknown", "x", actor="joana"),
    lambda store, connection: desk.assign_group(store, connection, "unknown", Assignment(), actor="joana"),
])  # fmt: skip
def test_a_cause_that_nobody_has_seen_has_no_marks(store: Store, act: Callable[..., object]) -> None:
    with store.write() as connection:
        assert act(store, connection) is None
    assert not rows(store, "group_desk")


def test_what_hangs_on_an_event_is_forgotten_with_it_and_what_people_did_stays(store: Store) -> None:
    add_user(store, "joana", PASSWORD, role="operator")
    ids = [add_in(store, Status.DONE, 1), add_in(store, Status.DONE, 2)]
    assigned(store, ids, Assignment("joana"))
    tagged(store, ids, ["erp"])
    for event_id in ids:
        noted(store, event_id, "done by hand")
    set_values(store, ids[0], finished_at=utc_now() - timedelta(days=2))
    assert pruning.prune(store, days=1) == 1
    for table in ("desk", "tag", "note"):
        assert [row["event_id"] for row in rows(store, table)] == [ids[1]], table
    assert [entry[0] for entry in audited(store, "note")] == ids
