"""Errors: each says what happened in a sentence, and survives pickling and copying, as between processes."""

from __future__ import annotations

import copy
import pickle

import pytest

import dlq_console
from dlq_console import errors
from dlq_console.errors import ActionNotAllowed, DLQError, RateLimited

ALL = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, DLQError)]


@pytest.mark.parametrize("error", ALL)
def test_an_error_without_a_message_says_its_docstring(error: type[DLQError]) -> None:
    said = str(error())
    assert said == " ".join(str(error.__doc__).split())
    assert said.endswith(".")
    assert error().message == said


@pytest.mark.parametrize("error", ALL)
def test_an_error_says_what_it_was_told(error: type[DLQError]) -> None:
    assert str(error(message="because")) == "because"


@pytest.mark.parametrize("error", ALL)
def test_every_error_is_public(error: type[DLQError]) -> None:
    assert getattr(dlq_console, error.__name__) is error


def _made() -> list[DLQError]:
    made = [error(message="because") for error in ALL] + [error() for error in ALL]
    made.append(RateLimited(7.5, "provider", "slow down"))
    made.append(ActionNotAllowed("no", status="done", action="reprocess"))
    return made


@pytest.mark.parametrize("error", _made(), ids=lambda error: f"{type(error).__name__} {error.args}")
def test_an_error_survives_pickling_and_copying(error: DLQError) -> None:
    twins = [copy.copy(error), copy.deepcopy(error)]
    twins += [pickle.loads(pickle.dumps(error, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)]
    for twin in twins:
        assert type(twin) is type(error)
        assert (str(twin), vars(twin)) == (str(error), vars(error))


def test_a_rate_limit_has_a_usual_wait_and_scope() -> None:
    assert (RateLimited().retry_after, RateLimited().scope) == (60.0, "account")
