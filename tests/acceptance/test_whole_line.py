"""Does every event end, once, for a stated reason, whatever the ERP does and however often a worker is killed?"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.line import EVENTS, Line
from tests.acceptance.verdict import Verdict

#: Seconds in which everything must have ended on a slow and busy machine.
PATIENCE = 360

pytestmark = pytest.mark.timeout(PATIENCE + 60)


def test_whole_line_in_table_mode_while_workers_are_killed(database_url: str, tmp_path: Path) -> None:
    _hold(Line(tmp_path, {"DLQ_DATABASE_URL": database_url}, scheduler_apart=False))


def test_whole_line_through_celery_while_workers_are_killed(
    postgres_url: str, redis_url: str, tmp_path: Path
) -> None:
    settings = {"DLQ_DATABASE_URL": postgres_url, "DLQ_BROKER_URL": redis_url}
    _hold(Line(tmp_path, settings, scheduler_apart=True))


def _hold(line: Line) -> None:
    with line:
        said = line.run(PATIENCE)
        verdict = Verdict(line.hub, line.erp)
        figures = verdict.figures()
        print(f"{said} {figures} after {line.kills} kills")  # noqa: T201 - kept by pytest for failures
        assert verdict.complaints() == []
        assert said["created"] == len(verdict.events) == EVENTS
        # The line was tried: the workers were killed in mid-run, the ERP saw repeats and refused records.
        assert said["folded"] > 0
        assert said["rolled_back"] > 0
        assert line.kills > 0
        assert figures["attempts"]["lost"] > 0
        assert figures["erp"]["replayed"] > 0
        assert figures["events"]["dead permanent"] > 0
