"""Which bulk runs may this person open? Others are named without a link, because their page would not be there."""

from __future__ import annotations

from collections.abc import Iterable

from flask import url_for

from dlq_console.web.auth import person
from dlq_console.web.hub import hub


def addresses(run_ids: Iterable[int | None]) -> dict[int, str]:
    """The page of each of these runs that this person may open; None among them stands for no run."""
    asked = {run_id for run_id in run_ids if run_id is not None}
    seen = hub().bulk.visible(asked, accounts=person().accounts)
    return {run_id: url_for("bulk.show", run_id=run_id) for run_id in seen}
