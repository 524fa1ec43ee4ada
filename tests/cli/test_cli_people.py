"""Can people and tokens be made on the command line, and is nothing secret shown twice?"""

from __future__ import annotations

import getpass
import re
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select

from dlq_console.store import people
from dlq_console.store.store import Store
from tests.cli.running import CommandLine

PASSWORD = "correct horse battery"
#: How tables for people show a time.
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ"


def add(run: CommandLine, name: str = "maria", *more: str) -> None:
    run.succeed("users", "add", name, "--role", "operator", "--password-stdin", *more, typed=f"{PASSWORD}\n")


def test_somebody_who_was_added_can_log_in(both: CommandLine) -> None:
    add(both, "Maria", "--accounts", "filial-sp, filial-rj")
    store = Store(both.settings["DLQ_DATABASE_URL"])
    person = people.verify_login(store, "maria", PASSWORD)
    store.engines.dispose()
    assert person is not None
    assert (person.role, person.accounts) == ("operator", ("filial-sp", "filial-rj"))


def test_account_with_a_comma_stands_in_quotes_and_the_option_may_be_repeated(run: CommandLine) -> None:
    add(run, "maria", "--accounts", '"Bar ""Lua"", Centro", filial-sp', "--accounts", "filial-sp,filial-rj")
    (item,) = run.succeed("users", "list", "--json").json["items"]
    assert item["accounts"] == ['Bar "Lua", Centro', "filial-sp", "filial-rj"]


def test_users_are_listed_for_people_and_programs(run: CommandLine) -> None:
    add(run)
    run.succeed("users", "disable", "maria")
    (row,) = run.succeed("users", "list").output.splitlines()[1:]
    assert re.fullmatch(rf"maria +operator +all +- +{TIME}", row)
    (item,) = run.succeed("users", "list", "--json").json["items"]
    assert (item["name"], item["role"], item["accounts"], item["last_login_at"]) == (
        "maria",
        "operator",
        None,
        None,
    )
    assert datetime.fromisoformat(item["disabled_at"]).utcoffset() == timedelta(0)
    assert "password_hash" not in item


def test_a_user_who_exists_already_is_a_no(run: CommandLine) -> None:
    add(run)
    result = run("users", "add", "MARIA", "--role", "viewer", "--password-stdin", typed=PASSWORD)
    assert (result.status, result.sentence) == (1, "The user maria exists already.")


@pytest.mark.parametrize(
    ("arguments", "typed", "sentence"),
    [
        (
            ("users", "add", "a b", "--role", "viewer", "--password-stdin"),
            PASSWORD,
            "name: use 1 to 60 letters",
        ),
        (
            ("users", "add", "maria", "--role", "viewer", "--password-stdin"),
            "short",
            "password: it has 5 characters",
        ),
        (
            ("users", "add", "maria", "--role", "viewer", "--password-stdin"),
            "",
            "password: it has 0 characters",
        ),
        (
            ("users", "add", "maria", "--role", "root", "--password-stdin"),
            PASSWORD,
            "Invalid value for '--role'",
        ),
        (("users", "add", "maria", "--password-stdin"), PASSWORD, "Missing option '--role'"),
        (
            ("users", "add", "maria", "--role", "viewer", "--accounts", ","),
            PASSWORD,
            "Invalid value for '--accounts'",
        ),
        (
            ("users", "add", "maria", "--role", "viewer", "--accounts", '"Bar, Centro'),
            PASSWORD,
            "Invalid value for '--accounts': close the quotes around a name",
        ),
        (("tokens", "add", "c:i", "--role", "viewer"), "", "name: use 1 to 60 letters"),
    ],
)
def test_what_cannot_be_used_is_wrong_usage(
    run: CommandLine, arguments: tuple[str, ...], typed: str, sentence: str
) -> None:
    result = run(*arguments, typed=typed)
    assert result.status == 2
    assert result.sentence.startswith(sentence)
    assert PASSWORD not in result.errors


def test_a_password_is_changed_and_a_user_disabled(run: CommandLine) -> None:
    add(run)
    run.succeed("users", "passwd", "maria", "--password-stdin", typed="another secret")
    store = Store(run.settings["DLQ_DATABASE_URL"])
    assert people.verify_login(store, "maria", PASSWORD) is None
    assert people.verify_login(store, "maria", "another secret") is not None
    run.succeed("users", "disable", "maria")
    assert people.verify_login(store, "maria", "another secret") is None
    store.engines.dispose()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("users", "disable", "nobody"), "There is no user nobody."),
        (("users", "passwd", "nobody", "--password-stdin"), "There is no user nobody."),
        (("tokens", "revoke", "nobody"), "There is no token nobody."),
    ],
)
def test_somebody_who_does_not_exist_is_a_no(
    run: CommandLine, arguments: tuple[str, ...], sentence: str
) -> None:
    result = run(*arguments, typed=PASSWORD)
    assert (result.status, result.sentence) == (1, sentence)


def test_a_token_is_printed_once_last_on_its_line_and_works_until_revoked(both: CommandLine) -> None:
    said = both.succeed("tokens", "add", "ci", "--role", "operator", "--accounts", "filial-sp").output
    (line,) = said.splitlines()
    token = line.split()[-1]
    store = Store(both.settings["DLQ_DATABASE_URL"])
    program = people.token_person(store, token)
    assert program is not None
    assert (program.name, program.role, program.accounts) == ("token:ci", "operator", ("filial-sp",))
    listed = both.succeed("tokens", "list", "--json")
    assert token not in listed.output
    (item,) = listed.json["items"]
    assert (item["name"], item["role"], item["accounts"], item["revoked_at"]) == (
        "ci",
        "operator",
        ["filial-sp"],
        None,
    )
    both.succeed("tokens", "revoke", "ci")
    assert people.token_person(store, token) is None
    store.engines.dispose()
    (row,) = both.succeed("tokens", "list").output.splitlines()[1:]
    assert re.fullmatch(rf"ci +operator +filial-sp +{TIME} +{TIME}", row)


def test_what_is_done_to_people_and_tokens_stands_in_the_audit_without_any_secret(both: CommandLine) -> None:
    add(both, "maria", "--accounts", "filial-sp,filial-rj")
    both.succeed("users", "passwd", "maria", "--password-stdin", typed="another secret")
    both.succeed("users", "disable", "maria")
    token = both.succeed("tokens", "add", "ci", "--role", "viewer").output.split()[-1]
    both.succeed("tokens", "revoke", "ci")
    for refused in (("users", "disable", "nobody"), ("tokens", "revoke", "nobody")):
        assert both(*refused).status == 1
    assert both("users", "add", "maria", "--role", "admin", "--password-stdin", typed=PASSWORD).status == 1
    store = Store(both.settings["DLQ_DATABASE_URL"])
    with store.read() as connection:
        rows = (
            connection.execute(select(store.tables.audit).order_by(store.tables.audit.c.id)).mappings().all()
        )
    store.engines.dispose()
    assert {row["actor"] for row in rows} == {f"cli:{getpass.getuser()}"}
    assert [(row["action"], row["subject"], row["after"]) for row in rows] == [
        ("add_user", "user:maria", "operator of filial-sp, filial-rj"),
        ("set_password", "user:maria", None),
        ("disable_user", "user:maria", None),
        ("add_token", "token:ci", "viewer of all accounts"),
        ("revoke_token", "token:ci", None),
    ]
    kept = repr(rows)
    assert not any(secret in kept for secret in (PASSWORD, "another secret", token))
