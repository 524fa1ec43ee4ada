"""What do the stories get? One shop for all of them, whose pages `open_page` opens."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.site import PATIENCE
from tests.browser.stories.cases import CASES, Case
from tests.browser.stories.shop import SOON, Shop, open_shop


@pytest.fixture(scope="package")
def shop(_sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    folder = tmp_path_factory.mktemp("shop")
    database = shutil.copy(_sqlite_template, folder / "console.db")
    # What a page shows depends on processes that the machine may keep waiting.
    expect.set_options(timeout=SOON * 1000)
    with open_shop(f"sqlite:///{database}", folder / "erp") as shop:
        yield shop
    expect.set_options(timeout=PATIENCE)


@pytest.fixture
def site(shop: Shop) -> Shop:
    """Where `open_page` goes."""
    return shop


@pytest.fixture(params=CASES, ids=lambda case: f"{case.language}-{'script' if case.script else 'plain'}")
def case(request: pytest.FixtureRequest) -> Case:
    telling: Case = request.param
    return telling
