"""What costs every test time and is the same in each? Made cheap or made once; what is tested is as before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import CodeType
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from apispec import APISpec
from argon2 import PasswordHasher
from flask import Flask
from flask.templating import Environment
from flask_smorest import Api, Blueprint
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


def _described_when_read(patch: pytest.MonkeyPatch) -> None:
    """Describe the API of an application when its description is read, which few tests do."""
    describe, to_dict = Blueprint.register_views_in_doc, APISpec.to_dict
    waiting: WeakKeyDictionary[APISpec, list[Callable[[], None]]] = WeakKeyDictionary()

    def wait(part: Blueprint, api: Api, app: Flask, spec: APISpec, **options: Any) -> None:
        waiting.setdefault(spec, []).append(partial(describe, part, api, app, spec, **options))

    def read(spec: APISpec) -> dict[str, Any]:
        for described in waiting.pop(spec, []):
            described()
        return to_dict(spec)

    patch.setattr(Blueprint, "register_views_in_doc", wait)
    patch.setattr(APISpec, "to_dict", read)


@contextmanager
def cheaper() -> Iterator[None]:
    """Inside the block templates are compiled once per process, passwords hashed in no time, APIs described when read."""
    with pytest.MonkeyPatch.context() as patch:
        _described_when_read(patch)
        patch.setattr(Flask, "jinja_environment", _Environment)
        patch.setattr(users, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        yield
