# SPDX-License-Identifier: Apache-2.0
# `make help` lists the targets. Everything runs in .venv, which `make venv` creates. To use an existing
# environment, pass its interpreter: `make check PY=path/to/python`.

PYTHON ?= python3
JOBS ?= 2
TESTS := tests/filecheck
TARGETS := $(patsubst targets/%/,%,$(wildcard targets/[a-z]*/))

ifneq ($(origin PY),command line)
PY := .venv/bin/python
ENV := .venv/.installed
BIN := .venv/bin/
else
ENV :=
BIN := $(dir $(shell command -v $(PY)))
endif

LINKS := .types/xtc_passes .types/xtc_targets
READY := $(ENV) $(LINKS)
# Freed memory is overwritten, so that a pass that reads an erased operation always crashes.
LIT := MALLOC_PERTURB_=165 $(BIN)lit -sv --no-progress-bar --timeout 300 -j $(JOBS) $(if $(DEVICES),--param devices=$(DEVICES))
# Consecutive tests share a process, and the code that it has compiled. One process more than there
# are cores, since some tests wait for other processes and for clocks.
PYTEST := $(PY) -m pytest -n $(shell expr $(JOBS) + 1) --dist worksteal
SHARED_LIT := $(wildcard $(addprefix $(TESTS)/,ops passes schedules errors cli))
# Random graphs, schedules and copies, in parts that print their progress.
RANDOM_TESTS := $(patsubst %,tests/unit/test_%.py,random_graphs random_schedules half_graphs copies)
TYPED := $(sort $(dir $(wildcard tools/*.py tests/unit/*.py examples/*/*.py benchmarks/*.py)))

# Every environment runs the code of this checkout.
export PYTHONPATH := $(CURDIR):$(CURDIR)/.types
# Without bytecode files every process would compile each module that it imports.
unexport PYTHONDONTWRITEBYTECODE
export MYPY_NUM_WORKERS := $(JOBS)
title = @printf '== %s\n' '$@'

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help venv links demo demo-text check check-fast check-long lint format types layers check-lit \
  check-lit-fast check-lit-host check-lit-c check-lit-tile unit unit-fast unit-long unit-random docs-paths update-checks docs clean \
  bench-networks

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z%-]+:.*## / {sub("%", "<name>", $$1); \
	  printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(READY) ## create .venv with everything the checks need, by PYTHON=python3
links: $(LINKS) ## create the links by which type checkers find the packages

.venv/.installed: pyproject.toml setup.py
	@sh tools/prerequisites.sh '$(PYTHON)'
	@echo 'creating .venv (about a minute)'
	@'$(PYTHON)' -m venv .venv
	@# Most modules are never imported; Python compiles the others on import.
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[dev]'
	@touch $@

.types/xtc_passes:
	@mkdir -p .types && ln -sfn ../mlir_passes $@

.types/xtc_targets:
	@mkdir -p .types && ln -sfn ../targets $@

demo: $(READY) ## recognize handwritten digits on every target, and text in an image
	@$(PY) -m examples.digits.demo $(ARGS)
	@$(PY) -m examples.text.demo

demo-text: $(READY) ## recognize text in an image by three networks from ONNX files, with xtc and ONNX Runtime
	@$(PY) -m examples.text.demo $(ARGS)

check: lint types layers check-lit unit ## all checks; they must pass before a change is merged
check-fast: lint check-lit-fast unit-fast ## the checks that do not run compiled code
check-long: check-lit unit-long ## the lit tests, then the unit tests with many more random cases

lint: $(READY) ## style (ruff)
	$(title)
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .

format: $(READY) ## rewrite files in the project's style
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

types: $(READY) ## static types (mypy --strict)
	$(title)
	@$(PY) -m mypy
	@$(PY) -m mypy --explicit-package-bases $(TYPED)

layers: $(READY) ## import contracts between packages (import-linter)
	$(title)
	@$(BIN)lint-imports --no-logo

check-lit: $(READY) ## all lit tests
	$(title)
	@$(LIT) $(TESTS)

check-lit-fast: $(READY) ## lit tests of IR and messages, which run no compiled code
	$(title)
	@$(LIT) --filter-out '/run/' $(TESTS)

check-lit-host: $(READY) ## lit tests of operators, passes, schedules, errors, commands and the host
	$(title)
	@$(LIT) $(SHARED_LIT) $(wildcard $(TESTS)/targets/host)

check-lit-c: $(READY) ## lit tests of the host's code generator for C
	$(title)
	@$(LIT) $(TESTS)/targets/c

check-lit-tile: $(READY) ## lit tests of tile kernels
	$(title)
	@$(LIT) $(TESTS)/tile

check-lit-%: $(READY) ## lit tests of one target
	$(title)
	@test -d targets/$* || { echo 'no target $*; there are:' $(TARGETS); exit 2; }
	@test -d $(TESTS)/targets/$* || { echo 'no folder $(TESTS)/targets/$*'; exit 2; }
	@$(LIT) $(TESTS)/targets/$*

unit: $(READY) ## unit tests, and the project's own rules (pytest)
	$(title)
	@$(PYTEST)

unit-fast: $(READY) ## unit tests that take less than a tenth of a second each
	$(title)
	@$(PYTEST) -m 'not slow'

unit-long: $(READY) ## unit tests with many more random cases; takes long
	$(title)
	@$(PYTEST) --long --timeout 0 -v

unit-random: $(READY) ## of these, 5,000 random graphs, 5,000 schedules, and the random tests of devices
	$(title)
	@$(PYTEST) --long --timeout 0 -v $(RANDOM_TESTS)

docs-paths: $(READY) ## check that the paths in the documents exist (part of unit)
	@$(PY) -m pytest tests/unit/test_docs_paths.py

update-checks: $(READY) ## rewrite the GOLDEN lines of one lit test, TEST=path; review the difference
	@test -n '$(TEST)' || { echo 'name a lit test: make update-checks TEST=path'; exit 2; }
	@$(PY) tools/update_checks.py $(TEST)

bench-networks: $(READY) ## time whole networks in all installed engines (ARGS="resnet18 file.onnx --quick")
	@$(PY) -m benchmarks.networks $(ARGS)

bench-%: $(READY) ## run benchmarks/<name>.py (ARGS=... are passed on)
	@test -f benchmarks/$*.py || { echo 'no benchmark $*; there are:' \
	  $(basename $(notdir $(wildcard benchmarks/[a-z]*.py))); exit 2; }
	@$(PY) benchmarks/$*.py $(ARGS)

docs: $(READY) ## regenerate the documents that are derived from the code
	@$(PY) tools/generate_docs.py

clean: ## remove build outputs and caches, but not .venv
	rm -rf build dist out *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis \
	  .import_linter_cache .types
	find $(TESTS) -depth -name Output -type d -exec rm -rf {} +
	find . -path ./.venv -prune -o -name __pycache__ -type d -exec rm -rf {} +
