"""The two applications that `benchmarks.celery_overhead` compares: a bare Celery task and an event, both doing nothing.

Each run appends one byte to the file that BENCHMARK_RUNS names: that costs a few microseconds, the same on both sides,
and tells from outside how many have run. Both take the address of the broker from the environment.
"""

from __future__ import annotations

import os

from celery import Celery

from dlq_console import Event, Hub

#: The task of the bare application.
BARE_TASK = "benchmark.nothing"
#: The kind of the events.
KIND = "benchmark.nothing"

_runs = os.open(os.environ["BENCHMARK_RUNS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

bare = Celery("bare", broker=os.environ["DLQ_BROKER_URL"], set_as_current=False)
bare.conf.update(task_ignore_result=True, broker_connection_retry_on_startup=True)
hub = Hub()


@bare.task(name=BARE_TASK)
def nothing_bare() -> None:
    os.write(_runs, b".")


@hub.handler(KIND)
def nothing(_event: Event) -> None:
    os.write(_runs, b".")
