"""Do `dlq-console rules check` and `rules test` say what the rules are and what they would decide?"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import CommandLine

RULE = (
    'providers = ["shop"]\n[[rule]]\nid = "busy"\nwhen = { code = "BUSY" }\nthen = { class = "transient" }\n'
)


@pytest.fixture
def run(tmp_path: Path) -> CommandLine:
    """The command; rules need no database."""
    return CommandLine({}, tmp_path)


def test_a_file_that_can_be_used_is_counted(run: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(
        RULE + RULE[RULE.index("[[") :].replace("busy", 'more"\nevidence = "P')
    )
    said = run.succeed("rules", "check", "shop.toml").output
    assert said.startswith("shop.toml: 2 rules, 1 of them switched off; with the packs ")


def test_a_file_with_a_mistake_is_refused_in_one_sentence(run: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(RULE.replace("class", "clas"))
    refused = run("rules", "check", "shop.toml")
    assert (refused.status, refused.output) == (2, "")
    assert refused.sentence.startswith("shop.toml, line 5: ")


def test_a_file_that_is_not_there_is_a_wrong_call(run: CommandLine) -> None:
    assert run("rules", "check", "none.toml").status == 2


def test_a_folder_without_rules_is_no_success(run: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "shop.tml").write_text(RULE)
    refused = run("rules", "check", "rules")
    assert (refused.status, refused.output) == (1, "")
    assert refused.sentence == "rules: the folder has no .toml file, so there are no rules in it."


def test_an_answer_is_judged(run: CommandLine) -> None:
    body = '{"faultstring": "API bloqueada por consumo indevido"}'
    arguments = ("--status", 425, "--header", "Retry-After: 9", "--body", body, "--provider", "omie")
    told = run.succeed("rules", "test", *arguments, "--json").json
    assert (told["class"], told["rule"], told["wait"], told["block"]) == (
        "rate_limited",
        "omie.blocked",
        9,
        True,
    )
    assert told["answer"]["status"] == 425
    shown = run.succeed("rules", "test", *arguments).output
    assert "rule                 omie.blocked\n" in shown


def test_the_body_may_stand_in_a_file_or_come_in(run: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "body.json").write_text('{"retorno": {"codigo_erro": 20}}')
    arguments = ("rules", "test", "--status", 200, "--provider", "tiny", "--reads", "--json", "--body")
    assert run.succeed(*arguments, "@body.json").json["rule"] == "tiny.no-rows"
    assert (
        run.succeed(*arguments, "-", typed='{"retorno": {"codigo_erro": "6"}}').json["class"]
        == "rate_limited"
    )


def test_ones_own_rules_are_read_as_workers_read_them(run: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(RULE)
    arguments = (
        "rules",
        "test",
        "--status",
        500,
        "--provider",
        "shop",
        "--body",
        '{"code": "BUSY"}',
        "--json",
    )
    assert run.succeed(*arguments).json["rule"] == "http.server-error"
    assert run.succeed(*arguments, DLQ_RULES="shop.toml").json["rule"] == "shop.busy"


@pytest.mark.parametrize(
    "arguments",
    [("--status", 99, "--body", ""), ("--status", 500, "--body", "@none"), ("--status", 500, "--body", "", "--header", "x"),
     ("--status", 500), ("--body", "")],
)  # fmt: skip
def test_a_wrong_call_is_told_in_one_sentence(run: CommandLine, arguments: tuple[str | int, ...]) -> None:
    refused = run("rules", "test", *arguments)
    assert refused.status == 2
    assert refused.sentence
