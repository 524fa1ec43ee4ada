"""What costs every test time and is the same in each? Made cheap or made once; what is tested is as before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
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
from werkzeug.routing import Rule

from dlq_console.store.people import users
from dlq_console.web import assets

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


def _routes_compiled_once(patch: pytest.MonkeyPatch) -> None:
    """Take the functions that write the address of a route from an application of this process that has the same route.

    They are the half of what making an application costs, and of the rule they use nothing but what is in the key.
    """
    compile_ = Rule._compile_builder
    known: dict[tuple[Any, ...], Callable[..., tuple[str, str]]] = {}

    def compile_once(rule: Rule, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        defaults = tuple(sorted((rule.defaults or {}).items()))
        key = (rule.rule, rule.subdomain, rule.host, defaults, tuple(rule._trace), append_unknown)
        if key not in known:
            known[key] = compile_(rule, append_unknown)
        return known[key]

    patch.setattr(Rule, "_compile_builder", compile_once)


def _assets_compressed_once(patch: pytest.MonkeyPatch) -> None:
    read = cache(lambda path, _changed: asset(path))
    asset = assets._asset
    patch.setattr(assets, "_asset", lambda path: read(path, path.stat().st_mtime_ns))


@contextmanager
def cheaper() -> Iterator[None]:
    """Inside the block passwords are hashed in no time, and what all applications have in common is made once."""
    with pytest.MonkeyPatch.context() as patch:
        _described_when_read(patch)
        _routes_compiled_once(patch)
        _assets_compressed_once(patch)
        patch.setattr(Flask, "jinja_environment", _Environment)
        patch.setattr(users, "_hasher", PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        yield
