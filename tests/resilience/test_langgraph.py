"""A graph whose process is killed after the outside effect of a node: is it taken up again, and the effect made once?"""

from __future__ import annotations

import asyncio
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dlq_console.contrib.langgraph import resuming, run_thread
from dlq_console.errors import OutcomeUnknown
from dlq_console.resilience.errors import StillRunningError
from dlq_console.resilience.idempotency import IdempotentCalls
from dlq_console.resilience.orphans import WORK, OrphanScanner, WorkRegister, _begun, _spelled
from dlq_console.resilience.recovery import RecoveryConsumer
from dlq_console.resilience.redis_state import RedisState
from dlq_console.resilience.state import MemoryState
from tests.resilience.graph import LEASE, Outside, checkpoints, make_graph
from tests.resilience.states import FrozenClock
from tests.services.process import PROJECT_ROOT, StartChild

for _package in ("langgraph.graph", "langgraph.checkpoint.sqlite.aio"):
    pytest.importorskip(_package, reason="pip install langgraph langgraph-checkpoint-sqlite")


def graph_until(where: str, folder: Path, redis_url: str) -> list[str]:
    """The arguments of a process that runs the graph until this place."""
    return ["-m", "tests.resilience.graph", str(folder), redis_url, "thread-1", where]


@pytest.mark.anyio
async def test_an_undisturbed_thread_runs_through(redis_url: str, tmp_path: Path) -> None:
    state = RedisState(redis_url, timeout=5)
    async with checkpoints(tmp_path) as saver:
        graph = make_graph(tmp_path, state, saver)
        done = await run_thread(graph, WorkRegister(state, "threads"), "thread-1", {"order": 8841})
    assert done["confirmation"] == "confirmation of 8841"
    assert done["notified"] is True
    state.close()


@pytest.mark.anyio
@pytest.mark.parametrize("where", ["before the checkpoint", "before the result is kept"])
async def test_a_killed_thread_goes_on_and_its_effect_happened_once(
    redis_url: str, tmp_path: Path, start_child: StartChild, where: str
) -> None:
    """Killed before its result was kept, only the outside system knows: the node's verifier asks it."""
    child = start_child([sys.executable, *graph_until(where, tmp_path, redis_url)])
    child.wait_for_line("stopped", timeout=60)
    child.kill()
    assert Outside(tmp_path).booked() == [8841]

    state = RedisState(redis_url, timeout=5)
    work = WorkRegister(state, "threads", lease=LEASE)
    scanner = OrphanScanner(state, "recovery", work.orphans)
    async with asyncio.timeout(60):
        while await scanner.ascan() == 0:  # noqa: ASYNC110 - the lease stands in Redis
            await asyncio.sleep(0.05)
    async with checkpoints(tmp_path) as saver:
        graph = make_graph(tmp_path, state, saver)
        consumer = RecoveryConsumer(state, "recovery", resuming(graph, work))
        async with asyncio.timeout(60):
            while await consumer.arun_once() == 0:  # noqa: ASYNC110 - so does the claim of the killed process
                await asyncio.sleep(0.05)
        snapshot = await graph.aget_state({"configurable": {"thread_id": "thread-1"}})
    assert snapshot.values["confirmation"] == "confirmation of 8841"
    assert snapshot.values["notified"] is True
    assert snapshot.next == ()
    assert Outside(tmp_path).booked() == [8841]
    assert (work.orphans(), await scanner.ascan()) == ([], 0)
    state.close()


def died_with(state: MemoryState, thread_id: str, given: Any) -> None:
    """What a process leaves that dies between the beginning of its thread and the first checkpoint."""
    begun = partial(_begun, id_=thread_id, token="dead", lease=30, given=_spelled(given))
    state.change(WORK, "threads", begun)


