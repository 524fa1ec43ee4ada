"""How heavy are pages? Fifty rows fit into 60 kB, a first view into 120 kB, and nothing that an event carries changes that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from dlq_console.app import create_app
from dlq_console.clock import utc_now
from dlq_console.errors import PermanentError
from dlq_console.health.alert_values import When
from dlq_console.hub.policy import Policy
from dlq_console.store import groups
from dlq_console.store.events import Event
from dlq_console.web.shortening import MOST_ENTRIES
from tests.store.filling import fill, put
from tests.web import alerted
from tests.web.desk import Desk
from tests.web.visitor import Tags, Visitor, read

LARGEST_PAGE = 60_000
LARGEST_FIRST_VIEW = 120_000
#: As long as an error that is kept.
LONG_ERROR = ('Cliente "Padaria & Filhos" não cadastrado: ' + "verifique o cadastro. " * 100)[:1900]


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Desk]:
    """A console with sixty dead letters of sixty causes, each as long as it gets; SQLite, because pages are the same."""
    template = request.getfixturevalue("_sqlite_template")
    path = tmp_path_factory.mktemp("weights") / "full.db"
    path.write_bytes(template.read_bytes())
    desk = Desk(f"sqlite:///{path}")
    causes = [f"f1-{number:032x}" for number in range(60)]
    rows = [
        {
            "status": "dead",
            "account": f"filial-{number % 7}",
            "entity_id": f"2026-{number:06d}",
            "last_error": f"{number} {LONG_ERROR}",
            "fingerprint": causes[number],
            "error_type": "PermanentError",
        }
        for number in range(60)
    ]
    # In every hour of the day another number of them, so that the drawing is as long as it gets.
    now = utc_now()
    for hour in range(24):
        late = [row | {"at": now - timedelta(hours=hour)} for row in rows]
        fill(desk.hub.store, late * (hour * 7 % 5 + 1))
    for event_id in fill(desk.hub.store, rows):
        put(desk.hub.store, "tag", tag="fiscal", event_id=event_id)
    for cause in causes:
        desk.hub.set_playbook(cause, "Cadastrar o cliente no ERP. " * 20, actor="joana")
    groups.sample(desk.hub.store)
    _alerts(desk)
    yield desk
    desk.hub.close()


def _alerts(desk: Desk) -> None:
    """More notices than a page shows, each told to two channels one of which is down, and all rules snoozed at length."""
    names, both = [f"filial-são-josé-{number:03}" for number in range(60)], ("webhook", "mail")
    alerted.look(desk)
    alerted.close(desk.hub.store, *alerted.find(desk.hub.store, "lag_p95", *names, to=both))
    alerted.find(desk.hub.store, "dead_letters", *names, to=both)
    alerted.bring(desk)
    for rule in When:
        alerted.snooze(desk, rule, note="Inventário & manutenção. " * 20)


@pytest.fixture(scope="module")
def maria(full: Desk) -> Visitor:
    """An editor, who sees every button there is."""
    return Visitor(create_app(full.hub), language="pt-BR").enter(full, "maria", "editor")


def _weight(visitor: Visitor, path: str) -> int:
    answer = visitor.get(path)
    assert answer.status_code == 200, path
    return len(answer.data)


PAGES = (
    "/",
    "/dead-letters",
    "/events",
    "/groups",
    f"/groups/f1-{7:032x}",
    "/search?q=2026-000001",
    "/work",
    "/audit",
    "/views",
    "/rules",
    "/rules?pack=omie",
    "/alerts",
)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_of_fifty_rows_is_smaller_than_60_kb(maria: Visitor, path: str) -> None:
    assert _weight(maria, path) < LARGEST_PAGE


def test_a_first_view_with_an_empty_cache_takes_less_than_120_kb(full: Desk, maria: Visitor) -> None:
    page = maria.get("/dead-letters")
    tags = Tags(page.text)
    addresses = [tag["href"] for tag in tags.named("link") if "href" in tag]
    addresses += [tag["src"] for tag in [*tags.named("script"), *tags.named("img")]]
    sent = 0
    for address in set(addresses):
        answer = maria.client.get(address, headers={"Accept-Encoding": "gzip, deflate, br"})
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable", address
        assert len(answer.data) < 1000 or answer.headers.get("Content-Encoding") == "gzip", address
        sent += len(answer.data)
    assert len(page.data) + sent < LARGEST_FIRST_VIEW


# Many accounts, fields of the payload, tags and long errors, all on one page

#: A value of a field as long as a row shows one, with what takes several bytes.
WIDE = "Comércio & Açúcar S/A {:03d}"
ACCOUNTS, KINDS = 150, 40


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Desk]:
    """A console whose rows have everything: three fields, three tags, somebody who has them, a long error, a long name."""
    template = request.getfixturevalue("_sqlite_template")
    path = tmp_path_factory.mktemp("weights") / "crowded.db"
    path.write_bytes(template.read_bytes())
    desk = Desk(f"sqlite:///{path}")
    columns = {"Cliente": "customer", "Transportadora": "carrier", "Condição": "terms"}
    desk.hub.handler("order.create", policy=Policy(columns=columns))(desk._call)
    rows = [
        {
            "status": "dead",
            "kind": "order.create" if number % 3 else f"order.kind-{number % KINDS}",
            "account": f"filial-são-josé-{number % ACCOUNTS:03d}",
            "entity_id": f"2026-{number:06d}",
            "last_error": f'{number}: o cliente "Padaria & Cia" não está cadastrado; ' * 6,
            "fingerprint": f"f1-{number % 60:032x}",
            "error_type": "PermanentError",
        }
        for number in range(3 * ACCOUNTS)
    ]
    for event_id in fill(desk.hub.store, rows):
        put(desk.hub.store, "desk", event_id=event_id, assignee="maria-en", updated_at=utc_now())
        for tag in ("fiscal & contábil", "urgente", "à espera do cliente"):
            put(desk.hub.store, "tag", tag=tag, event_id=event_id)
        for field in columns.values():
            put(desk.hub.store, "event_field", value=WIDE.format(event_id), path=field, event_id=event_id)
    groups.sample(desk.hub.store)
    for number in range(30):
        desk.hub.pause_account(
            f"filial-são-josé-{number:03d}", actor="joana", note="Manutenção & testes. " * 90
        )
    yield desk
    desk.hub.close()


CROWDED = (
    "/",
    "/?accounts=20&doors=20",
    "/dead-letters",
    "/dead-letters?kind=order.create",
    "/dead-letters?kind=order.create&tag=urgente&since=1d&q=cadastrado&assignee=maria-en",
    "/dead-letters?" + "&".join(f"account=filial-são-josé-{number:03d}" for number in range(6)),
    "/events?kind=order.create",
    "/groups",
    "/groups?account=filial-são-josé-001",
    f"/groups/f1-{7:032x}",
    "/work",
    "/?kinds=20",
)


@pytest.fixture(scope="module", params=["pt-BR", "en"])
def admin(crowded: Desk, request: pytest.FixtureRequest) -> Visitor:
    """Somebody who may do everything."""
    app = create_app(crowded.hub)
    return Visitor(app, language=request.param).enter(crowded, f"maria-{request.param}", "admin")


@pytest.mark.parametrize("path", CROWDED)
def test_a_page_with_everything_on_it_is_smaller_than_60_kb(admin: Visitor, path: str) -> None:
    assert _weight(admin, path) < LARGEST_PAGE


# Big things


def _lines(number: int) -> list[dict[str, Any]]:
    return [{"sku": f"A-{one}", "name": 'Pão "francês" & cia', "price": 1.5} for one in range(number)]


BIG: dict[str, Any] = {
    "5 MB": {"number": "8841", "lines": _lines(80_000)},
    "10,000 keys": {f"field_{one}": {"name": f"value {one}", "token": "canary"} for one in range(10_000)},
    "one text of 5 MB": {"note": "<&" * 2_500_000},
    "a long list": ["é" * 300] * 10_000,
    "wide rows": [{f'"column" {one}': "<" * 200 for one in range(8)}] * 200,
    "long names": {f"{one}" + "<n>" * 500: one for one in range(200)},
}


@pytest.mark.parametrize("name", BIG)
def test_a_huge_payload_is_cut_on_its_page_and_whole_in_the_file(
    full: Desk, maria: Visitor, name: str
) -> None:
    event_id = full.dead(name)
    text = json.dumps(BIG[name], ensure_ascii=False)
    full.change(event_id, payload=text)
    page = maria.get(f"/events/{event_id}")
    assert page.status_code == 200
    assert len(page.data) < LARGEST_PAGE
    assert "canary" not in page.text
    assert f'href="/events/{event_id}/payload.json"' in page.text
    assert _weight(maria, f"/dead-letters?entity={name}&status=dead") < 20_000
    answer = maria.get(f"/events/{event_id}/payload.json")
    assert json.loads(answer.text) == json.loads(text.replace('"canary"', '"•••"'))


def test_an_error_of_a_megabyte_is_cut_everywhere(full: Desk, maria: Visitor) -> None:
    event_id = full.dead("megabyte", error=PermanentError("Não cadastrado <b>&" * 55_000))
    fingerprint = full.hub.get(event_id).fingerprint
    for path in (f"/events/{event_id}", "/dead-letters", "/groups", f"/groups/{fingerprint}"):
        assert _weight(maria, path) < LARGEST_PAGE, path
    assert "Não cadastrado <b>&Não" in read(maria.get(f"/events/{event_id}").text)


def test_a_long_history_is_cut_and_can_be_had_whole(full: Desk, maria: Visitor) -> None:
    def deep(event: Event, depth: int = 60) -> None:
        if depth:
            return deep(event, depth - 1)
        raise RuntimeError(f"attempt {event.lease_epoch} " + '<"&é' * 400)

    full.hub.handler("order.deep")(deep)
    payload = {f"field_{one}": "x" * 1000 for one in range(100)}
    event_id = full.hub.enqueue("order.deep", account="a", entity_id="deep", payload=payload).id
    for _ in range(MOST_ENTRIES):
        full.hub.run(event_id)
        full.hub.reprocess(event_id, actor="joana", note='"note" & <more> ' * 100)
    page = maria.get(f"/events/{event_id}")
    assert len(page.data) < LARGEST_PAGE
    assert "Mostrar tudo, sem cortes" in page.text
    whole = maria.get(f"/events/{event_id}?history=all").text
    assert "Mostrar tudo, sem cortes" not in whole
    assert whole.count("RuntimeError: attempt") == MOST_ENTRIES
    assert whole.count("joana reprocessou") == MOST_ENTRIES


def test_an_event_that_was_corrected_twice_and_sent_before_fits_its_page(full: Desk, maria: Visitor) -> None:
    def fields(text: str) -> dict[str, str]:
        return {f'"field" {one}': f"{text}{'<&' * 500}" for one in range(100)}

    hub, policy = full.hub, Policy(max_attempts=1)
    full.done("twice", kind="order.sent", payload=fields("sent"), policy=policy)
    first = full.dead("twice", kind="order.sent", payload=fields("first"), error=PermanentError("<&" * 100))
    second = hub.edit(first, fields("second"), actor="edna", note="<&" * 500)
    for _ in range(MOST_ENTRIES):
        hub.run(second.id)
        hub.reprocess(second.id, actor="joana", note="<&" * 500)
    hub.run(second.id)
    third = hub.edit(second.id, fields("third"), actor="edna")
    page = maria.get(f"/events/{second.id}")
    assert page.text.count('<table class="grid different">') == 3
    assert len(page.data) < LARGEST_PAGE
    assert _weight(maria, f"/events/{third.id}") < LARGEST_PAGE


# What does not fit is still there


def test_what_the_overview_leaves_out_stands_behind_a_link(crowded: Desk, admin: Visitor) -> None:
    seen: set[str] = set()
    address = "/"
    while address:
        page = Tags(admin.get(address).text)
        addresses = [tag.get("href", "") for tag in page.named("a")]
        seen |= {one for one in addresses if one.startswith("/dead-letters?account=")}
        links = [one for one in addresses if one.startswith("/?accounts=")]
        address = links[0] if links else ""
    assert len(seen) == 100, "as many accounts as the overview counts"
    first = read(admin.get("/").text)
    assert "filial-são-josé-000" in first, "a closed account stands before the others"


def test_a_name_that_is_not_offered_can_be_typed_and_is_offered_then(crowded: Desk, admin: Visitor) -> None:
    name = "filial-são-josé-149"

    def boxes(path: str) -> dict[str, bool]:
        fields = [tag for tag in Tags(admin.get(path).text).named("input") if tag.get("name") == "account"]
        assert [tag for tag in fields if "type" not in tag], "a field to type a name into"
        return {tag["value"]: "checked" in tag for tag in fields if tag.get("type") == "checkbox"}

    assert name not in boxes("/dead-letters")
    assert len(boxes("/dead-letters")) == 20
    chosen = boxes(f"/dead-letters?account=&account={name}")
    assert [account for account, is_chosen in chosen.items() if is_chosen] == [name]
    assert len(chosen) == 21


def test_many_values_of_one_filter_share_a_chip_that_removes_them_all(crowded: Desk, admin: Visitor) -> None:
    accounts = "&".join(f"account=filial-são-josé-{number:03d}" for number in range(7))
    page = admin.get(f"/dead-letters?kind=order.create&{accounts}").text
    assert "filial-são-josé-003, filial-são-josé-004 +2" in read(page)
    assert 'href="/dead-letters?kind=order.create"' in page
