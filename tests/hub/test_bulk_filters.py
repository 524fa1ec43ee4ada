"""Does a bulk run mean exactly the events that its list shows, whatever the filter asks for?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import parse_qs, quote

import pytest

from dlq_console import Hub
from dlq_console.clock import utc_now
from dlq_console.hub import bulk_progress
from dlq_console.settings import read_settings
from dlq_console.store import kinds, queries
from dlq_console.store.filters import PARAMETERS, EventFilter
from dlq_console.store.kinds import PublishedKind
from tests.store.filling import fill, put

NEW, OLD = "the new one", "the old one"
YESTERDAY = quote((utc_now() - timedelta(days=1)).isoformat())

#: What is asked for, and which of the two events that means.
ASKED = [
    ("kind=order.create", {NEW}),
    ("account=filial-sp", {NEW}),
    (f"group={'b' * 32}", {NEW}),
    ("reason=unclassified", {NEW}),
    ("class=unknown", {NEW}),
    ("status=dead", {NEW, OLD}),
    ("entity=8841", {NEW}),
    ("since=4h", {NEW}),
    (f"from={YESTERDAY}", {NEW}),
    (f"to={YESTERDAY}", {OLD}),
    (f"at={YESTERDAY}", {OLD}),
    ("attempts=3", {NEW}),
    ("attempts=2%2B", {NEW}),
    ("payload.size=L", {NEW}),
    ("sort=oldest", {NEW, OLD}),
]
#: The same of what is found through another table, or by a text, where the engines differ most.
ASKED_BY_FEW = [
    ("q=refused", {NEW}),
    ("assignee=maria", {NEW}),
    ("assignee=-", {OLD}),
    ("tag=urgent", {NEW}),
    ("tag=urgent&tag=other", {NEW}),
    ("snoozed=only", {NEW}),
    ("snoozed=hide", {OLD}),
    ("payload.sku=A-1", {NEW}),
    ("payload.sku=A-1&kind=order.create&kind=invoice.create", {NEW}),
    ("tag=urgent&assignee=maria&snoozed=only&payload.sku=A-1&q=refused&account=filial-sp&sort=oldest", {NEW}),
]
CASES = [("sqlite_url", *case) for case in ASKED + ASKED_BY_FEW]
CASES += [("postgres_url", *case) for case in ASKED_BY_FEW]


@pytest.fixture
def database_url(request: pytest.FixtureRequest) -> str:
    """Of the engine that the test names."""
    url: str = request.getfixturevalue(request.param)
    return url


@pytest.fixture
def hub(database_url: str) -> Iterator[Hub]:
    """A hub that can sign what it has shown."""
    hub = Hub(read_settings(database_url=database_url, secret_key="only-for-tests-0123456789abcdef"))
    yield hub
    hub.close()


@pytest.mark.parametrize(
    ("database_url", "asked", "meant"),
    CASES,
    indirect=["database_url"],
    # Without the moment of today: every process that collects the tests must call them the same.
    ids=[f"{number}-{engine}-{asked.partition('=')[0]}" for number, (engine, asked, _) in enumerate(CASES)],
)
def test_a_preview_and_its_run_mean_what_the_list_shows(hub: Hub, asked: str, meant: set[str]) -> None:
    flt, ids = EventFilter.parse(parse_qs(asked)), _two_dead_letters(hub)
    wanted = {ids[name] for name in meant}
    shown = queries.dead_letters(hub.store, flt)
    assert {line.id for line in shown.page.items} == wanted
    preview = hub.bulk.preview("discard", flt, actor="maria")
    assert (preview.count.number, preview.count.capped) == (len(wanted), False)
    assert {event.id for event in preview.sample} == wanted
    run_id = hub.bulk.start("discard", actor="maria", note="x", selection_token=preview.selection_token)
    while hub.bulk.get(run_id).frozen_at is None:
        assert bulk_progress.advance(hub)
    assert {item.event_id for item in hub.bulk.items(run_id).items} == wanted


def test_every_filter_is_among_those_that_are_tried() -> None:
    assert {name for asked, _ in ASKED + ASKED_BY_FEW for name in parse_qs(asked)} >= PARAMETERS


def _two_dead_letters(hub: Hub) -> dict[str, int]:
    """Two events that have nothing in common; whatever is beside an event, the new one has."""
    store, now = hub.store, utc_now()
    for kind in ("order.create", "invoice.create"):
        published = PublishedKind(kind, 6, 60.0, None, {"columns": {"Product": "sku"}})
        kinds.publish(store, [published], "a-worker")
    old, new = fill(
        store,
        [
            {
                "status": "dead", "kind": "invoice.create", "account": "filial-rj", "payload": '{"sku":"B-2","size":"M"}',
                "verdict": "permanent", "attempts": 1, "at": now - timedelta(days=2),
            },
            {
                "status": "dead", "entity_id": "8841", "payload": '{"sku":"A-1","size":"L"}', "attempts": 3,
                "reason": "unclassified", "verdict": "unknown", "last_error": "It was refused.",
                "fingerprint": "b" * 32, "at": now - timedelta(hours=1),
            },
        ],
    )  # fmt: skip
    put(store, "desk", event_id=new, updated_at=now, assignee="maria", snoozed_until=now + timedelta(hours=1))
    put(store, "tag", tag="urgent", event_id=new)
    put(store, "event_field", event_id=new, path="sku", value="A-1")
    return {OLD: old, NEW: new}
