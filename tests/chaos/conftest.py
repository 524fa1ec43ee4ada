"""Which storms are asked for? `--seed 7 --setup postgres-celery --storm 60` repeats one; each option may be left out."""

from __future__ import annotations

import pytest

from tests.chaos.plan import SETUPS

#: Seeds of `make chaos`.
SEEDS = range(1, 11)
#: Seconds that a storm of `make chaos` lasts.
LONG_STORM = 30.0


def pytest_addoption(parser: pytest.Parser) -> None:
    """Known to pytest only where this folder is named on the command line, as `make chaos` does."""
    group = parser.getgroup("chaos")
    group.addoption("--seed", type=int, help="one storm of this seed instead of ten")
    group.addoption("--setup", choices=SETUPS, help="storms in this set-up only")
    group.addoption("--storm", type=float, default=LONG_STORM, help="seconds that a storm lasts")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A long storm for each seed in each set-up."""
    if {"setup", "seed", "storm_seconds"} <= set(metafunc.fixturenames):
        seed, setup = (metafunc.config.getoption(name, None) for name in ("--seed", "--setup"))
        metafunc.parametrize("seed", SEEDS if seed is None else [seed])
        metafunc.parametrize("setup", SETUPS if setup is None else [setup])


@pytest.fixture
def storm_seconds(request: pytest.FixtureRequest) -> float:
    """How long a storm lasts."""
    seconds: float = request.config.getoption("--storm", LONG_STORM)
    return seconds
