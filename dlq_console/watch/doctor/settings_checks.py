"""Is what was configured safe, and whole?"""

from __future__ import annotations

from collections.abc import Iterator

from dlq_console.errors import ConfigurationError
from dlq_console.health import process_findings
from dlq_console.health.findings import Finding, Level
from dlq_console.redact import redact_text
from dlq_console.store import examining
from dlq_console.watch.alerts import in_force
from dlq_console.watch.doctor.patient import Patient

#: Settings of channels that send addresses of the console to people.
_CHANNELS = ("alert_webhook_url", "smtp_url")


def secret_key(patient: Patient) -> Iterator[Finding]:
    """Whether the key that signs sessions can be guessed."""
    return process_findings.secret_key(patient.settings.secret_key)


def debug(patient: Patient) -> Iterator[Finding]:
    """Whether faults show the inside of the console."""
    return process_findings.debug(patient.environ)


def embeds(patient: Patient) -> Iterator[Finding]:
    """Whether every frame may still be shown. One without a page is wanted so: its badge and address are looked at."""
    for name, expired in examining.embeds(patient.store):
        if expired:
            yield Finding(id="embed_expired", figures={"name": name}, command="dlq-console embeds list")


def alerts(patient: Patient) -> Iterator[Finding]:
    """Whether the file of rules of alerts can be read, and makes sense."""
    try:
        in_force(patient.settings)
    except ConfigurationError as error:
        yield Finding(id="alerts_wrong", level=Level.FAULT, figures={"error": redact_text(error.message)})


def public_url(patient: Patient) -> Iterator[Finding]:
    """Whether alerts and frames can name an address of the console."""
    settings = patient.settings
    sends = any(getattr(settings, name, "") for name in _CHANNELS) or bool(examining.embeds(patient.store))
    if sends and not getattr(settings, "public_url", ""):
        yield Finding(id="public_url", command="DLQ_PUBLIC_URL=https://console.example.com")
