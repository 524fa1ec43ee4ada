"""Where do messages of alerts go? A web address, a mail server, or whatever apprise speaks; the first two need nothing else.

What goes wrong is told in words of our own: errors of clients may hold addresses, and with them passwords.
"""

from __future__ import annotations

import http.client
import json
import os
import smtplib
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from pathlib import Path
from typing import Any, NoReturn, Protocol

from dlq_console.classify.tables import Source, Table
from dlq_console.errors import ConfigurationError, PermanentError, TransientError
from dlq_console.hub.cutting import Cut, Mails, SecureMails, opener, waited_for
from dlq_console.hub.quiet_logs import without
from dlq_console.settings import MailServer, Settings, read_mail_address

#: The two that settings name.
WEBHOOK, MAIL = "webhook", "mail"
#: How long one step of a conversation with a channel may take, and all of it, in seconds.
TIMEOUT, LONGEST = 10.0, 30.0
#: Answers of a webhook that mean "not now", though they are among those that mean "never".
_LATER = (408, 429)
_LOCAL = ("localhost", "127.0.0.1", "::1")
#: Begins a value that stands in the environment, so that the file holds no secret.
FROM_ENVIRONMENT = "env:"


class Channel(Protocol):
    """Brings a message to people."""

    def send(self, content: Mapping[str, Any]) -> str | None:
        """Bring it; returns what somebody should know although it was brought.

        Raises:
            TransientError: it could not be brought, but may be later; the sentence says why, without any secret.
            PermanentError: it will never be taken.
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
        with Cut(LONGEST) as cut:
            try:
                # Nobody reads what it says: its first line tells all.
                opener(cut).open(request, timeout=TIMEOUT).close()
            except urllib.error.HTTPError as error:
                error.close()
                _answered(error.code)
            except (OSError, ValueError, http.client.HTTPException) as error:
                _failed(f"The webhook cannot be reached: {_cause(error, cut)}.")


def _answered(code: int) -> NoReturn:
    """What follows from an answer that is no success."""
    if 300 <= code < 400:
        _refused(f"The webhook sends on to another address ({code}); name that one.")
    if 400 <= code < 500 and code not in _LATER:
        _refused(f"The webhook refused it with {code}.")
    _failed(f"The webhook answered {code}.")


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail server."""

    server: MailServer

    def send(self, content: Mapping[str, Any]) -> str | None:
        """Bring it; as `Channel.send`."""
        with Cut(LONGEST) as cut:
            try:
                left_out = _codes(self._brought(content, cut))
            except (OSError, ValueError) as error:
                _mail_failed(error, cut)
        if not left_out:
            return None
        number = f"{len(left_out)} of {len(self.server.recipients)}"
        return f"The mail server refused {number} who were to get it ({_listed(left_out)})."

    def _brought(self, content: Mapping[str, Any], cut: Cut) -> Mapping[str, tuple[int, bytes]]:
        """Bring it; returns which recipients were refused, with code and words of the server."""
        with closing(self._connected(cut)) as smtp:
            self._log_in(smtp)
            left_out = smtp.send_message(
                self._message(content), self.server.sender, [*self.server.recipients]
            )
            # It is brought by now, whatever the server says in the end.
            with suppress(OSError):
                smtp.quit()
        return left_out

    def _connected(self, cut: Cut) -> smtplib.SMTP:
        context = ssl.create_default_context()
        if self.server.tls:
            return SecureMails(cut, self.server.host, self.server.port, timeout=TIMEOUT, context=context)
        smtp = Mails(cut, self.server.host, self.server.port, timeout=TIMEOUT)
        try:
            smtp.ehlo()
            if smtp.has_extn("starttls"):
                smtp.starttls(context=context)
                smtp.ehlo()
        except BaseException:
            smtp.close()
            raise
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
        message["Subject"] = _one_line(str(content["title"]))
        # The same one for the same message, so that one that came twice is seen to be one.
        message["Message-ID"] = (
            f"<{str(content['key']).replace('/', '.')}@{self.server.sender.partition('@')[2]}>"
        )
        message["Auto-Submitted"] = "auto-generated"
        # In letters that every server takes, whatever its lines hold.
        message.set_content(str(content["text"]), cte="quoted-printable")
        return message


@dataclass(frozen=True, slots=True, repr=False)
class Apprise:
    """One of the many services that apprise speaks; `variable` of the environment holds its address, unless the file does."""

    url: str
    variable: str = ""

    def send(self, content: Mapping[str, Any]) -> None:
        """Bring it; as `Channel.send`."""
        try:
            import apprise  # an extra
        except ImportError:
            _failed('This channel needs apprise: pip install "dlq-console[alerts]".')
        service = apprise.Apprise()
        with without(self.url):
            if not service.add(self.url):
                _failed("This is no address that apprise knows; look at it in the file of alert rules.")
            sent = waited_for(
                lambda: bool(service.notify(title=content["title"], body=content["text"])), LONGEST
            )
        if sent is None:
            _failed("The service did not answer in time.")
        if not sent:
            # Why is in the log.
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
        found[name] = _apprise(table, name)
    return found


def _apprise(table: Table, name: str) -> Apprise:
    value, variable = table.text(name), ""
    if value.startswith(FROM_ENVIRONMENT):
        variable = value.removeprefix(FROM_ENVIRONMENT)
        value = os.environ.get(variable, "")
        if not value:
            table.refuse(name, f'"{name}" stands in {variable} of the environment, which is empty.')
    if "://" not in value:
        table.refuse(
            name, f'"{name}" must be an address that apprise takes, such as "slack://...", or env:NAME.'
        )
    return Apprise(value, variable)


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


def _refused(sentence: str) -> NoReturn:
    raise PermanentError(sentence)


def _mail_failed(error: Exception, cut: Cut) -> NoReturn:
    """What follows from what a mail server said, or did not say."""
    match error:
        case smtplib.SMTPRecipientsRefused():
            _not_taken("The mail server refused those who are to get it", _codes(error.recipients))
        case smtplib.SMTPSenderRefused() | smtplib.SMTPDataError():
            _not_taken("The mail server refused it", [error.smtp_code])
        case smtplib.SMTPAuthenticationError():
            # A password can be put right; the message is as good as any.
            _failed(f"The mail server refused the log-in ({error.smtp_code}).")
        case smtplib.SMTPNotSupportedError():
            _failed("The mail server offers no log-in that is known here.")
        case smtplib.SMTPResponseException():
            _failed(f"The mail server answered {error.smtp_code}.")
    _failed(f"The mail server cannot be reached: {_cause(error, cut)}.")


def _not_taken(what: str, codes: Sequence[int]) -> NoReturn:
    """A mail server says by the first digit whether it may take it later."""
    sentence = f"{what} ({_listed(codes)})."
    if all(code >= 500 for code in codes):
        _refused(sentence)
    _failed(sentence)


def _listed(codes: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(set(codes))))


def _codes(refused: Mapping[str, tuple[int, bytes]]) -> list[int]:
    return [code for code, _ in refused.values()]


def _one_line(text: str) -> str:
    """It as the subject of a mail: no line breaks, nothing that cannot be seen, and not too long."""
    seen = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(seen.split())[:200]


def _cause(error: BaseException, cut: Cut) -> str:
    """Why, in words that hold no address."""
    if cut.is_over:
        return "it did not answer in time"
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
