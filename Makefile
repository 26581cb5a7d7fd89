# A fresh machine needs Python >= 3.11, make and a package index.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test slow lint format clean

demo: $(STAMP)  ## trains the five rows of ResAdapters-1 on generated questions into demo/
	$(BIN)/python -m repro table ResAdapters-1 --scale smoke --store demo --out demo

test: $(STAMP)  ## the test suite
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

slow: $(STAMP)  ## the long tests, too
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder -m "slow or not slow"

lint: $(STAMP)  ## format, lint and types
	$(BIN)/ruff format --check repro tests benchmarks
	$(BIN)/ruff check repro tests benchmarks
	$(BIN)/mypy

format: $(STAMP)
	$(BIN)/ruff format repro tests benchmarks
	$(BIN)/ruff check --fix repro tests benchmarks

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) demo
