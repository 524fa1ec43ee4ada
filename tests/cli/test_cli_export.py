"""`dlq-console export`: all that matches, in a file or on standard output."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from tests.cli.running import CommandLine


def _enqueue(run: CommandLine, entity: str, kind: str = "order.create") -> int:
    options = ("--account", "filial-sp", "--entity", entity, "--json")
    made = run.succeed("enqueue", kind, *options).json
    return int(made["id"])


def test_all_that_matches_is_written_as_a_table_and_as_json(both: CommandLine) -> None:
    first, second = _enqueue(both, "=1"), _enqueue(both, "2")
    _enqueue(both, "3", kind="invoice.create")
    table = both.succeed("export", "--kind", "order.create", "--separator", ";").output
    rows = list(csv.DictReader(io.StringIO(table.removeprefix("\ufeff"), newline=""), delimiter=";"))
    assert [(row["id"], row["number"], row["status"]) for row in rows] == [
        (str(second), "2", "pending"),
        (str(first), "'=1", "pending"),
    ]
    oldest = both.succeed("export", "--format", "json", "--sort", "oldest").json
    assert [one["entity_id"] for one in oldest] == ["=1", "2", "3"]
    assert both.succeed("export", "--format", "json", "--entity", "none").json == []


def test_a_file_is_written_and_a_place_that_cannot_be_is_told(run: CommandLine, tmp_path: Path) -> None:
    _enqueue(run, "1")
    file = tmp_path / "events.json"
    run.succeed("export", "--format", "json", "--output", str(file))
    assert len(json.loads(file.read_text())) == 1
    refused = run("export", "--output", str(tmp_path / "no" / "events.csv"))
    assert refused.status == 2
    assert "cannot be written" in refused.sentence


def test_a_filter_that_means_nothing_is_refused(run: CommandLine) -> None:
    refused = run("export", "--since", "yesterday")
    assert refused.status == 2
    assert "since:" in refused.sentence
