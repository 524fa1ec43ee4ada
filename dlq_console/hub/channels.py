"""Where do messages of alerts go? A web address, a mail server, or whatever apprise speaks; the first two need nothing else.

What goes wrong is told in words of our own: errors of clients may hold addresses, and with them passwords.
"""

from __future__ import annotations

import json
import os
import smtplib
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from pathlib import Path
from typing import Any, NoReturn, Protocol

from dlq_console.classify.tables import Source, Table
from dlq_console.errors import ConfigurationError, TransientError
from dlq_console.settings import MailServer, Settings, read_mail_address

#: The two that settings name.
WEBHOOK, MAIL = "webhook", "mail"
#: How long one step of a conversation with a channel may take, in seconds.
TIMEOUT = 10.0
_LOCAL = ("localhost", "127.0.0.1", "::1")
#: Begins a value that stands in the environment, so that the file holds no secret.
_FROM_ENVIRONMENT = "env:"


class Channel(Protocol):
    """Brings a message to people."""

    def send(self, content: Mapping[str, Any]) -> None:
        """Bring it.

        Raises:
            TransientError: it could not be brought; the sentence says why, without any secret.
        """


@dataclass(frozen=True, slots=True, repr=False)
class Webhook:
    """An address that takes JSON."""

    url: str

    def send(self, content: Mapping[str, Any]) -> None:
        """Bring it; as `Channel.send`."""
        request = urllib.request.Request(  # noqa: S310 - settings take http and https only
            self.url,
            data=json.dumps(content).encode(),
            headers={
                "Content-Type": "application/json",
                "User-Agent": "dlq-console",
                "Idempotency-Key": str(content.get("key", "")),
            },
        )
        try:
            with urllib.request.build_opener(_NoRedirect).open(request, timeout=TIMEOUT) as answer:
                answer.read(1)
        except urllib.error.HTTPError as error:
            error.close()
            if 300 <= error.code < 400:
                _failed(f"The webhook sends on to another address ({error.code}); name that one.")
            _failed(f"The webhook answered {error.code}.")
        except (OSError, ValueError) as error:
            _failed(f"The webhook cannot be reached: {_cause(error)}.")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """What is sent to one address is for nobody else."""

    def redirect_request(self, *_arguments: Any, **_more: Any) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail server."""

    server: MailServer

    def send(self, content: Mapping[str, Any]) -> None:
        """Bring it; as `Channel.send`."""
        try:
            with self._connected() as smtp:
                self._log_in(smtp)
                smtp.send_message(self._message(content), self.server.sender, [*self.server.recipients])
        except smtplib.SMTPResponseException as error:
            _failed(f"The mail server refused it with code {error.smtp_code}.")
        except smtplib.SMTPRecipientsRefused:
            _failed("The mail server refused those who are to get it.")
        except (OSError, smtplib.SMTPException, ValueError) as error:
            _failed(f"The mail server cannot be reached: {_cause(error)}.")

    def _connected(self) -> smtplib.SMTP:
        if self.server.tls:
            return smtplib.SMTP_SSL(
                self.server.host, self.server.port, timeout=TIMEOUT, context=ssl.create_default_context()
            )
        smtp = smtplib.SMTP(self.server.host, self.server.port, timeout=TIMEOUT)
        smtp.ehlo()
        if smtp.has_extn("starttls"):
            smtp.starttls(context=ssl.create_default_context())
            smtp.ehlo()
        return smtp

    def _log_in(self, smtp: smtplib.SMTP) -> None:
        if not self.server.user:
            return
        in_the_clear = not isinstance(smtp.sock, ssl.SSLSocket) and self.server.host not in _LOCAL
        if in_the_clear:
            _failed(
                "The mail server offers no TLS, so the password is not sent; write smtps:// if it speaks that."
            )
        smtp.login(self.server.user, self.server.password)

    def _message(self, content: Mapping[str, Any]) -> EmailMessage:
        message = EmailMessage()
        message["From"] = Address(addr_spec=self.server.sender)
        message["To"] = tuple(Address(addr_spec=name) for name in self.server.recipients)
        message["Subject"] = " ".join(str(content["title"]).split())[:200]
        # The same one for the same message, so that one that came twice is seen to be one.
        message["Message-ID"] = (
            f"<{str(content['key']).replace('/', '.')}@{self.server.sender.partition('@')[2]}>"
        )
        message["Auto-Submitted"] = "auto-generated"
        message.set_content(str(content["text"]))
        return message


@dataclass(frozen=True, slots=True, repr=False)
class Apprise:
    """One of the many services that apprise speaks."""

    url: str

    def send(self, content: Mapping[str, Any]) -> None:
        """Bring it; as `Channel.send`."""
        try:
            import apprise  # an extra
        except ImportError:
            _failed("This channel needs apprise: install dlq-console[alerts].")
        service = apprise.Apprise()
        # A wrong address is told by False; whatever else goes wrong is logged there.
        sent = service.add(self.url) and service.notify(title=content["title"], body=content["text"])
        if not sent:
            _failed("The service did not take the message.")


def read_channels(settings: Settings) -> dict[str, Channel]:
    """Every channel that is configured, by name.

    Raises:
        ConfigurationError: the file of alert rules cannot be read, or its channels make no sense.
    """
    found: dict[str, Channel] = {}
    if settings.alert_webhook_url:
        found[WEBHOOK] = Webhook(settings.alert_webhook_url)
    if settings.smtp_url:
        found[MAIL] = Mail(read_mail_address(settings.smtp_url))
    if settings.alerts:
        found |= _further(Table(*_file(settings.alerts)))
    return found


def _file(name: str) -> tuple[Source, Any]:
    source = read_file(name)
    return source, source.parsed()


def read_file(name: str) -> Source:
    """The file that DLQ_ALERTS names.

    Raises:
        ConfigurationError: it cannot be read.
    """
    path = Path(name)
    try:
        return Source(str(path), path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise ConfigurationError(f"DLQ_ALERTS: {path} cannot be read: {reason}.") from error


def _further(top: Table) -> dict[str, Channel]:
    """Those that the file names: `[channels]`, each with the address that apprise takes."""
    table = Table(top.source, top.take("channels", {}), name="channels")
    found: dict[str, Channel] = {}
    for name in table.names():
        if name in (WEBHOOK, MAIL):
            table.refuse(name, f'"{name}" is the name of a channel that settings configure; choose another.')
        found[name] = Apprise(_address(table, name))
    return found


def _address(table: Table, name: str) -> str:
    value = table.text(name)
    if value.startswith(_FROM_ENVIRONMENT):
        variable = value.removeprefix(_FROM_ENVIRONMENT)
        value = os.environ.get(variable, "")
        if not value:
            table.refuse(name, f'"{name}" stands in {variable} of the environment, which is empty.')
    if "://" not in value:
        table.refuse(
            name, f'"{name}" must be an address that apprise takes, such as "slack://...", or env:NAME.'
        )
    return value


class Channels:
    """The channels of one process, read anew where their file has changed."""

    def __init__(self, read: Callable[[], Mapping[str, Channel]]) -> None:
        self._read = read

    def get(self, name: str) -> Channel:
        """The channel of this name.

        Raises:
            TransientError: there is none here, or its file is wrong; it may come.
        """
        try:
            found = self._read().get(name)
        except ConfigurationError as error:
            raise TransientError(error.message) from None
        if found is None:
            _failed(f'There is no channel "{name}" in this process; look at its settings.')
        return found


def _failed(sentence: str) -> NoReturn:
    raise TransientError(sentence)


def _cause(error: BaseException) -> str:
    """Why, in words that hold no address."""
    reason = getattr(error, "reason", None)
    error = reason if isinstance(reason, BaseException) else error
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "nobody listens there"
    if isinstance(error, socket.gaierror):
        return "its name is unknown"
    if isinstance(error, ssl.SSLError):
        return "its certificate or TLS does not hold"
    return type(error).__name__
