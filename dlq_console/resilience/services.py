"""How are services configured outside the code? A TOML file: for each service a breaker, a bulkhead, retries.

[payment_api.breaker]
failure_threshold = 3
recovery_timeout = 60

[payment_api.bulkhead]
max_concurrent = 5
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from dlq_console.errors import ConfigurationError
from dlq_console.resilience import checks
from dlq_console.resilience.breaker import CircuitBreakerConfig, Window
from dlq_console.resilience.bulkhead import BulkheadConfig
from dlq_console.resilience.retry import RetryConfig

Config = TypeVar("Config")

_LAYERS: Mapping[str, type[Any]] = {
    "breaker": CircuitBreakerConfig,
    "bulkhead": BulkheadConfig,
    "retry": RetryConfig,
}


@dataclass(frozen=True)
class Services:
    """What is configured, per layer and service name."""

    breakers: Mapping[str, CircuitBreakerConfig] = field(default_factory=dict)
    bulkheads: Mapping[str, BulkheadConfig] = field(default_factory=dict)
    retries: Mapping[str, RetryConfig] = field(default_factory=dict)


NO_SERVICES = Services()


def read_services(file: str | Path) -> Services:
    """Read the file; an empty name is no services.

    Raises:
        ConfigurationError: the file cannot be read, or says something that cannot work; the message says where.
    """
    if not str(file):
        return Services()
    try:
        tables = tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"DLQ_SERVICES: {file} cannot be read: {error}.") from error
    return services(tables)


def services(tables: Mapping[str, Any]) -> Services:
    """The same from tables that were read already.

    Raises:
        ConfigurationError: as for `read_services`.
    """
    found: dict[str, dict[str, Any]] = {layer: {} for layer in _LAYERS}
    for service, layers in tables.items():
        _check_name(service)
        for layer, values in _table(layers, service).items():
            if layer not in _LAYERS:
                raise ConfigurationError(
                    f"DLQ_SERVICES: [{service}.{layer}] is no layer; there are {', '.join(_LAYERS)}."
                )
            place = f"{service}.{layer}"
            found[layer][service] = _config(_LAYERS[layer], _table(values, place), place)
    return Services(found["breaker"], found["bulkhead"], found["retry"])


def _config(make: type[Config], values: Mapping[str, Any], place: str) -> Config:
    given = dict(values)
    if make is CircuitBreakerConfig and "window" in given:
        given["window"] = _config(Window, _table(given["window"], f"{place}.window"), f"{place}.window")
    known = [each.name for each in fields(make) if not each.name.endswith(("exception", "exceptions"))]  # type: ignore[arg-type]  # all are dataclasses
    for name in given:
        if name not in known:
            raise ConfigurationError(
                f"DLQ_SERVICES: [{place}] has no {name!r}; there are {', '.join(known)}."
            )
    try:
        return make(**given)
    except ConfigurationError as error:
        raise ConfigurationError(f"DLQ_SERVICES: [{place}] {error}") from error


def _check_name(service: str) -> None:
    try:
        checks.name(service, "service")
    except ConfigurationError as error:
        raise ConfigurationError(f"DLQ_SERVICES: {error}") from error


def _table(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigurationError(f"DLQ_SERVICES: {place} must be a table, written [{place}].")
    return value
