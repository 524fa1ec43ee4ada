"""Which settings exist: environment variables with the prefix `DLQ_`, or a `.env` file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, DotEnvSettingsSource, EnvSettingsSource, SettingsConfigDict

from dlq_console.errors import ConfigurationError
from dlq_console.redact import read_paths

#: Languages the console speaks; the first is the default.
LOCALES = ("pt_BR", "en")

#: What the demo alone reads.
DEMO_NAMES = ("DLQ_DEMO_ERP_URL",)

_TABLE_PREFIX = re.compile(r"[a-z][a-z0-9_]{0,19}")
_QUEUE_PREFIX = re.compile(r"[a-z0-9_-]{1,40}")
_MAIL = re.compile(r"[^\s@<>,;]+@[^\s@<>,;]+")
_POSTGRES_SCHEMES = ("postgres://", "postgresql://", "postgresql+psycopg2://")


class Settings(BaseSettings):
    """Everything that can be configured.

    Each field is read from the environment as `DLQ_<NAME>`; arguments win over the environment. `read_settings`
    turns a wrong value into one clear sentence.
    """

    model_config = SettingsConfigDict(env_prefix="DLQ_", env_file=".env", extra="ignore", frozen=True)

    database_url: str = Field(
        "sqlite:///dlq-console.db",
        description="SQLAlchemy URL: SQLite or postgresql+psycopg://. A relative SQLite path is resolved once.",
    )
    redis_url: str = Field(
        "",
        description="Redis that holds what `guard` and nodes share between programs. Empty: the database holds it.",
    )
    broker_url: str = Field(
        "", description="Celery broker (redis:// or amqp://). Empty: table mode, no broker."
    )
    app: str = Field(
        "", description="module:attribute of the Hub that holds the handlers; read by workers only."
    )
    secret_key: str = Field("", description="Signs sessions and forms. `serve` refuses to start without it.")
    queue_prefix: str = Field("erp", description="Queues are <prefix>.<account>.")
    max_queues: int = Field(
        200, ge=1, le=10_000, description="Accounts with a queue of their own; further ones share queues."
    )
    table_prefix: str = Field(
        "dlq_", description="Prefix of every table, so that they may live in your own database."
    )
    timezone: str = Field("America/Sao_Paulo", description="Time zone of people who have not chosen one.")
    locale: str = Field("pt_BR", description="Language of people who have not chosen one: pt_BR or en.")
    retention_days: int = Field(90, ge=1, description="Done and discarded events older than this are pruned.")
    payload_max_bytes: int = Field(
        256_000, ge=1_000, le=8_000_000, description="Largest payload at enqueue, in bytes."
    )
    rules: str = Field(
        "", description="Rules of your own that tell what errors mean: a TOML file, or a folder of them."
    )
    services: str = Field(
        "", description="TOML file with breaker, bulkhead and retries of each service that `guard` protects."
    )
    public_url: str = Field(
        "", description="Address under which people reach the console; begins the links of alerts and frames."
    )
    alerts: str = Field("", description="Rules of your own that say when somebody is told: a TOML file.")
    alert_webhook_url: str = Field(
        "", description="Where alerts are sent as JSON: the channel `webhook`. It is a secret."
    )
    smtp_url: str = Field(
        "",
        description="Mail server of the channel `mail`: smtp(s)://user:password@host:port/?from=...&to=...",
    )
    budget_default: float = Field(
        30.0, gt=0, le=86_400, description="Seconds that a request has where no budget was set."
    )
    budget_max: float = Field(
        300.0, gt=0, le=86_400, description="Largest budget in seconds that a caller may ask for."
    )
    redact: str = Field(
        "", description="Further fields to mask: names or paths by commas, such as phone,customer.address.*."
    )
    send_delay_seconds: float = Field(
        5.0, ge=0, le=60, description="Time in which a Reprocess of the console can be cancelled."
    )
    lease_seconds: float = Field(
        30.0, ge=2, le=30, description="Longest lease of a running event between heartbeats."
    )
    poll_seconds: float = Field(
        0.5, gt=0, le=60, description="How often an idle worker looks for due events."
    )
    trusted_proxies: int = Field(
        0, ge=0, le=5, description="Reverse proxies in front of the console (0: none)."
    )

    @field_validator("database_url")
    @classmethod
    def _database_url(cls, value: str) -> str:
        return normalise_database_url(value)

    @field_validator("broker_url")
    @classmethod
    def _broker_url(cls, value: str) -> str:
        if value and not value.startswith(("redis://", "rediss://", "amqp://", "amqps://")):
            raise ValueError("write redis://host:port/db or amqp://user:password@host:port/vhost")
        return value

    @field_validator("redis_url")
    @classmethod
    def _redis_url(cls, value: str) -> str:
        if value and not value.startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("write redis://host:port/db, rediss:// for TLS or unix://path")
        return value

    @field_validator("public_url")
    @classmethod
    def _public_url(cls, value: str) -> str:
        if value and not is_web_address(value):
            raise ValueError("write an address that begins with https:// or http://")
        return value.rstrip("/")

    @field_validator("alert_webhook_url")
    @classmethod
    def _alert_webhook_url(cls, value: str) -> str:
        if value and not is_web_address(value):
            raise ValueError("write an address that begins with https:// or http://")
        return value

    @field_validator("smtp_url")
    @classmethod
    def _smtp_url(cls, value: str) -> str:
        if value:
            read_mail_address(value)
        return value

    @field_validator("budget_max")
    @classmethod
    def _budget_max(cls, value: float, info: ValidationInfo) -> float:
        default = info.data.get("budget_default")
        if default is not None and value < default:
            raise ValueError(f"it is less than DLQ_BUDGET_DEFAULT, {default:g}")
        return value

    @field_validator("table_prefix")
    @classmethod
    def _table_prefix(cls, value: str) -> str:
        if not _TABLE_PREFIX.fullmatch(value):
            raise ValueError("use at most 20 of a-z, 0-9 and _, beginning with a letter")
        return value

    @field_validator("queue_prefix")
    @classmethod
    def _queue_prefix(cls, value: str) -> str:
        if not _QUEUE_PREFIX.fullmatch(value):
            raise ValueError("use at most 40 of a-z, 0-9, _ and -")
        return value

    @field_validator("timezone")
    @classmethod
    def _timezone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError("write an IANA name such as America/Sao_Paulo") from error
        return value

    @field_validator("redact")
    @classmethod
    def _redact(cls, value: str) -> str:
        read_paths(value)
        return value

    @field_validator("locale")
    @classmethod
    def _locale(cls, value: str) -> str:
        name = value.replace("-", "_")
        if name not in LOCALES:
            raise ValueError(f"choose one of {', '.join(LOCALES)}")
        return name

    @property
    def zone(self) -> ZoneInfo:
        """The default time zone."""
        return ZoneInfo(self.timezone)


def read_settings(**values: Any) -> Settings:
    """Read the settings; `values` win over the environment.

    Raises:
        ConfigurationError: a value is wrong; the message names the variable and says what to write.
    """
    try:
        return Settings(**values)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        name = "_".join(str(part) for part in first["loc"]).upper()
        reason = first["msg"].removeprefix("Value error, ")
        raise ConfigurationError(f"DLQ_{name} is wrong: {reason}.") from None


def unknown_names() -> dict[str, str]:
    """Variables that look like a setting and are none, each with the setting it may stand for, or the empty text.

    Looks where `read_settings` looks: in the environment and in `.env`.
    """
    known = [f"DLQ_{name.upper()}" for name in Settings.model_fields] + [*DEMO_NAMES]
    sources = (EnvSettingsSource(Settings), DotEnvSettingsSource(Settings))
    found = {name.upper() for source in sources for name in source.env_vars}
    strange = sorted(name for name in found - {*known} if name.startswith("DLQ_"))
    # Those that steer the project's own tests are read by nobody here.
    return {name: _nearest(name, known) for name in strange if not name.startswith("DLQ_TEST_")}


def _nearest(name: str, known: list[str]) -> str:
    # Without what all of them have in common, which would make any two look alike.
    words = {setting.removeprefix("DLQ_"): setting for setting in known}
    near = get_close_matches(name.removeprefix("DLQ_"), words, n=1)
    return words[near[0]] if near else ""


def normalise_database_url(url: str) -> str:
    """Name the driver of a PostgreSQL URL and make a relative SQLite path absolute."""
    for scheme in _POSTGRES_SCHEMES:
        if url.startswith(scheme):
            return "postgresql+psycopg://" + url.removeprefix(scheme)
    if url.startswith("sqlite:///"):
        path, separator, query = url.removeprefix("sqlite:///").partition("?")
        if path and path != ":memory:" and not path.startswith("file:"):
            return f"sqlite:///{Path(path).expanduser().absolute()}{separator}{query}"
        raise ValueError(
            "an in-memory SQLite cannot be shared between processes; write sqlite:///path/to/file.db"
        )
    if not url.startswith("postgresql+psycopg://"):
        raise ValueError(
            "write sqlite:///path/to/file.db or postgresql+psycopg://user:password@host/database"
        )
    return url


def is_web_address(text: str) -> bool:
    """Whether a text is the address of something that speaks HTTP."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and text.isprintable()
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where mail is handed in, and between whom. `tls`: from the first byte on, else once the server offers it."""

    host: str
    port: int
    tls: bool
    sender: str
    recipients: tuple[str, ...]
    user: str = ""
    password: str = field(default="", repr=False)


def read_mail_address(text: str) -> MailServer:
    """The parts of `smtp(s)://user:password@host:port/?from=...&to=...`; names and passwords are percent-encoded.

    Raises:
        ValueError: it is no such address; the message does not repeat it.
    """
    parts = urlsplit(text)
    if parts.scheme not in ("smtp", "smtps") or not parts.hostname:
        raise ValueError("write smtp://user:password@host:port/?from=a@example.com&to=b@example.com")
    # "+" is an ordinary character of an address.
    asked = parse_qs(parts.query.replace("+", "%2B"))
    sender = asked.pop("from", [""])[-1]
    recipients = tuple(
        name.strip() for part in asked.pop("to", []) for name in part.split(",") if name.strip()
    )
    if asked:
        raise ValueError("the mail server takes from and to, nothing else")
    if not recipients or not all(_MAIL.fullmatch(name) for name in (sender, *recipients)):
        raise ValueError("name the sender and who gets the mail: ?from=a@example.com&to=b@example.com")
    tls = parts.scheme == "smtps"
    port = parts.port or (465 if tls else 587)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return MailServer(parts.hostname, port, tls, sender, recipients, user, password)


def assets_path(folder: str) -> Path:
    """Where `templates` or `static` lies: inside the installed package, else beside it in a checkout."""
    package = Path(__file__).resolve().parent
    installed = package / folder
    return installed if installed.is_dir() else package.parent / folder
