"""The invented data are the same for a seed, and can be mistaken for nobody's."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from random import Random

from dlq_console.demo.data import (
    CUSTOMERS_PER_ACCOUNT,
    UNREGISTERED_PER_ACCOUNT,
    cnpj_check_digit,
    customers,
    invoice,
    order,
)


def test_a_seed_and_an_account_always_give_the_same_customers() -> None:
    customers.cache_clear()
    first = customers(1, "filial-sp")
    customers.cache_clear()

    assert customers(1, "filial-sp") == first
    assert customers(2, "filial-sp") != first
    assert customers(1, "filial-rj") != first


def test_codes_are_unique_and_a_known_few_are_unregistered() -> None:
    known = customers(1, "filial-sp")

    assert len({one.code for one in known}) == CUSTOMERS_PER_ACCOUNT
    assert sum(not one.registered for one in known) == UNREGISTERED_PER_ACCOUNT


def test_the_check_digit_rule_is_the_real_one() -> None:
    assert cnpj_check_digit("112223330001") == 8


def test_no_tax_number_and_no_mail_address_can_be_anybodys() -> None:
    for account in ("filial-sp", "filial-rj", "filial-mg"):
        for one in customers(1, account):
            digits = "".join(filter(str.isdigit, one.document))
            assert len(digits) == 14
            assert int(digits[12]) != cnpj_check_digit(digits[:12])
            assert one.email.endswith(".example")


def test_amounts_of_an_order_add_up_exactly_and_a_wrong_invoice_is_one_real_off() -> None:
    sold = order(Random(3), customers(1, "filial-sp")[0], 8841, date(2026, 3, 2))

    assert sold["total"] == sum(line["unit_price"] * line["quantity"] for line in sold["lines"])
    assert isinstance(sold["total"], Decimal)
    assert invoice(sold, 1, wrong_total=False)["total"] == sold["total"]
    assert invoice(sold, 1, wrong_total=True)["total"] == sold["total"] + 1
