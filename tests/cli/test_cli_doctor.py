"""Does `doctor` say what is wrong, why it hurts and what to type, and how it ended?"""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import CommandLine

#: A port on which nobody listens.
AWAY = "redis://:hidden@127.0.0.1:1/0"


def test_nothing_found_is_success(run: CommandLine) -> None:
    assert run.succeed("doctor").output == "Nothing was found.\n"
    assert run.succeed("doctor", "--json").json == {"items": [], "count": 0}


def test_what_is_found_is_told_with_its_cure_and_status_1(run: CommandLine) -> None:
    result = run("doctor", DLQ_BROKER_URL=AWAY)
    assert (result.status, result.errors) == (1, "")
    assert result.output.splitlines()[0].startswith(
        "FAULT redis_away: Redis at 127.0.0.1:1 cannot be reached:"
    )
    for line in ("  Why it hurts: ", "  How to fix it: ", "  Type: redis-cli -h 127.0.0.1 -p 1 PING"):
        assert line in result.output
    assert "hidden" not in result.output


def test_programs_get_the_same_as_json(run: CommandLine) -> None:
    result = run("doctor", "--json", DLQ_BROKER_URL=AWAY)
    (item,) = result.json["items"]
    assert result.status == 1
    assert (item["id"], item["level"], item["command"]) == (
        "redis_away",
        "fault",
        "redis-cli -h 127.0.0.1 -p 1 PING",
    )
    assert {"what", "why", "fix", "figures", "accounts"} <= set(item)


def test_missing_tables_are_a_finding_and_none_are_made(run: CommandLine, tmp_path: Path) -> None:
    result = run("doctor", DLQ_DATABASE_URL=f"sqlite:///{tmp_path}/none.db")
    assert result.status == 1
    assert "tables_missing" in result.output
    assert not (tmp_path / "none.db").exists()


def test_wrong_usage_is_status_2(run: CommandLine) -> None:
    assert run("doctor", "--thorough").status == 2
