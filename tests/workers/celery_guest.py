"""How does a test run events in the workers of a Celery application that was there before?

`dlq-console worker` has one pool only; an application may choose threads. GUEST_PATIENCE is how many seconds the rest has
to end once a thread cannot be ended.
"""

from __future__ import annotations

import os

from celery import Celery

from dlq_console.workers import celery_threads
from tests.workers.celery_faulty import hub

app = Celery("guest", broker=os.environ["DLQ_BROKER_URL"], set_as_current=False)
app.conf.worker_prefetch_multiplier = 1
hub.attach(app)
celery_threads.REST_PATIENCE = float(os.environ.get("GUEST_PATIENCE", celery_threads.REST_PATIENCE))
