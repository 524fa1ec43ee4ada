"""Queue names: readable for plain accounts, unique for every account, short enough for every broker."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dlq_console.store.keys import MAX_ACCOUNT
from dlq_console.store.queues import account_of, queue_name

#: The longest name that AMQP can carry, in bytes.
AMQP_LIMIT = 255
ACCOUNTS = st.text(min_size=1, max_size=MAX_ACCOUNT)


def test_a_plain_account_is_readable() -> None:
    assert queue_name("erp", "filial-sp") == "erp.filial-sp"


def test_a_long_account_is_cut_and_told_apart_by_a_hash() -> None:
    first, second = (queue_name("erp", "X" * 119 + last) for last in "YZ")
    assert first != second
    assert first[:100] == second[:100]


@given(ACCOUNTS)
def test_no_account_makes_a_name_that_a_broker_refuses(account: str) -> None:
    name = queue_name("p" * 40, account)
    assert name.isascii()
    assert len(name) <= AMQP_LIMIT


@given(ACCOUNTS, ACCOUNTS)
def test_two_accounts_never_share_a_queue(one: str, other: str) -> None:
    assert (queue_name("erp", one) == queue_name("erp", other)) is (one == other)


def test_an_account_cannot_take_the_name_of_a_long_one() -> None:
    name = queue_name("erp", "X" * 120)
    assert queue_name("erp", name.removeprefix("erp.")) != name


@given(ACCOUNTS, st.booleans())
def test_a_queue_tells_whose_it_is_unless_its_name_was_cut(account: str, serial: bool) -> None:
    name = queue_name("erp", account, serial=serial)
    told = account_of("erp", name)
    cut = "." in name.removeprefix("erp.").removesuffix(".serial")
    assert told == (None if cut else account)
    assert cut == (len(queue_name("", account)) - 1 < sum(len(queue_name("", one)) - 1 for one in account))


def test_a_queue_of_others_or_of_several_accounts_tells_of_none() -> None:
    assert account_of("erp", "other.filial-sp") is None
    assert account_of("erp", "erp.shard.3") is None
