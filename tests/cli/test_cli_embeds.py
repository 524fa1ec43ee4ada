"""Can frames be made, listed and taken back on the command line, and is their address told only once?"""

from __future__ import annotations

import re

import pytest

from dlq_console.hub import embed_tokens
from dlq_console.store import embeds
from dlq_console.store.store import Store
from tests.cli.running import CommandLine

KEY = "only-for-tests-0123456789abcdef"
PAGE = "https://intranet.example"


@pytest.fixture
def line(both: CommandLine) -> CommandLine:
    """The command of an installation that signs addresses and knows its own."""
    both.settings |= {"DLQ_SECRET_KEY": KEY, "DLQ_PUBLIC_URL": "https://console.example/dlq"}
    return both


def test_an_address_is_printed_once_last_on_its_line_and_a_frame_is_listed_until_revoked(
    line: CommandLine,
) -> None:
    arguments = (
        "--accounts",
        "filial-sp,filial-rj",
        "--origin",
        PAGE,
        "--detail",
        "figures",
        "--expires",
        "30",
    )
    said = line.succeed("embeds", "add", "Portal", *arguments).output
    address = said.splitlines()[-1].split()[-1]
    start, _, token = address.rpartition("/")
    assert start == "https://console.example/dlq/embed"
    assert embed_tokens.read(KEY, token) == (1, 1)
    assert "There is no account filial-sp yet" in said
    listed = line.succeed("embeds", "list", "--json")
    assert token not in listed.output
    (item,) = listed.json["items"]
    assert (item["name"], item["accounts"], item["origins"], item["detail"], item["state"]) == (
        "Portal",
        ["filial-sp", "filial-rj"],
        [PAGE],
        "figures",
        "active",
    )
    (row,) = line.succeed("embeds", "list").output.splitlines()[1:]
    assert re.match(rf"Portal +filial-sp, filial-rj +{PAGE} +figures +active +\d{{4}}-", row)
    for _ in range(2):
        assert line.succeed("embeds", "revoke", "Portal").output == "The frame Portal is revoked.\n"
    store = Store(line.settings["DLQ_DATABASE_URL"])
    assert embeds.named(store, "Portal").standing == "revoked"
    store.engines.dispose()


def test_an_address_is_replaced_and_a_frame_paused_resumed_and_renewed(line: CommandLine) -> None:
    line.succeed("embeds", "add", "Portal", "--origin", PAGE)
    said = line.succeed("embeds", "rotate", "Portal").output
    assert embed_tokens.read(KEY, said.splitlines()[-1].rpartition("/")[2]) == (1, 2)
    assert line.succeed("embeds", "pause", "Portal").output == "The frame Portal is paused.\n"
    assert line("embeds", "pause", "Portal").sentence == "The frame Portal is paused already."
    assert line.succeed("embeds", "resume", "Portal").output == "The frame Portal can be seen again.\n"
    assert line("embeds", "resume", "Portal").sentence == "The frame Portal is not paused."
    said = line.succeed("embeds", "renew", "Portal", "--expires", "400").output
    assert said == "The frame Portal can be seen for 400 days from now.\n"
    (item,) = line.succeed("embeds", "list", "--json").json["items"]
    assert (item["state"], item["version"]) == ("active", 2)
    line.succeed("embeds", "revoke", "Portal")
    for act in ("pause", "resume", "renew", "rotate"):
        refused = line("embeds", act, "Portal")
        assert (refused.status, refused.sentence) == (
            1,
            "The frame Portal is revoked, for good; add another one.",
        )


def test_a_frame_for_no_page_must_be_meant_and_says_so(run: CommandLine) -> None:
    run.settings["DLQ_SECRET_KEY"] = KEY
    refused = run("embeds", "add", "Portal")
    assert (refused.status, refused.output) == (2, "")
    assert "--origin" in refused.sentence
    said = run.succeed("embeds", "add", "Portal", "--no-page").output
    assert "No page may frame it" in said
    assert "Set DLQ_PUBLIC_URL" in said
    assert re.search(r" /embed/\S+$", said.splitlines()[-1])


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (
            ("add", "Portal", "--origin", "https://a.example/x; script-src *"),
            2,
            "origin: 'https://a.example/x; ",
        ),
        (("add", "Portal", "--origin", "http://a.example"), 2, "origin: http://a.example is not https"),
        (("add", "Portal", "--origin", PAGE, "--no-page"), 2, "--origin and --no-page exclude each other."),
        (("add", "Portal", "--origin", PAGE, "--expires", "0"), 2, "Invalid value for '--expires'"),
        (("add", "Portal", "--origin", PAGE, "--detail", "x"), 2, "Invalid value for '--detail'"),
        (("add", "a\nb", "--origin", PAGE), 2, "name: use 1 to 60 printable characters."),
        (("revoke", "Nobody"), 1, "There is no frame Nobody."),
        (("rotate", "Nobody"), 1, "There is no frame Nobody."),
        (("renew", "Nobody", "--expires", "0"), 2, "Invalid value for '--expires'"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_sentence(
    run: CommandLine, arguments: tuple[str, ...], status: int, sentence: str
) -> None:
    result = run("embeds", *arguments, DLQ_SECRET_KEY=KEY)
    assert result.status == status
    assert result.sentence.startswith(sentence)


def test_without_a_key_nothing_is_made_and_a_name_is_given_once(run: CommandLine) -> None:
    assert run("embeds", "add", "Portal", "--origin", PAGE).sentence.startswith("DLQ_SECRET_KEY is missing")
    assert run.succeed("embeds", "list", "--json").json == {"items": []}
    run.succeed("embeds", "add", "Portal", "--origin", PAGE, DLQ_SECRET_KEY=KEY)
    again = run("embeds", "add", "Portal", "--origin", PAGE, DLQ_SECRET_KEY=KEY)
    assert (again.status, again.sentence) == (
        1,
        "The frame Portal exists already; revoke it first or choose another name.",
    )
