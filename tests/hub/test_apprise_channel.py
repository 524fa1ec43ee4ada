"""Does a message leave through apprise, the real one, and what is said where it cannot?"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from dlq_console.errors import TransientError
from dlq_console.hub import channels
from dlq_console.hub.channels import Apprise
from tests.hub.rude_servers import dripping
from tests.hub.test_webhook_channel import CONTENT, Address

#: apprise itself imports it.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")


@pytest.fixture
def address() -> Iterator[Address]:
    made = Address()
    yield made
    made.close()


def channel(address: Address) -> Apprise:
    return Apprise(address.url.replace("http://", "json://").partition("?")[0])


def test_a_message_leaves_through_apprise(address: Address) -> None:
    channel(address).send(CONTENT)
    ((method, path, _headers, body),) = address.asked
    assert (method, path) == ("POST", "/hook")
    assert (body["title"], body["message"]) == (CONTENT["title"], CONTENT["text"])


def test_what_the_service_does_not_take_is_tried_again(address: Address) -> None:
    address.code = 503
    with pytest.raises(TransientError, match="did not take the message"):
        channel(address).send(CONTENT)


@pytest.mark.parametrize(
    "url", ["pigeon://s3cret@loft", "json://:s3cret@127.0.0.1:1/s3cret", "slack://s3cret"]
)
def test_neither_error_nor_log_tells_an_address(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(0), pytest.raises(TransientError) as failed:
        Apprise(url).send(CONTENT)
    assert "s3cret" not in repr(failed.value)
    assert "s3cret" not in caplog.text


def test_an_address_that_apprise_does_not_know_is_told_as_that() -> None:
    with pytest.raises(TransientError, match="no address that apprise knows"):
        Apprise("pigeon://s3cret@loft").send(CONTENT)


def test_a_service_that_answers_letter_by_letter_is_left_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "LONGEST", 0.5)
    answer = b"HTTP/1.1 200 OK\r\nX-A: " + b"y" * 1000
    with dripping(answer) as port, pytest.raises(TransientError, match="did not answer in time"):
        Apprise(f"json://127.0.0.1:{port}/").send(CONTENT)


def test_without_apprise_one_sentence_says_how_to_install_it(
    address: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(TransientError) as failed:
        channel(address).send(CONTENT)
    assert failed.value.message == 'This channel needs apprise: pip install "dlq-console[alerts]".'
