"""Does a mail server get each message as it is meant, and what becomes of one that it does not take?"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from dlq_console.errors import PermanentError, TransientError
from dlq_console.hub import channels
from tests.hub.mail_server import PASSWORD, USER, MailServer, mail_server
from tests.hub.rude_servers import dripping, spoken

CONTENT = {"title": "Alert lag: filial-sp", "text": "It waits.", "key": "alert-7-1"}
#: aiosmtpd warns of a server that takes passwords in the clear; here the client must refuse to.
pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")


@pytest.fixture
def server() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> trustme.CA:
    """An authority that this process trusts."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    return authority


def certified(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


def test_a_mail_comes_in_utf_8_with_a_key_that_does_not_change(server: MailServer) -> None:
    content = {
        "title": "Atenção: ação não concluída",
        "text": "Há 3 notas. " + "ç" * 1200,
        "key": "alert-7-1",
    }
    for _ in range(2):
        assert server.channel(to="plantao@example.com,gestor@example.com").send(content) is None
    first, second = server.taken
    assert first["Subject"] == "Atenção: ação não concluída"
    assert first.get_content().rstrip("\r\n") == content["text"]
    assert first["To"] == "plantao@example.com, gestor@example.com"
    assert first["Message-ID"] == second["Message-ID"] == "<alert-7-1@example.com>"
    # In letters and lines that every server may pass on.
    assert max(map(len, server.raw[0].splitlines())) < 998
    assert server.raw[0].isascii()


@pytest.mark.parametrize("ends", ["\r\n", "\n", "\r", "\0", "\x0b", "\x85", "\u2028", "\r\n\r\n"])
def test_no_name_of_an_account_adds_a_header_or_a_recipient(server: MailServer, ends: str) -> None:
    evil = f"filial{ends}Bcc: thief@example.com{ends}.{ends}RCPT TO:<thief@example.com>"
    server.channel().send({"title": f"Alert: {evil}", "text": f"{evil}\n.\nQUIT", "key": "alert-7-1"})
    (mail,) = server.taken
    assert mail["Bcc"] is None
    assert set(mail.keys()) == {
        "From", "To", "Subject", "Message-ID", "Auto-Submitted", "Content-Type", "Content-Transfer-Encoding",
        "MIME-Version",
    }  # fmt: skip
    assert "filial Bcc: thief@example.com" in mail["Subject"]
    assert mail.get_content().rstrip("\r\n").endswith("QUIT")


def test_a_long_title_is_cut(server: MailServer) -> None:
    server.channel().send(CONTENT | {"title": "x" * 5000})
    assert server.taken[0]["Subject"] == "x" * 200


@pytest.mark.parametrize(
    ("answer", "error"), [("550 No such user", PermanentError), ("450 Come back later", TransientError)]
)
def test_refused_recipients_are_told_as_the_server_means_it(
    server: MailServer, answer: str, error: type[Exception]
) -> None:
    server.recipients["plantao@example.com"] = answer
    with pytest.raises(error, match=rf"refused those who are to get it \({answer[:3]}\)") as refused:
        server.channel().send(CONTENT)
    assert "plantao" not in str(refused.value)
    assert server.taken == []


def test_one_recipient_of_several_who_is_refused_is_told_beside_the_success(server: MailServer) -> None:
    server.recipients["gone@example.com"] = "550 No such user"
    noted = server.channel(to="plantao@example.com,gone@example.com").send(CONTENT)
    assert noted == "The mail server refused 1 of 2 who were to get it (550)."
    assert len(server.taken) == 1


@pytest.mark.parametrize(
    ("answer", "error"), [("554 Looks like spam", PermanentError), ("451 Disk is full", TransientError)]
)
def test_a_refused_mail_is_given_up_only_where_the_server_means_for_ever(
    server: MailServer, answer: str, error: type[Exception]
) -> None:
    server.data = answer
    with pytest.raises(error, match=rf"refused it \({answer[:3]}\)"):
        server.channel().send(CONTENT)


def test_a_mail_that_was_taken_is_brought_whatever_the_server_says_at_the_end(server: MailServer) -> None:
    server.quits = "421 I am tired"
    assert server.channel().send(CONTENT) is None
    assert len(server.taken) == 1


def test_starttls_is_used_where_it_is_offered_and_the_password_goes_through_it(authority: trustme.CA) -> None:
    with mail_server(starttls=certified(authority), log_in=True) as server:
        server.channel(user=USER, password=PASSWORD).send(CONTENT)
        assert server.encrypted == [True]


def test_a_server_that_speaks_tls_from_the_start_is_spoken_to_so(authority: trustme.CA) -> None:
    with mail_server(tls=certified(authority)) as server:
        server.channel(scheme="smtps").send(CONTENT)
        assert len(server.taken) == 1


def test_a_certificate_that_nobody_knows_gets_neither_password_nor_mail() -> None:
    with mail_server(starttls=certified(trustme.CA()), log_in=True) as server:
        with pytest.raises(TransientError, match="certificate or TLS does not hold"):
            server.channel(user=USER, password=PASSWORD).send(CONTENT)
        assert server.taken == []


def test_a_refused_log_in_is_tried_again_and_tells_no_password(authority: trustme.CA) -> None:
    with (
        mail_server(starttls=certified(authority), log_in=True) as server,
        pytest.raises(TransientError, match=r"refused the log-in \(535\)") as refused,
    ):
        server.channel(user=USER, password="wrong-pass").send(CONTENT)
    assert "wrong-pass" not in repr(refused.value)


def test_a_password_is_not_sent_in_the_clear_to_another_machine(
    server: MailServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "_LOCAL", ())
    with pytest.raises(TransientError, match="offers no TLS, so the password is not sent"):
        server.channel(user=USER, password=PASSWORD).send(CONTENT)
    assert server.taken == []


def test_a_server_without_log_in_is_told_of_as_that(server: MailServer) -> None:
    with pytest.raises(TransientError, match="offers no log-in that is known here"):
        server.channel(user=USER, password=PASSWORD).send(CONTENT)


def test_a_server_that_refuses_starttls_gets_nothing_in_the_clear() -> None:
    answers = {b"EHLO": b"250-mail\r\n250 STARTTLS\r\n", b"STARTTLS": b"454 Not now\r\n"}
    with spoken(answers) as (port, heard), pytest.raises(TransientError, match="answered 454"):
        MailServer(port=port).channel().send(CONTENT)
    assert b"MAIL" not in b"".join(heard)


def test_nobody_there_is_told_as_that() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(TransientError, match="nobody listens there"):
        MailServer(port=port).channel().send(CONTENT)


def test_a_server_that_says_one_letter_now_and_then_is_left_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "LONGEST", 0.5)
    greeting = b"220-and another line of a greeting that never ends\r\n" * 100
    with dripping(greeting) as port, pytest.raises(TransientError, match="did not answer in time"):
        MailServer(port=port).channel().send(CONTENT)
