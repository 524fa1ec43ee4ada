"""Does `dlq-console bulk` do what the API does?"""

from __future__ import annotations

import csv
import io

import pytest

from dlq_console import Hub, PermanentError
from dlq_console.hub import bulk_progress
from dlq_console.settings import read_settings
from dlq_console.store import people, views
from dlq_console.store.desk import marks
from dlq_console.store.events import Event
from tests.cli.running import CommandLine


def dead_letters(run: CommandLine, number: int) -> Hub:
    """A hub with so many dead letters, whose handler works from now on."""
    hub = Hub(read_settings(database_url=run.settings["DLQ_DATABASE_URL"]))
    registered: list[bool] = []

    @hub.handler("order.create")
    def create(_event: Event) -> None:
        if not registered:
            raise PermanentError("Customer 5521 is not registered.")

    for entity in range(number):
        hub.enqueue(
            "order.create", account="filial-sp", entity_id=str(entity), payload={"order": {"number": entity}}
        )
    hub.run_due()
    registered.append(True)
    return hub


def _fail(_event: Event) -> None:
    raise PermanentError("There is no such order.")


def finish(hub: Hub) -> None:
    while bulk_progress.advance(hub):
        hub.run_due()
    hub.close()


def test_a_run_is_tried_started_and_shown(both: CommandLine) -> None:
    hub = dead_letters(both, 3)
    tried = both.succeed("bulk", "start", "reprocess", "--account", "filial-sp", "--dry-run").output
    assert "3 dead events. Nothing was done." in tried
    assert "Customer […] is not registered." in tried
    assert both.succeed("bulk", "status", "--json").json == {"items": []}
    said = both.succeed("bulk", "start", "reprocess", "--account", "filial-sp", "--canary", "1,2").output
    assert said == "Bulk run 1 has begun: bulk status 1\n"
    finish(hub)
    run = both.succeed("bulk", "status", 1, "--json").json
    assert (run["state"], run["succeeded"], run["stages"]) == ("done", 3, [1, 2])
    assert run["actor"].startswith("cli:")
    assert "succeeded   3" in both.succeed("bulk", "status", 1).output
    assert "reprocess" in both.succeed("bulk", "status").output


def test_a_run_over_a_field_of_the_payload_or_over_ids_touches_nothing_else(run: CommandLine) -> None:
    hub = dead_letters(run, 4)
    run.succeed("bulk", "start", "reprocess", "--payload", "order.number=2")
    run.succeed("bulk", "start", "reprocess", "--id", 1, "--id", 2)
    bulk_progress.advance(hub), bulk_progress.advance(hub)
    hub.run_due()
    assert [hub.get(event_id).status for event_id in (1, 2, 3, 4)] == ["done", "done", "done", "dead"]
    hub.close()


def test_a_run_is_paused_resumed_and_cancelled(run: CommandLine) -> None:
    dead_letters(run, 1).close()
    run.succeed("bulk", "start", "discard", "--all", "--note", "test orders")
    assert run.succeed("bulk", "pause", 1, "--note", "lunch").output == "Bulk run 1 is paused.\n"
    refused = run("bulk", "pause", 1)
    assert (refused.status, refused.sentence) == (1, "The bulk run 1 is paused; pause is not allowed now.")
    assert run.succeed("bulk", "resume", 1, "--json").json["state"] == "freezing"
    assert run.succeed("bulk", "cancel", 1).output == "Bulk run 1 is cancelled.\n"
    assert run("bulk", "status", 7).status == 1


def test_pace_and_end_of_a_run_are_those_of_its_page(run: CommandLine) -> None:
    hub = dead_letters(run, 10)
    run.succeed("bulk", "start", "discard", "--all", "--note", "test orders", "--rate", "0.5")
    bulk_progress.advance(hub)
    hub.close()
    told = run.succeed("bulk", "status", 1, "--json").json
    assert (told["pace"], told["pace_of"], told["eta_seconds"]) == (0.5, "set", 20)
    shown = run.succeed("bulk", "status", 1).output
    assert "pace        0.5 per second as it was told\n" in shown
    assert "ends in     about 20 s\n" in shown
    run.succeed("bulk", "pause", 1)
    assert "pace" not in run.succeed("bulk", "status", 1).output


def test_a_selection_token_means_the_events_of_its_dry_run(run: CommandLine) -> None:
    hub = dead_letters(run, 2)
    secret = {"DLQ_SECRET_KEY": "only-for-tests-0123456789abcdef0123456789"}
    tried = run.succeed("bulk", "start", "reprocess", "--all", "--dry-run", **secret).output
    token = tried.rpartition("--selection-token ")[2].strip()
    hub.handler("order.cancel")(_fail)
    late = hub.enqueue("order.cancel", account="filial-sp", entity_id="late", payload={}).id
    assert hub.run(late).status == "dead"
    run.succeed("bulk", "start", "reprocess", "--selection-token", token, **secret)
    other = run("bulk", "start", "discard", "--selection-token", token, "--note", "no", **secret)
    assert (other.status, "made for something else" in other.sentence) == (2, True)
    finish(hub)
    items = run.succeed("bulk", "items", 1, "--json").json["items"]
    assert [item["event_id"] for item in items] == [1, 2]


