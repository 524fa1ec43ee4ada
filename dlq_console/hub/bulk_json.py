"""What does a bulk run look like as JSON? One answer for the API and for `--json` of the command line."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from dlq_console.store.bulk.items import ItemPage
from dlq_console.store.bulk.previews import Facts
from dlq_console.store.bulk.runs import BulkRun

#: What only the step needs to know.
_INTERNAL = {
    "accounts",
    "cursor",
    "stage_released",
    "stage_ended",
    "stage_died",
    "released_at",
    "version",
    "marks",
    "now",
    "late",
}


def run_json(run: BulkRun) -> dict[str, Any]:
    """One run."""
    told = {field.name: getattr(run, field.name) for field in fields(run) if field.name not in _INTERNAL}
    return told | {
        "done": run.done,
        "remaining": run.remaining,
        "drift": run.drift,
        "late": run.late.number,
        "late_capped": run.late.capped,
    }


def preview_json(preview: Facts) -> dict[str, Any]:
    """What a run would do, without its sample."""
    told = {
        field.name: getattr(preview, field.name)
        for field in fields(preview)
        if field.name not in ("sample", "sample_ids")
    }
    parts = {name: [asdict(part) for part in told[name]] for name in ("by_kind", "by_account", "by_error")}
    return told | parts | {"count": preview.count.number, "count_capped": preview.count.capped}


def item_page_json(page: ItemPage) -> dict[str, Any]:
    """Items of a run."""
    return {"items": [asdict(item) for item in page.items], "next_cursor": page.next_cursor}
