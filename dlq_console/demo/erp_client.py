"""How does a handler call the ERP, and what does the ERP's answer mean for the event?"""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from dlq_console import Event, PermanentError, RateLimited, Run, TransientError

#: Seconds a handler waits for an answer.
PATIENCE = 8.0
#: Fault code with which the ERP says that it holds this effect already.
_ALREADY_APPLIED = "SOAP-ENV:Client-102"
#: Seconds to wait where the ERP asks for fewer calls and does not say for how long.
_USUAL_WAIT = 60.0


@dataclass(frozen=True, slots=True)
class ErpClient:
    """Sends records to the ERP.

    Args:
        url: address of the ERP.
        patience: seconds to wait for an answer. An ERP that stays silent longer is a TimeoutError: the event is
            tried again, which is safe because the effect key goes with every call.
    """

    url: str
    patience: float = PATIENCE

    def send(self, event: Event, run: Run, resource: str) -> dict[str, Any]:
        """Send the payload of an event to `/<account>/<resource>`.

        Returns:
            The ERP's document number, and whether it held the record already.

        Raises:
            PermanentError: the ERP refuses the record; the message is the ERP's own.
            RateLimited: the ERP asks for fewer calls.
            TransientError: the ERP is out of service.
            TimeoutError, ConnectionError: no answer came; the record may have been taken.
        """
        if not isinstance(event.payload, dict):
            raise PermanentError("The payload is not an object with the fields of a record; send it as one.")
        record = event.payload | {"integration_code": event.entity_id, "version": event.version}
        headers = {"Content-Type": "application/json", "X-Effect-Key": run.effect_key}
        # A number that no float holds exactly arrives as Decimal; the ERP reads it as text.
        content = json.dumps(record, default=str)
        path = f"/{quote(event.account, safe='')}/{resource}"
        connection = http.client.HTTPConnection(urlsplit(self.url).netloc, timeout=self._seconds_left(run))
        try:
            connection.request("POST", path, content, headers)
            response = connection.getresponse()
            return _understood(response.status, response.headers.get("Retry-After"), response.read())
        except http.client.HTTPException as error:
            raise ConnectionError(f"The answer of the ERP broke off ({type(error).__name__}).") from error
        finally:
            connection.close()

    def _seconds_left(self, run: Run) -> float:
        return max(0.1, min(self.patience, run.remaining()))


def _understood(status: int, retry_after: str | None, content: bytes) -> dict[str, Any]:
    body = _json_object(content)
    if status == http.client.OK:
        return {"document": body.get("document"), "duplicate": body.get("duplicate", False)}
    if body.get("faultcode") == _ALREADY_APPLIED:
        return {"document": None, "duplicate": True}
    # This ERP sends business errors as HTTP 500, so the fault text decides before the status does.
    if "faultstring" in body:
        raise PermanentError(str(body["faultstring"]))
    said = body.get("error", "no readable text")
    if status == http.client.TOO_MANY_REQUESTS:
        raise RateLimited(_wait(retry_after), message=str(said))
    answer = f"The ERP answered {status}: {said}"
    if status >= http.client.INTERNAL_SERVER_ERROR:
        raise TransientError(answer)
    raise PermanentError(answer)


def _json_object(content: bytes) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _wait(retry_after: str | None) -> float:
    return float(retry_after) if retry_after and retry_after.isdecimal() else _USUAL_WAIT