def test_without_a_secret_key_a_dry_run_says_that_there_is_no_token(run: CommandLine) -> None:
    dead_letters(run, 1).close()
    assert "set DLQ_SECRET_KEY" in run.succeed("bulk", "start", "reprocess", "--all", "--dry-run").output


def test_a_run_begins_only_over_as_many_as_are_expected(run: CommandLine) -> None:
    dead_letters(run, 3).close()
    begin = ("bulk", "start", "reprocess", "--account", "filial-sp")
    tried = run.succeed(*begin, "--dry-run", "--exact", "--json").json
    assert (tried["count"], tried["looked"]) == (3, 3)
    refused = run(*begin, "--expect", 2)
    assert (refused.status, "there are 3 events, not 2; nothing was begun" in refused.sentence) == (1, True)
    assert run(*begin, "--expect", "-1").status == 2
    assert run.succeed(*begin, "--expect", 3).output == "Bulk run 1 has begun: bulk status 1\n"


def test_items_of_a_run_are_listed_by_pages_and_written_as_a_table(both: CommandLine) -> None:
    hub = dead_letters(both, 3)
    hub.discard(2, actor="ana", note="double")
    both.succeed("bulk", "start", "reprocess", "--id", 1, "--id", 2, "--id", 3)
    finish(hub)
    everything = both.succeed("bulk", "items", 1, "--json").json
    assert [(item["event_id"], item["state"]) for item in everything["items"]] == [
        (1, "succeeded"), (2, "refused"), (3, "succeeded"),
    ]  # fmt: skip
    first = both.succeed("bulk", "items", 1, "--limit", 2).output
    assert "not_dead" in first
    cursor = first.rpartition("--cursor ")[2].strip()
    assert "succeeded" in both.succeed("bulk", "items", 1, "--cursor", cursor).output
    refused = both.succeed("bulk", "items", 1, "--state", "refused", "--csv").output
    rows = list(csv.DictReader(io.StringIO(refused.removeprefix("\ufeff"), newline="")))
    assert [(row["event_id"], row["cause"], row["entity_id"]) for row in rows] == [("2", "not_dead", "1")]
    assert len(both.succeed("bulk", "items", 1, "--csv").output.splitlines()) == 4
    assert both("bulk", "items", 7, "--csv").status == 1
    assert both("bulk", "items", 1, "--csv", "--json").status == 2


def test_a_saved_view_is_a_filter_of_lists_exports_and_runs(run: CommandLine) -> None:
    hub = dead_letters(run, 3)
    ana = people.add_user(hub.store, "ana", "only-for-tests-0123", role="operator")
    view = views.save(hub.store, ana, name="Mine", filter_="entity=1")
    assert [
        each["id"] for each in run.succeed("events", "list", "--view", view.id, "--json").json["items"]
    ] == [2]
    assert [one["id"] for one in run.succeed("export", "--view", view.id, "--format", "json").json] == [2]
    replaced = run.succeed("events", "list", "--view", view.id, "--entity", "2", "--json").json
    assert [each["id"] for each in replaced["items"]] == [3]
    run.succeed("bulk", "start", "reprocess", "--view", view.id)
    finish(hub)
    assert [item["event_id"] for item in run.succeed("bulk", "items", 1, "--json").json["items"]] == [2]
    assert run("events", "list", "--view", 999).status == 1


def test_dead_letters_are_assigned_tagged_and_snoozed(run: CommandLine) -> None:
    hub = dead_letters(run, 2)
    people.add_user(hub.store, "ana", "only-for-tests-0123", role="operator")
    run.succeed("bulk", "start", "assign", "--all", "--assign-to", "ana", "--due", "2030-03-01T12:00:00Z")
    run.succeed("bulk", "start", "tag", "--all", "--add-tag", "urgent", "--add-tag", "fiscal")
    run.succeed("bulk", "start", "snooze", "--id", 1, "--until", "-")
    finish(hub)
    found = marks(hub.store, [1, 2])
    assert {(each.assignee, each.tags) for each in found.values()} == {("ana", ("fiscal", "urgent"))}
    assert '"to":"ana"' in run.succeed("bulk", "status", 1).output
    refused = run("bulk", "start", "assign", "--all", "--assign-to", "nobody-here")
    assert (refused.status, "no user nobody-here" in refused.sentence) == (2, True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "Say which events"),
        (["--kind", "order.create", "--id", "1"], "not both"),
        (["--all", "--id", "1"], "--all means every dead event"),
        (["--all", "--kind", "order.create"], "--all means every dead event"),
        (["--all", "--canary", "a"], "write sizes such as"),
        (["--all", "--window", "0"], "window: write a whole number"),
        (["--payload", "number"], "write PATH=VALUE"),
        (["--since", "soon"], "since: write a number"),
    ],
)
def test_what_cannot_be_meant_is_wrong_usage(run: CommandLine, options: list[str], sentence: str) -> None:
    refused = run("bulk", "start", "reprocess", *options)
    assert refused.status == 2
    assert sentence in refused.errors
    assert run.succeed("bulk", "status", "--json").json == {"items": []}
