"""Are frames kept with what may be seen and by which pages, is every act upon them noted, and does an old one change nothing?"""

from __future__ import annotations

import pytest
from sqlalchemy import update

from dlq_console.store import embeds
from dlq_console.store.embeds import Embed, Standing
from dlq_console.store.framing import check_origin
from dlq_console.store.people import NameTaken, NoSuchName, PeopleError
from dlq_console.store.store import Store
from tests.store.making import rows

PAGE = "https://intranet.example"


def add(store: Store, name: str = "Portal", **more: object) -> Embed:
    return embeds.add(store, name, **({"origins": [PAGE], "actor": "joana"} | more))  # type: ignore[arg-type]


def again(store: Store, embed: Embed) -> Embed:
    found = embeds.find(store, embed.id)
    assert found is not None
    return found


def test_a_frame_is_paused_resumed_renewed_rotated_and_revoked_each_with_its_row_of_the_audit(
    store: Store,
) -> None:
    made = add(store, accounts=["filial-sp"], detail="figures", days=10)
    assert (made.accounts, made.origins, made.detail, made.version) == (
        ("filial-sp",),
        (PAGE,),
        "figures",
        1,
    )
    assert embeds.pause(store, made, actor="joana")
    assert again(store, made).standing == Standing.PAUSED
    assert not embeds.pause(store, made)
    assert embeds.resume(store, made, actor="joana")
    assert not embeds.resume(store, made)
    store.clock.advance(11 * 86_400)
    assert again(store, made).standing == Standing.EXPIRED
    assert embeds.renew(store, made, days=5, actor="joana")
    assert again(store, made).standing == Standing.ACTIVE
    assert embeds.rotate(store, made, actor="joana")
    # A form that is older than the address does nothing.
    for act in (embeds.pause, embeds.rotate, embeds.renew, embeds.revoke):
        assert not act(store, made)
    now = again(store, made)
    assert now.version == 2
    assert embeds.revoke(store, now, actor="joana")
    assert again(store, made).standing == Standing.REVOKED
    assert not embeds.revoke(store, now)
    noted = [(row["actor"], row["action"], row["subject"]) for row in rows(store, "audit")]
    acts = ("add", "pause", "resume", "renew", "rotate", "revoke")
    assert noted == [("joana", f"{act}_embed", "embed:Portal") for act in acts]


def test_the_name_of_a_revoked_frame_is_free_and_no_old_address_comes_to_life(store: Store) -> None:
    first = add(store)
    with pytest.raises(NameTaken):
        add(store)
    embeds.note_use(store, first.id, hits=3, origin=PAGE)
    embeds.revoke(store, first)
    second = add(store, origins=[])
    assert (second.id, second.version, second.hits, second.last_origin) == (first.id, 2, 0, None)
    assert second.origins == ()
    with pytest.raises(NoSuchName):
        embeds.named(store, "Other")


def test_use_is_added_up_and_the_last_page_that_said_so_is_kept(store: Store) -> None:
    made = add(store)
    assert embeds.note_use(store, made.id, hits=3, origin=PAGE)
    assert embeds.note_use(store, made.id, hits=2, origin=None)
    now = again(store, made)
    assert (now.hits, now.last_origin) == (5, PAGE)
    assert now.last_seen_at is not None
    (listed,) = embeds.list_embeds(store)
    assert listed.hits == 5


def test_what_somebody_else_wrote_into_the_row_becomes_no_header(store: Store) -> None:
    made = add(store)
    table = store.tables.embed
    with store.write() as connection:
        connection.execute(
            update(table).values(origins=f'["{PAGE}", "* ; script-src *", "https://a.example/x"]')
        )
    assert again(store, made).origins == (PAGE,)


@pytest.mark.parametrize(
    ("written", "spelt"),
    [
        ("https://Intranet.Example", PAGE),
        ("https://intranet.example:443/", PAGE),
        ("https://intranet.example:8443", "https://intranet.example:8443"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("http://127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("https://maçã.example", "https://xn--ma-tiap.example"),
        ("https://10.0.0.5", "https://10.0.0.5"),
    ],
)
def test_an_origin_is_kept_as_browsers_spell_it(written: str, spelt: str) -> None:
    assert check_origin(written) == spelt


@pytest.mark.parametrize(
    "written",
    [
        "", "*", "https://*", "https://*.example.com", "https://*.com.br", "http://intranet.example", "ftp://a.example",
        "https://a.example/path", "https://a.example?x", "https://a.example#x", "https://u:p@a.example", "a.example",
        "https://a.example; script-src *", "https://a.example,https://b.example", "https://a.example https://b.example",
        "https://a.example\r\nSet-Cookie: a=b", "https://a.example\n", "https://a.example\x00", "https://a.example:0",
        "https://a.example:99999", "https://a.example:443:1", "'none'", "'self'", "data:", "https:", "https://", "null",
        "https://a..example", "https://-a.example", "https://[::1]", "https://localhost.example\t", "http://127.0.0.1.example",
        "https://" + "a." * 130 + "example", "https://ç.example;x",
    ],
)  # fmt: skip
def test_what_is_no_origin_or_not_safe_is_refused_with_what_to_write(written: str) -> None:
    with pytest.raises(PeopleError, match=r"^origin: .*https") as refused:
        check_origin(written)
    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"name": ""}, "name: "),
        ({"name": "a\nb"}, "name: "),
        ({"name": "a\u202eb"}, "name: "),
        ({"detail": "everything"}, "detail: "),
        ({"days": 0}, "expires: "),
        ({"accounts": []}, "accounts: "),
        ({"origins": [f"https://{n}.example" for n in range(21)]}, "origin: "),
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_is_kept(
    store: Store, wrong: dict[str, object], sentence: str
) -> None:
    with pytest.raises(PeopleError, match=f"^{sentence}"):
        add(store, **wrong)  # type: ignore[arg-type]  # some of it is what no caller would write
    assert embeds.list_embeds(store) == ()
    assert rows(store, "audit") == []
