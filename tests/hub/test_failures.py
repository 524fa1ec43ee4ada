"""What is kept of an error: enough to understand it, nothing secret, nothing that cannot be stored."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dlq_console import PermanentError, TransientError
from dlq_console.hub.failures import MESSAGE_LIMIT, TRACEBACK_LIMIT, failure, failure_of
from dlq_console.redact import MASK
from dlq_console.store.transitions import Failure

BIG = 10_000_000


class BrokenText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


class NoText(Exception):
    def __str__(self) -> str:
        return "   "


def _of(error: BaseException) -> Failure:
    try:
        raise error
    except BaseException as raised:  # noqa: BLE001 - sys.exit is one of them
        return failure_of(raised, verdict="unknown")


def test_type_message_traceback_verdict_and_fingerprint_are_kept() -> None:
    kept = _of(PermanentError("customer 7 is unknown"))
    assert (kept.type, kept.message, kept.verdict) == ("PermanentError", "customer 7 is unknown", "unknown")
    assert kept.fingerprint is None, "made where the kind of its event is known"
    assert kept.traceback is not None
    assert "in _of" in kept.traceback
    assert kept.traceback.rstrip().endswith("PermanentError: customer 7 is unknown")


@pytest.mark.parametrize(
    "error", [BrokenText(), NoText(), KeyError(), ValueError("")], ids=lambda e: type(e).__name__
)
def test_an_error_that_says_nothing_is_told_by_its_type(error: Exception) -> None:
    assert _of(error).message == f"{type(error).__name__} without a message"


def test_leaving_the_process_is_told_with_its_status() -> None:
    assert (
        _of(SystemExit(3)).message
        == "The handler ended its process with sys.exit(3); raise an error instead."
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\x00b", "a\\x00b"),
        ("a\ud800b", "a\\ud800b"),
        ("ünï 😀", "ünï 😀"),
        ("<b>&amp;</b>", "<b>&amp;</b>"),
    ],
)
def test_what_a_database_would_refuse_is_written_out(text: str, kept: str) -> None:
    found = _of(ValueError(text))
    assert found.message == kept
    assert found.traceback is not None
    found.traceback.encode()
    assert "\x00" not in found.traceback


SECRETS: dict[str, tuple[str, str]] = {
    "password": ("login failed, password=hunter2!", "hunter2"),
    "address": ("cannot reach https://erp:hunter2@erp.local/api", "hunter2"),
    "header": ("sent Authorization: Bearer abcdefgh12345678", "abcdefgh12345678"),
    "json": ('{"api_key": "abc-123-def"}', "abc-123-def"),
    "tax number": ("customer 12.345.678/0001-95 is unknown", "12.345.678/0001-95"),
    "mail": ("maria.silva@loja.com.br is unknown", "maria.silva"),
}


@pytest.mark.parametrize(("text", "secret"), SECRETS.values(), ids=SECRETS)
def test_secrets_are_kept_neither_in_the_message_nor_in_the_traceback(text: str, secret: str) -> None:
    try:
        try:
            raise TransientError(text)
        except TransientError as cause:
            raise PermanentError(f"because {text}") from cause
    except PermanentError as error:
        kept = failure_of(error, verdict="permanent")
    assert MASK in kept.message
    assert secret not in kept.message + str(kept.traceback)


@pytest.mark.parametrize(
    "fill",
    [lambda: "x" * BIG, lambda: "a.a@" * (BIG // 4), lambda: "password=x " * (BIG // 11), lambda: "1" * BIG],
    ids=["letters", "mail", "passwords", "digits"],
)
def test_ten_megabytes_of_text_are_cut_to_what_a_person_reads(fill: Callable[[], str]) -> None:
    kept = _of(ValueError(fill()))
    assert len(kept.message) <= MESSAGE_LIMIT
    assert kept.message.endswith("…")
    assert kept.traceback is not None
    assert len(kept.traceback) <= TRACEBACK_LIMIT
    assert kept.traceback.startswith("…")


def test_a_secret_at_the_place_of_the_cut_is_no_exception() -> None:
    for place in range(MESSAGE_LIMIT - 40, MESSAGE_LIMIT + 5):
        assert "hunter" not in _of(ValueError("x " * (place // 2) + "password=hunter2hunter2hunter2")).message


@pytest.mark.parametrize("length", [MESSAGE_LIMIT - 1, MESSAGE_LIMIT])
def test_a_message_that_just_fits_is_kept_whole(length: int) -> None:
    assert failure("T", "y" * length).message == "y" * length


def test_a_failure_of_the_hub_itself_has_no_traceback() -> None:
    kept = failure("WorkerDied", "The worker died.", verdict="unknown")
    assert (kept.type, kept.message, kept.traceback, kept.verdict) == (
        "WorkerDied",
        "The worker died.",
        None,
        "unknown",
    )
