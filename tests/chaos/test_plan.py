"""Does everything of a storm but its luck follow from the seed?"""

from __future__ import annotations

import pytest

from tests.chaos.documents import ACCOUNTS, KINDS, SHOPS, chunks
from tests.chaos.plan import CALM, DECKS, GAP, SETUPS, SHORT_SEED, SHORT_STORM, described, plan


@pytest.mark.parametrize("setup", SETUPS)
def test_the_same_seed_makes_the_same_plan(setup: str) -> None:
    assert plan(setup, 7, 30) == plan(setup, 7, 30) != plan(setup, 8, 30)


@pytest.mark.parametrize("setup", SETUPS)
@pytest.mark.parametrize("seconds", [5, SHORT_STORM, 60])
def test_every_storm_deals_one_of_each_fault_before_any_other(setup: str, seconds: float) -> None:
    faults = plan(setup, SHORT_SEED, seconds)
    hand = {fault.name for fault in faults[: len(DECKS[setup])]}
    assert hand == set(DECKS[setup])
    assert all(CALM <= fault.at <= seconds for fault in faults)


def test_a_fault_lasts_as_long_as_its_card_says() -> None:
    for fault in plan("postgres-celery", 7, 60):
        shortest, longest, _ = DECKS["postgres-celery"][fault.name]
        assert shortest <= fault.lasts <= longest


def test_a_longer_storm_has_more_faults() -> None:
    assert len(plan("postgres-celery", 7, 60)) == round((60 - CALM) / GAP)


def test_a_plan_names_the_command_that_repeats_it() -> None:
    text = described("sqlite-table", 7, plan("sqlite-table", 7, 30), 30)
    assert 'make chaos CHAOS_ARGS="--seed 7 --setup sqlite-table --storm 30"' in text


def test_the_same_seed_makes_the_same_documents() -> None:
    assert list(chunks(7, 0, 100)) == list(chunks(7, 0, 100)) != list(chunks(8, 0, 100))


def test_every_account_kind_and_way_is_used_and_each_lane_by_every_shop() -> None:
    shops = [list(chunks(7, shop, 600)) for shop in range(SHOPS)]
    accounts = [{document.account for chunk in shop for document in chunk.documents} for shop in shops]
    assert all(each == set(ACCOUNTS) for each in accounts)
    lanes = [{document.lane for chunk in shop for document in chunk.documents} for shop in shops]
    assert lanes[0] == lanes[1]
    assert {document.kind for shop in shops for chunk in shop for document in chunk.documents} == set(KINDS)
    assert {chunk.way for shop in shops for chunk in shop} == {"alone", "joined", "many", "regretted"}
