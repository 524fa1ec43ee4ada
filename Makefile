# Two commands matter: `make demo` shows the product, `make test` proves it.
# Needs Python 3.11 or later with pip and venv; choose another with `make PYTHON=python3.12 ...`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# An install runs again only when what it depends on has changed. The development install contains the other one.
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev

# More arguments for the programs below: `make test PYTEST_ARGS="tests/store -x"` (or `"tests/browser --slow-line 0.4"`), `make demo DEMO_ARGS="--port 9000"`,
# `make chaos CHAOS_ARGS="--seed 7 --setup postgres-celery"`.
PYTEST_ARGS ?=
# Three at a time, because tests wait as often as they compute; each with servers of its own. A file stays with one, because
# its tests share browser and servers; in the order of their names, because the long ones come first so.
PYTEST_PROCESSES ?= -n 3 --dist loadfile --no-loadscope-reorder
DEMO_ARGS ?=
BENCH_ARGS ?=
CHAOS_ARGS ?=

.PHONY: help demo test lint format bench chaos clean
.DEFAULT_GOAL := help

help:  ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST)

demo: $(INSTALLED)  ## everything at once on SQLite, with a simulated ERP
	$(BIN)/dlq-console demo $(DEMO_ARGS)

test: lint  ## style, types and the whole suite
	$(BIN)/python -m pytest $(PYTEST_PROCESSES) $(PYTEST_ARGS)

lint: $(INSTALLED_DEV)  ## style and types only
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(INSTALLED_DEV)  ## repair the style where a tool can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(INSTALLED_DEV)  ## measure every published figure
	$(BIN)/python -m benchmarks $(BENCH_ARGS)

# With CHAOS_ARGS only the storms that they name, which stand in a folder of their own.
chaos: $(INSTALLED_DEV)  ## the long and destructive forms of the tests
	$(BIN)/python -m pytest -m chaos --timeout=3600 $(if $(CHAOS_ARGS),,tests) tests/chaos $(CHAOS_ARGS) $(PYTEST_ARGS)

clean:  ## remove the environment and what tools left behind
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .screenshots

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "$(PYTHON) is missing or older than 3.11; name another one: make PYTHON=python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(INSTALLED): pyproject.toml | $(BIN)/python
	@echo "Installing into $(VENV) ..."
	@$(PIP_INSTALL) --editable '.[all]'
	@touch $@

$(INSTALLED_DEV): pyproject.toml | $(BIN)/python
	@echo "Installing into $(VENV) ..."
	@$(PIP_INSTALL) --editable '.[dev]'
	@touch $(INSTALLED) $@
