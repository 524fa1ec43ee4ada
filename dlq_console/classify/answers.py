"""What does an answer hold? Status, headers and the body as far as it was read already, for each client library."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from dlq_console.classify.bodies import BODY_LIMIT, as_text, decode, parse
from dlq_console.classify.network import class_names
from dlq_console.classify.reading import Reading, short_content_type
from dlq_console.classify.unread import read_soon
from dlq_console.classify.verdicts import Phase

_MOST_HEADERS = 100
_LONGEST_HEADER = 1_000
_LOWEST_STATUS, _HIGHEST_STATUS = 100, 599
_DETAIL_DEPTH = 10
_MOST_CHILDREN = 50

#: Where libraries that are not known by name keep a status and a body they have read.
_STATUS_NAMES = ("status_code", "http_status", "status")
_BODY_NAMES = ("_content", "content", "_body", "body", "http_body", "text", "data", "_data")


def get(thing: object, name: str) -> Any:
    """An attribute of a stranger; None where it has none or where asking for it fails."""
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001 - properties of strangers may raise anything, and a missing fact is no fault
        return None


def read_answer(thing: object, names: tuple[str, ...]) -> Reading | None:
    """The answer that an error carries, or that `thing` is.

    Args:
        thing: an exception, a response of a client library, or a body that was parsed already.
        names: class names of the whole chain of errors, for the reading.

    Returns:
        None where there is no answer in it.
    """
    own = class_names(type(thing))
    for name in own:
        if name in _BY_NAME:
            return _BY_NAME[name](thing, names)
    if not isinstance(thing, BaseException):
        return _response(thing, names)
    for candidate in (get(thing, "response"), *_arguments(thing)):
        if candidate is not None and (found := _response(candidate, names)) is not None:
            return found
    return _response(thing, names) if _status(thing) is not None else None


def _arguments(error: BaseException) -> tuple[object, ...]:
    """What was handed to the error, where it can be an answer or a body."""
    given = get(error, "args")
    plain = (str, bytes, int, float, BaseException)
    return (
        tuple(each for each in given[:5] if not isinstance(each, plain)) if isinstance(given, tuple) else ()
    )


def _response(response: object, names: tuple[str, ...]) -> Reading | None:
    if isinstance(response, Mapping):
        return Reading(phase=Phase.RESPONSE, tree=response, text=_json_text(response), exceptions=names)
    status = _status(response)
    if status is None:
        return None
    return _reading(status, get(response, "headers"), _body(response), names)


def _status(thing: object) -> int | None:
    for name in _STATUS_NAMES:
        value = get(thing, name)
        if isinstance(value, int) and _LOWEST_STATUS <= value <= _HIGHEST_STATUS:
            return int(value)
    return None


def _body(response: object) -> bytes | str:
    """The body as far as the library has read it; asking most libraries for it would read the stream."""
    if "httpx.Response" in class_names(type(response)):
        content = get(response, "content")  # raises, and so is None, where the stream was not read
        return content if isinstance(content, bytes) else b""
    kept = get(response, "__dict__")
    for name in _BODY_NAMES:
        value = kept.get(name) if isinstance(kept, dict) else None
        if isinstance(value, bytes | str):
            return value
    return b""


def _reading(
    status: int | None,
    headers: object,
    body: bytes | str,
    names: tuple[str, ...],
    *,
    code: str | None = None,
    message: str | None = None,
) -> Reading:
    kept = _headers(headers)
    named = kept.get("content-type")
    text = decode(body, named) if isinstance(body, bytes) else body[:BODY_LIMIT]
    return Reading(
        phase=Phase.RESPONSE,
        status=status,
        code=code,
        message=message,
        content_type=short_content_type(named),
        headers=kept,
        text=text or message or "",
        tree=parse(text),
        exceptions=names,
    )


def _headers(headers: object) -> dict[str, str]:
    items = get(headers, "items")
    kept: dict[str, str] = {}
    if not callable(items):
        return kept
    for name, value in islice(items(), _MOST_HEADERS):
        text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
        key = name.decode("latin-1") if isinstance(name, bytes) else str(name)
        kept.setdefault(key[:200].lower(), text[:_LONGEST_HEADER])
    return kept


def _json_text(tree: Mapping[Any, Any]) -> str:
    """A parsed body as the text it may have been; only as much of it as is looked at."""
    parts: list[str] = []
    length = 0
    try:
        for part in json.JSONEncoder(ensure_ascii=False, default=str).iterencode(dict(tree)):
            parts.append(part)
            length += len(part)
            if length > BODY_LIMIT:
                break
    except (TypeError, ValueError, RecursionError):
        parts.append("…")
    return "".join(parts)[:BODY_LIMIT]


def _xmlrpc_fault(error: object, names: tuple[str, ...]) -> Reading:
    # xmlrpc.client looks for a fault only in an answer of status 200.
    message = get(error, "faultString")
    text = message[:BODY_LIMIT] if isinstance(message, str) else ""
    return _reading(200, None, b"", names, code=as_text(get(error, "faultCode")), message=text)


def _xmlrpc_protocol_error(error: object, names: tuple[str, ...]) -> Reading:
    return _reading(
        get(error, "errcode"), get(error, "headers"), b"", names, message=as_text(get(error, "errmsg"))
    )


def _zeep_fault(error: object, names: tuple[str, ...]) -> Reading:
    code, message = as_text(get(error, "code")), as_text(get(error, "message"))
    detail = _element(get(error, "detail"), _DETAIL_DEPTH)
    fault = {"faultcode": code, "faultstring": message, "detail": detail}
    return Reading(
        phase=Phase.RESPONSE,
        code=code,
        message=message,
        text=message or "",
        tree={"Envelope": {"Body": {"Fault": fault}}},
        exceptions=names,
    )


def _element(element: Any, depth: int) -> Any:
    """An XML element of a foreign library as a tree like that of `bodies.parse`."""
    if element is None or not isinstance(get(element, "tag"), str) or depth == 0:
        return None
    children: dict[str, Any] = {}
    for child in list(element)[:_MOST_CHILDREN]:
        if isinstance(child.tag, str):
            children.setdefault(child.tag.rpartition("}")[2], []).append(_element(child, depth - 1))
    return children or as_text(element.text)


def _zeep_transport_error(error: object, names: tuple[str, ...]) -> Reading:
    content = get(error, "content")
    body = content if isinstance(content, bytes | str) else b""
    return _reading(_status(error), None, body, names, message=as_text(get(error, "message")))


def _urllib_http_error(error: object, names: tuple[str, ...]) -> Reading:
    return _reading(get(error, "code"), get(error, "headers"), read_soon(get(error, "fp"), BODY_LIMIT), names)


def _aiohttp_response_error(error: object, names: tuple[str, ...]) -> Reading:
    # The exception holds no body: a handler that wants it judged raises the response with it.
    message = as_text(get(error, "message"))
    inside = next((found for each in _arguments_of(error) if (found := _response(each, names))), None)
    return inside or _reading(_status(error), get(error, "headers"), b"", names, message=message)


def _arguments_of(error: object) -> tuple[object, ...]:
    return _arguments(error) if isinstance(error, BaseException) else ()


def _json_error(error: object, names: tuple[str, ...]) -> Reading:
    """An answer that should have been JSON."""
    document = get(error, "doc")
    body = document if isinstance(document, str | bytes) else ""
    return _reading(_status(get(error, "response")), None, body, names)


_BY_NAME: Mapping[str, Callable[[object, tuple[str, ...]], Reading]] = {
    "xmlrpc.Fault": _xmlrpc_fault,
    "xmlrpc.ProtocolError": _xmlrpc_protocol_error,
    "zeep.Fault": _zeep_fault,
    "zeep.TransportError": _zeep_transport_error,
    "urllib.HTTPError": _urllib_http_error,
    "aiohttp.ClientResponseError": _aiohttp_response_error,
    "requests.JSONDecodeError": _json_error,
}
