"""How does a handler call the ERP? As any program would: an answer is returned, and everything else is raised.

What an error means for the event is not decided here. The hub reads it by the rules in `RULES`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener

from dlq_console import Event, PermanentError, Run

#: The name of this ERP in policies and rules.
PROVIDER = "simulated-erp"
#: What its answers mean; a program of your own names such a file in DLQ_RULES.
RULES = Path(__file__).parent / "erp_rules.toml"
#: Seconds a handler waits for an answer.
PATIENCE = 8.0

#: The ERP is on this machine, so no proxy of the environment is asked.
_opener = build_opener(ProxyHandler({}))


class ErpError(HTTPError):
    """The ERP answered with an error; as text it is what the ERP said."""

    def __init__(self, refusal: HTTPError) -> None:
        content = refusal.read()
        said = _said(content) or f"The ERP answered {refusal.code} without a readable text."
        super().__init__(refusal.url, refusal.code, said, refusal.headers, BytesIO(content))

    def __str__(self) -> str:
        return self.msg


@dataclass(frozen=True, slots=True)
class ErpClient:
    """Sends records to the ERP, and asks for them.

    Args:
        url: address of the ERP.
        patience: seconds to wait for an answer.
    """

    url: str
    patience: float = PATIENCE

    def send(self, event: Event, run: Run, resource: str) -> dict[str, Any]:
        """Send the payload of an event to `/<account>/<resource>`.

        Returns:
            The ERP's document number, and whether it held the record already.

        Raises:
            PermanentError: the payload is no record.
            ErpError: the ERP refuses the record, asks for fewer calls, or is out of service.
            OSError: no answer came; the record may have been taken.
        """
        return self._call(self._address(event, resource), run, _record_of(event))

    def would_take(self, event: Event, run: Run, resource: str) -> bool:
        """Whether the ERP would take the payload of an event now; nothing is sent.

        Raises:
            PermanentError: the payload is no record.
            ErpError, OSError: it cannot be asked now.
        """
        answer = self._call(f"{self._address(event, resource)}/check", run, _record_of(event))
        return answer["accepted"] is True

    def find(self, event: Event, run: Run, resource: str) -> str | None:
        """The ERP's document number of what was sent for an event; None where it has none.

        Raises:
            ErpError, OSError: it cannot be asked now.
        """
        address = f"{self._address(event, resource)}/{quote(event.entity_id, safe='')}"
        document = self._call(address, run)["document"]
        return None if document is None else str(document)

    def _address(self, event: Event, resource: str) -> str:
        return f"{self.url}/{quote(event.account, safe='')}/{resource}"

    def _call(self, address: str, run: Run, content: bytes | None = None) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", "X-Effect-Key": run.effect_key}
        request = Request(address, content, headers)  # noqa: S310 - the address is one of configuration
        patience = max(0.1, min(self.patience, run.remaining()))
        try:
            with _opener.open(request, timeout=patience) as answer:
                return dict(json.load(answer))
        except HTTPError as refusal:
            with refusal:
                raise ErpError(refusal) from None


def _record_of(event: Event) -> bytes:
    if not isinstance(event.payload, dict):
        raise PermanentError("The payload is not an object with the fields of a record; send it as one.")
    record = event.payload | {"integration_code": event.entity_id, "version": event.version}
    # A number that no float holds exactly arrives as Decimal; the ERP reads it as text.
    return json.dumps(record, default=str).encode()


def _said(content: bytes) -> str | None:
    try:
        body = json.loads(content)
    except ValueError:
        return None
    said = (body.get("faultstring") or body.get("error")) if isinstance(body, dict) else None
    return None if said is None else str(said)
