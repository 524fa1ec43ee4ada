"""What a scope is called: an account, one kind of work of an account ("method"), or an outside system ("provider")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ScopeType = Literal["account", "method", "provider"]

#: SQL: what `method_name` says of the event `e`.
METHOD_NAME = "replace(replace(e.account, '%', '%25'), '/', '%2F') || '/' || e.kind"


@dataclass(frozen=True, slots=True)
class Scope:
    """Which scope, and of which account and kind it is, where it is of one.

    Attributes:
        type: of scope.
        name: the account itself, `<account>/<kind>`, or the provider.
        account: of an account or a method.
        kind: of a method.
    """

    type: ScopeType
    name: str
    account: str | None = None
    kind: str | None = None


def account_scope(account: str) -> Scope:
    """The scope of a whole account."""
    return Scope("account", account, account)


def method_scope(account: str, kind: str) -> Scope:
    """The scope of one kind of one account."""
    return Scope("method", method_name(account, kind), account, kind)


def provider_scope(provider: str) -> Scope:
    """The scope of an outside system that several accounts share."""
    return Scope("provider", provider)


def method_name(account: str, kind: str) -> str:
    """Name of the scope of one kind of one account; "/" and "%" in the account are escaped."""
    return f"{account.replace('%', '%25').replace('/', '%2F')}/{kind}"


def named_scope(type_: ScopeType, name: str) -> Scope:
    """The scope of this type and name."""
    if type_ == "provider":
        return provider_scope(name)
    if type_ == "account":
        return account_scope(name)
    account, _, kind = name.partition("/")
    return Scope("method", name, account.replace("%2F", "/").replace("%25", "%"), kind or None)
