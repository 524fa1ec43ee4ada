"""One person's day: asked by a customer's own number, they find it, take it, write down what they know, and hand a list on."""

from __future__ import annotations

import csv
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.site import OpenPage
from tests.browser.stories.cases import Case
from tests.browser.stories.shop import Shop

#: The customer's numbers; the last one is meant for whoever opens a list in a spreadsheet.
PURCHASES = ("PC-1840", "PC-1841", "=2+3")
NOTE = "ligar para o cliente às 15h"
WORDS = {
    "en-US": {
        "take": "Take it",
        "add": "Add the note",
        "tags": "Tags…",
        "keep": "Keep these tags",
        "work": "My work",
        "letters": "Dead letters",
        "kind": "Kind",
        "filter": "Filter",
        "save": "Save view",
        "export": "Export",
        "csv": "CSV, for a spreadsheet",
        "audit": "Audit",
        "separator": ",",
        "number": "Number",
    },
    "pt-BR": {
        "take": "Assumir",
        "add": "Gravar a observação",
        "tags": "Etiquetas…",
        "keep": "Gravar estas etiquetas",
        "work": "Meu trabalho",
        "letters": "Cartas mortas",
        "kind": "Tipo",
        "filter": "Filtrar",
        "save": "Salvar visão",
        "export": "Exportar",
        "csv": "CSV, para planilha",
        "audit": "Auditoria",
        "separator": ";",
        "number": "Número",
    },
}

#: What the audit calls what was done, newest first.
ACTS = {
    "en-US": ["export", "view saved", "tags", "note", "assignment"],
    "pt-BR": ["exportação", "visão salva", "etiquetas", "observação", "responsável"],
}


def test_a_day_from_a_question_to_a_list_for_a_colleague(
    shop: Shop, open_page: OpenPage, case: Case, tmp_path: Path
) -> None:
    account, name, words = f"deposito-{case.branch}", f"bia.{case.branch}", WORDS[case.language]
    shop.person(name, "operator", account)
    numbers = [str(number) for number, _ in enumerate(PURCHASES, start=3301)]
    for number, purchase in zip(numbers, PURCHASES, strict=True):
        shop.dead("order.create", account, number, {"customer_code": "5521", "purchase_order": purchase})
    page = case.open(open_page, name)

    page.get_by_role("searchbox").fill(PURCHASES[0])
    page.get_by_role("searchbox").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text(numbers[0])
    _put_on_the_desk(page, words, name)

    case.turn_to(page, words["work"])
    mine, free = page.locator("main section").filter(has=page.locator("#tasks-title, #free-title")).all()
    expect(mine.locator("tbody th")).to_contain_text([numbers[0]])
    expect(free.locator("tbody th")).to_have_count(2)

    case.turn_to(page, words["letters"])
    page.locator("summary", has_text=words["kind"]).click()
    page.get_by_role("checkbox", name="order.create").check()
    if not case.script:
        page.get_by_role("button", name=words["filter"], exact=True).first.click()
    expect(page.locator(".chip b")).to_have_text("order.create")
    page.keyboard.press("Escape")
    page.locator("summary", has_text=words["save"]).click()
    page.locator("#view-name").fill("pedidos")
    page.get_by_role("button", name=words["save"]).click()
    expect(page.locator("#views a[aria-current=true]")).to_have_text("pedidos")
    rows = _exported(page, words, tmp_path)
    assert [row[words["number"]] for row in rows] == numbers[::-1]
    assert [row["Pedido de compra"] for row in rows] == [f"'{PURCHASES[2]}", *PURCHASES[1::-1]]

    case.turn_to(page, words["audit"])
    expect(page.locator(".list.audit .w-what b")).to_have_text(ACTS[case.language])


def _put_on_the_desk(page: Page, words: dict[str, str], name: str) -> None:
    """Take it, write a note, tag it."""
    desk = page.locator("#desk")
    desk.get_by_role("button", name=words["take"]).click()
    expect(desk.locator("dd b")).to_have_text(name)
    desk.locator("#new-note").fill(NOTE)
    desk.get_by_role("button", name=words["add"]).click()
    expect(desk.locator(".notes")).to_contain_text(NOTE)
    desk.get_by_text(words["tags"], exact=True).click()
    desk.locator("#tags").fill("urgente")
    desk.get_by_role("button", name=words["keep"]).click()
    expect(desk.locator(".tag")).to_have_text("#urgente")


def _exported(page: Page, words: dict[str, str], folder: Path) -> list[dict[str, str]]:
    """The rows of the file that a spreadsheet would open."""
    page.locator("summary", has_text=words["export"]).click()
    with page.expect_download() as download:
        page.get_by_role("link", name=words["csv"]).click()
    file = folder / "letters.csv"
    download.value.save_as(file)
    with file.open(encoding="utf-8-sig", newline="") as text:
        return list(csv.DictReader(text, delimiter=words["separator"]))
