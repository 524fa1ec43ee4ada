"""What does a handler raise when an ERP answers badly? The exception of a real client library around a real answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

from dlq_console.hub.policy import Policy

OMIE = Policy(max_attempts=6, base_delay=30, jitter=0, provider="omie")
BLOCKED = {
    "faultcode": "MISUSE_API_PROCESS",
    "faultstring": "API bloqueada por consumo indevido. Tente novamente em 1780 segundos.",
}


def refusal(status: int, body: Any, headers: Mapping[str, str] | None = None) -> httpx.HTTPStatusError:
    """What `raise_for_status` raises for such an answer."""
    request = httpx.Request("POST", "https://erp.invalid/api/pedido")
    answer = httpx.Response(status, json=body, headers=headers, request=request)
    return httpx.HTTPStatusError(f"Error {status} for {request.url}", request=request, response=answer)
