"""Does `dlq-console enqueue` and `events` do what the pages and the API do?"""

from __future__ import annotations

import getpass
from pathlib import Path

import pytest

from dlq_console.errors import PermanentError
from dlq_console.hub.policy import Policy
from dlq_console.runtime import Hub
from dlq_console.settings import read_settings
from dlq_console.store.events import Event
from tests.cli.running import CommandLine, ProcessLine

REFUSAL = "Customer 5521 is not registered."


def dead_letter(run: CommandLine, entity: str = "8841") -> int:
    """An event that the ERP refused for good."""
    hub = Hub(read_settings(database_url=run.settings["DLQ_DATABASE_URL"]))

    @hub.handler("order.create")
    def refuse(_event: Event) -> None:
        raise PermanentError(REFUSAL)

    made = hub.enqueue(
        "order.create", account="filial-sp", entity_id=entity, payload={"api_key": "very-secret"}
    )
    assert hub.run(made.id).status == "dead"
    hub.close()
    return made.id


def test_an_event_goes_in_is_read_and_comes_to_an_end(process: ProcessLine) -> None:
    said = process.succeed(
        "enqueue", "order.create", "--account", "filial-sp", "--entity", 8841, "--payload", '{"a": 1}'
    )
    assert said.output == "Event 1 is in; it is pending.\n"
    shown = process.succeed("events", "show", 1, "--json").json
    assert (shown["payload"], shown["status"], shown["origin"]) == (
        {"a": 1},
        "pending",
        f"cli:{getpass.getuser()}",
    )
    said = process.succeed("events", "discard", 1, "--note", "not needed any more")
    assert said.output == "Event 1 is discarded.\n"
    (entry,) = process.succeed("events", "show", 1, "--json").json["audit"]
    assert (entry["actor"], entry["via"]) == (f"cli:{getpass.getuser()}", "cli")
    assert entry["note"] == "not needed any more"


def test_the_same_event_again_is_told_to_exist(run: CommandLine) -> None:
    arguments = ("enqueue", "order.create", "--account", "a", "--entity", "1")
    assert run.succeed(*arguments, "--json").json == {"id": 1, "status": "pending", "created": True}
    assert run.succeed(*arguments).output == "The same event exists already: 1; it is pending.\n"
    assert run.succeed(*arguments, "--version", "2", "--json").json["created"] is True


def test_a_payload_comes_from_the_argument_a_file_or_standard_input(run: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "payload.json").write_text('{"rate": 0.1000000000000000000001}')
    arguments = ("enqueue", "k", "--account", "a", "--entity", "1", "--json", "--payload")
    from_file = run.succeed(*arguments, "@payload.json").json
    from_input = run.succeed(*arguments, "-", typed='{"rate": 0.1000000000000000000001}').json
    assert (from_input["id"], from_input["created"]) == (from_file["id"], False)
    assert '"payload":{"rate":0.1000000000000000000001}' in run.succeed("events", "show", 1, "--json").output


@pytest.mark.parametrize(
    ("payload", "sentence"),
    [
        ("{", "payload: this is not JSON: "),
        ('{"a": NaN}', "payload: NaN and infinity are not JSON"),
        ("@nothing.json", "Invalid value for --payload: nothing.json cannot be read: "),
    ],
)
def test_a_payload_that_is_none_is_wrong_usage(run: CommandLine, payload: str, sentence: str) -> None:
    result = run("enqueue", "k", "--account", "a", "--entity", "1", "--payload", payload)
    assert result.status == 2
    assert result.sentence.startswith(sentence)


def test_a_kind_that_no_worker_knows_is_a_no_once_workers_have_spoken(run: CommandLine) -> None:
    hub = Hub(read_settings(database_url=run.settings["DLQ_DATABASE_URL"]))
    hub.handler("order.create")(lambda _event: None)
    hub.publish_kinds("worker-1")
    hub.close()
    result = run("enqueue", "order.crate", "--account", "a", "--entity", "1")
    assert result.status == 1
    assert result.sentence == (
        'No worker has published a handler for "order.crate"; known kinds are: order.create.'
    )


