"""Does everything of a storm but its luck follow from the seed?"""

from __future__ import annotations

import pytest

from tests.chaos.documents import ACCOUNTS, KINDS, SHOPS, chunks
from tests.chaos.plan import DECKS, SETUPS, described, plan


@pytest.mark.parametrize("setup", SETUPS)
def test_the_same_seed_makes_the_same_plan(setup: str) -> None:
    assert plan(setup, 7, 30) == plan(setup, 7, 30) != plan(setup, 8, 30)


@pytest.mark.parametrize("setup", SETUPS)
def test_a_minute_leaves_no_fault_out(setup: str) -> None:
    assert {fault.name for fault in plan(setup, 7, 60)} == set(DECKS[setup])


def test_a_plan_names_the_command_that_repeats_it() -> None:
    text = described("sqlite-table", 7, plan("sqlite-table", 7, 30), 30)
    assert 'make chaos CHAOS_ARGS="--seed 7 --setup sqlite-table --storm 30"' in text


def test_the_same_seed_makes_the_same_documents() -> None:
    assert list(chunks(7, 0, 100)) == list(chunks(7, 0, 100)) != list(chunks(8, 0, 100))


def test_every_account_kind_and_way_is_used_and_each_account_by_one_shop() -> None:
    shops = [list(chunks(7, shop, 600)) for shop in range(SHOPS)]
    accounts = [{document.account for chunk in shop for document in chunk.documents} for shop in shops]
    assert set.union(*accounts) == set(ACCOUNTS)
    assert set.intersection(*accounts) == set()
    assert {document.kind for shop in shops for chunk in shop for document in chunk.documents} == set(KINDS)
    assert {chunk.way for shop in shops for chunk in shop} == {"alone", "joined", "many", "regretted"}
