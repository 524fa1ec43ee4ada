"""Do the examples do what they say? Each is run as its reader would run it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from examples.five_layers import main as five_layers
from tests.services.process import PROJECT_ROOT

#: Seconds in which an example has ended on a busy machine.
PATIENCE = 100


def run(*arguments: str) -> str:
    """What an example prints."""
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_slow_search_agent_does_not_take_booking_down() -> None:
    """How fast it is depends on the machine; that nothing fails and nothing happens twice does not."""
    told = run("examples.five_layers", "--seconds", "4")
    _, plain, guarded = re.split(r"^(?=called as they are|behind guards)", told, flags=re.MULTILINE)
    assert re.search(r"searches  160 answered$", plain, re.MULTILINE)
    assert "ConnectionRefusedError failed" in plain
    assert " 0 booked twice" not in plain
    assert "ConnectionRefusedError" not in guarded
    assert re.search(r" 0 booked twice$", guarded, re.MULTILINE)
    ends = {how: int(number) for number, how in re.findall(r"(\d+) (\w+)", guarded.partition("searches")[2])}
    assert sum(ends.values()) == 160
    assert {"answered", "CircuitOpenError"} <= set(ends)


@pytest.mark.parametrize("seconds", ["0", "nan", "inf", "-3"])
def test_an_example_of_no_length_is_refused_in_one_sentence(
    seconds: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        five_layers([f"--seconds={seconds}"])
    assert "write a number from 1 to 600." in capsys.readouterr().err


def test_the_page_names_the_examples_by_their_commands() -> None:
    for page, command in (
        ("docs/why/resilience.md", "python -m examples.five_layers"),
        ("docs/how-to/langgraph.md", "python -m examples.langgraph_threads"),
    ):
        assert command in (PROJECT_ROOT / page).read_text(encoding="utf-8")


def test_a_graph_that_was_killed_after_its_booking_is_recovered_and_books_once() -> None:
    for package in ("langgraph.graph", "langgraph.checkpoint.sqlite.aio"):
        pytest.importorskip(package, reason="pip install langgraph langgraph-checkpoint-sqlite")
    told = run("examples.langgraph_threads")
    assert "Recovered: confirmation of 8841, notified: yes." in told
    assert "asked to book 1 time(s)." in told
