"""Portuguese is complete: no sentence is missing, guessed or stale, and no English word is left on a page."""

from __future__ import annotations

import ast
import re
from functools import cache
from gettext import GNUTranslations
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.pofile import read_po
from flask import Flask
from flask_babel import force_locale, ngettext

from dlq_console.errors import TransientError
from dlq_console.hub import bulk_progress
from dlq_console.hub.policy import Policy
from dlq_console.store import groups
from dlq_console.store.filters import EventFilter
from dlq_console.watch import doctor
from tests.web import alerted
from tests.web.desk import Desk
from tests.web.refusals import refusal
from tests.web.visitor import Visitor, Words

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "dlq_console" / "translations" / "pt_BR" / "LC_MESSAGES"
_PLACEHOLDER = re.compile(r"%\((\w+)\)[sd]")

#: Written alike in both languages.
SAME = {"Menu", "JSON", "%(who)s: %(action)s."}
#: What events, people and settings brought with them: data, not words of the console.
DATA = {
    "DLQ Console",
    "Number",
    "English",
    "customer_code",
    "KeyError",
    "Unnamed",
    "timed out",
    "JSON",
    "operator",
}
#: Remembered alike for all languages: names of zones, and widths of letters.
WITHOUT_WORDS = {"zone_names", "_letter"}


@cache
def _extracted() -> dict[str, str]:
    """Every sentence in the source, with its plural where it has one."""
    with (ROOT / "babel.cfg").open() as file:
        methods, options = parse_mapping_cfg(file)  # type: ignore[no-untyped-call]  # Babel does not annotate it
    found = extract_from_dir(
        str(ROOT),
        methods,
        options,
        keywords=DEFAULT_KEYWORDS | {"lazy_gettext": None},
        directory_filter=lambda folder: not Path(folder).name.startswith((".", "tests", "demo")),
    )
    sentences: dict[str, str] = {}
    for _, _, message, _, _ in found:
        one, many = (message, "") if isinstance(message, str) else message[:2]
        sentences[one] = many
    return sentences


@cache
def _portuguese() -> Catalog:
    with (FOLDER / "messages.po").open("rb") as file:
        return read_po(file, locale="pt_BR")


def _messages() -> list[Message]:
    return [message for message in _portuguese() if message.id]


def _singular(message: Message) -> str:
    return str(message.id[0] if isinstance(message.id, tuple) else message.id)


def _texts(message: Message) -> tuple[str, ...]:
    return message.string if isinstance(message.string, tuple) else (str(message.string),)


def test_every_sentence_of_the_source_is_translated_and_no_other_is_kept() -> None:
    assert len(_extracted()) > 200
    assert {_singular(message) for message in _messages()} == set(_extracted())
    for message in _messages():
        assert not message.fuzzy, message.id
        assert all(_texts(message)), message.id
        assert isinstance(message.id, tuple) == bool(_extracted()[_singular(message)]), message.id


def test_a_translation_uses_the_same_values_as_the_sentence() -> None:
    for message in _messages():
        for original, text in zip([_singular(message)] * 9, _texts(message), strict=False):
            plural = _extracted()[_singular(message)] or original
            assert set(_PLACEHOLDER.findall(text)) <= set(_PLACEHOLDER.findall(original + plural)), message.id
            assert set(_PLACEHOLDER.findall(original)) <= set(_PLACEHOLDER.findall(text)), message.id


def test_nothing_is_translated_by_itself() -> None:
    same = {_singular(message) for message in _messages() if _singular(message) in _texts(message)}
    assert same <= SAME


def test_the_compiled_catalogue_is_that_of_the_source() -> None:
    with (FOLDER / "messages.mo").open("rb") as file:
        compiled = GNUTranslations(file)
    for message in _messages():
        one, many = _singular(message), _extracted()[_singular(message)]
        texts = (
            [compiled.ngettext(one, many, number) for number in (1, 1_000_000, 2)]
            if many
            else [compiled.gettext(one)]
        )
        assert tuple(texts) == _texts(message)


def test_zero_and_one_are_singular_in_portuguese(app_display: None) -> None:
    texts = [
        ngettext("%(num)d worker is running", "%(num)d workers are running", number) for number in (0, 1, 2)
    ]
    assert texts == ["0 processo em execução", "1 processo em execução", "2 processos em execução"]
    with force_locale("en"):
        assert (
            ngettext("%(num)d worker is running", "%(num)d workers are running", 0) == "0 workers are running"
        )


def test_what_is_remembered_of_the_words_is_remembered_per_language() -> None:
    remembered = [
        (function.name, [argument.arg for argument in function.args.args])
        for file in sorted((ROOT / "dlq_console" / "web").rglob("*.py"))
        for function in ast.walk(ast.parse(file.read_text()))
        if isinstance(function, ast.FunctionDef)
        and any("cache" in ast.unparse(decorator) for decorator in function.decorator_list)
    ]
    assert len(remembered) > len(WITHOUT_WORDS)
    assert [
        name for name, arguments in remembered if name not in WITHOUT_WORDS and arguments[:1] != ["locale"]
    ] == []


