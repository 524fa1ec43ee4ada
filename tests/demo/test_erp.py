"""The simulated ERP misbehaves as scripted, and counts every effect truly."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dlq_console.demo.data import customers
from dlq_console.demo.erp import SimulatedErp
from dlq_console.demo.erp_client import PATIENCE as HANDLER_PATIENCE
from dlq_console.demo.erp_temper import TEMPERS, Temper
from tests.demo.erp_client import PATIENCE, PLAIN, Reply, SettableClock, call, eventually, send

#: Longer than any test may last: only `stop` ends such a call.
FOR_EVER = 3600.0
#: The patience of a caller who is meant to give up, in seconds.
SHORT = 0.3


def _known_customer(account: str, *, registered: bool) -> str:
    return next(one.code for one in customers(1, account) if one.registered is registered)


def test_a_valid_record_takes_effect_once_and_gets_a_document_number() -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        reply = send(erp.url, key="a")

        assert (reply.status, reply.json) == (200, {"document": "plain/1", "duplicate": False})
        assert erp.effects() == {"plain": {"a": 1}}


def test_an_order_of_an_unregistered_customer_is_refused_with_http_500_and_a_fault() -> None:
    code = _known_customer("plain", registered=False)
    with SimulatedErp({"plain": PLAIN}) as erp:
        reply = send(erp.url, "orders", customer_code=code, customer_name="Padaria Arara Azul")

        assert reply.status == 500
        assert reply.json == {
            "faultstring": f"Cliente não cadastrado para o código [{code}].",
            "faultcode": "SOAP-ENV:Client-101",
        }
        assert erp.stats()["applied"] == 0
        assert [(one.code, one.name, one.times) for one in erp.desk.books.missing("plain")] == [
            (code, "Padaria Arara Azul", 1)
        ]


def test_an_order_of_a_customer_known_from_the_start_is_taken() -> None:
    code = _known_customer("plain", registered=True)
    with SimulatedErp({"plain": PLAIN}) as erp:
        assert send(erp.url, "orders", customer_code=code).status == 200


def test_a_customer_sent_to_the_erp_is_registered_by_that() -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        assert send(erp.url, "orders", "order", customer_code="77").status == 500
        assert send(erp.url, "customers", "customer", code="77", name="Oficina Quati Verde").status == 200
        assert send(erp.url, "orders", "order", customer_code="77").status == 200
        assert erp.desk.books.missing("plain") == []


@pytest.mark.parametrize(
    ("resource", "body", "code"),
    [
        (
            "invoices",
            {"customer_code": "77", "lines": [{"amount": "10.10"}, {"amount": 0.2}], "total": 10.31},
            205,
        ),
        ("invoices", {"customer_code": "77", "lines": [{"amount": "ten"}], "total": 1}, 204),
        ("invoices", {"customer_code": "77", "lines": 5, "total": 1}, 204),
        ("invoices", {"customer_code": "77", "lines": [], "total": "sNaN"}, 204),
        ("customers", {"code": "78", "name": ""}, 103),
        ("stock-moves", {"quantity": 0}, 310),
    ],
)
def test_a_record_against_a_business_rule_is_refused(resource: str, body: dict[str, Any], code: int) -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        erp.desk.books.register("plain", "77", "Oficina Quati Verde")
        reply = send(erp.url, resource, **body)

        assert (reply.status, reply.json["faultcode"]) == (500, f"SOAP-ENV:Client-{code}")
        assert erp.stats()["refused"] == 1


def test_amounts_are_added_up_exactly() -> None:
    lines = [{"amount": 0.1}, {"amount": 0.2}]
    with SimulatedErp({"plain": PLAIN}) as erp:
        erp.desk.books.register("plain", "77", "Oficina Quati Verde")

        assert send(erp.url, "invoices", customer_code="77", lines=lines, total=0.3).status == 200


def test_calls_beyond_the_limit_are_told_how_many_seconds_to_wait() -> None:
    clock = SettableClock()
    with SimulatedErp({"plain": Temper(latency=0, calls_per_window=2, window=10)}, clock=clock) as erp:
        assert [send(erp.url, key=key).status for key in "ab"] == [200, 200]
        clock.now += 6.5
        refused = send(erp.url, key="c")
        assert (refused.status, refused.headers["Retry-After"]) == (429, "4")
        clock.now += 4
        assert send(erp.url, key="c").status == 200
        assert erp.effects() == {"plain": {"a": 1, "b": 1, "c": 1}}


def test_a_hanging_call_outlasts_its_caller_and_does_nothing() -> None:
    with SimulatedErp({"plain": Temper(hang_rate=1, hang=FOR_EVER)}) as erp:
        with pytest.raises(TimeoutError):
            send(erp.url, patience=SHORT)

        eventually(lambda: erp.stats()["by_account"]["plain"].get("hung") == 1)
        assert erp.stats()["applied"] == 0


def test_a_late_answer_has_its_effect_and_the_repeat_is_recognised() -> None:
    with SimulatedErp({"plain": Temper(late_rate=1, late=FOR_EVER)}) as erp:
        with pytest.raises(TimeoutError):
            send(erp.url, key="a", patience=SHORT)
        eventually(lambda: erp.effects() == {"plain": {"a": 1}})

        erp.desk.set_temper("plain", PLAIN)
        assert send(erp.url, key="a").json == {"document": "plain/1", "duplicate": True}
        assert erp.effects() == {"plain": {"a": 1}}
        assert erp.stats()["replayed"] == 1


def test_a_repeat_may_be_answered_with_a_fault_and_is_still_no_second_effect() -> None:
    with SimulatedErp({"plain": Temper(latency=0, repeat_is_fault=True)}) as erp:
        assert send(erp.url, key="a").status == 200
        repeat = send(erp.url, key="a")

        assert (repeat.status, repeat.json["faultcode"]) == (500, "SOAP-ENV:Client-102")
        assert erp.effects() == {"plain": {"a": 1}}


def test_an_account_that_recognises_no_repeats_counts_a_second_effect() -> None:
    with SimulatedErp({"plain": Temper(latency=0, deduplicates=False)}) as erp:
        documents = [send(erp.url, key="a").json["document"] for _ in range(2)]

        assert documents == ["plain/1", "plain/2"]
        assert erp.stats()["twice"] == ["plain a"]


def test_a_record_created_under_two_effect_keys_is_found_out() -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        send(erp.url, key="a", integration_code="8841")
        send(erp.url, key="b", integration_code="8841")
        send(erp.url, key="c", integration_code="8841", version="2")

        assert erp.stats()["twice"] == []
        assert erp.stats()["doubled"] == ["plain stock-moves 8841"]


def test_of_simultaneous_posts_with_one_key_exactly_one_takes_effect() -> None:
    callers = 24
    together = threading.Barrier(callers)
    with SimulatedErp({"plain": PLAIN}) as erp, ThreadPoolExecutor(callers) as pool:

        def post(_: int) -> Reply:
            together.wait(PATIENCE)
            return send(erp.url, key="a")

        replies = list(pool.map(post, range(callers)))

        assert {reply.status for reply in replies} == {200}
        assert sum(not reply.json["duplicate"] for reply in replies) == 1
        assert erp.effects() == {"plain": {"a": 1}}
        assert erp.stats()["replayed"] == callers - 1


def test_an_outage_comes_and_goes_by_the_clock() -> None:
    clock = SettableClock()
    with SimulatedErp({"plain": Temper(latency=0, outage_every=100, outage_lasts=20)}, clock=clock) as erp:
        statuses = []
        for second in (0, 79, 80, 99, 100, 180):
            clock.now = 1000.0 + second
            statuses.append(send(erp.url, key=str(second)).status)

        assert statuses == [200, 200, 503, 503, 200, 503]


def test_an_outage_that_is_ended_by_hand_leaves_the_full_healthy_part() -> None:
    clock = SettableClock()
    with SimulatedErp({"plain": Temper(latency=0, outage_every=100, outage_lasts=20)}, clock=clock) as erp:
        clock.now += 85
        assert send(erp.url).status == 503
        erp.desk.end_outage("plain")
        assert send(erp.url).status == 200
        clock.now += 79
        assert send(erp.url).status == 200


def test_an_outage_may_begin_within_its_period() -> None:
    clock = SettableClock()
    temper = Temper(latency=0, outage_every=100, outage_lasts=20, outage_after=30)
    with SimulatedErp({"plain": temper}, clock=clock) as erp:
        statuses = []
        for second in (29, 30, 49, 50, 99, 130):
            clock.now = 1000.0 + second
            statuses.append(send(erp.url, key=str(second)).status)

        assert statuses == [200, 503, 503, 200, 200, 503]


def test_the_first_of_every_few_calls_may_answer_late_and_asking_is_no_call_of_those() -> None:
    with SimulatedErp({"plain": Temper(latency=0, late_every=3, late=0)}) as erp:
        for number in range(1, 5):
            send(erp.url, key=str(number))
            call(erp.url, "GET", f"/plain/stock-moves/{number}")

        assert erp.stats()["by_account"]["plain"]["late"] == 2


def _refused_order(erp: SimulatedErp, key: str) -> Reply:
    return send(erp.url, "orders", key, customer_code="nobody")


def test_too_many_refusals_block_that_kind_of_call_until_its_time_and_no_other() -> None:
    clock = SettableClock()
    temper = Temper(latency=0, block_after=2, block_window=60, block_lasts=45)
    with SimulatedErp({"plain": temper}, clock=clock) as erp:
        assert [_refused_order(erp, key).status for key in "ab"] == [500, 500]
        clock.now += 5
        told = _refused_order(erp, "c")
        assert (told.status, told.json["faultcode"]) == (425, "SOAP-ENV:Client-425")
        assert told.json["faultstring"] == (
            "API bloqueada por excesso de recusas. Tente novamente em 45 segundos."
        )
        assert send(erp.url, key="d").status == 200

        clock.now += 45
        assert _refused_order(erp, "e").status == 500, "it began to count anew"
        figures = erp.stats()["by_account"]["plain"]
        assert (figures["blocked"], figures.get("while_blocked", 0)) == (1, 0)


def test_a_call_during_a_block_is_counted_and_begins_the_block_anew() -> None:
    clock = SettableClock()
    with SimulatedErp({"plain": Temper(latency=0, block_after=1, block_lasts=45)}, clock=clock) as erp:
        assert [_refused_order(erp, key).status for key in "ab"] == [500, 425]
        clock.now += 44
        assert call(erp.url, "GET", "/plain/orders/a").status == 425
        clock.now += 44
        assert _refused_order(erp, "c").status == 425
        assert erp.stats()["by_account"]["plain"]["while_blocked"] == 2


def test_refusals_long_ago_block_nothing() -> None:
    clock = SettableClock()
    with SimulatedErp({"plain": Temper(latency=0, block_after=2, block_window=60)}, clock=clock) as erp:
        for key in "abc":
            assert _refused_order(erp, key).status == 500
            clock.now += 60


def test_a_record_is_found_by_the_code_of_its_sender() -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        send(erp.url, key="a", integration_code="88/41")

        assert call(erp.url, "GET", "/plain/stock-moves/88%2F41").status == 404
        send(erp.url, key="b", integration_code="8842")
        assert call(erp.url, "GET", "/plain/stock-moves/8842").json == {"document": "plain/2"}
        assert call(erp.url, "GET", "/plain/orders/8842").json == {"document": None}
        assert call(erp.url, "GET", "/plain/holidays/8842").status == 404
        assert call(erp.url, "GET", "/nobody/orders/8842").status == 404


def test_asking_meets_outages_too() -> None:
    with SimulatedErp({"plain": Temper(outage_every=1, outage_lasts=1)}) as erp:
        assert call(erp.url, "GET", "/plain/orders/1").status == 503


def test_a_slow_spell_answers_properly() -> None:
    clock = SettableClock()
    temper = Temper(latency=0, slow_every=100, slow_lasts=20, slow_by=0.01)
    with SimulatedErp({"plain": temper}, clock=clock) as erp:
        clock.now += 90
        assert send(erp.url).status == 200
        assert erp.stats()["by_account"]["plain"]["slow"] == 1


def test_a_broken_gateway_answers_502_with_a_page_and_does_nothing() -> None:
    with SimulatedErp({"plain": Temper(glitch_rate=1)}) as erp:
        reply = send(erp.url)

        assert (reply.status, reply.headers["Content-Type"]) == (502, "text/html; charset=utf-8")
        assert erp.stats()["applied"] == 0


def _statuses(seed: int) -> list[int]:
    temper = Temper(latency=0, glitch_rate=0.3, hang_rate=0.2, hang=0)
    with SimulatedErp({"plain": temper, "other": temper}, seed=seed) as erp:
        return [
            send(erp.url, key=str(n), account=account).status
            for n in range(30)
            for account in ("plain", "other")
        ]


def test_the_same_seed_and_order_of_calls_meet_the_same_faults() -> None:
    first, again, other = _statuses(7), _statuses(7), _statuses(8)

    assert first == again
    assert first != other
    assert first[::2] != first[1::2], "two accounts share one generator"


def test_hanging_and_late_calls_of_the_demo_outlast_the_patience_of_its_handlers() -> None:
    assert all(min(temper.hang, temper.late) > HANDLER_PATIENCE for temper in TEMPERS.values())


@pytest.mark.parametrize(
    "fields",
    [
        {"hang_rate": -0.1},
        {"hang_rate": 0.6, "late_rate": 0.6},
        {"latency": float("nan")},
        {"window": float("inf")},
    ],
)
def test_a_temper_that_cannot_be_played_is_refused(fields: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="temper"):
        Temper(**fields)  # type: ignore[arg-type]  # every field given here is a number


def test_control_opens_an_account_changes_its_temper_and_its_outage() -> None:
    with SimulatedErp({}) as erp:
        for order in ({"temper": {"latency": 0}}, {"outage": True}):
            assert call(erp.url, "POST", "/_control", json.dumps({"account": "plain", **order})).status == 200
        assert send(erp.url).status == 503
        assert call(erp.url, "POST", "/_control", '{"account": "plain", "outage": false}').status == 200
        assert send(erp.url).status == 200
        assert (
            call(erp.url, "POST", "/_control", '{"account": "plain", "temper": {"glitch_rate": 1.0}}').status
            == 200
        )
        assert send(erp.url).status == 502


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        '"plain"',
        "[" * 100_000,
        '{"account": "stats", "temper": {}}',
        '{"account": "a/b", "temper": {}}',
        '{"account": "plain", "temper": {"no_such": 1}}',
        '{"account": "plain", "temper": {"latency": "soon"}}',
        '{"account": "plain", "temper": {"latency": -1}}',
        '{"account": "plain", "temper": 5}',
        '{"account": "plain", "outage": "later"}',
        '{"account": "plain", "outage": null}',
    ],
)
def test_an_unreadable_control_order_is_refused(body: str) -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        reply = call(erp.url, "POST", "/_control", body)

        assert reply.status == 400
        assert reply.json["error"]


def test_a_call_without_effect_key_account_or_known_resource_is_refused() -> None:
    with SimulatedErp({"plain": PLAIN}) as erp:
        assert call(erp.url, "POST", "/plain/stock-moves", "{}").status == 400
        assert send(erp.url, account="nobody").status == 404
        assert send(erp.url, "holidays").status == 404
        assert call(erp.url, "POST", "/plain/orders", "{", {"X-Effect-Key": "a"}).status == 400
        half = b'{"customer_code": "\\ud800"}'
        assert call(erp.url, "POST", "/plain/orders", half, {"X-Effect-Key": "a"}).status == 400
        assert call(erp.url, "POST", "/plain/orders", b"x" * 1_100_000, {"X-Effect-Key": "a"}).status == 413
        assert call(erp.url, "GET", "/nobody").status == 404
        assert erp.stats()["calls"] == 0


def test_stopping_lets_go_of_calls_that_hang() -> None:
    erp = SimulatedErp({"plain": Temper(hang_rate=1, hang=FOR_EVER)})
    erp.start()
    with ThreadPoolExecutor(1) as pool:
        hanging = pool.submit(send, erp.url)
        eventually(lambda: erp.stats()["calls"] == 1)
        assert not hanging.done()
        erp.stop()
        assert hanging.result(PATIENCE).status == 504


def test_registrations_and_effects_survive_a_restart(tmp_path: Path) -> None:
    data = tmp_path / "erp" / "journal.jsonl"
    with SimulatedErp({"plain": PLAIN}, data=data) as erp:
        erp.desk.books.register("plain", "77", "Oficina Quati Verde")
        send(erp.url, key="a")
        send(erp.url, "customers", key="c", code="78", name="Livraria Tatu Lilás")
    with data.open("a") as journal:
        journal.write('{"what": "apply", "acc')  # cut off by a crash

    for _ in range(2):
        with SimulatedErp({"plain": PLAIN}, data=data) as erp:
            assert send(erp.url, key="a").json == {"document": "plain/1", "duplicate": True}
            held = erp.desk.books.customers("plain")
            assert (held["77"], held["78"]) == ("Oficina Quati Verde", "Livraria Tatu Lilás")
            assert erp.stats()["applied"] == len(erp.effects()["plain"])
            send(erp.url, key="b")

    assert erp.effects() == {"plain": {"a": 1, "b": 1, "c": 1}}


def test_the_program_says_its_address_answers_and_stops_on_a_signal() -> None:
    command = [sys.executable, "-m", "dlq_console.demo.erp", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout
        line = program.stdout.readline()
        url = line.removeprefix("Simulated ERP on ").strip()
        try:
            assert set(call(url, "GET", "/stats").json["by_account"]) == set(TEMPERS)
        finally:
            program.send_signal(signal.SIGTERM)
        assert program.wait(PATIENCE) == 0


def test_a_port_that_is_taken_is_one_clear_sentence() -> None:
    with SimulatedErp({}) as erp:
        port = erp.url.rpartition(":")[2]
        command = [sys.executable, "-m", "dlq_console.demo.erp", "--port", port]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)

    assert ended.returncode == 1
    assert ended.stderr == f"The simulated ERP cannot start: port {port}: Address already in use.\n"
