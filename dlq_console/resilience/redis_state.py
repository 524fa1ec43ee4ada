"""How is state shared through Redis? One key per record, and a script that compares and sets it in one step.

The keys of one kind carry the same hash tag, so that a cluster keeps them together. A name may hold anything: it
stands at the end of its key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from dlq_console.errors import ConfigurationError, StoreUnavailable
from dlq_console.resilience import checks
from dlq_console.resilience.state import Kind, Loaded, OptimisticState, Swapped
from dlq_console.resilience.state.optimistic import CLOCK_TOLERANCE

#: The longest wait for an answer, in seconds: a slow Redis must not slow the calls that it guards.
TIMEOUT = 0.2

#: A key that holds no text counts as one whose text is damaged: it concerns nobody but whoever asks for it.
_NO_TEXT = "(no text)"

#: `text_at` is what stands under a key; `on_list` does something to the list of a kind, which is begun anew where
#: something else has taken its place.
_SHARED = f"""
local function is_of_another_type(answer)
    if type(answer) ~= 'table' or not answer.err then return false end
    if not string.find(answer.err, 'WRONGTYPE', 1, true) then error(answer.err) end
    return true
end
local function text_at(key)
    local stands = redis.pcall('GET', key)
    return is_of_another_type(stands) and '{_NO_TEXT}' or stands
end
local function on_list(command, key, ...)
    if is_of_another_type(redis.pcall(command, key, ...)) then
        redis.call('DEL', key)
    end
end
"""

#: KEYS: the record, the list of its kind. ARGV: what was seen ("" none, else "=" and the text), what to write (the
#: same), milliseconds to keep it, the time it was computed with, the tolerance, the name ("" when not listed).
#: Answers whether it was written, what stands, and the time.
_SWAP = f"""{_SHARED}
local told = redis.call('TIME')
local now = tonumber(told[1]) + tonumber(told[2]) / 1000000
local stands = text_at(KEYS[1])
local seen = stands and ('=' .. stands) or ''
if seen ~= ARGV[1] or math.abs(now - tonumber(ARGV[4])) > tonumber(ARGV[5]) then
    return {{0, seen, told[1], told[2]}}
end
if ARGV[2] == '' then
    redis.call('DEL', KEYS[1])
    on_list('ZREM', KEYS[2], ARGV[6])
    return {{1, '', told[1], told[2]}}
end
redis.call('SET', KEYS[1], string.sub(ARGV[2], 2), 'PX', ARGV[3])
if ARGV[6] ~= '' then
    on_list('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
    redis.call('ZADD', KEYS[2], now + tonumber(ARGV[3]) / 1000, ARGV[6])
end
return {{1, '', told[1], told[2]}}
"""

#: KEYS: the record. Answers what stands, and the time.
_LOAD = f"""{_SHARED}
local told = redis.call('TIME')
local stands = text_at(KEYS[1])
return {{stands and ('=' .. stands) or '', told[1], told[2]}}
"""

#: KEYS: the list of a kind, its prefix. ARGV: the names, or none for all. Answers the time, then name and text in turn.
_LOAD_ALL = f"""{_SHARED}
local told = redis.call('TIME')
local answer = {{told[1], told[2]}}
local names = ARGV
if #names == 0 then
    names = redis.call('ZRANGE', KEYS[1], 0, -1)
end
for _, name in ipairs(names) do
    local stands = text_at(KEYS[1] .. ':' .. name)
    if stands then
        answer[#answer + 1] = name
        answer[#answer + 1] = stands
    end
end
return answer
"""


class RedisState(OptimisticState):
    """State shared by every process that uses the same Redis; opens nothing before first use, safe before a fork.

    Args:
        url: where it is, such as `redis://host:6379/0`.
        prefix: begins every key.
        timeout: the longest wait for an answer, in seconds.

    Raises:
        ConfigurationError: an argument is not fit.
    """

    def __init__(self, url: str, *, prefix: str = "dlq", timeout: float = TIMEOUT) -> None:
        super().__init__(timeout)
        checks.name(prefix, "prefix")
        self._url = url
        self._prefix = prefix
        self._redis = _client(url, timeout)
        self._swapping = self._redis.register_script(_SWAP)
        self._loading = self._redis.register_script(_LOAD)
        self._loading_all = self._redis.register_script(_LOAD_ALL)

    @property
    def place(self) -> str:
        """Where the Redis is, without user and password."""
        where = self._redis.connection_pool.connection_kwargs
        return f"{where.get('host') or where.get('path', 'localhost')}:{where.get('port', '')}".rstrip(":")

    def _disconnect(self) -> None:
        self._redis.close()

    def _key(self, kind: Kind[Any]) -> str:
        return f"{self._prefix}:{{{kind.name}}}"

    def _load(self, kind: Kind[Any], name: str) -> Loaded:
        with self._reached():
            stands, seconds, micros = self._loading(keys=[f"{self._key(kind)}:{name}"])
        return Loaded(_unmarked(stands), _time(seconds, micros))

    def _load_all(self, kind: Kind[Any], names: Collection[str] | None) -> tuple[Mapping[str, str], float]:
        with self._reached():
            seconds, micros, *found = self._loading_all(keys=[self._key(kind)], args=list(names or ()))
        return dict(zip(found[::2], found[1::2], strict=True)), _time(seconds, micros)

    def _swap(self, kind: Kind[Any], name: str, seen: Loaded, text: str | None, keep_for: float) -> Swapped:
        key = self._key(kind)
        arguments: list[str | int | float] = [
            _marked(seen.text),
            _marked(text),
            max(1, round(keep_for * 1000)),
            repr(seen.now),
            CLOCK_TOLERANCE,
            name if kind.listed else "",
        ]
        with self._reached():
            done, stands, seconds, micros = self._swapping(keys=[f"{key}:{name}", key], args=arguments)
        now = _time(seconds, micros)
        return Swapped(bool(done), now, None if done else Loaded(_unmarked(stands), now))

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        # A host name that can be none is an error of the codec that spells it.
        except (redis.RedisError, UnicodeError) as error:
            # The address may hold a password and an answer may repeat it: only the kind of error is told.
            raise StoreUnavailable(
                f"The shared state in Redis at {self.place} cannot be used: {type(error).__name__}."
            ) from error
        except BaseException:
            # Interrupted: the answer is still to come, and would be taken for that to the next question.
            self._redis.connection_pool.disconnect(inuse_connections=False)
            raise


def _client(url: str, timeout: float) -> redis.Redis:
    try:
        client: redis.Redis = redis.Redis.from_url(
            url,
            decode_responses=True,
            # Bytes that are no text come through, and can be compared and replaced like any damaged record.
            encoding_errors="surrogateescape",
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            # A connection that the server closed is replaced at once; waiting longer is not this library's to decide.
            retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
        )
    except (ValueError, AttributeError, TypeError):
        # The address may hold a password, and the error a part of it.
        raise ConfigurationError(
            "The address of a RedisState cannot be used; write redis://host:port/db, rediss:// for TLS or unix://path."
        ) from None
    return client


def _marked(text: str | None) -> str:
    return "" if text is None else "=" + text


def _unmarked(marked: str) -> str | None:
    return marked[1:] if marked else None


def _time(seconds: Any, micros: Any) -> float:
    return int(seconds) + int(micros) / 1_000_000
