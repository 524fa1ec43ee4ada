"""Who may keep, see, change and forget a filter under a name?"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from dlq_console.store import views
from dlq_console.store.filters import EventFilter, FilterError
from dlq_console.store.people.roles import Person, Role
from dlq_console.store.queries import Count
from dlq_console.store.store import Store
from dlq_console.store.views import MAX_VIEWS, View, ViewNameTaken, ViewNotFound, ViewRefused
from tests.store.filling import dead, fill
from tests.store.making import rows

MARIA = Person(id=1, name="maria", role=Role.OPERATOR)
JOAO = Person(id=2, name="joao", role=Role.OPERATOR, accounts=("filial-rj",))
VERA = Person(id=3, name="vera", role=Role.VIEWER)
ADMIN = Person(id=4, name="admin", role=Role.ADMIN)
LOCAL_ADMIN = Person(id=5, name="rita", role=Role.ADMIN, accounts=("filial-rj",))


def save(
    store: Store,
    person: Person = MARIA,
    name: str = "Tax",
    filter_: str = "q=tax",
    *,
    shared: bool = False,
    page: str = "dead-letters",
) -> View:
    return views.save(store, person, name=name, filter_=filter_, shared=shared, page=page)


def names(store: Store, person: Person) -> list[str]:
    return [view.name for view in views.listed(store, person)]


def test_a_view_is_its_owners_until_it_is_shared(store: Store) -> None:
    save(store, name="B")
    save(store, name="A")
    save(store, name="C", shared=True)
    assert names(store, MARIA) == ["A", "B", "C"]
    assert names(store, JOAO) == ["C"]
    assert names(store, ADMIN) == ["C"]


def test_a_filter_is_checked_and_kept_in_one_spelling(store: Store) -> None:
    view = save(store, filter_="?q=%20tax%20&kind=b&kind=a&kind=b&payload.number=8841")
    assert view.filter == "kind=b&kind=a&q=tax&payload.number=8841"
    assert view.flt == EventFilter(kind=("b", "a"), q="tax", payload=(("number", "8841"),))
    assert views.get(store, view.id, MARIA) == view


@pytest.mark.parametrize(
    "filter_",
    [
        "acount=a",
        "since=yesterday",
        "cursor=x",
        "payload.password=x",
        "q=" + "x" * 1_000_000,
        "&".join(["kind=a"] * 500),
    ],
)
def test_a_filter_that_cannot_be_understood_is_refused(store: Store, filter_: str) -> None:
    with pytest.raises(FilterError) as caught:
        save(store, filter_=filter_)
    assert len(caught.value.message) < 400
    assert names(store, MARIA) == []


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\u202eb", "x" * 81, "x" * 1_000_000])
def test_a_name_that_cannot_be_read_is_refused(store: Store, name: str) -> None:
    with pytest.raises(ViewRefused, match="name: write 1 to 80 printable characters"):
        save(store, name=name)


def test_a_name_is_unique_among_those_of_one_owner(store: Store) -> None:
    save(store)
    with pytest.raises(ViewNameTaken):
        save(store, filter_="kind=a")
    save(store, JOAO)
    other = save(store, name="Other")
    with pytest.raises(ViewNameTaken):
        views.change(store, other.id, MARIA, name="Tax", filter_="", shared=False)
    assert names(store, MARIA) == ["Other", "Tax"]


def test_two_who_save_one_name_at_once_make_one_view(store: Store) -> None:
    def try_it(_number: int) -> bool:
        try:
            save(store)
        except ViewNameTaken:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(try_it, range(4))) == [False, False, False, True]


def test_a_page_that_does_not_exist_is_refused(store: Store) -> None:
    with pytest.raises(ViewRefused, match="page: choose one of dead-letters, events"):
        save(store, page="groups")


def test_nobody_keeps_more_views_than_a_menu_holds(store: Store) -> None:
    for number in range(MAX_VIEWS):
        save(store, name=f"View {number}")
    with pytest.raises(ViewRefused, match="There are 50 views of yours already"):
        save(store, name="One more")
    save(store, JOAO)


def test_a_viewer_keeps_views_and_shares_none(store: Store) -> None:
    save(store, VERA)
    with pytest.raises(ViewRefused, match="the role viewer may keep views for itself only"):
        save(store, VERA, name="For all", shared=True)


def test_only_the_owner_changes_a_view_and_an_administrator_a_shared_one(store: Store) -> None:
    mine, shared = save(store), save(store, name="For all", shared=True)
    changed = views.change(store, mine.id, MARIA, name="Taxes", filter_="q=taxes", shared=True)
    assert (changed.name, changed.filter, changed.shared, changed.owner) == (
        "Taxes",
        "q=taxes",
        True,
        "maria",
    )
    views.change(store, changed.id, MARIA, name="Taxes", filter_="q=taxes", shared=False)
    for person, view in ((JOAO, mine), (JOAO, shared), (ADMIN, mine), (LOCAL_ADMIN, shared)):
        with pytest.raises(ViewNotFound):
            views.change(store, view.id, person, name="x", filter_="", shared=False)
        with pytest.raises(ViewNotFound):
            views.delete(store, view.id, person)
    by_admin = views.change(store, shared.id, ADMIN, name="Everybody's", filter_="", shared=True)
    assert by_admin.owner == "maria"
    views.delete(store, shared.id, ADMIN)
    views.delete(store, mine.id, MARIA)
    assert names(store, MARIA) == []


@pytest.mark.parametrize("view_id", [0, -1, 999, 2**70])
def test_a_view_that_does_not_exist_is_not_found(store: Store, view_id: int) -> None:
    with pytest.raises(ViewNotFound):
        views.get(store, view_id, MARIA)
    with pytest.raises(ViewNotFound):
        views.delete(store, view_id, MARIA)


def test_everything_that_is_done_to_views_is_written_down(store: Store) -> None:
    view = save(store)
    views.change(store, view.id, MARIA, name="Tax", filter_="q=taxes", shared=True)
    views.delete(store, view.id, MARIA)
    told = [
        (row["action"], row["actor"], row["subject"], row["filter"], row["after"])
        for row in rows(store, "audit")
    ]
    assert told == [
        ("save_view", "maria", "view:Tax", "q=tax", "private"),
        ("change_view", "maria", "view:Tax", "q=taxes", "shared"),
        ("delete_view", "maria", "view:Tax", "q=taxes", "shared"),
    ]


def test_a_view_counts_what_its_list_shows_to_the_person(store: Store) -> None:
    dead(store, 3)
    dead(store, 2, account="filial-rj")
    fill(store, [{"status": "done"}] * 4)
    letters, everything = save(store, filter_=""), save(store, name="All", filter_="", page="events")
    assert views.counted(store, letters, MARIA) == Count(5)
    assert views.counted(store, letters, JOAO) == Count(2)
    assert views.counted(store, everything, MARIA) == Count(9)
    nothing = save(store, name="None", filter_="status=done")
    assert views.counted(store, nothing, MARIA) == Count()


def test_a_count_ends_at_a_thousand(store: Store) -> None:
    dead(store, views.COUNT_CAP + 1)
    assert views.counted(store, save(store, filter_=""), MARIA) == Count(views.COUNT_CAP, capped=True)


def test_what_is_asked_for_beside_a_view_replaces_the_same_of_it(store: Store) -> None:
    view = save(store, filter_="kind=a&q=tax")
    flt = views.with_filter(view, {"kind": ["b"], "since": ["4h"]})
    assert flt == EventFilter(kind=("b",), q="tax", since="4h", status=("dead",), snoozed="hide")
