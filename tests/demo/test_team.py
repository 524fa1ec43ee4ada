"""What the demo's operators write is there as soon as their dead letters are, and never in the place of what people wrote."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dlq_console import Hub, NewEvent
from dlq_console.demo import opening
from dlq_console.demo.command import LOGINS
from dlq_console.demo.data import SEED
from dlq_console.demo.erp import SimulatedErp
from dlq_console.demo.handlers import register
from dlq_console.demo.producers import ORIGIN, Producer
from dlq_console.demo.team import WORDS, Team
from dlq_console.settings import LOCALES
from dlq_console.store import desk, people, queries, views
from dlq_console.store.events import Event
from dlq_console.store.people import Person
from dlq_console.workers import steps
from tests.demo.erp_client import PLAIN

ACCOUNTS = (opening.ONE_CAUSE, opening.TAKEN_ON)
OPERATOR, EDITOR = "demo-operator", "demo-editor"


@pytest.fixture
def hub() -> Iterator[Hub]:
    """A hub whose ERP has refused what the team works on."""
    hub = Hub.in_memory()
    for name, role in LOGINS.items():
        people.add_user(hub.store, name, "a good password", role=role, actor="demo")
    with SimulatedErp(dict.fromkeys(ACCOUNTS, PLAIN), seed=SEED) as erp:
        register(hub, erp.url)
        yield hub
    hub.close()


@pytest.fixture
def team(hub: Hub) -> Team:
    return Team(hub, {role: name for name, role in LOGINS.items()})


def _let_die(hub: Hub) -> None:
    for event in opening.opening(Producer(SEED)):
        if event.account in ACCOUNTS and event.kind in {"order.create", "invoice.create"}:
            _send(hub, event)
    while hub.run_due():
        """Until nothing is due."""
    steps.count_groups(hub)


def _send(hub: Hub, event: NewEvent) -> None:
    hub.enqueue(
        event.kind, account=event.account, entity_id=event.entity_id, payload=event.payload, origin=ORIGIN
    )


def _dead(hub: Hub, kind: str, account: str) -> Event:
    event = hub.store.tables.event
    with hub.store.read() as connection:
        asked = event.select().where(
            event.c.kind == kind, event.c.account == account, event.c.status == "dead"
        )
        first = connection.execute(asked.order_by(event.c.id)).first()
    assert first is not None
    return hub.get(first.id)


def _person(hub: Hub, name: str) -> Person:
    return next(entry.person for entry in people.list_users(hub.store) if entry.person.name == name)


def test_nothing_is_written_before_there_are_dead_letters(hub: Hub, team: Team) -> None:
    assert team.work() is False
    assert views.listed(hub.store, _person(hub, OPERATOR)) == []


def test_causes_are_explained_work_is_taken_on_and_a_view_is_shared(hub: Hub, team: Team) -> None:
    _let_die(hub)
    words = WORDS[hub.settings.locale]
    assert team.work() is True

    order, invoice = (
        _dead(hub, "order.create", opening.ONE_CAUSE),
        _dead(hub, "invoice.create", opening.MISCOUNTED),
    )
    marks = desk.group_marks(hub.store, [str(order.fingerprint), str(invoice.fingerprint)])
    of_orders, of_invoices = marks[str(order.fingerprint)], marks[str(invoice.fingerprint)]
    assert (of_orders.playbook, of_orders.assignee) == (words["unregistered"], OPERATOR)
    assert (of_invoices.playbook, of_invoices.playbook_by) == (words["miscounted"], EDITOR)

    taken = _dead(hub, "order.create", opening.TAKEN_ON)
    mark = desk.marks(hub.store, [taken.id])[taken.id]
    assert (mark.assignee, mark.tags) == (OPERATOR, (words["tag"],))
    assert [(note.actor, note.text) for note in desk.notes(hub.store, taken.id)] == [
        (OPERATOR, words["note"])
    ]

    (view,) = views.listed(hub.store, _person(hub, "demo-viewer"))
    assert (view.name, view.shared) == (words["view"], True)
    dead = queries.count(hub.store, views.filter_of(view)).number
    assert dead == opening.OF_ONE_CUSTOMER + 2 * len(ACCOUNTS)


def test_what_people_have_written_since_an_earlier_run_stays(hub: Hub, team: Team) -> None:
    _let_die(hub)
    cause = str(_dead(hub, "order.create", opening.ONE_CAUSE).fingerprint)
    taken = _dead(hub, "order.create", opening.TAKEN_ON)
    hub.set_playbook(cause, "ask sales first", actor=EDITOR)
    hub.assign_group(cause, EDITOR, actor=EDITOR)
    hub.assign(taken.id, EDITOR, actor=EDITOR)
    hub.tag(taken.id, ["urgent"], actor=EDITOR)

    assert team.work() is True
    again = Team(hub, {role: name for name, role in LOGINS.items()})
    assert again.work() is True
    marks = desk.group_marks(hub.store, [cause])[cause]
    assert (marks.playbook, marks.assignee) == ("ask sales first", EDITOR)
    mark = desk.marks(hub.store, [taken.id])[taken.id]
    assert mark.assignee == EDITOR
    assert "urgent" in mark.tags
    assert len(desk.notes(hub.store, taken.id)) == 1
    assert len(views.listed(hub.store, _person(hub, OPERATOR))) == 1


@pytest.mark.parametrize("locale", LOCALES)
def test_the_team_writes_in_the_language_of_the_installation(locale: str) -> None:
    assert set(WORDS[locale]) == set(WORDS["en"])
