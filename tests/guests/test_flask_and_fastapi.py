"""Do projects on Flask and FastAPI get what their how-to pages say? Their code is that of the pages."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import httpx
import pytest

from tests.guests.pages import samples
from tests.store.making import rows

GUESTS = Path(__file__).parent
PROJECTS = {"fastapi.md": GUESTS / "fastapi_project", "flask.md": GUESTS / "flask_project"}


def load(file: Path) -> ModuleType:
    """The module of a guest, made anew."""
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", PROJECTS)
def test_every_sample_of_the_page_is_in_the_project_that_is_run(page: str) -> None:
    for path, of_file in samples(page).items():
        text = (PROJECTS[page] / path).read_text(encoding="utf-8")
        for sample in of_file:
            assert sample in text, f"{path} of the guest project does not hold:\n{sample}"


# FastAPI


@pytest.fixture
def fastapi_shop(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    driver = "sqlite+aiosqlite" if database_url.startswith("sqlite") else "postgresql+asyncpg"
    monkeypatch.setenv("DLQ_DATABASE_URL", database_url)
    monkeypatch.setenv("SHOP_DATABASE", f"{driver}:{database_url.partition(':')[2]}")
    module = load(PROJECTS["fastapi.md"] / "main.py")
    yield module
    module.hub.close()
    del sys.modules["main"]


def test_a_project_on_fastapi_works_as_its_page_says(fastapi_shop: ModuleType) -> None:
    hub = fastapi_shop.hub

    async def serve() -> list[int]:
        async with fastapi_shop.engine.begin() as connection:
            await connection.run_sync(fastapi_shop.Base.metadata.create_all)
        transport = httpx.ASGITransport(fastapi_shop.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://shop") as client:
            answers = [await client.post("/orders", json={"number": "8841"}) for _ in range(2)]
            answers.append(await client.post("/stock/screws"))
            many = await client.post("/stock", json=["nails", "screws"])
            assert many.json() == {"new": 1}
        # The handler has a loop of its own.
        await fastapi_shop.engine.dispose()
        return [answer.status_code for answer in answers]

    # The second one is no new order, so its event is not there either.
    assert asyncio.run(serve()) == [201, 500, 202]
    assert [(kept["entity_id"], kept["duplicates"]) for kept in rows(hub.store)] == [
        ("8841", 0),
        ("screws", 1),
        ("nails", 0),
    ]
    assert hub.run(1).result == {"sent": "8841"}


# Flask


@pytest.fixture
def flask_shop(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setenv("DLQ_DATABASE_URL", database_url)
    module = load(PROJECTS["flask.md"] / "shop.py")
    yield module
    module.hub.close()
    del sys.modules["shop"]


def test_a_project_on_flask_works_as_its_page_says(flask_shop: ModuleType) -> None:
    app, hub, db = flask_shop.app, flask_shop.hub, flask_shop.db
    with app.app_context():
        db.create_all()
    client = app.test_client()
    assert [client.post("/orders", data={"number": "8841"}).status_code for _ in range(2)] == [201, 500]
    assert [kept["entity_id"] for kept in rows(hub.store)] == ["8841"]
    assert hub.run_due() == 1
    with app.app_context():
        assert db.session.get_one(flask_shop.Order, "8841").at_erp
    with app.app_context():
        db.engine.dispose()
