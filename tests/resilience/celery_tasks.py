"""A Celery application whose tasks tell how much time they have; they write it to a list in the broker's Redis."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import redis
from celery import Celery

from dlq_console.contrib import celery_budget
from dlq_console.resilience import budget

#: Name of the list.
TOLD = "told"

app = Celery("budget", broker=os.environ.get("BROKER_OF_THE_TEST", ""), set_as_current=False)
app.conf.task_ignore_result = True
celery_budget.carry_budget()


@app.task(bind=True, max_retries=1)
def look(task: Any, name: str, again: bool = False) -> None:
    """Tell the budget; with `again` only in a second attempt, a little later."""
    if again and task.request.retries == 0:
        time.sleep(0.2)
        raise task.retry(countdown=0)
    left = budget.remaining_budget() if budget.is_set() else None
    with redis.Redis.from_url(app.conf.broker_url) as client:
        client.rpush(TOLD, json.dumps([name, left]))
