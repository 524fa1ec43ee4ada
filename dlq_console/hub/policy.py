"""How a kind of event is run: how often, how long, and when it is tried again."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field, fields
from typing import Any, Literal, TypeGuard, get_args

from dlq_console.errors import ConfigurationError, PayloadRefused
from dlq_console.hub.columns import check_columns
from dlq_console.hub.open_urls import check_open_url
from dlq_console.hub.schemas import check_schema
from dlq_console.resilience import BulkheadConfig, CircuitBreakerConfig
from dlq_console.store.keys import MAX_ACCOUNT, check_text

#: Ten years in seconds: added to any time that an event may have, it stays within what both databases hold.
LONGEST = 315_360_000
MOST_ATTEMPTS = 10_000

ReplayPolicy = Literal["always", "latest_wins", "latest_wins_pending", "ask"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules of one kind. Times are in seconds.

    Attributes:
        max_attempts: attempts until the event is dead.
        base_delay: wait after the first failure; it doubles with every further one.
        max_delay: the longest such wait.
        jitter: fraction by which a wait is shuffled either way, or "full" for anything between nothing and the wait.
        timeout: how long one run may take.
        provider: the outside system, where several accounts share it.
        retry_on: errors of the handler that are tried again besides `TransientError`.
        order: "key" runs the events of one ordering key (the entity id unless the producer names one) one at a time and
            in order, "account" all events of an account, whatever their kind; "none" as they come.
        on_dead: what the death of such an event means for those behind it: "block" stops its lane until a person acts,
            "skip" lets them go on. None is "block" for the order "account" and "skip" for "key".
        serial: True is short for order="account".
        on_unknown: what follows where nobody knows whether the provider has it: "verify" asks the verifier, "hold"
            leaves it to a person, "retry" tries it again. None is "verify" where a verifier exists, else "retry".
        unique_at_provider: the provider itself refuses a second one of the same key, so that trying again doubles nothing.
        writes: it changes something in the provider; what only reads is never in doubt.
        max_running: how many of each account may run at once.
        breaker: a circuit for this kind alone in each account, instead of the account's.
        bulkhead: room for this kind alone in each account: its max_concurrent is the same as max_running, its timeout,
            where it was set, shortens `timeout`. An event waits in the database, at most max_wait; nothing else counts.
        replay_policy: what becomes of an event when a newer one of its kind, account and entity exists: "always" runs it,
            "latest_wins" discards it where a newer one is done, "latest_wins_pending" also where a newer one still
            waits or runs; "ask" runs it, but lets a person reprocess it only on purpose.
        max_age: an event older than this is dead `too_old` instead of being run; a reprocess begins its age anew.
        max_wait: longest time from due to start, closed doors included; then dead `expired`.
        schema: JSON Schema of the payload; a person's edit is checked against it before it is saved.
        columns: fields of the payload that lists show and that events are found by: label -> path, such as
            {"Order": "order.number", "First item": "items.0.sku"}; at most 8.
        open_url: address of the record in the outside system, for the console's link "Open in ERP", such as
            "https://erp.example/orders/{entity_id}"; {account} and {payload.<path>} are filled in as well.
    """

    max_attempts: int = 6
    base_delay: float = 30
    max_delay: float = 3600
    jitter: float | Literal["full"] = 0.2
    timeout: float = 60
    order: Literal["none", "key", "account"] = "none"
    on_dead: Literal["block", "skip"] | None = None
    provider: str | None = None
    retry_on: tuple[type[BaseException], ...] = (ConnectionError, TimeoutError)
    on_unknown: Literal["verify", "hold", "retry"] | None = None
    unique_at_provider: bool = False
    writes: bool = True
    replay_policy: ReplayPolicy = "always"
    max_age: float | None = None
    max_wait: float = 604_800
    max_running: int | None = None
    breaker: CircuitBreakerConfig | None = None
    bulkhead: BulkheadConfig | None = None
    schema: dict[str, Any] | None = None
    open_url: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict, hash=False)
    serial: InitVar[bool] = False

    def __post_init__(self, serial: bool) -> None:
        self._check_order(serial)
        if not _is_whole(self.max_attempts) or not 1 <= self.max_attempts <= MOST_ATTEMPTS:
            raise _wrong("max_attempts", f"a whole number from 1 to {MOST_ATTEMPTS}")
        for name in ("base_delay", "max_delay", "timeout", "max_wait"):
            _check_seconds(name, getattr(self, name))
        if self.max_age is not None:
            _check_seconds("max_age", self.max_age)
        if self.jitter != "full" and not (is_number(self.jitter) and 0 <= self.jitter <= 1):
            raise _wrong("jitter", 'a fraction from 0 to 1, or "full"')
        self._check_choices()
        self._check_limits()
        if self.provider is not None:
            object.__setattr__(self, "provider", _provider(self.provider))
        self._check_what_people_see()
        if not _are_errors(self.retry_on):
            raise _wrong("retry_on", "a tuple of exception classes")

    def _check_what_people_see(self) -> None:
        if self.open_url is not None:
            check_open_url(self.open_url)
        object.__setattr__(self, "columns", check_columns(self.columns))
        if self.schema is not None:
            check_schema(self.schema, "Policy.schema")

    def _check_order(self, serial: bool) -> None:
        if serial and self.order == "none":
            object.__setattr__(self, "order", "account")
        if self.order not in ("none", "key", "account") or (serial and self.order != "account"):
            raise _wrong("order", '"none", "key" or "account"; serial=True is short for "account"')
        if self.on_dead not in (None, "block", "skip"):
            raise _wrong("on_dead", '"block" or "skip"')

    def _check_choices(self) -> None:
        if self.on_unknown not in (None, "verify", "hold", "retry"):
            raise _wrong("on_unknown", '"verify", "hold" or "retry"')
        if self.replay_policy not in get_args(ReplayPolicy):
            raise _wrong("replay_policy", '"always", "latest_wins", "latest_wins_pending" or "ask"')

    def _check_limits(self) -> None:
        for name in ("unique_at_provider", "writes"):
            if not isinstance(getattr(self, name), bool):
                raise _wrong(name, "True or False")
        if self.max_running is not None and not (_is_whole(self.max_running) and self.max_running >= 1):
            raise _wrong("max_running", "a whole number from 1, or None")
        if self.breaker is not None and not isinstance(self.breaker, CircuitBreakerConfig):
            raise _wrong("breaker", "a CircuitBreakerConfig")
        if self.bulkhead is not None:
            self._take_over(self.bulkhead)

    def _take_over(self, bulkhead: BulkheadConfig) -> None:
        """Let the limits of a bulkhead be those of the kind."""
        if not isinstance(bulkhead, BulkheadConfig):
            raise _wrong("bulkhead", "a BulkheadConfig")
        if bulkhead.max_concurrent < 1:
            raise _wrong(
                "bulkhead", "a BulkheadConfig with room for one at least; pause the account to let none run"
            )
        most = (
            bulkhead.max_concurrent
            if self.max_running is None
            else min(bulkhead.max_concurrent, self.max_running)
        )
        object.__setattr__(self, "max_running", most)
        if bulkhead.timeout not in (None, BulkheadConfig().timeout):
            object.__setattr__(self, "timeout", min(self.timeout, bulkhead.timeout))

    @property
    def may_repeat(self) -> bool:
        """Whether another run doubles nothing in the provider, whatever became of the last one."""
        return self.unique_at_provider or not self.writes

    def delay_after(self, attempt: int) -> float:
        """Seconds to wait after `attempt` (counted from 1) has failed, shuffled."""
        # The exponent is capped before the power, so that no number of attempts can overflow.
        delay = min(self.base_delay * 2.0 ** min(attempt - 1, 60), self.max_delay)
        if self.jitter == "full":
            return random.uniform(0, delay)  # noqa: S311 - spreads load, hides nothing
        return delay * random.uniform(1 - self.jitter, 1 + self.jitter)  # noqa: S311 - as above

    def published(self) -> dict[str, Any]:
        """The plain values that workers publish for producers and the console."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["retry_on"] = [error.__name__ for error in self.retry_on]
        # Decided where the handler is; others see that there is one, and how it is set.
        values["breaker"] = self.breaker is not None
        if self.breaker is not None:
            values["circuit"] = self.breaker.plain()
        values["columns"] = dict(self.columns)
        # Its limits stand in `max_running` and `timeout`.
        values["bulkhead"] = self.bulkhead is not None
        return values


def _wrong(name: str, right: str) -> ConfigurationError:
    return ConfigurationError(f"Policy.{name} is wrong: write {right}.")


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number; True and False are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _are_errors(value: object) -> bool:
    return isinstance(value, tuple) and all(
        isinstance(one, type) and issubclass(one, BaseException) for one in value
    )


def _check_seconds(name: str, value: object) -> None:
    if not (is_number(value) and 0 < value <= LONGEST):
        raise _wrong(name, f"a number of seconds greater than 0 and at most {LONGEST}")


def _provider(name: object) -> str:
    try:
        return check_text(name, "Policy.provider", max_length=MAX_ACCOUNT)
    except PayloadRefused as error:
        raise ConfigurationError(error.message) from None


#: For a kind about which nothing is known.
DEFAULT_POLICY = Policy()
