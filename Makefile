# Everything runs in .venv, made on first use with nothing but Python 3.11+ and make.
PYTHON ?= python3
PY := .venv/bin/python
INSTALLED := .venv/.installed

.PHONY: help run test check bench format clean

help:            ## Say what there is to make
	@grep -E '^[a-z]+: .*##' Makefile | sed -E 's/: .*## /\t/' | expand -t 10

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "quatcast needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python3 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(PY) || $(PYTHON) -m venv .venv
	@echo "Installing quatcast and its tools into .venv ..."
	@$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(INSTALLED)

run: $(INSTALLED)   ## The main job, on simulated recordings
	@$(PY) -m quatcast compare --profile quick

test: check      ## Format, lint, types, layers, doctests and tests
	$(PY) -m pytest -n auto

check: $(INSTALLED) ## The fast checks alone: format, lint, types, layers
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(PY) -c 'from importlinter.cli import lint_imports; raise SystemExit(lint_imports())'

bench: $(INSTALLED) ## Milliseconds a step, against classical RTRL and the floor
	$(PY) benchmarks/step_time.py

format: $(INSTALLED) ## Format and mend what can be mended
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

clean:           ## Remove the virtual environment and what tools left
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist build
