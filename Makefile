# Two commands do everything on a fresh machine: `make demo` and `make test`.
VENV   := .venv
PY     := $(VENV)/bin/python
PYTHON ?= python3
UV     := $(shell command -v uv 2>/dev/null)

.PHONY: demo test check bench coverage docs lock clean

demo: $(VENV)/.core
	@$(VENV)/bin/headrace demo

test: $(VENV)/.dev
	$(PY) -m pytest $(ARGS)

SOURCES := src tests $(wildcard bench examples)

check: $(VENV)/.dev
	$(VENV)/bin/ruff format --check $(SOURCES)
	$(VENV)/bin/ruff check $(SOURCES)
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports --no-cache

bench: $(VENV)/.dev
	$(PY) -m bench $(ARGS)

# Which branches of the pure rooms the tests take.
PURE := core protocols store wire
coverage: $(VENV)/.dev
	$(PY) -m pytest $(addprefix tests/,$(PURE)) $(addprefix --cov=headrace.,$(PURE)) --cov-branch \
		--cov-report=term-missing:skip-covered

# The pages that are made from the program: docs/commands.md, docs/configuration.md, docs/limits.md.
docs: $(VENV)/.dev
	$(PY) -m headrace.cli.pages

# The versions that development and CI use, for every Python we support.
lock:
	uv pip compile --universal --quiet --python-version 3.11 --extra dev pyproject.toml -o requirements/dev.txt
	uv pip compile --universal --quiet --python-version 3.11 pyproject.toml -o requirements/core.txt
	uv pip compile --universal --quiet --python-version 3.11 --extra bench pyproject.toml -o requirements/bench.txt

$(VENV)/bin/python:
ifdef UV
	uv venv --quiet --seed --python $(PYTHON) $(VENV)
else
	$(PYTHON) -m venv $(VENV)
endif

define install
	$(if $(UV),VIRTUAL_ENV=$(abspath $(VENV)) uv pip install --quiet,$(PY) -m pip install --quiet --disable-pip-version-check) -r $(1)
	$(if $(UV),VIRTUAL_ENV=$(abspath $(VENV)) uv pip install --quiet,$(PY) -m pip install --quiet --disable-pip-version-check) --no-deps -e .
	@touch $@
endef

$(VENV)/.core: requirements/core.txt pyproject.toml | $(VENV)/bin/python
	$(call install,requirements/core.txt)

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(VENV)/bin/python
	$(call install,requirements/dev.txt)
	@touch $(VENV)/.core

clean:
	find src -name __pycache__ -prune -exec rm -rf {} +
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
