"""Was this call made before? The last of the five layers."""

from dlq_console.resilience.idempotency.calls import IdempotentCalls
from dlq_console.resilience.idempotency.node import idempotent_node
from dlq_console.resilience.idempotency.rules import CLAIMS, Claim

__all__ = ["CLAIMS", "Claim", "IdempotentCalls", "idempotent_node"]