def test_the_glossary_is_used_to_the_letter() -> None:
    glossary = {
        "dead letter": "carta morta",
        "done": "concluído",
        "will retry": "vai tentar de novo",
        "running": "em execução",
        "waiting": "aguardando",
        "blocked behind": "aguardando o anterior",
        "Reprocess": "Reprocessar",
        "Discard…": "Descartar…",
        "Account": "Conta",
        "Kind": "Tipo",
        "Queue": "Fila",
        "Reason": "Motivo",
        "Attempts": "Tentativas",
        "Oldest waiting": "Mais antigo na fila",
        "in doubt": "em dúvida",
        "provider block": "bloqueio do ERP",
        "as of %(time)s": "posição de %(time)s",
        "No dead letter. Everything is up to date.": "Nenhuma carta morta. Tudo em dia.",
    }
    known = {_singular(message): message.string for message in _messages()}
    assert {word: known[word] for word in glossary} == glossary


def test_no_english_sentence_of_the_catalogue_is_left_on_a_page(app: Flask, desk: Desk) -> None:
    visitor = Visitor(app, language="pt-BR").enter(desk, "maria", "operator")
    english = {_singular(message) for message in _messages()} - SAME
    english |= {plural for plural in _extracted().values() if plural}
    # What is hardly more than its values, such as "1 of 3", is like any sentence of an English refusal.
    told = [sentence for sentence in english if len("".join(_PLACEHOLDER.split(sentence)[::2]).strip()) > 2]
    patterns = [re.compile(rf"^{_any_value(sentence)}$") for sentence in told]
    for path in _every_page(desk):
        for text in Words(visitor.get(path).text).texts:
            assert text in DATA or not any(pattern.match(text) for pattern in patterns), (path, text)


def _any_value(sentence: str) -> str:
    return ".+".join(re.escape(part) for part in _PLACEHOLDER.split(sentence)[::2])


def _every_page(desk: Desk) -> list[str]:
    pages = [
        "/",
        "/work",
        "/audit",
        "/audit?actor=nobody",
        "/dead-letters",
        "/events",
        "/settings/preferences",
        "/nothing-here",
        "/dead-letters?status=x",
    ]
    pages += [
        "/dead-letters?entity=none",
        "/events?entity=none",
        "/groups",
        "/groups?q=none",
        "/groups?q=c",
        "/dead-letters?kind=order.create&reason=permanent&q=c",
    ]
    once = Policy(max_attempts=1)
    ids = [
        desk.dead("1", payload={"Number": None, "list": [], "rows": [{"a": True}], "token": "x"}),
        desk.dead("2", error=KeyError("customer_code")),
        desk.dead("3", kind="order.once", error=TimeoutError("timed out"), policy=once),
        desk.failed("4", error=TransientError("fora do ar")),
        desk.done("5"),
        desk.add("6"),
        desk.add("7", origin="loja"),
    ]
    groups.sample(desk.hub.store)
    pages += [f"/groups/{desk.hub.get(event_id).fingerprint}" for event_id in ids[:3]]
    pages += ["/rules", f"/rules?event={ids[1]}"]
    pages += [
        "/views",
        "/search",
        "/search?q=1",
        "/search?q=none",
        "/events?sort=oldest&snoozed=only&attempts=9",
    ]
    pages += ["/dead-letters?assignee=-&tag=x&snoozed=only&class=permanent&payload.a=b&since=4h&sort=oldest"]
    desk.hub.pause_account("filial-ce", actor="joana", note="Inventário")
    desk.hub.force_breaker("filial-pe", "open", actor="joana", note="Manutenção")
    ids += [desk.add("8", account="filial-ce"), desk.add("9", account="filial-pe")]
    desk.answers["10"] = refusal(425, {"faultstring": "Bloqueada por 300 segundos"})
    ids.append(desk.hub.run(desk.add("10", kind="order.omie", policy=Policy(provider="omie"))).id)
    desk.hub.reprocess(ids[0], actor="maria", note="visto")
    desk.hub.run(ids[0])
    desk.hub.discard(ids[5], actor="maria", note="visto")
    desk.add("7", origin="loja")
    flt = EventFilter(kind=("order.once",))
    run_id = desk.hub.bulk.start("reprocess", flt, actor="joana", note="visto", canary=True, rate=0.5)
    bulk_progress.advance(desk.hub)
    doctor.keep_examined(desk.hub)
    alerted.look(desk)
    found = alerted.find(desk.hub.store, "lag_p95", "filial-sp", level="page")
    alerted.close(desk.hub.store, *found)
    alerted.find(desk.hub.store, "dead_letters", "filial-sp", to=("webhook", "mail"))
    alerted.bring(desk)
    alerted.find(desk.hub.store, "in_doubt", "filial-sp", to=())
    alerted.snooze(desk, "in_doubt", note="visto")
    pages += ["/alerts", "/alerts?rule=lag_p95", "/_f/alerts"]
    pages += ["/bulk", f"/bulk/{run_id}", "/health/doctor"]
    return pages + [f"/events/{event_id}" for event_id in ids]
