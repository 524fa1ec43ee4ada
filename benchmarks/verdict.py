"""How long does it take to know what an error means, with all packs loaded, and with the worst that can be sent?

Beside it stands what most programs do: a look at the status alone, in a table.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
import timeit
from collections.abc import Callable, Sequence
from functools import partial

import httpx

from benchmarks.report import Report, arguments, load
from dlq_console.classify import Call, Phase, Reading, RuleSet, Verdict, VerdictClass
from dlq_console.classify.patterns import compiled
from dlq_console.classify.text import MESSAGE_LIMIT

#: The peer: the usual table of a program that trusts the status.
BY_STATUS = {
    **dict.fromkeys((408, 425, 500, 502, 503, 504), VerdictClass.TRANSIENT),
    429: VerdictClass.RATE_LIMITED,
    **dict.fromkeys((401, 403), VerdictClass.AUTH),
}
WRITE = Call("order.create", "omie")
MEGABYTE = 1_000_000


def omie(code: str, text: str, status: int = 500) -> httpx.HTTPStatusError:
    """An answer of Omie as httpx raises it."""
    body = {"faultcode": f"SOAP-ENV:{code}", "faultstring": text}
    return answer(status, json.dumps(body).encode(), "application/json")


def answer(status: int, body: bytes, content_type: str) -> httpx.HTTPStatusError:
    """An answer as httpx raises it."""
    response = httpx.Response(status, content=body, headers={"Content-Type": content_type})
    return httpx.HTTPStatusError(
        "refused", request=httpx.Request("POST", "http://127.0.0.1/"), response=response
    )


ORDINARY: dict[str, tuple[BaseException, Call, str]] = {
    "a block, found by its status": (omie("Client-500", "API bloqueada, tente novamente em 1700 segundos", 425), WRITE, "omie.blocked"),
    "a refusal, found by its text": (omie("Client-3", "ERROR: Produto não encontrado!"), WRITE, "omie.not-registered"),
    "a fault that no rule knows": (omie("Client-9999", "algo deu errado no pedido 8841"), WRITE, "omie.unknown-fault"),
    "a time-out": (httpx.ReadTimeout("timed out"), WRITE, "http.no-answer"),
    "an error of the handler itself": (KeyError("cliente"), WRITE, "none"),
}  # fmt: skip


def hostile() -> dict[str, Callable[[RuleSet], Verdict]]:
    """Texts of a megabyte that are made to be slow, each as the message of an error and as two kinds of body."""
    texts = {
        "one letter": "x",
        "spaces": " ",
        "letters with accents": "é",
        "brackets": "[",
        "quotes and backslashes": '"\\',
        "half of an expression": "saldo custo nao ",
        "the other half": "chave de acesso ",
        "half of a wait": "try again in ",
        "half of a tag": "<a ",
        "half of a secret": "token=",
        "an unfinished field": '"faultstring": ',
        "an object that is never closed": '{"a":',
    }
    forms: dict[str, Callable[[RuleSet], Verdict]] = {}
    for name, piece in texts.items():
        text = piece * (MEGABYTE // len(piece))
        errors = {
            "message": RuntimeError(text),
            "JSON": answer(500, text.encode(), "application/json"),
            "page": answer(500, text.encode(), "text/html"),
        }
        for form, error in errors.items():
            forms[f"{name} as {form}"] = partial(_judge, error)
    return forms


def _judge(error: BaseException, rules: RuleSet) -> Verdict:
    return rules.judge(error, WRITE)


def _microseconds(call: Callable[[], object], number: int) -> float:
    """Of one call; the median of seven runs, so that a busy moment counts as little as a lucky one."""
    return statistics.median(timeit.repeat(call, number=number, repeat=7)) / number * 1e6


def _by_status(error: BaseException) -> VerdictClass:
    status = error.response.status_code if isinstance(error, httpx.HTTPStatusError) else 0
    return BY_STATUS.get(status, VerdictClass.PERMANENT)


def measure_ordinary(report: Report, rules: RuleSet, number: int) -> None:
    """What happens all day."""
    on = sum(rule.enabled for rule in rules.rules)
    report.heading(f"One verdict, {on} rules of all packs loaded ({load()})")
    for name, (error, call, expected) in ORDINARY.items():
        verdict = rules.judge(error, call)
        assert verdict.rule == expected, verdict.rule
        peer = _microseconds(partial(_by_status, error), number)
        report.under(
            name,
            _microseconds(partial(rules.judge, error, call), number),
            "µs",
            200,
            f"the status alone {peer:.2f} µs, and says {_by_status(error)} where this says {verdict.class_}",
        )
    stored = Reading.from_attempt(
        status=500, code="Client-9999", content_type=None, excerpt="algo", phase=Phase.RESPONSE
    )
    report.note(
        f"a stored attempt {_microseconds(partial(rules.judge_reading, stored, WRITE), number):.0f} µs"
    )
    report.note(f"loading all packs {_microseconds(RuleSet.load, 5) / 1000:.0f} ms, once in a process")


def measure_hostile(report: Report, rules: RuleSet) -> None:
    """What somebody sends who wants to hold up a worker."""
    forms = hostile()
    report.heading(f"A megabyte made to be slow, {len(forms)} forms ({load()})")
    took: dict[str, float] = {}
    for name, judge in forms.items():
        began = time.perf_counter()
        judge(rules)
        took[name] = (time.perf_counter() - began) * 1000
    slowest = max(took, key=took.__getitem__)
    report.under(
        f"the slowest, {slowest}",
        took[slowest],
        "ms",
        50,
        f"median {statistics.median(took.values()):.1f} ms",
    )


#: Expressions that share out a text in as many ways as a rule may have; no text that ends in "a" matches them.
SLOWEST_EXPRESSIONS = (
    "^.*a.*ab$",
    "^[a-z]*[a-z]*[a-z]?b$",
    "^.*(?:a|a).*ab$",
    "^.*a.*(?:aa?)b$",
    "^.{0,90}.{0,100}.{0,100}b$",
    f"^{'a?' * 19}b$",
)


def measure_expressions(report: Report) -> None:
    """What a rule may hold at worst, over the longest message that is compared."""
    report.heading(f"The slowest expressions that a rule may hold ({load()})")
    text = "a" * MESSAGE_LIMIT
    took: dict[str, float] = {}
    for expression in SLOWEST_EXPRESSIONS:
        pattern = compiled(expression)
        began = time.perf_counter()
        assert pattern.fullmatch(text) is None
        took[expression] = (time.perf_counter() - began) * 1000
    slowest = max(took, key=took.__getitem__)
    report.under(
        f"the slowest, {slowest}",
        took[slowest],
        "ms",
        50,
        f"median {statistics.median(took.values()):.1f} ms",
    )


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print, and return 1 when a bar was missed."""
    number = 5_000 if arguments(__doc__, given).full else 1_000
    report = Report()
    rules = RuleSet.load()
    measure_ordinary(report, rules, number)
    measure_hostile(report, rules)
    measure_expressions(report)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
