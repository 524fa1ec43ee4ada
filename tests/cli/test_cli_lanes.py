"""Does `dlq-console lanes` show what waits behind what, and let a lane go on?"""

from __future__ import annotations

from dlq_console import Hub, PermanentError
from dlq_console.settings import read_settings
from dlq_console.store.events import Event
from tests.cli.running import CommandLine


def stopped_lane(run: CommandLine) -> None:
    """Event 1 is dead and events 2 and 3 wait behind it, in the serial lane of `filial|sp`."""
    hub = Hub(read_settings(database_url=run.settings["DLQ_DATABASE_URL"]))

    @hub.handler("order.create")
    def refuse(_event: Event) -> None:
        raise PermanentError("Customer 5521 is not registered.")

    for number in range(3):
        run.succeed("enqueue", "order.create", "--account", "filial|sp", "--entity", number, "--serial")
    hub.run(1)
    hub.close()


def test_a_stopped_lane_is_listed_and_goes_on_without_its_head(both: CommandLine) -> None:
    stopped_lane(both)
    listed = both.succeed("lanes", "list").output
    assert "filial%7Csp|*" in listed
    assert "dead (permanent)" in listed
    (lane,) = both.succeed("lanes", "list", "--json").json["items"]
    assert (lane["lane"], lane["waiting"], lane["head"]) == ("filial%7Csp|*", 2, 1)
    assert (
        "waits for   event 1, which stands before it in its lane" in both.succeed("events", "show", 2).output
    )
    said = both.succeed("lanes", "skip", lane["lane"], "--note", "cancelled")
    assert said.output == "filial%7Csp|* goes on; event 1 is dead.\n"
    assert both.succeed("events", "show", 2, "--json").json["status"] == "pending"
    assert both.succeed("lanes", "list", "--json").json["items"][0]["head"] == 2


def test_a_lane_that_may_go_on_by_itself_is_not_skipped(run: CommandLine) -> None:
    for number in range(2):
        run.succeed("enqueue", "k", "--account", "a", "--entity", number, "--ordering-key", "x")
    refused = run("lanes", "skip", "a|x")
    assert (refused.status, refused.output) == (1, "")
    assert "which is pending" in refused.sentence
    assert run("lanes", "skip", "nobody").status == 1
