"""When is a service left alone? The first of the five layers."""

from dlq_console.resilience.breaker.admission import Admission
from dlq_console.resilience.breaker.breaker import CircuitBreaker
from dlq_console.resilience.breaker.config import CircuitBreakerConfig, Window
from dlq_console.resilience.breaker.record import BREAKERS, BreakerRecord, CircuitState, Transition
from dlq_console.resilience.breaker.registry import CircuitBreakerRegistry

__all__ = [
    "BREAKERS",
    "Admission",
    "BreakerRecord",
    "CircuitBreaker",
    "CircuitBreakerConfig",
    "CircuitBreakerRegistry",
    "CircuitState",
    "Transition",
    "Window",
]
