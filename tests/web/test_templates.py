"""The house rules of templates, styles and scripts, so that no page can break the content security policy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dlq_console.settings import assets_path
from tests.web.visitor import Tags

TEMPLATES = sorted(assets_path("templates").rglob("*.html"))
MACROS = [assets_path("templates") / "shared" / name for name in ("htmx.html", "following.html")]
SHEETS = sorted((assets_path("static") / "css").glob("*.css"))
SCRIPTS = sorted((assets_path("static") / "js").glob("*.js"))
OWN_FILES = [*TEMPLATES, *SHEETS, *SCRIPTS]

#: How many lines a file may have before it should be two.
LONGEST_TEMPLATE, LONGEST_SHEET, LONGEST_SCRIPT = 60, 240, 160
#: Whether somebody has paused the news, what they were writing when their session ended, and which rows they have selected.
MAY_STORE = {
    "live.js": {"localStorage"},
    "typed.js": {"sessionStorage"},
    "selection.js": {"sessionStorage"},
}

#: Scripts that only the pages load that need them, each with the lines that it may have.
OF_FEW_PAGES = {
    "charts.js": 360,
    "embed.js": 70,
    "embed-height.js": 20,
    "filter.js": 30,
    "pulse.js": 90,
}

#: What may be used of htmx. A typo in an attribute is silently ignored, and some need `eval`.
KNOWN_HTMX = {
    "hx-disable", "hx-disabled-elt", "hx-get", "hx-headers", "hx-history", "hx-include", "hx-post", "hx-swap", "hx-swap-oob", "hx-sync",
    "hx-target", "hx-trigger",
}  # fmt: skip
_HTMX = re.compile(r"\b(?:data-)?hx-[a-z:-]+")
_COMMENT = re.compile(r"{#.*?#}", re.DOTALL)
_TRIGGER = re.compile(r'hx-trigger="([^"]*)"')
_OUTSIDE = re.compile(r"https?://|//[a-z0-9-]+\.[a-z]")


def _source(path: Path) -> str:
    return _COMMENT.sub("", path.read_text())


def test_there_are_templates_to_look_at() -> None:
    assert len(TEMPLATES) > 15


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_a_template_holds_no_inline_style_script_or_handler(path: Path) -> None:
    for tag, attributes in Tags(_source(path)).found:
        assert tag != "style"
        assert tag != "script" or "src" in attributes
        assert not [name for name in attributes if name.startswith("on") or name == "style"], tag


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_htmx_attributes_stand_in_the_macros_only(path: Path) -> None:
    found = set(_HTMX.findall(_source(path)))
    assert not found or path in MACROS, found


def test_the_macros_use_what_is_known_and_needs_no_eval() -> None:
    source = "".join(map(_source, MACROS))
    assert set(_HTMX.findall(source)) == KNOWN_HTMX
    assert "js:" not in source
    assert "hx-boost" not in source
    triggers = _TRIGGER.findall(source)
    assert triggers
    assert not [trigger for trigger in triggers if "[" in trigger]
    assert '"allowEval":false' in source
    assert '"historyCacheSize":0' in source


@pytest.mark.parametrize("path", OWN_FILES, ids=lambda path: path.name)
def test_nothing_points_outside(path: Path) -> None:
    assert not _OUTSIDE.findall(path.read_text())


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_evaluates_nothing_writes_no_markup_and_keeps_no_page(path: Path) -> None:
    source = path.read_text()
    forbidden = {"eval(", "Function(", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write"}
    stores = {"localStorage", "sessionStorage"} - MAY_STORE.get(path.name, set())
    for word in forbidden | stores:
        assert word not in source, word


def test_the_scripts_are_few_and_short() -> None:
    lines = {path.name: len(path.read_text().splitlines()) for path in SCRIPTS}
    assert sum(number for name, number in lines.items() if name not in OF_FEW_PAGES) < 400
    assert not [name for name, most in OF_FEW_PAGES.items() if lines[name] >= most]


@pytest.mark.parametrize("path", OWN_FILES, ids=lambda path: path.name)
def test_a_file_is_short_enough_to_be_read_at_once(path: Path) -> None:
    usual = {".html": LONGEST_TEMPLATE, ".css": LONGEST_SHEET, ".js": LONGEST_SCRIPT}[path.suffix]
    assert len(path.read_text().splitlines()) <= OF_FEW_PAGES.get(path.name, usual)


def test_every_template_is_used() -> None:
    python = "".join(path.read_text() for path in (Path(__file__).parents[2] / "dlq_console").rglob("*.py"))
    everything = python + "".join(path.read_text() for path in TEMPLATES)
    for path in TEMPLATES:
        assert path.relative_to(assets_path("templates")).as_posix() in everything, path


def test_every_class_in_the_templates_has_a_rule() -> None:
    css = "".join(path.read_text() for path in (assets_path("static") / "css").glob("*.css"))
    used = {
        name
        for path in TEMPLATES
        for _, attributes in Tags(re.sub(r"{{.*?}}|{%.*?%}", " ", _source(path))).found
        for name in attributes.get("class", "").split()
    }
    unknown = {name for name in used if f".{name}" not in css and not name.startswith("tone-")}
    assert unknown == set()
