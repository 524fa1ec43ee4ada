"""What does the doctor look at? A hub with its settings, and the servers that they name, each asked once and briefly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import parse_qs, urlsplit

from dlq_console.hub.core import HubCore
from dlq_console.redact import redact_text
from dlq_console.settings import Settings
from dlq_console.store.impatient import ImpatientEngines
from dlq_console.store.kinds import PublishedKind, published
from dlq_console.store.store import Store
from dlq_console.watch.broker_figures import redis_client

#: The longest wait for one answer, in seconds.
PATIENCE = 2.0
#: Keys of a Redis that are looked at.
MOST_KEYS = 1_000


@dataclass(frozen=True, slots=True)
class RedisServer:
    """A Redis that the settings name.

    Attributes:
        url: its address, with its password.
        role: `broker`, or `state` for what guards share.
    """

    url: str
    role: str

    @property
    def place(self) -> str:
        """Where it is, without its password."""
        parts = urlsplit(self.url)
        return (
            parts.path if parts.scheme == "unix" else f"{parts.hostname or 'localhost'}:{parts.port or 6379}"
        )

    @property
    def database(self) -> str:
        """Which of its databases, as it calls them itself."""
        parts = urlsplit(self.url)
        named = parse_qs(parts.query).get("db", [""])[0] if parts.scheme == "unix" else parts.path.strip("/")
        return f"db{named or 0}"

    def command(self, words: str) -> str:
        """How `redis-cli` is told something there."""
        parts = urlsplit(self.url)
        where = (
            f"-s {parts.path}" if parts.scheme == "unix" else f"-h {parts.hostname} -p {parts.port or 6379}"
        )
        tls = " --tls" if parts.scheme == "rediss" else ""
        return f"redis-cli {where}{tls} {words}"


@dataclass(frozen=True, slots=True)
class RedisFacts:
    """What a Redis told of itself.

    Attributes:
        info: the sections memory, persistence and server, as `INFO` tells them.
        save: when it writes itself to disk, as it is configured; None where it does not tell.
        databases: how many keys each of its databases holds.
        keys: some of the keys in the database of the address, of whatever program.
    """

    info: Mapping[str, Any]
    save: str | None
    databases: Mapping[str, int]
    keys: tuple[str, ...]


@dataclass
class Patient:
    """Everything that checks look at.

    Args:
        hub: of which installation.
        visibility_timeout: seconds after which a Redis broker hands a message out again.
        store: asked instead of the hub's own, which waits for as long as it must.
        environ: the variables of this process.
    """

    hub: HubCore
    visibility_timeout: float
    store: Store
    environ: Mapping[str, str]

    @property
    def settings(self) -> Settings:
        """What was configured."""
        return self.hub.settings

    @property
    def redis_servers(self) -> list[RedisServer]:
        """The Redis of the broker and that of the guards, where there are any."""
        named = [("broker", self.settings.broker_url), ("state", self.settings.redis_url)]
        return [
            RedisServer(url, role)
            for role, url in named
            if url.startswith(("redis://", "rediss://", "unix://"))
        ]

    @cached_property
    def kinds(self) -> dict[str, PublishedKind]:
        """What workers have published."""
        return published(self.store)


class RedisAway(Exception):
    """A Redis does not answer."""


def ask_redis(server: RedisServer) -> RedisFacts:
    """Ask a Redis about itself.

    Raises:
        RedisAway: it does not answer.
    """
    from redis.exceptions import RedisError, ResponseError  # the client is loaded only where it is used

    try:
        with redis_client(server.url) as client:
            info: dict[str, Any] = dict(client.info("memory")) | dict(client.info("persistence"))
            databases = {name: int(value["keys"]) for name, value in client.info("keyspace").items()}
            try:
                save = client.config_get("save").get("save")
            except ResponseError:  # a provider that lets nobody configure it
                save = None
            _, keys = client.scan(count=MOST_KEYS)
    except (RedisError, OSError) as error:
        raise RedisAway(redact_text(str(error)[:300])) from error
    return RedisFacts(info, save, databases, tuple(str(key) for key in keys))


def impatient_store(hub: HubCore) -> Store:
    """A store on the hub's database that waits no longer than PATIENCE; the caller disposes of it."""
    settings = hub.settings
    store = Store(
        settings.database_url,
        table_prefix=settings.table_prefix,
        queue_prefix=settings.queue_prefix,
        pool_size=2,
    )
    if not store.sqlite:
        store.engines = ImpatientEngines(settings.database_url, timeout=PATIENCE, pool_size=2)
    return store
