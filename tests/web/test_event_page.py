"""One event: what failed, what the ERP said, what to do, everything that happened, and what it carries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from flask import Flask

from dlq_console.errors import OutcomeUnknown, RateLimited, TransientError
from dlq_console.hub.policy import Policy
from dlq_console.store.states import DEAD_REASONS
from tests.web.desk import REFUSAL, TWO_ATTEMPTS, Desk
from tests.web.visitor import Visitor, read

ONCE = Policy(max_attempts=1)
#: The remedy that each reason has of its own.
REMEDIES = {
    "permanent": "Correct in the ERP what it complains about, then reprocess.",
    "exhausted": "Once the ERP works again, reprocess; nothing in the event needs to be corrected.",
    "unclassified": "Show the technical details of the last attempt to a developer, then reprocess.",
    "orphaned": "Let a developer look at it first",
    "expired": "See that the account is open and workers are running",
    "too_old": "Reprocess it only if the ERP still needs it; otherwise discard it.",
    "in_doubt": "Look in the ERP: if the record is there, discard this event; if it is not, reprocess it.",
    "auth": "Correct the credentials, resume the account, then reprocess.",
    "queue_full": "Reprocess it once the queue has room again.",
    "no_handler": "Start or update the worker that handles this kind, then reprocess.",
}


def _page(visitor: Visitor, event_id: int) -> str:
    return read(visitor.get(f"/events/{event_id}").text)


def test_the_page_begins_with_what_failed_what_the_erp_said_and_what_to_do(
    desk: Desk, maria: Visitor
) -> None:
    text = _page(maria, desk.dead("8841"))
    order = [
        "dead letter",
        "Order 8841 did not reach filial-sp.",
        "The ERP said:",
        REFUSAL,
        REMEDIES["permanent"],
    ]
    places = [text.index(part, text.index("maria")) for part in order]
    assert places == sorted(places)


def test_each_reason_has_its_own_two_sentences_in_both_languages(desk: Desk, maria: Visitor) -> None:
    assert set(REMEDIES) == {str(reason) for reason in DEAD_REASONS}
    event_id = desk.dead("8841")
    meanings = set()
    for reason, remedy in REMEDIES.items():
        desk.change(event_id, reason=reason)
        maria.language = "en"
        assert remedy in _page(maria, event_id), reason
        maria.language = "pt-BR"
        translated = _page(maria, event_id)
        assert remedy not in translated, reason
        meanings.add(translated.partition(REFUSAL)[2][:80])
    assert len(meanings) == len(REMEDIES)


def test_each_class_of_error_has_words_of_its_own_once_all_attempts_are_used_up(
    desk: Desk, maria: Visitor
) -> None:
    expected = {
        TimeoutError("timed out"): "The ERP did not answer in time. It was tried 1 times.",
        ConnectionRefusedError("refused"): "The ERP could not be reached. It was tried 1 times.",
        OutcomeUnknown("no answer"): "The answer of the ERP never came",
        TransientError("503 fora do ar"): "Every attempt failed, although the cause may pass by itself.",
    }
    for number, (error, meaning) in enumerate(expected.items()):
        event_id = desk.dead(str(number), error=error, kind=f"order.try{number}", policy=ONCE)
        assert meaning in _page(maria, event_id)


def test_what_the_rules_said_of_the_error_decides_on_the_words(desk: Desk, maria: Visitor) -> None:
    told = {
        (
            "exhausted",
            "rate_limited",
        ): "Each time the ERP asked for fewer calls. Reprocess it at a quieter time",
        (
            "exhausted",
            "auth",
        ): "The ERP refused the log-in of this account each time. Correct the credentials",
        ("permanent", "auth"): "The ERP does not let this account do it. Give the account the right to it",
        (
            "permanent",
            "duplicate",
        ): "The ERP says that it has it already. Look in the ERP: if it is the same record",
    }
    event_id = desk.dead("8841")
    for (reason, verdict), words in told.items():
        desk.change(event_id, reason=reason, verdict=verdict)
        maria.language = "en"
        assert words in _page(maria, event_id), (reason, verdict)
        maria.language = "pt-BR"
        assert words[:20] not in _page(maria, event_id)
    maria.language = "en"
    failed = desk.failed("8842")
    for verdict, words in {
        "rate_limited": "asked for fewer calls.",
        "auth": "had lapsed; the next attempt",
    }.items():
        desk.change(failed, verdict=verdict)
        text = _page(maria, failed).partition("What happened")[0]
        assert words in text
        assert "There is nothing to do: the next attempt comes by itself." in text


def test_only_what_the_erp_answered_is_put_into_its_mouth(desk: Desk, maria: Visitor) -> None:
    assert "What went wrong: KeyError: 'customer_code'" in _page(
        maria, desk.dead("1", error=KeyError("customer_code"))
    )
    text = _page(maria, desk.dead("2", kind="order.once", error=TimeoutError("timed out"), policy=ONCE))
    assert "What went wrong: timed out" in text
    assert "The ERP said:" not in text


def test_the_headline_follows_the_state(desk: Desk, maria: Visitor) -> None:
    pending = desk.add("1")
    assert "Order 1 is queued for filial-sp." in _page(maria, pending)
    desk.change(
        pending,
        status="running",
        started_at=datetime.now(UTC),
        lease_until=datetime.now(UTC) + timedelta(minutes=1),
    )
    assert "Order 1 is being sent to filial-sp now." in _page(maria, pending)
    assert "Invoice 2 reached filial-sp." in _page(maria, desk.done("2", kind="invoice.create"))
    assert "Customer 3 has not reached filial-sp yet" in _page(
        maria, desk.failed("3", kind="customer.upsert")
    )
    discarded = desk.dead("4", kind="stock.move")
    desk.hub.discard(discarded, actor="maria", note="counted twice")
    assert "Stock move 4 was discarded and will not be sent to filial-sp." in _page(maria, discarded)
    desk.change(discarded, status="dead", reason="in_doubt")
    assert "It is not known whether Stock move 4 reached filial-sp." in _page(maria, discarded)
    assert "nightly.sync 5 reached filial-sp." in _page(maria, desk.done("5", kind="nightly.sync"))


def test_a_retry_says_when_it_comes(desk: Desk, maria: Visitor) -> None:
    text = _page(maria, desk.failed("1"))
    assert "will retry" in text
    assert "The next attempt is at" in text
    assert "(in 2" in text  # 30 s, of which one or two have passed
    assert "There is nothing to do: the next attempt comes by itself." in text


def test_a_closed_account_is_named_as_what_the_event_waits_for(desk: Desk, maria: Visitor) -> None:
    desk.answers["1"] = RateLimited(900, message="Limite atingido")
    desk.hub.run(desk.add("1"))
    waiting = desk.add("2")
    text = _page(maria, waiting)
    assert "waiting Order 2" in text
    assert "Waiting for: provider block (account) until" in text
    assert "Reason: Limite atingido" in text
    assert "No attempt is spent." in text


def test_everything_that_happened_stands_in_one_line_of_time(desk: Desk, maria: Visitor) -> None:
    event_id = desk.failed("1", error=TransientError("fora do ar"), origin="loja-web")
    desk.hub.clock.advance(31)
    desk.answers["1"] = TransientError("fora do ar de novo")
    desk.hub.run(event_id)
    desk.hub.reprocess(event_id, actor="maria", note="ERP is back\nsince nine")
    del desk.answers["1"]
    desk.hub.run(event_id)
    page = maria.get(f"/events/{event_id}").text
    text = read(page[page.index('id="event-history"') :])
    order = ["done attempt 1", "maria reprocessed it.", "ERP is back since nine", "failed for good attempt 2"]
    order += [
        "fora do ar de novo",
        "failed attempt 1",
        "Wait before the next attempt: 30 s",
        "It came in from loja-web.",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_a_traceback_is_one_click_away_and_never_in_the_open(desk: Desk, maria: Visitor) -> None:
    page = maria.get(f"/events/{desk.dead('1', error=KeyError('customer_code'))}").text
    before, _, after = page.partition("<summary>Technical details</summary>")
    assert "Traceback" not in before
    assert "Traceback (most recent call last)" in after.partition("</details>")[0]


def test_duplicates_are_counted_where_they_were_folded(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("1")
    assert "Duplicates" not in _page(maria, event_id)
    assert desk.add("1") == desk.add("1") == event_id
    text = _page(maria, event_id)
    assert "Duplicates The same content came in again 2 times, last at" in text
    assert "The last of 2 repeats came in and was folded into this event." in text


def test_the_payload_is_a_readable_table_and_its_json_one_click_away(desk: Desk, maria: Visitor) -> None:
    payload = {
        "customer_code": "5521",
        "total": Decimal("1240.15"),
        "rate": Decimal("0.10000000000000000555"),
        "urgent": True,
        "discount": None,
        "delivery": {"town": "Vila Inventada", "window": {"from": "08:00"}},
        "tags": ["novo", "b2b"],
        "lines": [{"sku": "P-1", "quantity": 2}, {"sku": "P-2", "quantity": 3, "gift": False}],
    }
    page = maria.get(f"/events/{desk.dead('1', payload=payload)}").text
    text = read(page)
    assert (
        "Customer code 5521 Total 1,240.15 Rate 0.10000000000000000555 Urgent yes Discount empty Delivery Town Vila Inventada Window From 08:00"
        in text
    )
    assert "Tags novo b2b Lines Table in the payload Sku Quantity Gift P-1 2 empty P-2 3 no" in text
    assert "&#34;rate&#34;: 0.10000000000000000555," in page.partition("<summary>Show the JSON</summary>")[2]


def test_secrets_are_masked_in_the_table_and_in_the_json(desk: Desk, maria: Visitor) -> None:
    payload = {
        "api_token": "canary-1",
        "auth": {"Password": "canary-2", "clientSecret": ["canary-3"]},
        "rows": [{"cpf": "canary-4", "CNPJ": "canary-5"}],
        "senha": "",
    }
    page = maria.get(f"/events/{desk.dead('1', payload=payload)}").text
    assert "canary" not in page
    assert page.count("•••") >= 10


def test_ids_and_keys_can_be_found(desk: Desk, maria: Visitor) -> None:
    event = desk.hub.get(desk.dead("1"))
    text = _page(maria, event.id)
    for known in (event.idempotency_key, event.effect_key, event.fingerprint, event.queue):
        assert str(known) in text


def test_the_payload_shows_money_with_the_zeros_it_came_with(desk: Desk, maria: Visitor) -> None:
    page = maria.get(f"/events/{desk.dead('1', payload={'total': Decimal('1240.50')})}").text
    assert "1,240.50" in page
    assert "&#34;total&#34;: 1240.50" in page


def test_payloads_of_every_shape_are_shown(desk: Desk, maria: Visitor) -> None:
    deep: list[object] = []
    for _ in range(50):
        deep = [deep]
    shapes: tuple[object, ...] = (
        None,
        7,
        "text",
        [],
        {},
        [1, 2],
        [[1], [2]],
        [{"a": 1}, 2],
        {"a": {"b": {"c": {"d": {"e": {"f": {}}}}}}},
        deep,
    )
    for number, payload in enumerate((*shapes, "x" * 5000, list(range(500)), {"": "", " ": 0, "k" * 500: 1})):
        made = desk.hub.enqueue("order.create", account="a", entity_id=str(number), payload=payload)
        assert maria.get(f"/events/{made.id}").status_code == 200, payload


def test_there_is_no_event_beyond_what_a_database_can_hold(maria: Visitor) -> None:
    for wrong in (
        "0",
        "999",
        "9223372036854775807",
        "9223372036854775808",
        "9" * 4000,
        "-1",
        "1.0",
        "abc",
        "%00",
    ):
        assert maria.get(f"/events/{wrong}").status_code == 404, wrong


def test_a_viewer_reads_everything_and_is_offered_nothing(desk: Desk, vera: Visitor, app: Flask) -> None:
    event_id = desk.dead("1")
    for path in ("/dead-letters", "/events", f"/events/{event_id}"):
        page = vera.get(path).text
        assert REFUSAL in page
        assert "Reprocess</button>" not in page
        assert "Discard" not in page


def test_only_what_the_state_allows_is_offered(desk: Desk, maria: Visitor) -> None:
    offers = {
        desk.dead("1"): {"reprocess", "discard"},
        desk.failed("2", policy=TWO_ATTEMPTS): {"discard"},
        desk.add("3"): {"discard"},
        desk.done("4"): set(),
    }
    for event_id, expected in offers.items():
        page = maria.get(f"/events/{event_id}").text
        assert {name for name in ("reprocess", "discard") if f"/events/{event_id}/{name}" in page} == expected


# Lanes

SERIAL = Policy(max_attempts=1, order="account")


def _stopped_lane(desk: Desk) -> tuple[int, int]:
    """A dead event that has stopped the lane of its account, and one that waits behind it."""
    return desk.dead("8841", policy=SERIAL), desk.add("8842", policy=SERIAL)


def test_a_waiting_event_says_behind_which_one_it_stands_and_the_head_how_many_wait(
    desk: Desk, maria: Visitor
) -> None:
    head, waiting = _stopped_lane(desk)
    page = maria.get(f"/events/{waiting}").text
    assert "Its lane has stopped: Order 8841, which comes before it, failed for good." in read(page)
    assert f'href="/events/{head}"' in page
    assert "1 event of its lane waits behind it." in _page(maria, head)
    desk.hub.reprocess(head, actor="joana")
    assert "Its turn comes after Order 8841, which is queued." in _page(maria, waiting)
    alone = desk.done("8843", kind="invoice.issue", ordering_key="x")
    assert "Let the lane go on" not in _page(maria, alone)


def test_a_person_lets_a_stopped_lane_go_on_from_either_page(desk: Desk, maria: Visitor) -> None:
    head, waiting = _stopped_lane(desk)
    assert maria.post(f"/events/{waiting}/skip-lane", head=str(head), note="by hand").status_code == 303
    assert desk.hub.get(waiting).status == "pending"
    text = _page(maria, head)
    assert "maria let its lane go on without it." in text
    assert "by hand" in text
    # The one that was let go is the head by now, and not what the person saw.
    assert maria.post(f"/events/{head}/skip-lane", head=str(head)).status_code == 409
    assert maria.post(f"/events/{head}/skip-lane", head="x").status_code == 400


def test_a_viewer_cannot_let_a_lane_go_on(desk: Desk, app: Flask) -> None:
    head, waiting = _stopped_lane(desk)
    viewer = Visitor(app).enter(desk, "joana", "viewer")
    assert "Let the lane go on" not in viewer.get(f"/events/{head}").text
    assert viewer.post(f"/events/{head}/skip-lane", head=str(head)).status_code == 403
    assert desk.hub.get(waiting).status == "blocked"


def test_an_event_outside_of_lanes_has_none_to_let_go(desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("8841")
    assert maria.post(f"/events/{event_id}/skip-lane").status_code == 409
    assert desk.hub.get(event_id).status == "dead"


def test_the_payload_is_labelled_as_its_kind_says(desk: Desk, maria: Visitor) -> None:
    policy = Policy(max_attempts=1, columns={"Cliente": "customer.name"})
    event_id = desk.dead("1", payload={"customer": {"name": "Ana", "code": 1}}, policy=policy)
    words = read(maria.get(f"/events/{event_id}").text)
    assert "Customer Cliente Ana Code 1" in words


def test_whoever_may_correct_a_refused_payload_is_told_so(app: Flask, desk: Desk, maria: Visitor) -> None:
    event_id = desk.dead("1")
    edna = Visitor(app).enter(desk, "edna", "editor")
    offer = f'<a href="/events/{event_id}/edit">Or correct the payload here.</a>'
    assert offer in edna.get(f"/events/{event_id}").text
    assert offer not in maria.get(f"/events/{event_id}").text