def test_a_list_is_a_table_for_people_and_the_answer_of_the_api_for_programs(both: CommandLine) -> None:
    event_id = dead_letter(both)
    both.succeed("enqueue", "order.create", "--account", "filial-rj", "--entity", "7")
    table = both.succeed("events", "list", "--status", "dead", "--account", "filial-sp").output
    heading, row, count = table.splitlines()
    assert heading.split()[:3] == ["ID", "STATUS", "KIND"]
    assert row.split()[:3] == [str(event_id), "dead", "(permanent)"]
    assert REFUSAL in row
    assert count == "1 match."
    listed = both.succeed("events", "list", "--json", "--limit", 1).json
    assert [item["entity_id"] for item in listed["items"]] == ["7"]
    assert (listed["count"], listed["count_capped"]) == (2, False)
    second = both.succeed("events", "list", "--json", "--cursor", listed["next_cursor"]).json
    assert [item["id"] for item in second["items"]] == [event_id]


def test_a_list_takes_every_filter_of_the_pages(run: CommandLine) -> None:
    first, second = dead_letter(run, "8841"), dead_letter(run, "8842")
    for arguments, expected in (
        (("--class", "permanent"), [second, first]),
        (("--class", "auth"), []),
        (("--sort", "oldest"), [first, second]),
        (("--attempts", "1+"), [second, first]),
        (("--attempts", "2+"), []),
        (("--payload", "customer=5521", "--payload", "city=Santos"), []),
        (("--assignee", "-"), [second, first]),
        (("--tag", "tax"), []),
        (("--snoozed", "only"), []),
        (("--at", "2026-01-01T00:00Z"), []),
    ):
        items = run.succeed("events", "list", "--status", "dead", "--json", *arguments).json["items"]
        assert [item["id"] for item in items] == expected, arguments


def test_a_list_says_where_it_goes_on(run: CommandLine) -> None:
    for entity in "12":
        run.succeed("enqueue", "k", "--account", "a", "--entity", entity)
    *_, count, more = run.succeed("events", "list", "--limit", 1).output.splitlines()
    assert count == "2 match."
    cursor = more.removeprefix("There may be more: --cursor ")
    _, row, _ = run.succeed("events", "list", "--cursor", cursor).output.splitlines()
    assert row.split()[0] == "1"


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--since", "soon"), "since: "),
        (("--from", "2026-03-01"), "from: "),
        (("--status", "broken"), "Invalid value for '--status'"),
        (("--limit", "0"), "Invalid value for '--limit'"),
        (("--cursor", "nonsense"), "cursor: "),
        (("--colour", "red"), "No such option"),
    ],
)
def test_a_filter_that_means_nothing_is_wrong_usage(
    run: CommandLine, arguments: tuple[str, ...], word: str
) -> None:
    result = run("events", "list", *arguments)
    assert result.status == 2
    assert result.sentence.startswith(word)


def test_one_event_is_shown_for_people_without_its_secrets(run: CommandLine) -> None:
    shown = run.succeed("events", "show", dead_letter(run)).output
    assert "dead (permanent)" in shown
    assert f"attempt 0.1 dead  PermanentError: {REFUSAL}" in shown
    assert '{"api_key":"•••"}' in shown
    assert "very-secret" not in shown


def test_an_event_that_does_not_exist_is_a_no(run: CommandLine) -> None:
    result = run("events", "show", 404)
    assert (result.status, result.sentence) == (1, "There is no event 404; it may have been pruned.")


