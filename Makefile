# `make demo` and `make test` work on a fresh machine with Python 3.10 to 3.13 and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
EXTRAS ?= local,test,check,docs

.PHONY: help setup demo test test-all check format docs bench clean

help:
	@echo "make demo    set up and run the main job offline on the bundled samples"
	@echo "make test    set up and run the tests"
	@echo "make check   lint, types, imports, docs"
	@echo "make bench   speed and memory, written to docs/benchmarks/"

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$(EXTRAS)]'
	@touch $@

setup: $(VENV)/.ready

demo: setup
	@$(BIN)/rulewise demo

test: setup
	$(BIN)/python -m pytest -m "not slow and not network and not gpu"

test-all: setup
	$(BIN)/python -m pytest -m "not network and not gpu"

check: setup
	$(BIN)/ruff check src tests bench
	$(BIN)/ruff format --check src tests bench
	$(BIN)/mypy
	$(BIN)/lint-imports
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

format: setup
	$(BIN)/ruff check --fix src tests bench
	$(BIN)/ruff format src tests bench

docs: setup
	$(BIN)/mkdocs build --strict

bench: setup
	$(BIN)/python -m bench
	@if [ -n "$$RULEWISE_DATA" ]; then $(BIN)/python -m bench.retrieval && $(BIN)/python -m bench.experiments; fi
	$(BIN)/python -m bench.mining
	$(BIN)/python -m bench.corpora

clean:
	rm -rf $(VENV) site build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