@pytest.mark.anyio
async def test_a_thread_killed_before_its_first_checkpoint_is_begun_with_its_input(
    tmp_path: Path, clock: FrozenClock
) -> None:
    state = MemoryState(clock)
    work = WorkRegister(state, "threads")
    died_with(state, "thread-1", {"order": 8841})
    clock.advance(31)
    async with checkpoints(tmp_path) as saver:
        graph = make_graph(tmp_path, state, saver)
        assert await OrphanScanner(state, "recovery", work.orphans).ascan() == 1
        assert await RecoveryConsumer(state, "recovery", resuming(graph, work)).arun_once() == 1
        snapshot = await graph.aget_state({"configurable": {"thread_id": "thread-1"}})
    assert snapshot.values["confirmation"] == "confirmation of 8841"
    assert Outside(tmp_path).booked() == [8841]
    assert work.orphans() == []


@pytest.mark.anyio
async def test_while_the_checkpoints_are_away_the_input_of_a_thread_stays_kept(clock: FrozenClock) -> None:
    state = MemoryState(clock)
    work = WorkRegister(state, "threads")
    died_with(state, "thread-1", {"order": 8841})
    clock.advance(31)

    class Away:
        async def aget_state(self, config: Any) -> Any:
            raise ConnectionError

        async def ainvoke(self, input: Any, config: Any = None) -> Any:
            raise AssertionError

    with pytest.raises(ConnectionError):
        await resuming(Away(), work)("thread-1")
    assert work.orphans() == ["thread-1"]
    with work.hold("thread-1") as kept:
        assert kept == {"order": 8841}


def test_the_input_of_work_outlives_every_process_that_dies_with_it(clock: FrozenClock) -> None:
    state = MemoryState(clock)
    died_with(state, "thread-1", {"order": 8841})
    clock.advance(31)
    died_with(state, "thread-1", None)
    clock.advance(31)
    work = WorkRegister(state, "threads")
    with work.hold("thread-1") as kept:
        assert kept == {"order": 8841}
    with work.hold("thread-1") as kept:
        assert kept is None


@pytest.mark.parametrize(
    "given", [None, object(), {"order": float("nan")}, {"to": (1, 2)}, {1: "x"}, "x" * 1000, {"order": {1}}]
)
def test_an_input_that_cannot_be_read_again_as_it_is_is_not_kept(given: Any) -> None:
    assert _spelled(given) == ""


@pytest.mark.anyio
async def test_without_a_verifier_a_killed_node_waits_for_a_person(
    redis_url: str, tmp_path: Path, start_child: StartChild
) -> None:
    child = start_child([sys.executable, *graph_until("before the result is kept", tmp_path, redis_url)])
    child.wait_for_line("stopped", timeout=60)
    child.kill()
    state = RedisState(redis_url, timeout=5)
    calls = IdempotentCalls("book", state, lease=LEASE)
    with state._redis as client:
        (key,) = (str(name).removeprefix("dlq:{claim}:book ") for name in client.scan_iter("dlq:{claim}:*"))
    claim = calls.look(key)
    assert claim is not None

    def again() -> None:
        raise AssertionError("it would be booked twice")

    async with asyncio.timeout(60):
        while True:
            try:
                calls.run(key, claim.fingerprint, again)
            except OutcomeUnknown:
                break
            except StillRunningError:
                await asyncio.sleep(0.05)
    assert calls.decide(key, applied=True, actor="ana", result={"confirmation": "seen at the other side"})
    state.close()


@pytest.mark.anyio
async def test_the_sample_of_the_page_books_once_and_finds_nothing_to_recover(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (PROJECT_ROOT / "docs/how-to/langgraph.md").read_text(encoding="utf-8")
    (sample,) = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    monkeypatch.setenv("DLQ_DATABASE_URL", database_url)
    names: dict[str, Any] = {}
    exec(compile(sample, "langgraph.md", "exec"), names)
    for thread_id in ("thread-1", "thread-2"):
        done = await names["serve"](thread_id, 8841)
        assert (done["confirmation"], done["notified"]) == ("confirmation of 8841", True)
    await names["recover"]()
    assert names["bookings"] == {8841: "confirmation of 8841"}
    names["hub"].close()
