"""Newer events of the same number: the page says so, a reprocess that would undo one is refused or asks back."""

from __future__ import annotations

import pytest
from flask import Flask

from dlq_console.errors import PermanentError
from dlq_console.hub.policy import Policy, ReplayPolicy
from dlq_console.store import people
from tests.web.desk import REFUSAL, Desk
from tests.web.visitor import Visitor, read

DONE_ALREADY = "A newer event of the same number has been sent already."
COULD_UNDO = "Sent after it, this one could undo what that one did."
NOT_ANY_MORE = "Nothing of this kind is sent after a newer one: discard this one."


def _dead_and_newer(desk: Desk, policy: ReplayPolicy, *, sent: bool = True) -> tuple[int, int]:
    """An event that was refused, and a newer one of its number."""
    old = desk.dead("8841", kind="price.set", policy=Policy(replay_policy=policy), version="1")
    desk.answers.clear()
    add = desk.done if sent else desk.add
    return old, add("8841", kind="price.set", version="2")


def _page(visitor: Visitor, event_id: int) -> str:
    return visitor.get(f"/events/{event_id}").text


@pytest.mark.parametrize(
    ("policy", "consequence"),
    [
        ("always", None),
        ("ask", COULD_UNDO),
        ("latest_wins", NOT_ANY_MORE),
        ("latest_wins_pending", NOT_ANY_MORE),
    ],
)
def test_the_page_of_a_dead_event_tells_of_the_newer_one_and_what_that_means(
    desk: Desk, maria: Visitor, policy: ReplayPolicy, consequence: str | None
) -> None:
    old, new = _dead_and_newer(desk, policy)
    page = _page(maria, old)
    assert f"{DONE_ALREADY} {f'{consequence} ' if consequence else ''}Open the newer event" in read(page)
    assert f'href="/events/{new}"' in page
    assert (f'action="/events/{old}/reprocess"' in page) == (policy in ("always", "ask"))
    assert ("Reprocess all the same" in page) == (policy == "ask")
    assert ("then reprocess" in read(page)) == (policy in ("always", "ask"))
    assert f'action="/events/{old}/discard"' in page


def test_a_newer_event_that_has_not_been_sent_yet_is_said_to_be_on_its_way(
    desk: Desk, maria: Visitor
) -> None:
    old, _ = _dead_and_newer(desk, "latest_wins_pending", sent=False)
    assert f"A newer event of the same number is on its way. {NOT_ANY_MORE}" in read(_page(maria, old))


def test_an_event_without_a_newer_one_says_nothing_of_it(desk: Desk, maria: Visitor) -> None:
    policies: tuple[ReplayPolicy, ...] = ("always", "ask")
    for policy in policies:
        event_id = desk.dead(policy, kind=f"order.{policy}", policy=Policy(replay_policy=policy))
        page = _page(maria, event_id)
        assert "newer" not in read(page)
        assert "all the same" not in page


@pytest.mark.parametrize("policy", ["ask", "latest_wins"])
def test_a_click_on_an_old_page_is_refused_with_a_link_to_the_newer_event(
    desk: Desk, maria: Visitor, policy: ReplayPolicy
) -> None:
    old, new = _dead_and_newer(desk, policy)
    maria.get("/dead-letters")
    for answer in (
        maria.post(f"/events/{old}/reprocess"),
        maria.htmx(f"/events/{old}/reprocess", view="row"),
    ):
        assert answer.status_code == 409
        assert DONE_ALREADY in read(answer.text)
        assert f'href="/events/{new}"' in answer.text
    assert desk.hub.get(old).status == "dead"


@pytest.mark.parametrize("policy", ["ask", "latest_wins"])
def test_a_row_whose_reprocess_was_refused_offers_it_no_more_and_says_why(
    desk: Desk, maria: Visitor, policy: ReplayPolicy
) -> None:
    old, _ = _dead_and_newer(desk, policy)
    button = f'formaction="/events/{old}/reprocess"'
    assert button in maria.get("/dead-letters").text
    answer = maria.htmx(f"/events/{old}/reprocess", view="row").text
    row = answer.partition(f'<tr id="row-{old}"')[2]
    assert row
    assert button not in answer
    assert DONE_ALREADY in read(row)
    assert f'<a href="/events/{old}">Why not?</a>' in row
    maria.language = "pt-BR"
    answer = maria.htmx(f"/events/{old}/reprocess", view="row").text
    assert f'<a href="/events/{old}">Por que não?</a>' in answer


