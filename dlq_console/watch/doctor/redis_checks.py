"""Is a Redis set up so that it keeps what it was given?"""

from __future__ import annotations

from collections.abc import Iterator

from dlq_console.health.findings import Finding, Level
from dlq_console.watch.doctor.patient import Patient, RedisAway, RedisFacts, RedisServer, ask_redis

#: Share of its memory above which a Redis is nearly full.
NEARLY_FULL = 0.8
#: The one policy that drops nothing.
KEEPS_ALL = "noeviction"
#: Beginnings of keys that Celery, its client library and the hub write.
_OURS = ("_kombu", "unacked", "celery", "dlq:")
#: How the name of a list of answers ends.
_REPLIES = ".reply.celery.pidbox"


def redis(patient: Patient) -> Iterator[Finding]:
    """Everything about each Redis; one that is away is told and asked nothing more."""
    for server in patient.redis_servers:
        try:
            facts = ask_redis(server)
        except RedisAway as away:
            yield Finding(
                id="redis_away",
                level=Level.FAULT,
                figures={"place": server.place, "reason": str(away)},
                command=server.command("PING"),
            )
            continue
        for check in (eviction, limit, persistence, saving):
            yield from check(server, facts)
        if server.role == "broker":
            yield from shared(server, facts, patient)


def eviction(server: RedisServer, facts: RedisFacts) -> Iterator[Finding]:
    """Whether it drops what it was given when its memory is full."""
    policy = str(facts.info.get("maxmemory_policy", KEEPS_ALL))
    if policy != KEEPS_ALL:
        # Without a limit nothing is dropped yet.
        level = Level.FAULT if _limit(facts) else Level.WARNING
        yield Finding(
            id="redis_eviction",
            level=level,
            figures={"place": server.place, "policy": policy},
            command=server.command(f"CONFIG SET maxmemory-policy {KEEPS_ALL}"),
        )


def limit(server: RedisServer, facts: RedisFacts) -> Iterator[Finding]:
    """Whether its memory has an end, and how near that is."""
    most = _limit(facts)
    if not most:
        command = server.command("CONFIG SET maxmemory 512mb")
        yield Finding(id="redis_no_limit", figures={"place": server.place}, command=command)
        return
    share = int(facts.info.get("used_memory", 0)) / most
    if share > NEARLY_FULL:
        yield Finding(
            id="redis_full",
            level=Level.FAULT,
            figures={"place": server.place, "percent": round(100 * share)},
            command=server.command("INFO memory"),
        )


def persistence(server: RedisServer, facts: RedisFacts) -> Iterator[Finding]:
    """Whether what guards share outlives a restart; lost messages of a broker are sent again anyway."""
    is_kept = bool(int(facts.info.get("aof_enabled", 0))) or facts.save not in (None, "")
    if server.role == "state" and not is_kept and facts.save is not None:
        command = server.command("CONFIG SET appendonly yes")
        yield Finding(id="redis_forgets", figures={"place": server.place}, command=command)


def saving(server: RedisServer, facts: RedisFacts) -> Iterator[Finding]:
    """Whether it fails to write itself to disk; it then takes no writes any more."""
    if "err" in (facts.info.get("rdb_last_bgsave_status"), facts.info.get("aof_last_write_status")):
        yield Finding(
            id="redis_cannot_save",
            level=Level.FAULT,
            figures={"place": server.place},
            command=server.command("INFO persistence"),
        )


def shared(server: RedisServer, facts: RedisFacts, patient: Patient) -> Iterator[Finding]:
    """Whether somebody else, such as a cache, lives in the Redis of the broker."""
    prefix = f"{patient.settings.queue_prefix}."
    strange = [key for key in facts.keys if not _is_ours(key, prefix)]
    # What guards share may lie beside the messages: neither may be dropped.
    own = {one.database for one in patient.redis_servers if one.place == server.place}
    others = {name: number for name, number in facts.databases.items() if name not in own}
    if strange or others:
        yield Finding(
            id="redis_shared",
            figures={
                "place": server.place,
                "keys": len(strange) + sum(others.values()),
                # Beginnings only: the rest may be a session or a person.
                "examples": ", ".join(sorted({_beginning(key) for key in strange})[:3] or sorted(others)[:3]),
            },
            command=server.command("INFO keyspace"),
        )


def visibility(patient: Patient) -> Iterator[Finding]:
    """Whether the broker hands out again what a handler may still be running."""
    if not any(server.role == "broker" for server in patient.redis_servers):
        return
    for kind in patient.kinds.values():
        if kind.timeout >= patient.visibility_timeout:
            yield Finding(
                id="visibility",
                figures={
                    "kind": kind.name,
                    "seconds": round(kind.timeout),
                    "visibility": round(patient.visibility_timeout),
                },
            )


def _limit(facts: RedisFacts) -> int:
    return int(facts.info.get("maxmemory", 0))


def _is_ours(key: str, prefix: str) -> bool:
    return key.startswith((prefix, *_OURS)) or key.endswith(_REPLIES)


def _beginning(key: str) -> str:
    cut = min((place for mark in ":.-/_" if (place := key.find(mark)) > 0), default=min(len(key), 8))
    return f"{key[: min(cut, 16)]}…"
