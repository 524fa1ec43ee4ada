"""Which handlers do the workers of the whole line load? The demo's own, with waits that a test can afford.

Workers find them by DLQ_APP=tests.acceptance.app:hub.
"""

from __future__ import annotations

import os

from dlq_console import Hub, Policy
from dlq_console.demo.handlers import register
from dlq_console.resilience import CircuitBreakerConfig

#: Seconds that a handler waits for an answer of the ERP.
PATIENCE = 0.7
#: Outages of the ERP last three seconds here; the account's own circuit would stay open for two minutes.
BREAKER = CircuitBreakerConfig(
    failure_threshold=5, success_threshold=1, recovery_timeout=0.5, max_recovery_timeout=2
)
#: Attempts enough to outlast a crash every two seconds; waits short enough to be waited for.
POLICY = Policy(max_attempts=12, base_delay=0.2, max_delay=1, timeout=4, breaker=BREAKER)

hub = Hub()
register(hub, os.environ["DLQ_DEMO_ERP_URL"], policy=POLICY, patience=PATIENCE)
