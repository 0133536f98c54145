# Every target installs what it needs into .venv, once; it reinstalls only when pyproject.toml changes.
# Choose an interpreter with `make PYTHON=python3.13 …`; otherwise the first suitable one is used.

PYTHON ?= python3 python python3.14 python3.13 python3.12 python3.11
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PY := $(BIN)/python
# One thread of BLAS and OpenMP in each process: threads of several processes would wait for each other.
PYTEST := OMP_NUM_THREADS=1 $(PY) -m pytest -q -n auto

# A stamp stands for the extra of the same name, unless others are listed here.
EXTRAS-demo := plot,cli
EXTRAS-paper := plot,conic

# uv installs several times as fast as pip; where it finds no index, or fails otherwise, pip does it. `make test-lowest`
# installs the lowest versions that pyproject.toml allows, which pip cannot choose.
VERSIONS := newest
PIP = $(PY) -m pip install -qq --disable-pip-version-check --no-compile
UV = $(PIP) uv && UV_HTTP_TIMEOUT=20 $(PY) -m uv pip install -q --python $(PY) $(addprefix --default-index ,$(PIP_INDEX_URL))
INSTALL-newest = ($(UV) $(1)) 2>/dev/null || $(PIP) $(1)
INSTALL-lowest = $(UV) --resolution lowest-direct $(1)
LOWEST := .venv-lowest
# Per cent of the lines that `make coverage` asks for.
FLOOR := 88

# Python keeps the bytecode of modules, whatever the caller's settings: tests start many processes.
export PYTHONDONTWRITEBYTECODE :=

BENCHMARKS = $(filter-out benchmarks/_%,$(wildcard benchmarks/*.py benchmarks/public/*.py))

.DEFAULT_GOAL := help
.PHONY: help demo test test-long test-lowest coverage lint docs bench paper clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.stamp-demo ## train, certify and attack a small classifier; writes drsvm-demo.html
	@$(PY) -m drsvm.demo

test: $(VENV)/.stamp-compiled ## run the tests (pass options with ARGS="-k norms")
	OMP_NUM_THREADS=1 DRSVM_HYPOTHESIS_PROFILE=ci $(PYTEST) $(ARGS)  # as many processes as cores run them

test-long: $(VENV)/.stamp-compiled ## run the tests with all combinations and many more random examples
	DRSVM_HYPOTHESIS_PROFILE=long $(PYTEST) $(ARGS)

test-lowest: ## run the tests with the lowest versions allowed, in .venv-lowest
	@$(MAKE) --no-print-directory test VENV=$(LOWEST) VERSIONS=lowest

coverage: $(VENV)/.stamp-compiled ## run the tests and measure what they reach; compiled functions are not seen
	$(PIP) coverage pytest-cov
	$(PYTEST) --cov=drsvm --cov-fail-under=$(FLOOR) --cov-report=term:skip-covered $(ARGS)

lint: $(VENV)/.stamp-dev ## check style, formatting and types
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) tests/density.py
	$(BIN)/lint-imports
	$(PY) -m pyright --pythonpath $(PY)
	PATH="$(abspath $(BIN)):$$PATH" $(PY) -m pyright --verifytypes drsvm --ignoreexternal --outputjson | $(PY) tests/public_types.py

docs: $(VENV)/.stamp-docs ## build the documentation in docs/_build/html and check its links
	$(PY) -m sphinx -q -E -W --keep-going -b html docs docs/_build/html
	$(PY) docs/check_links.py docs/_build/html

bench: $(VENV)/.stamp-bench ## run every script in benchmarks/
	@test -n "$(BENCHMARKS)" || echo "Nothing to run: benchmarks/ has no scripts."
	@set -e; for script in $(BENCHMARKS); do echo "== $$script"; $(PY) "$$script"; done

paper: $(VENV)/.stamp-paper ## regenerate every table and figure of the paper in benchmarks/results/paper/
	$(PY) benchmarks/paper $(ARGS)

clean: ## remove the environments and everything generated
	rm -rf $(VENV) $(LOWEST) build dist .pytest_cache .ruff_cache .hypothesis docs/_build docs/generated docs/gallery \
	  docs/sg_execution_times.rst drsvm-demo.html
	find drsvm tests docs examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(VENV)/.stamp-venv:
	@for python in $(PYTHON); do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "Creating $(VENV) with $$($$python --version)"; \
	    $$python -m venv $(VENV) && touch $@; \
	    exit; \
	  fi; \
	done; \
	echo "drsvm needs Python 3.11 or newer; none of these is: $(PYTHON)." >&2; \
	echo "Install one, or specify it: make PYTHON=/path/to/python3 ..." >&2; \
	exit 1

# Compiled once, by two processes: those that run tests would compile the same functions at the same time. Collecting the
# tests meanwhile compiles Python's bytecode.
$(VENV)/.stamp-compiled: $(VENV)/.stamp-test $(wildcard drsvm/compiled/*.py)
	@echo "Compiling drsvm's inner loops"
	@$(PY) -m pytest --collect-only -qq >/dev/null & $(PY) -m drsvm.compile && wait $$!
	@touch $@

$(VENV)/.stamp-%: pyproject.toml drsvm/__init__.py | $(VENV)/.stamp-venv
	@echo "Installing drsvm[$(or $(EXTRAS-$*),$*)] into $(VENV)"
	@$(call INSTALL-$(VERSIONS),--editable '.[$(or $(EXTRAS-$*),$*)]')
	@touch $@