def test_a_row_that_somebody_was_faster_with_is_not_barred(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    desk.hub.discard(event_id, actor="joana", note="not needed")
    answer = maria.htmx(f"/events/{event_id}/reprocess", view="row")
    assert answer.status_code == 409
    assert "Why not?" not in answer.text


def test_a_person_who_knows_of_the_newer_event_reprocesses_all_the_same(desk: Desk, maria: Visitor) -> None:
    old, _ = _dead_and_newer(desk, "ask")
    assert 'name="even_if_newer" value="1"' in _page(maria, old)
    answer = maria.post(f"/events/{old}/reprocess", even_if_newer="1", note="the ERP lost it")
    assert answer.status_code == 303
    assert desk.hub.run(old).status == "done"


def test_the_page_of_a_superseded_event_links_to_what_took_its_place(desk: Desk, maria: Visitor) -> None:
    old = desk.add("8841", kind="price.set", policy=Policy(replay_policy="latest_wins"), version="1")
    new = desk.done("8841", kind="price.set", version="2")
    assert desk.hub.run(old).reason == "superseded"
    page = _page(maria, old)
    text = read(page)
    assert "discarded replaced by a newer event" in text
    assert "A newer event of the same number took its place. Open the newer event" in text
    assert "It was not sent, because a newer event of the same number took its place." in text
    assert f'href="/events/{new}"' in page
    maria.language = "pt-BR"
    text = read(_page(maria, old))
    assert "descartado substituído por um evento mais novo" in text
    assert "Um evento mais novo do mesmo número tomou o lugar deste. Abrir o evento mais novo" in text


def test_a_return_to_what_was_sent_before_is_said_to_have_been_taken_for_a_repeat(
    desk: Desk, maria: Visitor
) -> None:
    first = desk.done("nail", kind="price.set", payload=10)
    assert "came in again" not in read(_page(maria, first))
    second = desk.done("nail", kind="price.set", payload=12)
    assert desk.add("nail", kind="price.set", payload=10) == first
    page = _page(maria, first)
    text = read(page)
    assert "After a newer event of the same number the same content as here came in again, at " in text
    assert "not sent: if it was meant to be sent again, send it with a version." in text
    assert f'href="/events/{second}"' in page
    assert "The same content came in again, at " in text
    maria.language = "pt-BR"
    text = read(_page(maria, first))
    assert "Depois de um evento mais novo do mesmo número, o mesmo conteúdo deste chegou de novo, em " in text
    assert "Se era para enviar de novo, envie com uma versão." in text


def test_a_plain_repeat_is_counted_and_tells_what_to_do_if_it_was_meant(desk: Desk, maria: Visitor) -> None:
    event_id = desk.done("nail", payload=10)
    for _ in range(2):
        desk.add("nail", payload=10)
    text = read(_page(maria, event_id))
    assert "The same content came in again 2 times, last at " in text
    assert "After a newer event" not in text


@pytest.mark.parametrize(("version", "key"), [("1", None), (None, "nail-1")])
def test_a_repeat_under_a_key_or_version_of_its_producer_is_a_repeat(
    desk: Desk, maria: Visitor, version: str | None, key: str | None
) -> None:
    event_id = desk.done("nail", payload=10, version=version, idempotency_key=key)
    desk.done("nail", payload=12)
    desk.add("nail", payload=10, version=version, idempotency_key=key)
    text = read(_page(maria, event_id))
    assert "received 2 times, last at " in text
    assert "came in again" not in text


def test_a_rebuilt_payload_is_told_in_the_history(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841", error=PermanentError(REFUSAL))
    desk.answers.clear()
    desk.hub.refresh("order.create")(lambda event: {"number": "9000"})
    desk.hub.reprocess(event_id, actor="maria")
    desk.hub.run(event_id)
    text = read(_page(maria, event_id))
    assert "Its payload was rebuilt before it was sent again." in text
    assert "9000" in text


def test_a_program_is_told_the_newer_event_and_may_say_that_it_knows(desk: Desk, app: Flask) -> None:
    old, new = _dead_and_newer(desk, "ask")
    token = people.add_token(desk.hub.store, "ci", role="operator")
    client, headers = app.test_client(), {"Authorization": f"Bearer {token}"}
    address = f"/api/v1/events/{old}/reprocess"
    refused = client.post(address, headers=headers)
    assert refused.status_code == 409
    body = refused.get_json()
    assert (body["event_status"], body["newer_event"]) == ("dead", new)
    assert body["detail"].startswith(
        f"Event {new}, a newer one of the same kind, account and number, is done"
    )
    assert client.post(address, json={"even_if_newer": "perhaps"}, headers=headers).status_code == 400
    accepted = client.post(address, json={"even_if_newer": True}, headers=headers)
    assert (accepted.status_code, accepted.get_json()["status"]) == (202, "pending")