def test_reprocess_acts_on_each_event_and_tells_which_refused(both: CommandLine) -> None:
    first, second = dead_letter(both, "1"), dead_letter(both, "2")
    both.succeed("events", "discard", first, "--note", "gone")
    result = both("events", "reprocess", first, 404, second, "--note", "customer registered")
    assert (result.status, result.output) == (1, f"Event {second} is pending.\n")
    refused, unknown = result.errors.splitlines()
    assert refused == f"dlq-console: Event {first}: The event is discarded; reprocess is not allowed now."
    assert unknown.startswith("dlq-console: Event 404: There is no event")
    event = both.succeed("events", "show", second, "--json").json
    assert (event["cycle"], event["audit"][0]["note"]) == (1, "customer registered")


def test_acting_as_json_prints_each_event(run: CommandLine) -> None:
    printed = run.succeed("events", "reprocess", dead_letter(run), "--after", 600, "--json").json
    assert (printed["status"], printed["waiting_for"]) == ("pending", "time")


@pytest.mark.parametrize("note", [[], ["--note", "  "]])
def test_discard_without_a_reason_is_wrong_usage(run: CommandLine, note: list[str]) -> None:
    result = run("events", "discard", dead_letter(run), *note)
    assert result.status == 2
    assert "--note" in result.sentence


def test_a_payload_without_end_is_refused(run: CommandLine) -> None:
    refused = run("enqueue", "k", "--account", "a", "--entity", "1", "--payload", "@/dev/zero")
    assert refused.status == 2
    assert "larger than 16,777,216 characters" in refused.sentence


def test_an_event_is_reprocessed_after_a_newer_one_only_on_purpose(run: CommandLine) -> None:
    hub = Hub(read_settings(database_url=run.settings["DLQ_DATABASE_URL"]))

    @hub.handler("price.set", policy=Policy(replay_policy="ask"))
    def refuse_ten(event: Event) -> None:
        if event.payload == 10:
            raise PermanentError(REFUSAL)

    old, new = (
        hub.run(hub.enqueue("price.set", account="a", entity_id="nail", payload=price).id)
        for price in (10, 12)
    )
    hub.close()
    assert (old.status, new.status) == ("dead", "done")
    refused = run("events", "reprocess", old.id)
    assert refused.status == 1
    assert f"Event {new.id}, a newer one of the same kind, account and number, is done" in refused.errors
    assert "even_if_newer" in refused.errors
    said = run.succeed("events", "reprocess", old.id, "--even-if-newer")
    assert said.output == f"Event {old.id} is pending.\n"


def test_a_payload_is_corrected_and_a_discard_taken_back(run: CommandLine, tmp_path: Path) -> None:
    dead = dead_letter(run)
    corrected = tmp_path / "corrected.json"
    corrected.write_text('{"api_key": "•••", "customer": 5521, "total": 12.50}', encoding="utf-8")
    said = run.succeed("events", "edit", dead, "--payload", f"@{corrected}", "--note", "customer was missing")
    assert said.output == f"Event {dead + 1} takes its place; it is pending.\n"
    shown = run.succeed("events", "show", dead + 1, "--json").json
    assert shown["payload"] == {"api_key": "•••", "customer": 5521, "total": 12.5}
    assert (shown["parent_id"], shown["audit"][0]["note"]) == (dead, "customer was missing")
    again = run("events", "edit", dead, "--payload", "{}")
    assert (again.status, again.sentence) == (
        1,
        f"Event {dead}: The event is discarded; edit is not allowed now.",
    )
    run.succeed("events", "discard", dead + 1, "--note", "not needed")
    assert run.succeed("events", "restore", dead + 1).output == f"Event {dead + 1} is pending.\n"
    refused = run("events", "restore", dead)
    assert (refused.status, refused.sentence) == (
        1,
        f"Event {dead}: Its edited payload is event {dead + 1}; go on with that one.",
    )


def test_a_payload_that_cannot_be_saved_is_wrong_usage(run: CommandLine) -> None:
    dead = dead_letter(run)
    for payload in ("{", '{"api_key": "•••"}', '{"other": "•••"}'):
        refused = run("events", "edit", dead, "--payload", payload)
        assert (refused.status, refused.sentence.startswith("payload")) == (2, True)
