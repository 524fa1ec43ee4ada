"""Are people and programs known for what they are, and does nothing secret lie in the tables?"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from argon2 import PasswordHasher
from sqlalchemy import RowMapping, select, update

from dlq_console.clock import utc_now
from dlq_console.store import people
from dlq_console.store.people import NameTaken, NoSuchName, PeopleError, Permission, Person, Role, users
from dlq_console.store.people.sessions import SEEN_EVERY
from dlq_console.store.store import Store
from tests.cheaper import REAL_HASHER
from tests.store.recording import recording

PASSWORD = "correct horse battery"


def add(
    store: Store, name: str = "maria", role: str = "operator", accounts: list[str] | None = None
) -> Person:
    return people.add_user(store, name, PASSWORD, role=role, accounts=accounts)


def rows(store: Store, table: str) -> list[RowMapping]:
    with store.read() as connection:
        return list(connection.execute(select(getattr(store.tables, table))).mappings())


# Roles

OPERATORS = {
    Permission.VIEW, Permission.REPROCESS, Permission.DISCARD, Permission.SKIP_LANE, Permission.ENQUEUE,
    Permission.PAUSE_ACCOUNT, Permission.RESUME_ACCOUNT, Permission.FORCE_BREAKER, Permission.DECIDE_NODE,
    Permission.RESTORE, Permission.CANCEL_SEND, Permission.PRECHECK, Permission.ASSIGN, Permission.TAG,
    Permission.NOTE, Permission.SNOOZE, Permission.SNOOZE_ALERT, Permission.TEST_ALERT, Permission.SHARE_VIEW, Permission.BULK, Permission.AUDIT, Permission.DOCTOR,
}  # fmt: skip


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        (Role.VIEWER, {Permission.VIEW}),
        (Role.OPERATOR, OPERATORS),
        (Role.EDITOR, OPERATORS | {Permission.EDIT, Permission.REVEAL}),
        (Role.ADMIN, set(Permission)),
    ],
)
def test_a_role_may_do_what_the_table_says(role: Role, allowed: set[Permission]) -> None:
    person = Person(id=1, name="x", role=role)
    assert {permission for permission in Permission if people.may(person, permission)} == allowed


def test_every_permission_is_in_the_table() -> None:
    assert set(people.PERMISSIONS) == set(Permission)


def test_a_permission_that_does_not_exist_is_an_error_and_not_a_no() -> None:
    with pytest.raises(ValueError, match="fly"):
        people.may(Person(id=1, name="x", role=Role.ADMIN), "fly")


def test_somebody_sees_all_accounts_or_only_the_own() -> None:
    everybody = Person(id=1, name="x", role=Role.VIEWER)
    somebody = Person(id=1, name="x", role=Role.VIEWER, accounts=("sp",))
    assert everybody.sees("rj")
    assert somebody.sees("sp")
    assert not somebody.sees("rj")


# Users


def test_somebody_who_was_added_can_log_in(store: Store) -> None:
    made = add(store, accounts=["filial-sp", "São Paulo"])
    assert people.verify_login(store, "maria", PASSWORD) == made
    (entry,) = people.list_users(store)
    assert (entry.person, entry.disabled_at) == (made, None)
    assert entry.last_login_at is not None
    assert utc_now() - entry.last_login_at < timedelta(minutes=1)


def test_a_name_is_the_same_in_upper_and_lower_case(store: Store) -> None:
    add(store, "Maria")
    with pytest.raises(NameTaken, match=r"^The user maria exists already\.$"):
        add(store, " MARIA ")
    person = people.verify_login(store, "mArIa", PASSWORD)
    assert person is not None
    assert person.name == "maria"


@pytest.mark.parametrize(
    "password", ["", "wrong", PASSWORD.upper(), f"{PASSWORD} ", PASSWORD * 100, "a\0b", "\ud800"]
)
def test_a_wrong_password_lets_nobody_in(store: Store, password: str) -> None:
    add(store)
    assert people.verify_login(store, "maria", password) is None


@pytest.mark.parametrize("name", ["", "nobody", "maria'--", "a\0b", "\ud800", "x" * 5_000])
def test_a_name_that_nobody_has_lets_nobody_in(store: Store, name: str) -> None:
    add(store)
    assert people.verify_login(store, name, PASSWORD) is None


def test_an_unknown_name_costs_as_much_work_as_a_wrong_password(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(store)
    verified: list[str] = []
    verify = PasswordHasher.verify

    def counted(hasher: PasswordHasher, password_hash: str, password: bytes) -> bool:
        verified.append(password_hash)
        return verify(hasher, password_hash, password)

    monkeypatch.setattr(PasswordHasher, "verify", counted)
    people.disable_user(store, "maria")
    add(store, "vera")
    for name in ("nobody", "maria", "vera", "not a name"):
        assert people.verify_login(store, name, "wrong password") is None
    assert len(verified) == 4
    assert all(password_hash.startswith("$argon2id$") for password_hash in verified)


@pytest.mark.parametrize(
    "name", ["", " ", "a b", "token:ci", "a\nb", "a\0b", "-x", ".x", "x" * 61, "a/b", "a\u202eb", "<b>"]
)
def test_a_name_that_is_none_is_refused(store: Store, name: str) -> None:
    with pytest.raises(PeopleError, match=r"^name: use 1 to 60 letters, digits and . _ @ \+ -"):
        add(store, name)
    with pytest.raises(PeopleError, match=r"^name: "):
        people.add_token(store, name, role="viewer")


@pytest.mark.parametrize("name", ["joão", "maria.silva", "maria@example.com", "m", "ci-2", "x" * 60])
def test_usual_names_are_accepted(store: Store, name: str) -> None:
    assert add(store, name).name == name


@pytest.mark.parametrize(
    ("password", "sentence"),
    [
        ("seven77", "password: it has 7 characters; use at least 8."),
        ("x" * 201, "password: it has 201 characters; use at most 200."),
        ("tab\tinside", "password: a control character is not allowed; remove it."),
        ("Maria-Silva", "password: it is the name; choose another one."),
    ],
)
def test_a_password_that_is_too_weak_is_refused(store: Store, password: str, sentence: str) -> None:
    with pytest.raises(PeopleError) as caught:
        people.add_user(store, "maria-silva", password, role="viewer")
    assert caught.value.message == sentence
    assert people.list_users(store) == ()


def test_a_password_is_the_same_from_every_keyboard(store: Store) -> None:
    people.add_user(store, "maria", "ac\u0327a\u0303o secreta", role="viewer")
    assert people.verify_login(store, "maria", "\u00e7".join(["a", "\u00e3o secreta"])) is not None


def test_a_role_that_does_not_exist_is_refused(store: Store) -> None:
    with pytest.raises(PeopleError, match=r"^role: choose one of viewer, operator, editor, admin\.$"):
        add(store, role="root")


@pytest.mark.parametrize(
    "accounts", [[], [""], ["a\nb"], ["x" * 121], [str(number) for number in range(201)]]
)
def test_accounts_that_name_nothing_are_refused(store: Store, accounts: list[str]) -> None:
    with pytest.raises(PeopleError, match=r"^accounts: "):
        add(store, accounts=accounts)


def test_a_new_password_replaces_the_old_one_and_ends_all_sessions(store: Store) -> None:
    person = add(store)
    token = people.open_session(store, person)
    people.set_password(store, "MARIA", "another secret")
    assert people.session_person(store, token) is None
    assert people.verify_login(store, "maria", PASSWORD) is None
    assert people.verify_login(store, "maria", "another secret") is not None


def test_somebody_who_was_disabled_is_out_at_once(store: Store) -> None:
    person = add(store)
    token = people.open_session(store, person)
    people.disable_user(store, "maria")
    assert people.session_person(store, token) is None
    assert people.verify_login(store, "maria", PASSWORD) is None
    # A log-in that was verified a moment before opens nothing either.
    assert people.session_person(store, people.open_session(store, person)) is None
    (entry,) = people.list_users(store)
    assert entry.disabled_at is not None
    with pytest.raises(NameTaken):
        add(store)


@pytest.mark.parametrize(
    "act",
    [
        lambda store: people.disable_user(store, "nobody"),
        lambda store: people.set_password(store, "nobody", PASSWORD),
    ],
)
def test_nobody_cannot_be_changed(store: Store, act: Callable[[Store], None]) -> None:
    with pytest.raises(NoSuchName, match=r"^There is no user nobody\.$"):
        act(store)


def test_a_password_hashed_in_an_older_way_is_hashed_anew_at_log_in(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(users, "_hasher", REAL_HASHER)
    add(store)
    weak = PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1).hash(PASSWORD)
    with store.write() as connection:
        connection.execute(update(store.tables.users).values(password_hash=weak))
    assert people.verify_login(store, "maria", PASSWORD) is not None
    (row,) = rows(store, "users")
    assert not PasswordHasher().check_needs_rehash(row["password_hash"])
    assert people.verify_login(store, "maria", PASSWORD) is not None


def test_choices_are_kept_left_alone_and_taken_back(store: Store) -> None:
    person = add(store)
    people.set_preferences(store, person.id, locale="en", timezone="Europe/Lisbon", theme="dark")
    people.set_preferences(store, person.id, theme="")
    known = people.verify_login(store, "maria", PASSWORD)
    assert known is not None
    assert (known.locale, known.timezone, known.theme) == ("en", "Europe/Lisbon", None)


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        ({"locale": "fr"}, "locale: choose one of pt_BR, en."),
        ({"theme": "pink"}, "theme: choose one of light, dark."),
        ({"timezone": "Mars/Olympus"}, "timezone: write an IANA name such as America/Sao_Paulo."),
        ({"timezone": "../../etc/passwd"}, "timezone: write an IANA name such as America/Sao_Paulo."),
    ],
)
def test_a_choice_that_does_not_exist_is_refused(store: Store, choice: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PeopleError) as caught:
        people.set_preferences(store, 1, **choice)
    assert caught.value.message == sentence


# Sessions


def test_a_session_knows_its_person_until_it_is_closed(store: Store) -> None:
    person = add(store, accounts=["sp"])
    token, other = people.open_session(store, person), people.open_session(store, person)
    assert people.session_person(store, token) == person
    people.close_session(store, token)
    people.close_session(store, token)
    assert people.session_person(store, token) is None
    assert people.session_person(store, other) == person


def test_all_sessions_of_one_person_are_closed_together(store: Store) -> None:
    maria, vera = add(store), add(store, "vera")
    hers, others = [people.open_session(store, maria) for _ in range(2)], people.open_session(store, vera)
    people.close_all_sessions(store, maria.id)
    assert [people.session_person(store, token) for token in hers] == [None, None]
    assert people.session_person(store, others) == vera


def test_a_session_ends_by_itself_and_is_removed(store: Store) -> None:
    person = add(store)
    token = people.open_session(store, person, ttl=600)
    store.clock.advance(599)
    assert people.session_person(store, token) == person
    store.clock.advance(2)
    assert people.session_person(store, token) is None
    people.open_session(store, person)
    assert len(rows(store, "sessions")) == 1


@pytest.mark.parametrize("token", ["", "nonsense", "\ud800", "x" * 100_000])
def test_a_token_that_was_never_given_is_nobody(store: Store, token: str) -> None:
    add(store)
    assert people.session_person(store, token) is None
    assert people.token_person(store, token) is None


def test_looking_a_session_up_is_one_statement_and_once_a_minute_a_note(store: Store) -> None:
    token = people.open_session(store, add(store))
    with recording(store) as sent:
        people.session_person(store, token)
    assert len(sent) == 1
    store.clock.advance(SEEN_EVERY + 1)
    with recording(store) as sent:
        people.session_person(store, token)
        people.session_person(store, token)
    assert [statement.split()[0] for statement, _ in sent] == ["SELECT", "UPDATE", "SELECT"]


# Tokens


def test_a_program_with_a_token_is_known_by_its_name(store: Store) -> None:
    token = people.add_token(store, "CI", role="operator", accounts=["sp"])
    assert token.startswith("dlq_")
    assert people.token_person(store, token) == Person(
        id=0, name="token:ci", role=Role.OPERATOR, accounts=("sp",)
    )
    (entry,) = people.list_tokens(store)
    assert (entry.name, entry.role, entry.accounts, entry.revoked_at) == ("ci", Role.OPERATOR, ("sp",), None)
    assert entry.last_used_at is not None


def test_a_revoked_token_opens_nothing_and_its_name_is_free(store: Store) -> None:
    old = people.add_token(store, "ci", role="admin")
    with pytest.raises(NameTaken, match=r"^The token ci exists already; revoke it first"):
        people.add_token(store, "CI", role="viewer")
    people.revoke_token(store, "ci")
    people.revoke_token(store, "ci")
    assert people.token_person(store, old) is None
    new = people.add_token(store, "ci", role="viewer")
    assert people.token_person(store, old) is None
    person = people.token_person(store, new)
    assert person is not None
    assert person.role == Role.VIEWER


def test_a_token_that_does_not_exist_cannot_be_revoked(store: Store) -> None:
    with pytest.raises(NoSuchName, match=r"^There is no token nobody\.$"):
        people.revoke_token(store, "nobody")


def test_a_token_of_a_program_opens_no_session_and_the_other_way_round(store: Store) -> None:
    session = people.open_session(store, add(store))
    token = people.add_token(store, "ci", role="admin")
    assert people.session_person(store, token) is None
    assert people.token_person(store, session) is None


def test_nothing_that_opens_a_door_lies_in_the_tables(store: Store) -> None:
    session = people.open_session(store, add(store))
    token = people.add_token(store, "ci", role="admin")
    kept = [str(row) for table in ("users", "sessions", "tokens") for row in rows(store, table)]
    assert len(kept) == 3
    for secret in (PASSWORD, session, token, token.removeprefix("dlq_")):
        assert not [row for row in kept if secret in row]
