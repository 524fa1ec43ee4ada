"""Column types that mean the same on every engine."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import BigInteger, DateTime, Dialect, Integer
from sqlalchemy.types import TypeDecorator, TypeEngine

from dlq_console.store.clock import from_microseconds, to_microseconds

#: SQLite only counts up by itself where the type is exactly INTEGER; both hold 64 bits.
BigId = BigInteger().with_variant(Integer(), "sqlite")


class UtcTime(TypeDecorator[datetime]):
    """An aware time: `timestamptz` on PostgreSQL, whole microseconds since 1970 on SQLite; read back in UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """The engine's own type."""
        return dialect.type_descriptor(BigInteger() if dialect.name == "sqlite" else DateTime(timezone=True))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Refuse a naive time: nobody can know which moment it means."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("A time without a zone is refused: pass an aware datetime.")
        return to_microseconds(value) if dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Always aware, always UTC."""
        if value is None:
            return None
        moment: datetime = from_microseconds(value) if dialect.name == "sqlite" else value.astimezone(UTC)
        return moment
