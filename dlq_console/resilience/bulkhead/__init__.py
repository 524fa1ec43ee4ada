"""How many calls of a service at once? The second of the five layers."""

from dlq_console.resilience.bulkhead.bulkhead import Bulkhead, Held
from dlq_console.resilience.bulkhead.config import BulkheadConfig
from dlq_console.resilience.bulkhead.local import LocalBulkhead
from dlq_console.resilience.bulkhead.registry import BulkheadRegistry
from dlq_console.resilience.bulkhead.rules import BULKHEADS, BulkheadRecord

__all__ = [
    "BULKHEADS",
    "Bulkhead",
    "BulkheadConfig",
    "BulkheadRecord",
    "BulkheadRegistry",
    "Held",
    "LocalBulkhead",
]
