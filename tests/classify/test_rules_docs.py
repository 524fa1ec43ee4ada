"""Do the documents about rules tell the truth? The walk-through is run, the tables are compared with the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from dlq_console.classify import Effect, Evidence, Phase, Reach, RuleSet, VerdictClass
from dlq_console.classify.loading import load_pack
from dlq_console.classify.ruleset import PACKS
from dlq_console.classify.tables import Source, Table
from tests.cli.running import CommandLine

DOCS = Path(__file__).resolve().parents[2] / "docs"
HOW_TO = (DOCS / "how-to" / "rules.md").read_text(encoding="utf-8")
REFERENCE = (DOCS / "reference" / "rules.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The code of this language in the walk-through."""
    return re.findall(rf"```{language}\n(.*?)```", HOW_TO, re.DOTALL)


@pytest.fixture
def run(tmp_path: Path) -> CommandLine:
    (tmp_path / "nimbus.toml").write_text(blocks("toml")[0], encoding="utf-8")
    return CommandLine({}, tmp_path)


def commands() -> list[tuple[str, str]]:
    """Each command of the walk-through with the output that is shown below it."""
    found = re.findall(r"^\$ (.+)\n((?:(?!\$ ).+\n)*)", "\n".join(blocks("console")), re.MULTILINE)
    assert len(found) == 5
    return [(command, shown) for command, shown in found if command.startswith("dlq-console")]


@pytest.mark.parametrize(("command", "shown"), commands(), ids=["check", "limit", "duplicate", "transient"])
def test_each_command_of_the_walk_through_prints_what_is_shown(
    command: str, shown: str, run: CommandLine
) -> None:
    done = run.succeed(*shlex.split(command)[1:], DLQ_RULES="nimbus.toml").output
    pattern = ".*".join(re.escape(part) for part in shown.strip().split("..."))
    assert re.fullmatch(pattern + ".*", done.strip(), re.DOTALL), done


def test_the_mistake_that_is_shown_is_told_like_that(run: CommandLine, tmp_path: Path) -> None:
    text = (tmp_path / "nimbus.toml").read_text()
    (tmp_path / "nimbus.toml").write_text(text.replace("{ code = 77 }", "{ cod = 77 }"))
    refused = run("rules", "check", "nimbus.toml")
    assert refused.status == 2
    assert f"`{refused.sentence}`" in HOW_TO


def test_the_rules_of_the_packs_that_are_switched_exist(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(blocks("toml")[1], encoding="utf-8")
    switched = {rule.id: rule.enabled for rule in RuleSet.load(file).rules}
    assert (switched["tiny.exists-already"], switched["bling.token-expired"]) == (True, False)


def test_the_answers_of_the_walk_through_get_the_verdicts_that_their_rows_deserve(run: CommandLine) -> None:
    rows = re.findall(r"^\| ([a-z ]+) \| (\d+) \| `(\{.*\})` \|$", HOW_TO, re.MULTILINE)
    told = {
        row: run.succeed(
            "rules",
            "test",
            "--provider",
            "nimbus",
            "--status",
            status,
            "--body",
            body,
            "--json",
            DLQ_RULES="nimbus.toml",
        ).json["class"]
        for row, status, body in rows
    }
    assert told == {
        "too many calls": "rate_limited",
        "customer unknown": "permanent",
        "order is there already": "duplicate",
        "stock is being counted": "transient",
        "key revoked": "auth",
    }


def described(heading: str) -> set[str]:
    """Names in the first column of the table below a heading."""
    section = REFERENCE.split(f"\n{heading}\n")[1].split("\n#")[0]
    cells = re.findall(r"^\| (.+?) \|", section, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`\[*([\w-]+)\]*`", cell)}


def accepted(table: str, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The keys that the loader asks a table for."""
    asked: set[str] = set()
    take, has = Table.take, Table.has

    def noted(self: Table, key: str, default: object = None) -> object:
        if self.name == table:
            asked.add(key)
        return take(self, key, default)

    def looked(self: Table, key: str) -> bool:
        if self.name == table:
            asked.add(key)
        return has(self, key)

    monkeypatch.setattr(Table, "take", noted)
    monkeypatch.setattr(Table, "has", looked)
    rule = '[[rule]]\nid = "a"\nwhen = { status = 500 }\nthen = { class = "transient" }\n'
    load_pack(Source("a.toml", f"{rule}[limits]\n"), stem="a", own=True)
    return asked


@pytest.mark.parametrize(("table", "heading"), [("when", "### when"), ("then", "### then")])
def test_every_key_of_a_rule_is_described(table: str, heading: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert described(heading) == accepted(table, monkeypatch)


def test_every_key_of_a_file_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    # The keys of a rule itself are asked of a table without a name, too.
    of_a_rule = {"id", "evidence", "enabled", "note", "when", "then"}
    assert described("## The file") == accepted("", monkeypatch) - of_a_rule


@pytest.mark.parametrize("words", [VerdictClass, Effect, Reach, Evidence, Phase])
def test_every_word_of_a_verdict_is_described(words: type[VerdictClass]) -> None:
    for word in words:
        assert f"`{word}`" in REFERENCE, word


def test_every_pack_and_each_of_its_providers_is_described() -> None:
    rules = RuleSet.load().rules
    for file in PACKS.glob("*.toml"):
        row = re.search(rf"^\| `{file.stem}` \| (.*) \|$", REFERENCE, re.MULTILINE)
        assert row is not None, f"describe the pack {file.stem}"
        named = {
            name for rule in rules if rule.id.startswith(f"{file.stem}.") for name in rule.when.providers
        }
        assert set(re.findall(r"`([\w-]+)`", row[1])) == named, file.stem
