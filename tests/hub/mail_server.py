"""A real mail server on loopback that takes mail, or refuses it as a test wants."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from dlq_console.hub.channels import Mail
from dlq_console.settings import read_mail_address
from tests.services.process import free_port

USER, PASSWORD = "alerts", "s3cret-of-the-mail"


@dataclass
class MailServer:
    """What it was given, and how it answers.

    Attributes:
        taken: the mails.
        encrypted: whether each of them came over TLS.
        recipients: answers to addresses, such as "550 No such user"; all others are taken.
        data: the answer to a mail itself.
        quits: the answer to whoever leaves.
    """

    port: int = 0
    taken: list[EmailMessage] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)
    recipients: dict[str, str] = field(default_factory=dict)
    data: str = "250 OK"
    quits: str = "221 Bye"

    async def handle_RCPT(  # noqa: N802 - the name that the server calls
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if address in self.recipients:
            return self.recipients[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, _server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802 - as above
        if self.data.startswith("250"):
            content = envelope.original_content or b""
            self.raw.append(content)
            self.taken.append(message_from_bytes(content, EmailMessage, policy=policy.default))
            self.encrypted.append(session.ssl is not None)
        return self.data

    async def handle_QUIT(self, _server: SMTP, _session: Session, _envelope: Envelope) -> str:  # noqa: N802 - as above
        return self.quits

    def channel(self, *, user: str = "", password: str = "", scheme: str = "smtp", to: str = "") -> Mail:
        """The channel that sends there."""
        who = f"{user}:{password}@" if user else ""
        to = to or "plantao@example.com"
        return Mail(read_mail_address(f"{scheme}://{who}127.0.0.1:{self.port}/?from=dlq@example.com&to={to}"))


def _may(_server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, data: Any) -> AuthResult:
    right = isinstance(data, LoginPassword) and data == LoginPassword(USER.encode(), PASSWORD.encode())
    # Not handled here: the server says 535 by itself.
    return AuthResult(success=right, handled=False)


@contextmanager
def mail_server(
    *, starttls: ssl.SSLContext | None = None, tls: ssl.SSLContext | None = None, log_in: bool = False
) -> Iterator[MailServer]:
    """A server that lives as long as the block."""
    server = MailServer()
    options: dict[str, Any] = {"tls_context": starttls} if starttls else {}
    if log_in:
        options |= {
            "authenticator": _may,
            "auth_required": True,
            "auth_require_tls": starttls is not None,
        }
    server.port = free_port()
    controller = Controller(server, hostname="127.0.0.1", port=server.port, ssl_context=tls, **options)
    controller.start()
    try:
        yield server
    finally:
        controller.stop()
