"""What costs every test time and is the same in each? Made cheap or made once; what is tested is as before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

import pytest
from argon2 import PasswordHasher
from flask import Flask
from flask.templating import Environment
from jinja2.bccache import Bucket, BytecodeCache

from dlq_console.store.people import users

#: What production uses, for the tests of passwords themselves.
REAL_HASHER = users._hasher


class _CompiledOnce(BytecodeCache):
    """Templates that another application of this process has compiled already."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._known.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        assert bucket.code is not None
        self._known[bucket.key, bucket.checksum] = bucket.code


_templates = _CompiledOnce()


class _Environment(Environment):
    def __init__(self, app: Any, **options: Any) -> None:
        super().__init__(app, bytecode_cache=_templates, **options)


@contextmanager
def cheaper() -> Iterator[None]:
    """Inside the block templates are compiled once per process, and a password takes no time to hash."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Flask, "jinja_environment", _Environment)
        patch.setattr(users, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        yield
